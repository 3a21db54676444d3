"""Constant pipes: by hand, and by exploring random pipelines."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench import BOOL, Integer, Pipeline, Settings, parse
from workbench.conformance.generate.pipelines import pipelines
from workbench.events.values import to_json
from workbench.processors.held.group import flatten
from workbench.verify.analyses import constants
from workbench.verify.analyses.constants import PipeBehaviour
from workbench.verify.analyses.truncate import without_unread
from workbench.verify.answer.verdict import BOUNDS_EARLY, Outcome
from workbench.verify.finding import Finding

from .brute import Explored


def found(text: str, **options: Any) -> dict[str, Finding]:
    return {item.about: item for item in constants(parse(text).get().pipeline, Settings(**options))}


def test_what_a_pipe_carries() -> None:
    pipes = found("""pipeline p(x: int) -> int, int {
        one = turn(x, 1)
        three = window(one, 3, cumulate(+))
        never = filter(x, x < x)
        same = x - x
        return three, never
    }""")
    kinds = {name: (item.answer, item["value"]) for name, item in pipes.items()}
    assert kinds["one"] == (PipeBehaviour.CONSTANT, 1)
    assert kinds["three"] == (PipeBehaviour.CONSTANT, 3)
    assert kinds["never"] == (PipeBehaviour.SILENT, None)
    assert kinds["same"] == (PipeBehaviour.CONSTANT, 0)
    assert pipes["three"]["outputs"] == ("out1",)
    assert all(pipes[name].verdict.outcome is Outcome.HOLDS for name in ("one", "three", "never", "same"))


def test_what_varies_is_shown() -> None:
    item = found("pipeline p(x: int) -> int { return cumulate(x, +) }")["cumulate"]
    assert item.answer is PipeBehaviour.VARIES
    assert item["witness"] is not None
    assert len({step.pipes["cumulate"] for step in item["witness"].steps}) == 2
    assert item["witness"].replay == "confirmed by execution"


def test_a_rare_event_is_found_by_the_engine() -> None:
    """After 30 events of one value only, which no random run of 24 steps can show."""
    pipes = found("""pipeline p(x: 0..3) -> 0..3 {
        count = cumulate(turn(x, 1, int sat 40), +)
        late = filter(x, count > 30)
        return late
    }""")
    assert pipes["late"].answer is PipeBehaviour.VARIES
    assert pipes["late"]["witness"] is not None
    assert len(pipes["late"]["witness"].steps) == 31


def test_what_only_a_bound_makes_constant_is_not_known() -> None:
    """x[0] = x[0] is all that is compared with Q = 1: x[2] has no room. With Q = 2 x[3] meets x[1]."""
    text = "pipeline p(x: bool) -> bool { return decimate(x, 3) = x }"
    item = found(text, q=1)["eq"]
    assert (item.answer, item.verdict and item.verdict.reason) == (PipeBehaviour.UNKNOWN, BOUNDS_EARLY)
    assert found(text, q=2)["eq"].answer is PipeBehaviour.VARIES


@pytest.mark.parametrize(("q", "kind"), [(7, PipeBehaviour.UNKNOWN), (8, PipeBehaviour.SILENT)])
def test_what_holds_within_bounds_is_about_eight_steps_at_least(q: int, kind: PipeBehaviour) -> None:
    """The queue of x holds q events, and the next one overflows."""
    item = found("pipeline p(x: int) -> int { return x + filter(x, x < x) }", q=q)["add"]
    assert (item.answer, item.outcome is Outcome.WITHIN_BOUNDS) == (kind, kind is PipeBehaviour.SILENT)


small = pipelines(max_bits=8, max_nodes=4, depth=1, most_events=1, inputs=st.sampled_from([BOOL, Integer(2)]))


@given(small, st.integers(1, 2))
@examples(30)
def test_random_pipelines(pipeline: Pipeline, q: int) -> None:
    flat = without_unread(flatten(pipeline))
    explored = Explored(flat, q)
    for item in constants(flat, Settings(q=q)):
        values = {edge.pipes[item.about][0] for edge in explored.edges if item.about in edge.pipes}
        if not explored.overflows or item.answer is PipeBehaviour.VARIES:
            expected = {0: PipeBehaviour.SILENT, 1: PipeBehaviour.CONSTANT}.get(len(values), PipeBehaviour.VARIES)
            # another queue's overflow ends runs here, and not in the model of a pipe that it does not feed
            assert item.answer is expected or explored.overflows
        if item.answer is PipeBehaviour.CONSTANT:
            assert all(to_json(value, flat.domains[item.about]) == item["value"] for value in values)
        if item.answer is PipeBehaviour.SILENT:
            assert not values
        if item["witness"] is not None:
            assert item["witness"].replay == "confirmed by execution"
