"""Bounds that nobody chooses, and verdicts that hold for want of cases."""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples, scaled
from workbench.core.domain import Integers
from workbench.core.term import var
from workbench.verify.analyses.constants import PipeBehaviour, constants
from workbench.verify.analyses.dead_paths import dead_paths
from workbench.verify.answer.vacuity import _Ranges
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
    found = wb.equiv(left, right)
    assert (found.outcome, found.n, found.exit_code) == (wb.Outcome.UNKNOWN, 8, 3)
    assert found.reason.startswith("vacuous: no run on which 'same' compares two events")
    assert wb.equiv(left, right, "stepwise").outcome is wb.Outcome.FAILS
    small = wb.equiv(left, right, settings=wb.Settings(n=4))
    assert small.outcome is wb.Outcome.UNKNOWN
    assert small.to_json()["vacuous"]["bound"] == "N = 4"
    stepwise = wb.equiv(left, right, "stepwise", wb.Settings(n=4))
    assert (stepwise.outcome, stepwise.reason[:7]) == (wb.Outcome.UNKNOWN, "vacuous")


def test_what_is_the_same_by_construction_needs_no_cases() -> None:
    one = wb.parse("pipeline p(x: int) -> int { return filter(x, x < x) }").get()
    assert wb.equiv(one, one).outcome is wb.Outcome.HOLDS


def test_an_antecedent_that_is_never_true() -> None:
    text = "pipeline p(x: int) -> bool, bool { return x != x, x = x }"
    found = ask(text, "always (out1 -> out2)")
    assert (found.words, found.explanation) == ("holds vacuously", "out1 is never true")
    assert (found.outcome, found.exit_code) == (wb.Outcome.HOLDS, 0)
    assert ask(text, "always (out1 -> out2)", strict_vacuity=True).exit_code == 3
    assert ask(text, "always (out2 -> not out1)", strict_vacuity=True).exit_code == 0


def test_floats_reach_beyond_the_constants() -> None:
    text = "pipeline p(t: float) -> bool { return t > 30.0 }"
    assert ask(text, "always (not out)").outcome is wb.Outcome.FAILS
    found = ask(text, "always (not out)", floats=(0, 6))
    assert (found.words, found.explanation) == ("holds vacuously", "t > 30 is never true (float = 0..6 prevents it)")


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
        ("return x div 10 = 7", "always (not out)", 128),  # 70 to 79 make it true, and no others
        ("return x div 10 div 5 >= 1", "always (not out)", 128),
        ("return x mod 10 = 3", "liveness", 16),
        (
            "return x mod 10 = 3 and x mod 7 = 5",
            "always (not out)",
            128,
        ),  # 33, and 70 remainders there are
        ("return x * 4 > 14", "always (not out)", 32),
        ("return window(x, 2, cumulate(+)) div 10 = 7", "liveness", 128),
        ("return x = x", "always (x div 10 != 7)", 128),
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
        assert (found.outcome, found.q, found.count_known_steps) == (wb.Outcome.WITHIN_BOUNDS, 2, 2)
        assert found.vacuity is not None
        assert found.vacuity.bound == "Q = 2"
        assert str(found.vacuity).endswith("(Q = 2 may be why)")
    assert ask(text, "liveness", q=2, strict=True).exit_code == 3


def test_queues_grow_until_a_long_window_is_full() -> None:
    """19 events of `x` wait for the first sum."""
    text = "pipeline p(x: int) -> int { return x - lagging(window(x, 20, cumulate(+))) div 20 }"
    assert (ask(text, "liveness").outcome, ask(text, "liveness").q) == (wb.Outcome.HOLDS, 32)


def test_a_bound_is_adjustable_as_long_as_nobody_chooses_it() -> None:
    assert isinstance(wb.Settings().n, Adjustable)
    assert not isinstance(wb.Settings(n=4).n, Adjustable)
    assert wb.check(PAIR.get("above"), "always (out > 0)", wb.Settings(n=4)).n == 4


@pytest.mark.parametrize(
    ("text", "n", "outcome"),
    [
        ("x mod 3 = 5", 16, "holds"),
        ("x div 3 > 5", 8, "unknown"),
        ("x div 3 > 5", 32, "fails"),
        ("(if x > 3 then x div 10 else 0) = 3", 16, "unknown"),
        ("(x mod 6) div 3 = 1", 16, "fails"),
    ],
)
def test_only_what_a_larger_n_would_change_is_vacuous(text: str, n: int, outcome: str) -> None:
    """Beside what is never true: x mod 3 is never 5, whatever N; 7 div 3 is not above 5, and 18 div 3 is."""
    one, other = (
        wb.parse(f"pipeline p(x: int) -> bool {{ return {each} }}").get().pipeline for each in (text, "x < x")
    )
    assert wb.equiv(one, other, "stepwise", wb.Settings(n=n)).outcome == outcome


def test_terms_that_are_shared_are_looked_at_once() -> None:
    """2**60 additions as a tree, and 60 as they are shared."""
    term: Any = var("x", wb.INT)
    for _ in range(60):
        term = term + term
    ranges = _Ranges(wb.parse("pipeline p(x: int) -> int { return x }").get().pipeline, {Integers: (0, 7)})
    assert ranges.of(term, lambda name: ()) == (0, 7)


def test_what_is_compared_is_followed_back_to_the_inputs() -> None:
    for text, prop in (
        ("return x div 10 = 7", "always (not out)"),  # 70
        ("return (if x > 3 then x div 10 else 0) = 3", "always (not out)"),  # 30
        ("return x = x", "always (x div 10 != 7)"),
    ):
        found = ask(f"pipeline p(x: int) -> bool {{ {text} }}", prop)
        assert found.outcome is wb.Outcome.FAILS
    small = ask("pipeline p(x: int) -> bool { return x div 10 = 7 }", "always (not out)", n=16)
    assert (small.words, small.explanation) == ("holds vacuously", "quotient = 7 is never true (N = 16 prevents it)")
    assert small.vacuity is not None
    assert small.vacuity.bound == "N = 16"
    property_alone = ask("pipeline p(x: int) -> int { return x }", "always (x div 10 != 7)", n=16)
    assert property_alone.vacuity is not None
    beyond = ask("pipeline p(x: int) -> bool { return x div 100 = 50 }", "always (not out)")  # 5000: no N is so large
    assert beyond.vacuity is not None


def test_what_is_so_whatever_the_numbers_are_is_not_vacuous() -> None:
    for text in ("x mod 4 <= 5", "x * 2 != 7", "x >= 0", "x mod 3 < 3"):
        found = ask(f"pipeline p(x: int) -> bool {{ return {text} }}", "always (out)")
        assert (found.outcome, found.vacuity) == (wb.Outcome.HOLDS, None)


DIVIDED = wb.parse("""
pipeline filtered(x: int) -> int { return filter(x, x div 10 != 7) }
pipeline whole(x: int) -> int { return x }
pipeline half(t: float) -> bool { return t = 1.5 }
pipeline nothing(t: float) -> bool { return t != t }
pipeline seventy(x: int) -> bool { return x div 10 = 7 }
""")


def test_nothing_is_equivalent_for_want_of_numbers() -> None:
    filtered, whole = DIVIDED.get("filtered"), DIVIDED.get("whole")
    assert wb.equiv(filtered, whole).outcome is wb.Outcome.FAILS  # at 70
    assert wb.equiv(filtered, whole, settings=wb.Settings(n=16)).outcome is wb.Outcome.UNKNOWN
    half, nothing = DIVIDED.get("half"), DIVIDED.get("nothing")
    whole_numbers = wb.equiv(half, nothing, settings=wb.Settings(floats=(0, 2)))
    assert (whole_numbers.outcome, whole_numbers.exit_code) == (wb.Outcome.UNKNOWN, 3)
    assert "t = 1.5 is never true" in whole_numbers.reason


def test_numbers_reach_what_properties_compare_the_parts_of_records_with() -> None:
    """With x = 31 the one is false and the other true; that takes an N of 32."""
    program = wb.parse("pipeline p(a: {x: int, y: int}) -> {x: int, y: int} { return filter(a, a.x > a.y) }").get()
    for text, outcome in (("never(out.x > 30)", wb.Outcome.FAILS), ("can(out.x > 30)", wb.Outcome.HOLDS)):
        verdict = wb.check(program, text)
        assert (verdict.outcome, verdict.n) == (outcome, 32)


def test_nothing_is_dead_or_constant_for_want_of_numbers() -> None:
    small = wb.Settings(n=16)
    behaviour = {each.about: each.answer for each in constants(DIVIDED.get("seventy"), small)}
    assert behaviour["eq"] is PipeBehaviour.UNKNOWN
    assert {each.about: each.answer for each in constants(DIVIDED.get("seventy"))}["eq"] is PipeBehaviour.VARIES
    assert dead_paths(DIVIDED.get("filtered"), small).deletable == ()
    far = wb.parse("pipeline p(x: int) -> int { return filter(x, x div 10 = 7) }").get()
    assert dict(dead_paths(far, small).silent) == {}


@pytest.mark.parametrize(
    ("text", "prop"),
    [
        ("pipeline p(x: int) -> int { return filter(x, x > 3 and x < 4) }", "never (out = 0)"),
        ("pipeline p(x: int) -> bool { return filter(x > 3, x < x) }", "never-false"),
        ("pipeline p(x: int) -> bool { return filter(x > 3, x < x) }", "often-true"),
        ("pipeline p(x: int) -> bool { return x != x -> x < 5 }", "never-false"),
        ("pipeline p(x: int) -> bool { y = x != x -> x < 5\n return y and x >= 0 }", "always (out)"),
        ("pipeline p(t: float) -> bool { return t > 0.25 and t < 0.75 }", "always (not out)"),
    ],
)
def test_what_holds_for_want_of_cases(text: str, prop: str) -> None:
    found = ask(text, prop)
    assert (found.outcome, found.vacuity is None) == (wb.Outcome.HOLDS, False) or found.outcome is wb.Outcome.FAILS
    assert found.outcome is not wb.Outcome.FAILS or prop == "often-true"  # whoever never speaks never says true


def test_what_comes_true_is_not_vacuous() -> None:
    for text, prop in (
        ("pipeline p(x: int) -> int { return filter(x, x < 4) }", "never (out = 5)"),
        ("pipeline p(x: int) -> int { return filter(x, x < x) }", "never (out)"),
        ("pipeline p(x: int) -> bool { return x > 3 -> x >= 0 }", "never-false"),
    ):
        assert (ask(text, prop).words, ask(text, prop).exit_code) == ("holds", 0)


def test_a_condition_that_contradicts_itself_has_no_bound_to_blame() -> None:
    found = wb.equiv(PAIR.get("above"), PAIR.get("neither"))
    assert found.vacuity is not None
    assert "int = 0" not in found.vacuity.bound


@pytest.mark.parametrize("text", ["x < -3", "x = -3", "-3 > x"])
def test_numbers_below_all_of_a_model(text: str) -> None:
    found = ask(f"pipeline p(x: int) -> bool {{ return {text} }}", "always (not out)")
    assert found.vacuity is not None
    assert found.vacuity.bound == "int = 0..3"
    assert ask("pipeline p(x: int) -> int { return x }", f"always ({text})").outcome is wb.Outcome.FAILS
    with pytest.raises(wb.errors.DomainError, match="-N 5002"):
        ask("pipeline p(x: int) -> bool { return x > 5000 }", "always (not out)")


@pytest.mark.parametrize("text", ["t * 2.0 > 60.5", "t > u + 30.0", "u - 30.0 > t", "t div 10.0 = -7.0"])
def test_floats_that_are_computed_are_followed_back(text: str) -> None:
    found = ask(f"pipeline p(t: float, u: float) -> bool {{ return {text} }}", "always (not out)")
    assert found.outcome is wb.Outcome.FAILS


@pytest.mark.parametrize(
    ("text", "top", "bound"),
    [
        ("window(t, 2, cumulate(+)) > 60.0", 31, ""),  # 30 + 31
        ("t + trim(t, 1) > 60.0", 31, ""),
        ("t + trim(t, 1) > 62.0", 31, "add > 62 is never true"),
        ("max(t, 3.0) > 31.0", 31, "max > 31 is never true"),
        ("t - 10.0 > 21.0", 31, "sub > 21 is never true"),
        ("t + 2.0 != 6.0 and t + 2.0 >= 6.0", 4, "no run on which t is 5"),  # which makes it true
        ("t + 2.0 != 6.0 and t + 2.0 >= 6.0", 5, ""),
    ],
)
def test_floats_that_are_computed_reach_beyond_those_of_inputs(text: str, top: int, bound: str) -> None:
    found = ask(f"pipeline p(t: float) -> bool {{ return {text} }}", "always (not out)", floats=(-40, top))
    if bound:
        assert found.outcome is wb.Outcome.HOLDS
        assert found.vacuity is not None
        assert found.vacuity.never.startswith(bound)
    else:
        assert (found.outcome, found.vacuity) == (wb.Outcome.FAILS, None)
        shown = ask(f"pipeline p(t: float) -> bool {{ return {text} }}", "can(out)", floats=(-40, top))
        assert (shown.outcome, shown.vacuity) == (wb.Outcome.HOLDS, None)


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
    found = wb.equiv(one, other, "stepwise", wb.Settings(n=n))
    same, spoken = True, False
    for x, y in itertools.product(range(n), repeat=2):
        left, right = ([v for v in (x, y) if _says(*each, v)] for each in drawn)
        same, spoken = same and left == right, spoken or bool(left and right)
    both = all(len(set(_values([each], "and", n))) == len(set(_values([each], "and", 100))) for each in drawn)
    wanted = wb.Outcome.FAILS if not same else wb.Outcome.HOLDS if spoken and both else wb.Outcome.UNKNOWN
    structural = drawn[0] == drawn[1]
    assert found.outcome is wanted or (structural and found.outcome is wb.Outcome.HOLDS)


ARITHMETIC = {"+": operator.add, "*": operator.mul, "div": operator.floordiv, "mod": operator.mod}
steps = st.lists(st.tuples(st.sampled_from(sorted(ARITHMETIC)), st.integers(1, 40)), max_size=3)
computed = st.tuples(steps, st.sampled_from(sorted(COMPARISONS)), st.one_of(st.integers(0, 40), st.integers(0, 1000)))
Computed = tuple[list[tuple[str, int]], str, int]
WIDE = np.arange(20_000)


def _written(drawn: Computed) -> str:
    text = "x"
    for symbol, constant in drawn[0]:
        text = f"({text} {symbol} {constant})"
    return f"{text} {drawn[1]} {drawn[2]}"


def _computed(drawn: Computed) -> Any:
    """What it says of many more numbers than a model has."""
    value = WIDE
    for symbol, constant in drawn[0]:
        value = ARITHMETIC[symbol](value, constant)
    return COMPARISONS[drawn[1]](value, drawn[2])


@given(st.lists(computed, min_size=1, max_size=3), st.sampled_from(["and", "or"]), st.sampled_from([None, 8, 64]))
@example([([("*", 2), ("*", 2)], "!=", 0)], "and", None)  # modulo 4 it is always 0
@examples(60)
def test_nothing_holds_that_a_larger_number_refutes(drawn: list[Computed], word: str, n: int | None) -> None:
    condition = f" {word} ".join(map(_written, drawn))
    pipeline = wb.parse(f"pipeline p(x: int) -> bool {{ return {condition} }}").get()
    try:
        found = wb.check(pipeline, "always (not out)", wb.Settings() if n is None else wb.Settings(n=n))
    except wb.errors.DomainError:  # of a constant that no model has
        return
    join = np.logical_and if word == "and" else np.logical_or
    if functools.reduce(join, map(_computed, drawn)).any() and found.outcome is not wb.Outcome.FAILS:
        assert found.vacuity is not None


smaller = st.lists(st.tuples(st.sampled_from(sorted(ARITHMETIC)), st.integers(1, 12)), max_size=2)
summed = st.tuples(
    st.sampled_from(["x", "y", "x + y"]), smaller, st.sampled_from(sorted(COMPARISONS)), st.integers(0, 60)
)
PAIRS = {
    "x": np.arange(400)[:, None],
    "y": np.arange(400)[None, :],
    "x + y": np.add.outer(np.arange(400), np.arange(400)),
}


@given(
    st.lists(summed, min_size=1, max_size=2),
    st.sampled_from(["and", "or"]),
    st.sampled_from(["", *sorted(COMPARISONS)]),
)
@example([("x", [], "=", 3), ("x", [("+", 1)], "!=", 0)], "and", "")  # 3 + 1 is a number, too
@example([("y", [], ">=", 7)], "and", ">")  # x is 8 then
@examples(12)
def test_nothing_holds_that_two_larger_numbers_refute(
    drawn: list[tuple[str, list[tuple[str, int]], str, int]], word: str, between: str
) -> None:
    """`between` compares the two numbers with each other."""
    texts, truths = [], []
    for start, steps, symbol, constant in drawn:
        text, value = f"({start})", PAIRS[start]
        for step, number in steps:
            text, value = f"({text} {step} {number})", ARITHMETIC[step](value, number)
        texts.append(f"{text} {symbol} {constant}")
        truths.append(COMPARISONS[symbol](value, constant))
    if between:
        texts.append(f"x {between} y")
        truths.append(COMPARISONS[between](PAIRS["x"], PAIRS["y"]))
    pipeline = wb.parse(f"pipeline p(x: int, y: int) -> bool {{ return {f' {word} '.join(texts)} }}").get()
    found = wb.check(pipeline, "always (not out)", wb.Settings(seconds=scaled(1, 5)))
    true = functools.reduce(np.logical_and if word == "and" else np.logical_or, truths).any()
    if true and found.outcome in (wb.Outcome.HOLDS, wb.Outcome.WITHIN_BOUNDS):
        assert found.vacuity is not None


fraction = st.tuples(st.sampled_from(sorted(COMPARISONS)), st.integers(0, 24).map(lambda quarters: quarters / 4))
FRACTIONS = np.arange(-16, 80) / 8


@given(st.lists(fraction, min_size=1, max_size=3), st.sampled_from(["and", "or"]), st.sampled_from([None, (0, 3)]))
@example([("<=", 0.25), (">=", 0.25)], "and", None)
@example([("!=", 8), (">=", 8)], "and", None)
@examples(40)
def test_nothing_holds_that_a_fraction_refutes(
    drawn: list[tuple[str, float]], word: str, floats: tuple[int, int] | None
) -> None:
    condition = f" {word} ".join(f"t {symbol} {constant}" for symbol, constant in drawn)
    pipeline = wb.parse(f"pipeline p(t: float) -> bool {{ return {condition} }}").get()
    found = wb.check(pipeline, "always (not out)", wb.Settings(floats=floats))
    join = np.logical_and if word == "and" else np.logical_or
    true = functools.reduce(join, [COMPARISONS[symbol](FRACTIONS, constant) for symbol, constant in drawn])
    if true.any() and found.outcome is not wb.Outcome.FAILS:
        assert found.vacuity is not None


@pytest.mark.parametrize("least", range(5))
def test_can_and_never_ask_for_the_value_of_a_boolean_pipe_and_for_events_on_others(least: int) -> None:
    """Of x in 0..3, `x >= least` can be true up to 3, and `filter(x, x >= least)` can emit just then."""
    text = f"x: 0..3) -> bool, 0..3 {{ return x >= {least}, filter(x, x >= {least}) }}"
    program = wb.parse(f"pipeline p({text}").get()
    outcomes = [wb.check(program, f"{name}({pipe})").outcome for pipe in ("out1", "out2") for name in ("can", "never")]
    assert outcomes == [wb.Outcome.HOLDS if holds else wb.Outcome.FAILS for holds in (least <= 3, least > 3)] * 2
    if least <= 3:
        shown = wb.check(program, "can(out1)").counterexample
        assert shown is not None
        assert shown.steps[-1].pipes["ge"] is True


def test_a_variable_of_floats_may_begin_with_a_whole_number() -> None:
    """0.0 is the whole number 0 in a model; 0.5 is none."""
    text = """machine best(x: float) -> float {{
        var best: float = {}
        state run: best
        run -> run when x > best / best := x
    }}"""
    assert wb.check(wb.parse(text.format("0.0")).get(), "never(out > 150.0)").outcome == "fails"
    with pytest.raises(wb.WorkbenchError, match=r"the variable 'best' begins with 0\.5"):
        wb.check(wb.parse(text.format("0.5")).get(), "never(out > 150.0)")


@pytest.mark.parametrize(("one", "other", "same"), [
    ("x * x", "x", False), ("x * x", "x * x * x", False), ("abs(x)", "x", False), ("x * y", "y * x", True),
    ("x * y", "x * x * y", False), ("abs(x) * y", "x * abs(y)", False),
])  # fmt: skip
def test_floats_that_hide_no_difference(one: str, other: str, same: bool) -> None:
    """0 and 1 are equal to their squares, and positive floats to their absolute values."""
    together = wb.Settings(environment=wb.Environment("synchronised"))
    left, right = (
        wb.parse(f"pipeline p(x: float, y: float) -> float {{ return {each} + y }}").get() for each in (one, other)
    )
    assert wb.equiv(left, right, settings=together).outcome == ("holds" if same else "fails")
