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
    """What is possible is shown; what is not, may also be unknown."""
    compute, compare = EXPRESSIONS[written], OPERATORS[op]
    possible = any(compare(compute(t, b), constant) for t, b in itertools.product(range(-450, 451, 1), (-1, 0, 1, 2)))
    rules = f"from A as T and last A as B within 9 from T emit D(n = {written}, m = 0.5, s = T.s)"
    negated = {"=": "!=", "!=": "=", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}[op]
    for prop, shown, otherwise in (
        (f"can(D.n {op} {constant})", "holds", "fails"),
        (f"never(D.n {op} {constant})", "fails", "holds"),
        (f"always (D.n {negated} {constant})", "fails", "holds"),
    ):
        assert outcome(rules, prop) in ({shown} if possible else {otherwise, "unknown", "holds-within-bounds"})


@pytest.mark.slow
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
    assert outcome(rules.replace(" from D", "\nfrom D"), f"{'can' if possible else 'never'}({condition})") == "holds"


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
    assert (list(one.attributes), set(one.constants), one.ordered) == ([("D", "n"), ("A", "v")], {-20, 0}, True)
    assert (list(two.attributes), list(two.constants), two.ordered) == ([("D", "s")], ["x"], False)
    assert (list(three.attributes), list(three.shifts), set(three.constants)) == ([("D", "n")], [("*", 2)], {7, 3.5})
    assert (one.added, three.added, one.nonlinear, three.nonlinear) == (True, False, False, False)


ID = "from A as T emit D(n = T.v, m = T.w, s = T.s)"
LAST = "from A as T and last A as B within 9 from T "
ARITHMETIC = [  # rules, a condition with arithmetic of its own, and whether some run satisfies it
    (ID, "D.n * 2 = 300", True), (ID, "2 * D.n = 301", False), (ID, "D.n * 10 > 295 and D.n * 10 < 305", True),
    (ID, "300 - D.n = 12", True), (ID, "-D.n > 40", True), (ID, "D.n * D.n = 49", True), (ID, "D.n * D.n < 0", False),
    (ID, "abs(D.n) > 40 and D.n < 0", True), (ID, "D.n mod 7 = 3 and D.n > 20", True), (ID, "D.n div 10 = 7", True),
    (ID, "D.n + D.n = 14", True), (ID, "D.n - 3 * A.v < -50", True), (ID, "D.m > 0 and D.m < 1", True),
    (f"{LAST} emit D(n = B.v, m = 0.5, s = B.s)", "D.n - A.v = 20 and D.n = 7", True),
    (f"{LAST} emit D(n = B.v, m = 0.5, s = B.s)", "D.n > 2 * A.v and A.v > 10", True),
    pytest.param(
        f"{LAST} emit D(n = T.v + B.v, m = 0.5, s = B.s)", "D.n = 150 and A.v < 100", True, marks=pytest.mark.slow
    ),
    ("from A(v < 100) as T and last A(v < 100) as B within 9 from T emit E(z = T.v + B.v)", "E.z = 150", True),
    pytest.param(
        "from A(v < 100) as T and last A(v < 100) as B within 9 from T emit E(z = T.v + B.v)", "E.z = 200", False,
        marks=pytest.mark.slow,
    ),
    ("from A(v >= 1000) as T emit E(z = T.v % 24)", "E.z = 3", True),
    ("from A as T where T.v % 7 == 5 emit E(z = T.v)", "E.z > 100", True),
    ("from A(w > 0.0) as T emit D(n = 1, m = T.w, s = T.s)", "D.m < 1", True),
    ("from A as T and $m = MAX(A.w within 9 from T) emit D(n = 1, m = $m, s = T.s)", "D.m > 30", True),
    ("from A as T and $m = MAX(A.w within 9 from T) emit D(n = 1, m = $m, s = T.s)", "D.m > 30.5 and D.m < 31", True),
    ("from A as T emit D(n = 1, m = 100 / T.v, s = T.s)", "D.m > 30 and D.m < 40", True),
]  # fmt: skip


@pytest.mark.parametrize(("rules", "condition", "possible"), ARITHMETIC)
def test_conditions_that_compute(rules: str, condition: str, possible: bool) -> None:
    assert outcome(rules, f"{'can' if possible else 'never'}({condition})") == "holds"


MORE_FIRING = [  # a condition on the last two events; each can be true
    "T.w > 36 and T.w < 37", "T.w > B.w and B.w >= 20 and T.w < 21", 'T.s < "2024-06-01"', 'T.s > "m" and T.s < "n"',
    'T.s > "m"', "T.v * B.v == 42 and T.v != 6", "T.v >= 10 and T.v % 7 < 3",
]  # fmt: skip


@pytest.mark.parametrize("condition", MORE_FIRING)
def test_a_rule_fires_between_constants(condition: str) -> None:
    assert outcome(f"{LAST} where {condition} emit E(z = 1)", "can(E)") == "holds"


DIFFERENT = [  # conditions that are not equivalent, and an event at which they differ
    ("T.w < 37", "T.w <= 36.9"), ("T.w > 0.0", "T.w >= 1.0"), ("T.w > 36", "T.w >= 37"), ("T.w > 0.5", "T.w >= 0.6"),
    ("T.v % 10 == 3", "T.v % 20 == 3"), ("T.v >= 10", "T.v >= 10 and T.v % 7 >= 3"),
    ("T.v * B.v == 42", "T.v * B.v == 42 and T.v != 6"), ("T.v * 7 > 100", "T.v * 7 > 100 and T.v - B.v != 30"),
    ("T.v - B.v > 10", "T.v - B.v > 10 and B.v > 0"), ('T.s < "m"', 'T.s < "n"'), ('T.s <= "m"', 'T.s < "m"'),
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_conditions_that_differ_between_constants(one: str, other: str) -> None:
    left, right = (parse_rules(f"{TYPES}{LAST} where {each} emit E(z = 1)") for each in (one, other))
    assert rule_comparison(left, right).decide().outcome == "fails"


FLAGS = TYPES + "declare F(k: bool)\n"


def test_conditions_inside_emitted_truth_values() -> None:
    def flag(condition: str) -> str:
        return f"from A as T emit F(k = {condition})"

    for condition in ("T.v > 30 and T.v < 50", "not (T.v <= 30)", "T.v * 2 > 30 and T.v * 2 < 34"):
        rules = parse_rules(FLAGS + flag(condition))
        assert problem_of_rules(rules, "can(F.k)").decide().outcome == "holds"
        chain = parse_rules(FLAGS + flag(condition) + "\nfrom F(k == true) emit E(z = 1)")
        assert problem_of_rules(chain, "never(E)").decide().outcome == "fails"
        bound = parse_rules(f"{FLAGS}from A[$h = {condition.replace('T.', '')}] where $h emit E(z = 1)")
        assert problem_of_rules(bound, "can(E)").decide().outcome == "holds"
    for one, other in (("T.v > 30", "T.v > 40"), ("T.v * 2 > 30", "T.v * 2 > 32")):
        left, right = (parse_rules(FLAGS + flag(f"{each} and T.w > 1.0")) for each in (one, other))
        assert rule_comparison(left, right).decide().outcome == "fails"


def test_rows_of_facts_that_a_property_is_about() -> None:
    """The seventh row of eight has 700."""
    text = "declare fact L(id: int, lim: int, name: string)\nfrom A as T and each L(id == T.v) emit E(z = L.lim)"
    bounds = wb.rules.RuleBounds(facts={"L": [(i, 100 * i, f"n{i}") for i in range(1, 9)]})
    for condition, possible in {"E.z > 500": True, "E.z = 700": True, "E.z > 800": False, "E.z = 650": False}.items():
        problem = problem_of_rules(parse_rules(TYPES + text), f"can({condition})", wb.Settings(rules=bounds))
        assert problem.decide().outcome == ("holds" if possible else "fails")


KEYS = """declare A(k: string) declare B(k: string) declare C(k: string)
declare F(k: string) declare G() declare H(n: int)
"""
ONCE = "rule one: from A[$k = k] emit F(k = $k) at most once in 10 min per $k\n"


@pytest.mark.parametrize("threshold", [0, 1, 2, 3, 5])
def test_composites_by_key_are_counted(threshold: int) -> None:
    """Each key brings one of them at most, so three need three keys."""
    rules = KEYS + ONCE + "rule many: from F and $n = COUNT(F() within 5 min from F) emit H(n = $n)"
    assert problem_of_rules(parse_rules(rules), f"never(H.n > {threshold})").decide().outcome == "fails"


@pytest.mark.parametrize(("one", "other"), [
    (f"{ONCE}rule r: from C and each F() within 5 min from C limit 2 emit G", "limit 3"),
    ("rule r: from C and last A() within 5 min from C and last B() within 5 min from C emit F(k = C.k)",
     "where A.k == B.k or A.k == C.k or B.k == C.k emit"),
])  # fmt: skip
def test_rules_that_differ_at_three_keys(one: str, other: str) -> None:
    changed = one.replace("limit 2", other) if "limit" in one else one.replace("emit", other)
    assert rule_comparison(parse_rules(KEYS + one), parse_rules(KEYS + changed)).decide().outcome == "fails"


QUIET = """declare A() declare G() declare H(n: int)
rule quiet: from A and absent A() within 1 min after A emit G
rule alarm: from G and $n = COUNT(G() within {} min from G) {} emit H(n = $n)"""


@pytest.mark.parametrize(("minutes", "where", "prop", "possible"), [
    (3, "", "H.n > 1", True),  # A at 0, 62, 124 s, then none
    (3, "", "H.n > 2", False),  # three gaps beyond a minute are beyond three minutes
    (4, "", "H.n > 2", True), (4, "where $n >= 3", "H", True), (5, "where $n >= 4", "H", True),
    (2.5, "", "H.n > 1", True), (2.25, "", "H.n > 1", True), (2.25, "", "H.n > 2", False),
    (3, "", "H.n > 1000000000", False),
])  # fmt: skip
def test_gaps_that_are_longer_than_a_length(minutes: float, where: str, prop: str, possible: bool) -> None:
    rules = parse_rules(QUIET.format(minutes, where))
    verdict = problem_of_rules(rules, f"never({prop})", wb.Settings(seconds=120.0, grow=60.0)).decide()
    assert verdict.outcome == ("fails" if possible else "holds")


SINCE = """declare A() declare C() declare D(t: int)
rule d: from C and last A() within 10 min from C {} emit D(t = TIME(C) - TIME(A))"""


@pytest.mark.parametrize(("one", "other"), [("> 1 min", ">= 2 min"), (">= 3 min", "> 2 min"), ("< 2 min", "<= 1 min")])
def test_differences_of_times_between_two_constants(one: str, other: str) -> None:
    """At 90 s, or at 150 s, only one of the two rules fires."""
    left, right = (parse_rules(SINCE.format(f"where TIME(C) - TIME(A) {each}")) for each in (one, other))
    assert rule_comparison(left, right).decide().outcome == "fails"


SECOND = 10**6


@pytest.mark.parametrize(("prop", "possible"), [
    (f"D.t > {90 * SECOND} and D.t < {120 * SECOND}", True), (f"D.t > {570 * SECOND}", True),
    (f"D.t = {50 * SECOND}", True), (f"D.t > {600 * SECOND}", False),
])  # fmt: skip
def test_differences_of_times_in_a_property(prop: str, possible: bool) -> None:
    verdict = problem_of_rules(parse_rules(SINCE.format("")), f"never({prop})").decide()
    assert verdict.outcome == ("fails" if possible else "holds")


@pytest.mark.parametrize(("rules", "prop"), [
    (KEYS + ONCE + "rule many: from F and $n = COUNT(F() within 5 min from F) emit H(n = $n)", "H.n > 40"),
    (SINCE.format(""), f"D.t = {7 * SECOND + 1}"),
])  # fmt: skip
def test_what_a_model_cannot_tell_apart_is_a_ground(rules: str, prop: str) -> None:
    """No model has 41 keys, or ticks of a microsecond."""
    verdict = problem_of_rules(parse_rules(rules), f"never({prop})", wb.Settings(strict=True)).decide()
    assert verdict.outcome in ("holds", "holds-within-bounds")
    assert verdict.exit_code == 3
    assert any("rules distinguish" in ground for ground in verdict.rests_on)


@pytest.mark.parametrize(("emitted", "text"), [
    ('"zone-" + T.s', "zone-7"), ('T.s + ".log"', "a.log"), ("T.s + B.s", "xy"), ('"<" + T.s + ">"', "<b>"),
])  # fmt: skip
def test_texts_that_rules_join(emitted: str, text: str) -> None:
    rules = f"{LAST} emit D(n = 1, m = 1.0, s = {emitted})"
    assert outcome(rules, f'never(D.s = "{text}")') == "fails"


@pytest.mark.slow
def test_attributes_have_fewer_values_where_rules_compute_with_too_many_combinations() -> None:
    """With 20 values of each attribute the product would be computed for 20 * 20 * 20 combinations."""
    conditions = " and ".join(f"T.v != {9 * i}" for i in range(1, 4))
    rules = f"{LAST}and last A as C within 9 from B where T.v * B.v * C.v > 100 and {conditions} emit E(z = 1)"
    assert outcome(rules, "can(E)") == "holds"


SUMS = """declare A(v: int) declare C(v: int, k: string) declare D(n: int)
rule sums: from C and first A(v == 100) within 1 min from C and $s = SUM(C(k == "error").v within 1 min from C)
where $s < -7 emit D(n = $s * 2)"""


@pytest.mark.slow
def test_few_values_are_left_where_sums_have_too_many_combinations() -> None:
    """The sums of three of 14 values would be computed; four are enough for a sum below -7."""
    rules, settings = parse_rules(SUMS), wb.Settings(seconds=60.0, grow=0.0)
    assert problem_of_rules(rules, "never(D.n <= 7)", settings).decide().outcome == "fails"
    verdict = problem_of_rules(rules, "can(D.n > 7)", settings).decide()
    assert verdict.outcome in ("fails", "unknown")
    assert any("too large" in ground for ground in verdict.rests_on)


def test_values_that_a_user_has_chosen_stay() -> None:
    rules = parse_rules(TYPES + "from A as T emit D(n = T.v, m = T.w, s = T.s)")
    bounds = wb.rules.RuleBounds(values={("A", "v"): [1, 2]})
    verdict = problem_of_rules(rules, "never(D.n > 150)", wb.Settings(rules=bounds)).decide()
    assert verdict.outcome == "holds"
    assert any("A.v is 1..2" in ground for ground in verdict.rests_on)
