"""Models of rules have values that make a difference: constants of properties and rules, and what leads to them.

The oracle is arithmetic in Python on many values: whether some of them satisfy the comparison.
"""

from __future__ import annotations

import itertools
import operator
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import workbench as wb
from tests.examples import scaled
from workbench.language import parse_property
from workbench.tesla.check import parse_rules
from workbench.verify.rules.compared_values import list_comparisons
from workbench.verify.rules.problems import problem_of_rules, rule_comparison

TYPES = "declare A(v: int, w: float, s: string)\ndeclare D(n: int, m: float, s: string)\ndeclare E(z: int)\n"
OPERATORS = {
    "=": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def outcome(rules: str, prop: str) -> str:
    return str(problem_of_rules(parse_rules(TYPES + rules), prop, wb.Settings(seconds=60.0)).decide().outcome)


EXPRESSIONS: dict[str, Callable[[int, int], int]] = {
    "T.v": lambda t, b: t,
    "-T.v": lambda t, b: -t,
    "T.v + 7": lambda t, b: t + 7,
    "7 - T.v": lambda t, b: 7 - t,
    "T.v - 60": lambda t, b: t - 60,
    "3 * T.v": lambda t, b: 3 * t,
    "T.v * -2 + 1": lambda t, b: -2 * t + 1,
    "T.v + B.v": lambda t, b: t + b,
    "T.v - B.v": lambda t, b: t - b,
    "T.v * B.v": lambda t, b: t * b,
    "(T.v - B.v) * 5": lambda t, b: (t - b) * 5,
    "T.v % 50": lambda t, b: t % 50,
}
"""What a rule emits, of the last two events."""


def agrees(written: str, op: str, constant: int) -> None:
    compute, compare = EXPRESSIONS[written], OPERATORS[op]
    possible = any(compare(compute(t, b), constant) for t, b in itertools.product(range(-450, 451, 1), (-1, 0, 1, 2)))
    rules = f"from A as T and last A as B within 9 from T emit D(n = {written}, m = 0.5, s = T.s)"
    assert outcome(rules, f"can(D.n {op} {constant})") == ("holds" if possible else "fails"), possible
    assert outcome(rules, f"never(D.n {op} {constant})") == ("fails" if possible else "holds"), possible
    negated = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[op]
    assert outcome(rules, f"always (D.n {negated} {constant})") == ("fails" if possible else "holds"), possible


@pytest.mark.parametrize("written", EXPRESSIONS)
def test_a_computed_value_reaches_a_constant(written: str) -> None:
    agrees(written, ">", 150)


@pytest.mark.slow
@settings(max_examples=scaled(20, 120), deadline=None)
@given(st.sampled_from([*EXPRESSIONS]), st.sampled_from([*OPERATORS]), st.integers(-120, 120))
def test_random_comparisons(written: str, op: str, constant: int) -> None:
    agrees(written, op, constant)


OTHERS = [  # rules, a condition, and whether some event satisfies it
    ("from A(v > 100) as T emit D(n = T.v, m = T.w, s = T.s)", "D.n > 150", True),
    ("from A(v > 100) as T emit D(n = T.v, m = T.w, s = T.s)", "D.n = 150", True),
    ("from A(v > 100) as T emit D(n = T.v, m = T.w, s = T.s)", "D.n < 100", False),
    ("from A(v > 100) as T emit D(n = T.v, m = T.w, s = T.s)", "A.v = -7", True),
    ("from A(v > 100) as T emit D(n = T.v, m = T.w, s = T.s)", "A.v > 7 and A.v < 9", True),
    ("from A as T emit D(n = 1, m = T.w / 2, s = T.s)", "D.m > 2.5", True),
    ("from A as T emit D(n = 1, m = T.w / 2, s = T.s)", "D.m = 2.25", True),
    ("from A as T emit D(n = 1, m = T.w / 3, s = T.s)", "D.m >= 40", True),
    ("from A as T emit D(n = 1, m = 12 / T.w, s = T.s)", "D.m = 4", True),
    ("from A as T emit D(n = 1, m = T.w, s = T.s)", "D.n + 1 > 3", False),
    ("from A(v > 40) as T emit D(n = 3 * T.v, m = T.w, s = T.s)", "D.n + 1 > 303", True),
    ("from A(v > 40) as T emit D(n = 3 * T.v, m = T.w, s = T.s)", "D.n - A.v > 303", True),
    ('from A as T emit D(n = 1, m = T.w, s = T.s)', 'D.s = "error"', True),
    ('from A(s == "ok") as T emit D(n = 1, m = T.w, s = T.s)', 'D.s = "error"', False),
    ("from A[$x = v + 1] as T emit D(n = $x * 2, m = T.w, s = T.s)", "D.n > 150", True),
    ("from A as T and $n = SUM(A.v within 9 from T) emit D(n = $n + 1, m = T.w, s = T.s)", "D.n > 150", True),
    ("from A as T and $n = COUNT(A within 9 from T) emit D(n = $n, m = T.w, s = T.s)", "D.n > 5", True),
    (
        "from A as T emit D(n = T.v * 2, m = T.w, s = T.s) from D as F emit E(z = F.n + 10)", "E.z > 150", True,
    ),
    (
        "from A as T emit D(n = T.v * 2, m = T.w, s = T.s) from D as F emit E(z = F.n + 10)", "E.z = 151", False,
    ),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "condition", "possible"), OTHERS)
def test_whether_some_event_satisfies_a_condition(rules: str, condition: str, possible: bool) -> None:
    rules = rules.replace(" from D", "\nfrom D")
    assert outcome(rules, f"can({condition})") == ("holds" if possible else "fails")
    assert outcome(rules, f"never({condition})") == ("fails" if possible else "holds")


FIRING = [  # a condition on the last event, on its own attributes; each can be true
    "7 - T.v > 100", "-T.v > 5", "T.v * T.v > 50", "T.v * 3 == 303", "T.v * 3 > 304", "T.v / 4 > 100",
    "100 / T.w > 300", "T.w * 0.7 > 10", "T.v % 7 == 3 and T.v > 100", "2 * (T.v + 8) == -60", "T.v * T.v - 1 == 99",
    "-(-T.v) > 12",
]  # fmt: skip


@pytest.mark.parametrize("condition", FIRING)
def test_a_rule_fires_whose_condition_computes(condition: str) -> None:
    assert outcome(f"from A as T where {condition} emit D(n = 1, m = 0.5, s = T.s)", "can(D)") == "holds"


def test_a_rule_fires_whose_condition_is_about_a_computed_composite() -> None:
    rules = "from A as T emit D(n = 3 - T.v, m = T.w, s = T.s)\nfrom D(n > 90) as F emit E(z = F.n * 2)"
    assert outcome(rules, "can(E)") == outcome(rules, "never(E.z <= 180)") == "holds"


POLYNOMIALS: dict[str, Callable[[int, int], int]] = EXPRESSIONS | {
    "T.v * T.v": lambda t, b: t * t,
    "T.v * T.v * T.v": lambda t, b: t**3,
    "T.v * T.v * B.v": lambda t, b: t * t * b,
    "T.v % 7": lambda t, b: t % 7,
    "T.v + T.v": lambda t, b: 2 * t,
    "2 * T.v": lambda t, b: 2 * t,
    "B.v * T.v": lambda t, b: t * b,
    "(T.v + B.v) * (T.v - B.v)": lambda t, b: (t + b) * (t - b),
    "T.v * T.v - B.v * B.v": lambda t, b: t * t - b * b,
    "B.v": lambda t, b: b,
}


def compared(one: str, other: str) -> None:
    left, right = (
        parse_rules(f"{TYPES}from A as T and last A as B within 9 from T emit E(z = {each})") for each in (one, other)
    )
    same = all(
        POLYNOMIALS[one](t, b) == POLYNOMIALS[other](t, b) for t, b in itertools.product(range(-60, 61), repeat=2)
    )
    assert rule_comparison(left, right).decide().outcome == ("holds" if same else "fails")


@pytest.mark.parametrize(("one", "other"), [
    ("T.v * T.v", "T.v"), ("T.v * T.v * T.v", "T.v"), ("T.v * T.v * T.v", "T.v * T.v"), ("T.v % 7", "T.v"),
    ("T.v % 50", "T.v % 7"), ("T.v + T.v", "2 * T.v"), ("T.v * B.v", "B.v * T.v"), ("T.v * B.v", "T.v * T.v * B.v"),
    ("(T.v + B.v) * (T.v - B.v)", "T.v * T.v - B.v * B.v"),
])  # fmt: skip
def test_rules_that_compute_are_compared(one: str, other: str) -> None:
    compared(one, other)


@pytest.mark.slow
@settings(max_examples=scaled(30, 200), deadline=None)
@given(st.sampled_from([*POLYNOMIALS]), st.sampled_from([*POLYNOMIALS]))
def test_random_rules_that_compute_are_compared(one: str, other: str) -> None:
    compared(one, other)


def test_comparisons_of_a_property() -> None:
    rules = parse_rules(TYPES + "from A as T emit D(n = T.v, m = T.w, s = T.s)")
    prop = parse_property('always (D.n - A.v > -20 -> D.s = "x" or D.n * 2 = 7)')
    one, two, three = list_comparisons(rules, prop)
    assert (list(one.attributes), list(one.constants), one.ordered) == ([("D", "n"), ("A", "v")], [-20, 0], True)
    assert (list(two.attributes), list(two.constants), two.ordered) == ([("D", "s")], ["x"], False)
    assert (list(three.attributes), list(three.shifts)) == ([("D", "n")], [("*", 2)])


def test_values_that_a_user_has_chosen_stay() -> None:
    rules = parse_rules(TYPES + "from A as T emit D(n = T.v, m = T.w, s = T.s)")
    bounds = wb.rules.RuleBounds(values={("A", "v"): [1, 2]})
    verdict = problem_of_rules(rules, "never(D.n > 150)", wb.Settings(rules=bounds)).decide()
    assert verdict.outcome == "holds"
    assert any("A.v is 1..2" in ground for ground in verdict.rests_on)
