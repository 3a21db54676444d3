"""Bounds that nobody chooses, and verdicts that hold for want of cases."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.verify.ask.scope import Adjustable

COMPARISONS = {
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge, "=": operator.eq, "!=": operator.ne,
}  # fmt: skip


def ask(text: str, prop: str, **options: Any) -> wb.Verdict:
    return wb.check(wb.parse(text).get(), prop, wb.Settings(**options))


PAIR = wb.parse("""
pipeline above(x: int) -> int { return filter(x, x > 3) }
pipeline neither(x: int) -> int { return filter(x, x > 3 and x < 0) }
""")


def test_pipelines_of_which_nothing_is_compared_are_not_equivalent() -> None:
    left, right = PAIR.get("above"), PAIR.get("neither")
    found = wb.equivalent(left, right)
    assert (found.outcome, found.n, found.exit_code) == (wb.Outcome.UNKNOWN, 8, 3)
    assert found.reason.startswith("vacuous: no run on which 'same' compares two events")
    assert wb.equivalent(left, right, "stepwise").outcome is wb.Outcome.FAILS
    small = wb.equivalent(left, right, settings=wb.Settings(n=4))
    assert small.outcome is wb.Outcome.UNKNOWN
    assert small.to_json()["vacuous"]["bound"] == "N = 4"
    stepwise = wb.equivalent(left, right, "stepwise", wb.Settings(n=4))
    assert (stepwise.outcome, stepwise.reason[:7]) == (wb.Outcome.UNKNOWN, "vacuous")


def test_what_is_the_same_by_construction_needs_no_cases() -> None:
    one = wb.parse("pipeline p(x: int) -> int { return filter(x, x < x) }").get()
    assert wb.equivalent(one, one).outcome is wb.Outcome.HOLDS


def test_an_antecedent_that_is_never_true() -> None:
    text = "pipeline p(x: int) -> bool, bool { return x != x, x = x }"
    found = ask(text, "always (out1 -> out2)")
    assert found.words == "holds, vacuously: out1 is never true"
    assert (found.outcome, found.exit_code) == (wb.Outcome.HOLDS, 0)
    assert ask(text, "always (out1 -> out2)", strict_vacuity=True).exit_code == 3
    assert ask(text, "always (out2 -> not out1)", strict_vacuity=True).exit_code == 0


def test_floats_reach_beyond_the_constants() -> None:
    text = "pipeline p(t: float) -> bool { return t > 30.0 }"
    assert ask(text, "always (not out)").outcome is wb.Outcome.FAILS
    found = ask(text, "always (not out)", floats=(0, 6))
    assert found.words == "holds, vacuously: t > 30 is never true (float = 0..6 prevents it)"


def test_a_branch_that_data_do_not_reach_matters_only_to_what_looks_at_data() -> None:
    text = "pipeline p(x: int) -> bool { return x > 3 }"
    assert ask(text, "always (not out)", n=4).vacuity is not None
    assert ask(text, "liveness", n=4).vacuity is None
    assert ask("pipeline p(x: int) -> bool { return x >= 0 }", "always (out)").vacuity is None


@pytest.mark.parametrize(
    ("text", "prop", "n"),
    [
        ("return x != 3", "liveness", 4),
        ("return x >= 3", "liveness", 4),
        ("return x > 3", "liveness", 8),
        ("return 3 < x", "liveness", 8),
        ("return x + 1 = 9", "liveness", 16),
        ("return window(x, 2, cumulate(+)) <= 63", "liveness", 128),
        ("return x = x", "always (x < 6)", 8),
        ("return x + 5 = x", "liveness", 8),
    ],
)
def test_the_n_that_constants_need(text: str, prop: str, n: int) -> None:
    found = ask(f"pipeline p(x: int) -> bool {{ {text} }}", prop)
    assert found.n == n
    chosen = "was chosen since" in " ".join(found.rests_on)
    assert chosen or found.for_every_n or n == 4


def test_texts_do_not_grow_in_number_with_n() -> None:
    found = ask("pipeline p(x: int, s: str) -> bool { return x > 9 and s = s }", "always (out)")
    assert any("str is one of a, b, c, d:" in line for line in found.rests_on)


def test_queues_grow_until_something_is_compared() -> None:
    text = "pipeline p(x: int) -> int { return x + trim(x, 3) }"
    assert (ask(text, "liveness").outcome, ask(text, "liveness").q) == (wb.Outcome.HOLDS, 4)
    given, never = ask(text, "liveness", q=2), ask(text, "liveness", grow=0.0)
    for found in (given, never):
        assert (found.outcome, found.q, found.known_steps) == (wb.Outcome.WITHIN_BOUNDS, 2, 2)
        assert found.vacuity is not None
        assert found.vacuity.bound == "Q = 2"
        assert str(found.vacuity).endswith("(Q = 2 may be why)")
    assert ask(text, "liveness", q=2, strict=True).exit_code == 3


def test_a_bound_is_adjustable_as_long_as_nobody_chooses_it() -> None:
    assert isinstance(wb.Settings().n, Adjustable)
    assert not isinstance(wb.Settings(n=4).n, Adjustable)
    assert wb.check(PAIR.get("above"), "always (out > 0)", wb.Settings(n=4)).n == 4


# --- random pipelines ---------------------------------------------------------------------------------------

comparison = st.tuples(st.sampled_from(sorted(COMPARISONS)), st.integers(0, 9), st.booleans())


def _text(symbol: str, constant: int, flipped: bool) -> str:
    return f"{constant} {symbol} x" if flipped else f"x {symbol} {constant}"


def _says(symbol: str, constant: int, flipped: bool, value: int) -> bool:
    return bool(COMPARISONS[symbol](*((constant, value) if flipped else (value, constant))))


def _values(drawn: list[tuple[str, int, bool]], word: str, n: int) -> Iterator[bool]:
    """What the condition says of each value."""
    join = all if word == "and" else any
    return (join(_says(*each, value) for each in drawn) for value in range(n))


@given(st.lists(comparison, min_size=1, max_size=2), st.sampled_from(["and", "or"]))
@examples(25)
def test_no_comparison_is_settled_by_the_default_n(drawn: list[tuple[str, int, bool]], word: str) -> None:
    """A verdict is vacuous exactly where no run has the case, of as many values as there are, or of many more."""
    condition = f" {word} ".join(_text(*each) for each in drawn)
    found = ask(f"pipeline p(x: int) -> bool {{ return {condition} }}", "always (out -> x.present)")
    assert found.n is not None
    assert (found.vacuity is not None and "out is" in found.vacuity.never) == (not any(_values(drawn, word, 100)))
    for each in drawn:
        assert set(_values([each], "and", found.n)) == set(_values([each], "and", 100))


@given(st.lists(comparison, min_size=2, max_size=2), st.integers(2, 12))
@examples(15)
def test_equivalence_at_any_n(drawn: list[tuple[str, int, bool]], n: int) -> None:
    """Filters at a chosen N, against all short inputs: without two events to compare nothing is said."""
    n = max(n, *(constant + 1 for _, constant, _ in drawn))
    texts = (f"pipeline p(x: int) -> int {{ return filter(x, {_text(*each)}) }}" for each in drawn)
    one, other = (wb.parse(text).get() for text in texts)
    found = wb.equivalent(one, other, "stepwise", wb.Settings(n=n))
    same, spoken = True, False
    for x, y in itertools.product(range(n), repeat=2):
        left, right = ([v for v in (x, y) if _says(*each, v)] for each in drawn)
        same, spoken = same and left == right, spoken or bool(left and right)
    wanted = wb.Outcome.FAILS if not same else wb.Outcome.HOLDS if spoken else wb.Outcome.UNKNOWN
    structural = drawn[0] == drawn[1]
    assert found.outcome is wanted or (structural and found.outcome is wb.Outcome.HOLDS)
