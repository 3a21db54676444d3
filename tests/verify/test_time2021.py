"""The paper's pipelines: the facts it states, and that none of its exporter's known defects is in our models.

Expected values come from TIME 2021's definitions and text, worked out by hand.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import workbench as wb
from workbench import Outcome, Settings
from workbench.conformance.compare.models import Simulated, compose_whole
from workbench.core.pipeline import Pipeline
from workbench.errors import EngineError
from workbench.smv.engines.engine import Query, Task
from workbench.smv.printer import print_model
from workbench.verify.answer.problem import equiv
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.equivalence import EquivalenceMode
from workbench.verify.ask.labels import property_from
from workbench.verify.ask.properties import Property
from workbench.verify.decide.table import get_engine

MODELS = Path(__file__).resolve().parents[2] / "models" / "time2021"
FILES = sorted(path.stem for path in MODELS.glob("*.pipe"))
SYNCHRONISED = {"figure_2b"}
"""Pipelines of two inputs."""


def load(file: str, name: str | None = None, **params: int) -> Pipeline:
    return wb.read_file(MODELS / f"{file}.pipe").get(name, **params).pipeline


def simulated(
    pipeline: Pipeline, values: list[int], n: int = 16, q: int = 6, pipe: str | None = None
) -> list[int | None]:
    """What NuSMV's own simulation of the printed model shows at the output."""
    finite = pipeline.resolve(wb.Integer(n))
    shown = pipe or pipeline.outputs[0][1]
    return [seen.pipes[shown] for seen in Simulated(finite, q).trace([{"x": v} for v in values])]


def always(text: str) -> Property:
    return property_from(wb.properties.parse_property(f"always ({text})"))


# --- facts ----------------------------------------------------------------------------------------------------


def test_sum_of_odds_emits_the_squares_at_every_second_input() -> None:
    assert simulated(load("sum_of_odds"), [7] * 8, n=32) == [None, 1, None, 4, None, 9, None, 16]
    assert simulated(load("sum_of_odds", "squares"), [7] * 4, n=32) == [1, 4, 9, 16]


def test_with_odd_for_even_it_sums_successive_even_numbers() -> None:
    assert simulated(load("sum_of_odds", "sum_of_evens"), [7] * 7, n=32) == [None, None, 2, None, 6, None, 12]
    assert simulated(load("sum_of_odds", "sum_of_twos"), [7] * 3, n=32) == [2, 6, 12]


@pytest.mark.parametrize("n", [2, 4, 8])
def test_5a_and_5b_are_sequence_equivalent_for_even_n_and_not_stepwise(n: int) -> None:
    a, b = load("sum_of_odds"), load("sum_of_odds", "squares")
    sequence = equiv(a, b, "sequence", Settings(n=n, q=2))
    # the squares are ahead by one output more with every two inputs, so the comparison is bounded by its queue
    assert sequence.outcome is Outcome.WITHIN_BOUNDS
    assert sequence.witness.steps[-1].overflows == ("same.right",)
    stepwise = equiv(a, b, "stepwise", Settings(n=n))
    assert stepwise.outcome is Outcome.FAILS
    assert len(stepwise.counterexample.steps) == 1


@pytest.mark.parametrize("n", [3, 5])
def test_modulo_an_odd_n_the_counter_loses_its_parity_and_the_verdict_says_that_it_wraps(n: int) -> None:
    verdict = equiv(load("sum_of_odds"), load("sum_of_odds", "squares"), "sequence", Settings(n=n, q=4))
    assert verdict.outcome is Outcome.FAILS
    assert verdict.wraps
    assert verdict.counterexample.replay == "confirmed by execution"
    assert any(f"wraps modulo {n}" in line for line in verdict.rests_on)


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("file", "other"), [("window_sum_of_2", "trim_sum_of_2"), ("window_sum_of_3", "trim_sum_of_3")]
)
@pytest.mark.parametrize("mode", ["stepwise", "sequence"])
@pytest.mark.parametrize("n", [2, 5, 256])
def test_both_window_sums_are_equivalent(file: str, other: str, mode: EquivalenceMode, n: int) -> None:
    assert equiv(load(file), load(file, other), mode, Settings(n=n)).outcome is Outcome.HOLDS


def test_passthrough_and_delay() -> None:
    now, later = load("passthrough_against_delay"), load("passthrough_against_delay", "delay")
    assert equiv(now, later, "sequence").outcome is Outcome.HOLDS
    assert equiv(now, later, "stepwise").outcome is Outcome.FAILS


def test_figure_2a_on_the_natural_numbers() -> None:
    found = simulated(load("figure_2a"), list(range(10)))
    assert found == [0, None, None, 4, None, None, 8, None, None, 12]


@pytest.mark.parametrize("q", [0, 1, 2, 3, 7])
def test_figure_2a_overflows_at_every_capacity(q: int) -> None:
    verdict = wb.check(load("figure_2a"), wb.properties.no_overflow(), Settings(q=q))
    assert verdict.outcome is Outcome.FAILS
    assert verdict.counterexample.steps[-1].overflows == ("add.right",)
    assert verdict.counterexample.replay == "confirmed by execution"


def test_figure_5a_needs_one_slot_and_5b_none() -> None:
    """Section 4.2: Q >= 1 suffices for Figure 5a, Q >= 0 for Figure 5b."""
    for name, enough in (("sum_of_odds", 1), ("squares", 0)):
        pipeline = load("sum_of_odds", name)
        assert wb.check(pipeline, wb.properties.no_overflow(), Settings(q=enough)).outcome is Outcome.HOLDS
    assert wb.check(load("sum_of_odds"), wb.properties.no_overflow(), Settings(q=0)).outcome is Outcome.FAILS


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_sum_of_ones_is_k_and_live(k: int) -> None:
    pipeline = load("sum_of_ones_on_window", k=k)
    for n in (k + 1, 8):
        settings = Settings(n=n)
        assert wb.check(pipeline, always(f"out.present -> out = {k}"), settings).outcome is Outcome.HOLDS
        assert wb.check(pipeline, wb.properties.liveness(), settings).outcome is Outcome.HOLDS


@pytest.mark.parametrize("k", [2, 3])
def test_figure_2b_counts_how_often_a_was_true(k: int) -> None:
    """The monitor says at step i + k whether b[i+k] is the number of true among a[i] .. a[i+k-1]."""
    a = [True, True, False, True, False, False, True, True]
    b = [0, 0, 2, 2, 2, 0, 0, 1]
    expected = [None] * k + [b[i] == sum(a[i - k : i]) for i in range(k, len(a))]
    pipeline = load("figure_2b", k=k)
    finite = pipeline.resolve(wb.Integer(8))
    steps = [{"a": x, "b": y} for x, y in zip(a, b, strict=True)]
    shown = [seen.pipes[pipeline.outputs[0][1]] for seen in Simulated(finite, 2).trace(steps)]
    assert shown == expected


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", FILES)
def test_the_checks_in_the_files_are_decided_and_confirmed(file: str) -> None:
    source = wb.read_file(MODELS / f"{file}.pipe")
    for name in source.pipelines:
        loaded = source.get(name)
        for written in loaded.checks:
            verdict = wb.check(loaded, written, Settings(n=6, seconds=60))
            assert verdict.outcome in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS), (name, str(written))
            _confirmed(verdict)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("file", FILES)
def test_what_holds_for_every_n_holds_for_other_n(file: str) -> None:
    """`every N` is claimed where no integer of a chosen domain is left; then the domain cannot matter."""
    pipeline = load(file)
    for prop in (
        wb.properties.liveness(),
        wb.properties.response(),
        wb.properties.bounded_liveness(2),
        wb.properties.no_overflow(),
        wb.properties.no_full_queues(),
    ):
        found = [wb.check(pipeline, prop, Settings(n=n, q=2)) for n in (5, 7, 16)]
        if found[0].for_every_n:
            assert len({verdict.outcome for verdict in found}) == 1
            assert all(verdict.for_every_n for verdict in found)


def _confirmed(verdict: Verdict) -> None:
    for trace in (verdict.counterexample, verdict.witness):
        assert trace is None or trace.replay == "confirmed by execution"


# --- the ten defects of the peer's models (the numbers are those of the list they come from) --------------------


def printed(file: str, n: int = 5, q: int = 2) -> str:
    return print_model(compose_whole(load(file).resolve(wb.Integer(n)), q).system).text


@pytest.mark.parametrize("file", FILES)
def test_defects_1_and_5_only_inputs_are_free_variables(file: str) -> None:
    """Every variable outside the inputs has an initial value and a next value; every pipe is a definition."""
    for module in re.split(r"^MODULE ", printed(file), flags=re.MULTILINE)[1:]:
        if module.startswith(("Input", "main")):
            continue
        declared = re.search(r"VAR\n(.*?)(?=\n  DEFINE|\n  ASSIGN|\Z)", module, re.DOTALL)
        names = re.findall(r"^    (\w+) :", declared[1], re.MULTILINE) if declared else []
        for name in names:
            assert f"init({name}) :=" in module, (module, name)
            assert f"next({name}) :=" in module, (module, name)
        assert "present :=" in module or "fires :=" in module or "now :=" in module


@pytest.mark.sampled(5)
@pytest.mark.parametrize("file", FILES)
@pytest.mark.parametrize("q", [0, 1, 2])
def test_defect_2_a_pipeline_is_equivalent_to_itself_whatever_overflows(file: str, q: int) -> None:
    pipeline = load(file)
    for mode in ("stepwise", "sequence"):
        verdict = equiv(pipeline, pipeline, mode, Settings(n=5, q=q))
        assert verdict.outcome in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS)
        _confirmed(verdict)


def test_defect_3_decimation_emits_events_0_3_6() -> None:
    assert simulated(load("figure_2a"), list(range(9)), pipe="third") == [
        0,
        None,
        None,
        3,
        None,
        None,
        6,
        None,
        None,
    ]


def test_defect_4_a_product_over_a_window_starts_from_1() -> None:
    assert simulated(load("product_on_window_of_3"), [1, 2, 3, 2, 1], n=32) == [None, None, 6, 12, 6]


def test_defect_5_every_event_is_turned_into_1_before_the_window() -> None:
    assert simulated(load("sum_of_ones_on_window"), [7, 0, 7, 5], pipe="one") == [1, 1, 1, 1]
    assert simulated(load("sum_of_ones_on_window"), [7, 0, 7, 5]) == [None, None, 3, 3]


@pytest.mark.parametrize("file", ["product_on_window_of_3", "sum_of_ones_on_window", "sum_on_window_of_3"])
@pytest.mark.parametrize("q", [1, 2])
def test_defect_6_a_windows_own_memory_is_not_a_queue(file: str, q: int) -> None:
    assert wb.check(load(file), wb.properties.no_full_queues(), Settings(q=q)).outcome is Outcome.HOLDS


def test_defect_7_a_queue_that_is_full_has_lost_nothing() -> None:
    pipeline = load("window_sum_of_2", "trim_sum_of_2")
    assert wb.check(pipeline, wb.properties.no_full_queues(), Settings(q=1)).outcome is Outcome.FAILS
    assert wb.check(pipeline, wb.properties.no_overflow(), Settings(q=1)).outcome is Outcome.HOLDS


@pytest.mark.parametrize("file", ["passthrough", "sum_of_doubles", "sum_of_odds", "sum_of_ones_on_window"])
def test_defect_8_liveness_does_not_fail_because_input_may_stop(file: str) -> None:
    for prop in (wb.properties.liveness(), wb.properties.response()):
        assert wb.check(load(file), prop).outcome is Outcome.HOLDS


def test_defect_8_liveness_and_response_differ() -> None:
    source = wb.parse("pipeline evens(x: int) -> int { return filter(x, even(x)) }")
    pipeline = source.get().pipeline
    assert wb.check(pipeline, wb.properties.liveness()).outcome is Outcome.HOLDS
    assert wb.check(pipeline, wb.properties.response()).outcome is Outcome.FAILS


def test_defect_9_output_if_smaller_than_k_stays_silent_or_the_verdict_names_the_wrap() -> None:
    pipeline = load("output_if_smaller_than_k")
    assert pipeline.denote([[5] * 100]) == ([1, 2, 3],)
    assert wb.check(pipeline, wb.properties.liveness(), Settings(n=8, integers="saturating")).outcome is Outcome.FAILS
    modular = wb.check(pipeline, wb.properties.liveness(), Settings(n=8))
    assert modular.outcome is Outcome.HOLDS
    assert modular.wraps
    saturating = load("output_if_smaller_than_k", "output_if_smaller_than_k_saturating")
    assert wb.check(saturating, wb.properties.liveness(), Settings(n=8)).outcome is Outcome.FAILS


@pytest.mark.parametrize("file", FILES)
def test_defect_10_every_reachable_state_has_a_successor(file: str) -> None:
    result = get_engine().check(Task(printed(file), (Query("ctl", "AG EX TRUE"),)))
    assert result.answers[0].truth is True


def test_defect_10_a_deadlocking_model_is_an_error_and_not_a_verdict() -> None:
    dead = "MODULE main\nVAR n : 0..3;\nASSIGN init(n) := 0;\nTRANS next(n) = n + 1;\n"
    with pytest.raises(EngineError, match=r"deadlock|successor"):
        get_engine().check(Task(dead, (Query("ltl", "G n < 9"),)))
