"""Silence and latency: values computed by hand, and by exploring random pipelines."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench import BOOL, Environment, Integer, Pipeline, Settings, check, parse, read_file
from workbench.conformance.generate.pipelines import pipelines
from workbench.processors.held.group import flatten
from workbench.properties import bounded_liveness
from workbench.verify.analyses import latencies, latency, longest_silence
from workbench.verify.analyses.truncate import without_unread
from workbench.verify.answer.verdict import Outcome
from workbench.verify.finding import Finding

from .brute import Explored

MODELS = Path(__file__).parents[3] / "models" / "time2021"


def model(file: str, name: str | None = None) -> Pipeline:
    return read_file(str(MODELS / f"{file}.pipe")).get(name).pipeline


def text(source: str) -> Pipeline:
    return parse(source).get().pipeline


SILENCES = [
    ("passthrough", None, 0),  # an output for every event
    ("passthrough_against_delay", "delay", 1),  # the first event waits for the second, then none is silent
    ("sum_of_odds", None, 1),  # of two events one gives an output
    ("sum_of_odds", "sum_of_evens", 2),  # the first output comes with the third event
    ("window_sum_of_2", None, 1),  # a window of k gives nothing for k - 1 events
    ("sum_on_window_of_3", None, 2),
    ("window_sum_of_3", "trim_sum_of_3", 2),
    ("sum_of_doubles", None, 0),
]


@pytest.mark.parametrize(("file", "name", "steps"), SILENCES)
def test_silence_by_hand(file: str, name: str | None, steps: int) -> None:
    found = longest_silence(model(file, name))
    assert (found["steps"], found.outcome, found["unbounded"]) == (steps, Outcome.HOLDS, False)
    if steps:
        assert found["witness"] is not None
        assert len(found["witness"].steps) >= steps
        assert found["witness"].replay == "confirmed by execution"


def test_silence_without_end() -> None:
    """Saturating at 4, the count goes beyond 3 with the fourth event, and nothing comes any more."""
    found = longest_silence(model("output_if_smaller_than_k", "output_if_smaller_than_k_saturating"))
    assert found["unbounded"]
    assert found["steps"] is None
    assert found["witness"] is not None
    assert found["witness"].loop is not None
    assert found["witness"].loop >= 3
    assert found["witness"].replay == "confirmed by execution"
    assert all(
        "filter" not in s.pipes or s.pipes["filter"] is None for s in found["witness"].steps[found["witness"].loop :]
    )


def test_silence_is_a_lower_bound_where_a_queue_overflows() -> None:
    """Figure 2a: two events after the third wait; the sum of the next comes at once, or the queue overflows."""
    found = longest_silence(model("figure_2a"))
    assert (found["steps"], found.verdict.outcome) == (2, Outcome.WITHIN_BOUNDS)
    assert "perhaps more" in found.says


def test_silence_of_one_output() -> None:
    pipeline = text("pipeline two(x: int) -> a: int, b: int { return x, decimate(x, 4) }")
    assert [longest_silence(pipeline, output=name)["steps"] for name in (None, "a", "b")] == [0, 0, 3]


LATENCIES = [
    ("passthrough", None, 0),
    ("passthrough_against_delay", "delay", 1),  # it waits for the next event
    ("sum_of_odds", None, 1),  # a count waits for the parity of the next one
    ("window_sum_of_3", None, 0),  # a window's memory is no waiting: its last event causes what comes out
    ("window_sum_of_3", "trim_sum_of_3", 2),  # x[i] is added to x[i + 1] and x[i + 2]
    ("window_sum_of_2", "trim_sum_of_2", 1),
    ("sum_of_doubles", None, 0),  # both sides of the product come in the same step
    ("output_if_smaller_than_k", None, 0),
]


@pytest.mark.parametrize(("file", "name", "steps"), LATENCIES)
def test_latency_by_hand(file: str, name: str | None, steps: int) -> None:
    (found,) = latencies(model(file, name))
    assert (found["input"], found["output"], found["steps"], found.outcome) == ("x", "out", steps, Outcome.HOLDS)
    assert found["witness"] is not None
    assert len(found["witness"].steps) > steps
    assert found["witness"].replay == "confirmed by execution"


@pytest.mark.parametrize("q", range(1, 5))
def test_latency_grows_with_the_queue_where_that_is_not_bounded(q: int) -> None:
    """Figure 2a, x[3i] + x[i]: x[i] waits 2i steps in a queue that then holds 2i events, so 2i is at most Q."""
    (found,) = latencies(model("figure_2a"), Settings(q=q))
    assert (found["steps"], found.verdict.outcome) == (q - q % 2, Outcome.WITHIN_BOUNDS)


def test_unbounded_latency_is_a_loop_in_which_the_event_waits() -> None:
    pipeline = text("pipeline sides(x: int, y: int, z: int) -> a: int, b: int { return x + y, z }")
    found = latency(pipeline, "x", "a")
    assert found["unbounded"]
    assert found["witness"] is not None
    assert found["witness"].loop is not None
    looping = found["witness"].steps[found["witness"].loop :]
    assert all(step.queues["add.left"] > 0 and "z" in step.inputs for step in looping)
    assert found["witness"].replay == "confirmed by execution"


def test_latency_between_pipes_that_are_not_connected_is_not_asked() -> None:
    pipeline = text("pipeline sides(x: int, y: int) -> a: int, b: int { return x, y }")
    assert [(found["input"], found["output"]) for found in latencies(pipeline)] == [("x", "a"), ("y", "b")]


def test_an_event_that_is_never_let_through_has_no_latency() -> None:
    (found,) = latencies(text("pipeline none(x: int) -> int { return filter(x, x != x) }"))
    assert (found["steps"], found.outcome, found.says) == (None, Outcome.HOLDS, "none")


def test_latency_depends_on_how_the_inputs_come() -> None:
    pipeline = text("pipeline sum(x: int, y: int) -> int { return x + y }")
    together = Settings(environment=Environment("synchronised"))
    assert [found["steps"] for found in latencies(pipeline, together)] == [0, 0]
    # the third of three waiting events of x: y, x, y, x, y, where each x fills the place that a y has emptied
    assert [found["steps"] for found in latencies(pipeline, Settings(q=3))] == [5, 5]


@pytest.mark.slow
def test_the_executables_measure_the_same() -> None:
    pipeline = model("sum_of_odds")
    found = [longest_silence(pipeline, Settings(engine=engine))["steps"] for engine in ("pynusmv", "nusmv")]
    found += [latency(pipeline, "x", "out", Settings(engine=engine))["steps"] for engine in ("pynusmv", "nusmv")]
    assert found == [1, 1, 1, 1]


def test_a_limit_is_unknown_not_a_number() -> None:
    hard = text("""pipeline hard(x: int, y: int) -> int {
        a = cumulate(x * y, +)
        b = cumulate(a * a + y, *)
        return filter(a, b * cumulate(b * y, +) != 3)
    }""")
    found = longest_silence(hard, Settings(n=4096, seconds=0.5))
    assert found.verdict.outcome is Outcome.UNKNOWN
    assert (found["steps"], found["unbounded"]) == (None, False)
    assert found.says.startswith("unknown: time limit")


# --- against exploring -------------------------------------------------------------------------------------

small = pipelines(max_bits=8, max_nodes=4, depth=1, most_events=1, inputs=st.sampled_from([BOOL, Integer(2)]))


def _agree(found: Finding, steps: int | None, overflows: bool, unbounded: bool) -> None:
    assert (found["steps"], found["unbounded"]) == (steps, unbounded)
    if not unbounded:
        assert found.verdict.outcome is (Outcome.WITHIN_BOUNDS if overflows else Outcome.HOLDS)
    if found["witness"] is not None:
        assert found["witness"].replay == "confirmed by execution"


@given(small, st.integers(0, 2))
@examples(30)
def test_silence_of_random_pipelines(pipeline: Pipeline, q: int) -> None:
    flat = without_unread(flatten(pipeline))
    explored = Explored(flat, q)
    silent = [e for e in explored.edges if not any(explored.shown(e, name) for name, _ in flat.outputs)]
    steps = explored.longest(silent)
    found = longest_silence(flat, Settings(q=q))
    _agree(found, steps, explored.overflows, steps is None)
    if steps:
        assert check(flat, bounded_liveness(steps), Settings(q=q)).outcome is not Outcome.FAILS
        assert check(flat, bounded_liveness(steps - 1), Settings(q=q)).outcome is Outcome.FAILS


@given(small, st.integers(0, 2))
@examples(30)
def test_latency_of_random_pipelines(pipeline: Pipeline, q: int) -> None:
    flat = flatten(pipeline)
    source, output = flat.inputs[0][0], flat.outputs[0][0]
    flat = without_unread(Pipeline(flat.name, flat.inputs, flat.nodes, flat.outputs[:1]))
    explored = Explored(flat, q, source)
    caused = [e for e in explored.edges if (token := explored.shown(e, output)) is not None and token[1]]
    waits = explored.longest([edge for edge in explored.leading_to(caused) if edge.tagged])
    found = latency(flat, source, output, Settings(q=q))
    _agree(found, waits - 1 if waits else None, explored.overflows, waits is None)
