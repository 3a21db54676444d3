"""Checking pipelines: verdicts with independently known answers, and what they rest on."""

from __future__ import annotations

import json

import pytest

from workbench import BOOL, INT, Enum, Environment, Integer, Outcome, Range, Settings, check, pipeline
from workbench.core.domain import Overflowing
from workbench.core.function import Function
from workbench.core.ops import GE
from workbench.functions import ADD, AND, EQ, EVEN, GT, LT, NOT
from workbench.language import parse, parse_property
from workbench.processors import CountDecimate, Cumulate, Filter, Trim, TurnInto
from workbench.properties import (  # fmt: skip
    always,
    bounded_liveness,
    liveness,
    no_full_queues,
    no_overflow,
    property_from,
    response,
)
from workbench.verify.ask.properties import Property


@pipeline(x=INT)
def figure_2a(x):
    return CountDecimate(3)(x) + x


@pipeline(x=INT)
def delayed_sum(x):
    return x + Trim(1)(x)


@pipeline(a=INT, b=INT)
def total(a, b):
    return a + b


@pipeline(x=INT)
def smaller_than_3(x):
    count = Cumulate(ADD)(TurnInto(1)(x)).named("count")
    return Filter()(count, Function("<= 3", 1, lambda v: v <= 3)(count))


@pipeline(x=INT)
def even_only(x):
    return Filter()(x, EVEN(x))


@pipeline(x=INT)
def silent(x):
    return Filter()(x, LT(x, 0))


def written(text: str) -> Property:
    """A property as a user writes it."""
    return property_from(parse_property(text))


def test_figure_2a_overflows_at_every_capacity_with_the_shortest_witness() -> None:
    """At Q the (Q+1)-th waiting event overflows: of the inputs 1 .. n, those not divisible by 3 wait."""
    for q in range(5):
        verdict = check(figure_2a, no_overflow(), Settings(q=q))
        trace = verdict.counterexample
        assert verdict.outcome is Outcome.FAILS
        assert trace is not None
        waiting, steps = 0, 0
        while waiting <= q:  # the event at index `steps` waits unless the decimation lets it through
            waiting += steps % 3 != 0
            steps += 1
        assert len(trace.steps) == steps
        assert trace.steps[-1].overflows == ("add.right",)
        assert trace.replay == "confirmed by execution"
        assert trace.shortest
        assert verdict.for_every_n


def test_a_queue_that_holds_exactly_its_capacity_has_not_overflowed() -> None:
    assert check(delayed_sum, no_overflow(), Settings(q=1)).outcome is Outcome.HOLDS
    assert check(delayed_sum, no_full_queues(), Settings(q=1)).outcome is Outcome.FAILS
    assert check(delayed_sum, no_full_queues(), Settings(q=2)).outcome is Outcome.HOLDS
    assert check(delayed_sum, no_overflow(), Settings(q={"add.left": 1, "add.right": 0})).outcome is Outcome.HOLDS
    assert check(delayed_sum, no_overflow(), Settings(q=0)).outcome is Outcome.FAILS


def test_liveness_and_response_are_different_questions() -> None:
    """Odd numbers for ever keep the filter silent, though an even one may always come."""
    assert check(even_only, liveness()).outcome is Outcome.HOLDS
    verdict = check(even_only, response())
    assert verdict.outcome is Outcome.FAILS
    trace = verdict.counterexample
    assert trace is not None
    assert trace.loop is not None
    assert all(step.inputs["x"] % 2 == 1 for step in trace.steps[trace.loop :])


def test_liveness_does_not_fail_because_the_environment_may_stop() -> None:
    @pipeline(x=INT)
    def identity(x):
        return Trim(0)(x)

    for prop in (liveness(), response(), bounded_liveness(0)):
        assert check(identity, prop).outcome is Outcome.HOLDS


def test_a_filter_that_never_speaks() -> None:
    verdict = check(silent, liveness())
    assert verdict.outcome is Outcome.FAILS
    assert verdict.counterexample is not None
    assert verdict.counterexample.replay == "confirmed by execution"


def test_output_if_smaller_than_k_falls_silent_on_saturating_integers() -> None:
    verdict = check(smaller_than_3, liveness(), Settings(n=8, integers="saturating"))
    assert verdict.outcome is Outcome.FAILS
    trace = verdict.counterexample
    assert [step.pipes["filter"] for step in trace.steps] == [1, 2, 3, None]
    assert trace.replay == "confirmed by execution"


def test_output_if_smaller_than_k_is_silent_as_far_as_checked_integers_reach() -> None:
    """What comes after a number left its domain is not known; before that, nothing comes after 1, 2, 3."""
    verdict = check(smaller_than_3, liveness(), Settings(n=8, integers="checked"))
    assert verdict.outcome is Outcome.WITHIN_BOUNDS
    assert any("not live within these bounds: after some 4 steps" in line for line in verdict.rests_on)


def test_output_if_smaller_than_k_speaks_again_modulo_n_and_the_verdict_says_why() -> None:
    verdict = check(smaller_than_3, liveness(), Settings(n=8, integers="modular"))
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.wraps
    assert any("wraps modulo 8" in line for line in verdict.rests_on)


def test_bounded_liveness_counts_silent_steps() -> None:
    """A decimation by 3 is silent twice in a row, never three times."""

    @pipeline(x=INT)
    def third(x):
        return CountDecimate(3)(x)

    assert check(third, bounded_liveness(2)).outcome is Outcome.HOLDS
    verdict = check(third, bounded_liveness(1))
    assert verdict.outcome is Outcome.FAILS
    assert len(verdict.counterexample.steps) == 3


def test_two_inputs_overflow_unless_they_are_synchronised() -> None:
    assert check(total, no_overflow()).outcome is Outcome.FAILS
    for arrivals in ("synchronised", "always"):
        settings = Settings(q=0, environment=Environment(arrivals))
        assert check(total, no_overflow(), settings).outcome is Outcome.HOLDS


def test_overflow_bounds_a_safety_verdict() -> None:
    verdict = check(figure_2a, written("always (decimate.present -> add.present)"))
    assert verdict.outcome is Outcome.WITHIN_BOUNDS
    assert verdict.witness is not None
    assert verdict.witness.steps[-1].overflows == ("add.right",)
    assert verdict.outcome.exit_code == 0


def test_a_violation_before_any_overflow_is_a_failure_all_the_same() -> None:
    verdict = check(figure_2a, written("always (add = 0)"))
    assert verdict.outcome is Outcome.FAILS
    assert len(verdict.counterexample.steps) == 1


@pytest.mark.parametrize(
    ("text", "outcome"),
    [
        ("ctl(AG EF out.present)", "holds"),
        ("ctl(EF (out.present and out = 3))", "holds"),
        ("ctl(AG out.present)", "fails"),
        ("ltl(G (out.present -> x.present))", "holds"),
        ("ltl(G F x.present -> G F out.present)", "holds"),
        ("ltl(F out.present)", "fails"),
        ("always (queue(add.left).length <= 1)", "holds"),
        ("always (queue(add.left).length = 0)", "fails"),
        ("always (out.present -> trim.present)", "holds"),
        ("always (x >= 0)", "holds"),
        ("always (not queue(add.right).full)", "holds"),
        ("always (not overflow)", "holds"),
    ],
)
def test_custom_formulas(text: str, outcome: str) -> None:
    verdict = check(delayed_sum, written(text), Settings(q=1 if "full" not in text else 2))
    assert str(verdict.outcome) == outcome
    if verdict.counterexample is not None:
        assert verdict.counterexample.replay == "confirmed by execution"


def test_every_n_costs_the_same_and_is_said() -> None:
    verdict = check(delayed_sum, liveness(), Settings(n=2**32))
    assert verdict.outcome is Outcome.HOLDS
    assert verdict.for_every_n
    assert any(line.startswith("every N") for line in verdict.rests_on)
    assert verdict.cpu_seconds < 5


def test_checked_numbers_that_leave_their_domain_bound_the_verdict() -> None:
    @pipeline(x=INT)
    def doubled(x):
        return x * 2

    verdict = check(doubled, always(lambda s: GE(s.pipes["mul"].value, 0), "mul >= 0"), Settings(integers="checked"))
    assert verdict.outcome is Outcome.WITHIN_BOUNDS
    assert verdict.witness is not None
    assert verdict.witness.steps[-1].inputs["x"] in (2, 3)  # 4 and 6 are not in 0..3
    assert verdict.witness.replay == "confirmed by execution"


def test_enumerations_and_booleans_in_counterexamples() -> None:
    colour = Enum(("red", "green", "TRUE"))

    @pipeline(x=colour, keep=BOOL)
    def kept(x, keep):
        return Filter()(x, keep)

    verdict = check(kept, written("always (not (out = green))"))
    assert verdict.outcome is Outcome.FAILS
    last = verdict.counterexample.steps[-1]
    assert last.pipes["filter"] == "green"
    assert verdict.counterexample.replay == "confirmed by execution"


def test_ranges_have_exact_arithmetic_in_the_model() -> None:
    @pipeline(x=Range(-3, 4))
    def shown(x):
        return x * x

    assert check(shown, written("always (mul <= 16 and mul >= 0)")).outcome is Outcome.HOLDS
    assert check(shown, written("always (mul < 16)")).outcome is Outcome.FAILS


@pytest.mark.parametrize("n", [4, 5])
@pytest.mark.parametrize("kind", [Overflowing.MODULAR, Overflowing.SATURATING])
def test_division_and_remainder_agree_with_execution(n: int, kind: Overflowing) -> None:
    """A wrong translation would show as a counterexample that execution does not confirm, or as a missing one."""

    @pipeline(x=INT, y=INT)
    def rest(x, y):
        return EQ((x // y) * y + x % y, x)

    settings = Settings(n=n, integers=kind, environment=Environment("always"))
    verdict = check(rest, written("always (out)"), settings)
    # x = (x div y) * y + x mod y for every y, zero included; nothing leaves 0..N-1 on the way
    assert verdict.outcome is Outcome.HOLDS
    assert not verdict.wraps


def test_verdicts_as_json() -> None:
    found = json.loads(json.dumps(check(figure_2a, no_overflow()).to_json()))
    needed = {
        "pipeline",
        "property",
        "verdict",
        "engine",
        "seconds",
        "Q",
        "N",
        "assumptions",
        "counterexample",
    }
    assert needed <= found.keys()
    assert found["verdict"] == "fails"
    assert found["counterexample"][1] == {"x": 0, "decimate": None, "add": None}


def test_a_time_limit_is_an_unknown_with_its_reason() -> None:
    @pipeline(x=INT, y=INT)
    def product(x, y):
        return GT(Cumulate(ADD)(x) * Cumulate(ADD)(y), 5)

    settings = Settings(n=2**14, seconds=1.0, environment=Environment("always"))
    verdict = check(product, written("ctl(AG EF (out.present and out))"), settings)
    assert verdict.outcome is Outcome.UNKNOWN
    assert verdict.reason
    assert verdict.outcome.exit_code == 3


def test_integer_domains_given_in_the_pipeline_are_kept() -> None:
    @pipeline(x=Integer(5))
    def fixed(x):
        return Cumulate(ADD)(x)

    verdict = check(fixed, written("always (out <= 4)"), Settings(n=2))
    assert verdict.outcome is Outcome.HOLDS


def test_a_queue_the_property_does_not_see_neither_bounds_nor_cuts_its_counterexample() -> None:
    @pipeline(x=BOOL, y=BOOL)
    def two(x, y):
        _unused = AND(x, y)  # overflows at once when only one input comes
        return NOT(y)

    verdict = check(two, bounded_liveness(2), Settings(q=0))
    assert verdict.outcome is Outcome.FAILS
    assert len(verdict.counterexample.steps) == 3
    assert verdict.counterexample.replay == "confirmed by execution"


def test_a_checked_number_the_property_does_not_see_stops_the_replay_and_is_no_gap() -> None:
    @pipeline(x=INT)
    def counted(x):
        _unused = Cumulate(ADD)(TurnInto(1)(x))  # leaves 0..3 at the fourth event
        return CountDecimate(9)(x)

    verdict = check(counted, bounded_liveness(6), Settings(integers="checked"))
    assert verdict.outcome is Outcome.FAILS
    assert len(verdict.counterexample.steps) == 8
    assert verdict.counterexample.replay.startswith("confirmed by execution up to step 3")
    assert not verdict.counterexample.gap


def test_a_run_that_repeats_shows_the_variables_of_machines() -> None:
    """`first` counts the first events only; `all` goes on for ever, so its value differs from round to round."""
    source = parse("""
    machine m(x: bool) -> bool {
        var first: 0..2 = 0, all: int mod 8 = 0
        state s: false
        s -> s / first := min(first + 1, 2), all := all + 1
    }
    """)
    verdict = check(source.get().pipeline, "ltl(G F x.present -> G F out)")
    run = verdict.counterexample
    assert run is not None
    assert run.loop is not None
    events = [step.inputs.get("x") is not None for step in run.steps]
    counts = [sum(events[: number + 1]) for number in range(len(events))]
    assert [step.variables["first"] for step in run.steps] == [min(count, 2) for count in counts]
    assert [step.variables["all"] for step in run.steps] == [count % 8 for count in counts]
    assert "all" in run.varies or counts[-1] == counts[run.loop]
