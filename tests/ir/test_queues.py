"""Queues of which a system has the lengths only: what is asked of it and what it does are the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.ir.compose import compose, outline
from workbench.ir.reduce import focus
from workbench.ir.simulate import Simulator
from workbench.processors.held.group import flatten

FIGURE_2A = "pipeline p(x: int) -> int { third = decimate(x, 3) return third + x }"
WIDE = "pipeline p(x: int, y: int) -> int { return stutter(x, 2) + y }"


@given(data=st.data(), q=st.integers(0, 3))
@examples(60)
def test_a_question_sees_the_same_system(data: st.DataObject, q: int) -> None:
    """The cone of any pipe and any queue, from the lengths alone and from all that there is."""
    pipeline = flatten(data.draw(pipelines()))
    whole, lengths = compose(pipeline, q), outline(pipeline, q)
    assert lengths.whole() == whole
    roots = [pipe.slots for pipe in whole.pipes.values()] + [(q.length, q.overflow) for q in whole.queues.values()]
    for root in roots:
        assert focus(lengths, [root]) == focus(whole, [root])
        assert lengths.cone(root) == whole.cone(root)


@given(data=st.data(), q=st.integers(0, 3))
@examples(60)
def test_it_does_the_same(data: st.DataObject, q: int) -> None:
    """With slots as variables, and with lines beside the system."""
    pipeline = flatten(data.draw(pipelines()))
    inputs = data.draw(traces(pipeline))
    found = [Simulator(made(pipeline, q)).trace_to_overflow(inputs) for made in (compose, outline)]
    for slots, lines in zip(*found, strict=True):
        if slots.overflows:  # nothing counts any more
            assert lines.overflows == slots.overflows
            break
        assert (lines.pipes, lines.queues, lines.overflows) == (slots.pipes, slots.queues, slots.overflows)
        assert lines.state.items() <= slots.state.items()


@pytest.mark.parametrize("text", [FIGURE_2A, WIDE])
def test_a_question_of_lengths_has_no_variable_for_an_event(text: str) -> None:
    pipeline = wb.parse(text).get().pipeline.resolve(wb.Integer(4))
    few, many = (outline(pipeline, q) for q in (3, 20_000))
    for question in (wb.properties.no_overflow(), wb.properties.liveness()):
        cones = [focus(system, question.question(system).formula.atoms()).system for system in (few, many)]
        assert [v.name for v in cones[0].variables] == [v.name for v in cones[1].variables]
        assert len(cones[0].definitions) == len(cones[1].definitions)


def test_a_question_of_values_has_all() -> None:
    pipeline = wb.parse(FIGURE_2A).get().pipeline.resolve(wb.Integer(4))
    system = outline(pipeline, 5)
    held = {v.name for v in focus(system, [system.pipes["add"].slots]).system.variables}
    assert {f"add.queue:slot{i}" for i in range(5)} <= held


def test_a_long_queue_is_filled_by_a_run_that_is_confirmed() -> None:
    q = 700
    verdict = wb.check(wb.parse(FIGURE_2A).get().pipeline, wb.properties.no_overflow(), wb.Settings(q=q))
    run = verdict.counterexample
    assert run is not None
    # of the events up to the n-th, every third one and the first are met by one of `third`
    waiting = [n - (n + 2) // 3 for n in range(3 * q)]
    assert len(run.steps) == next(n for n in range(1, 3 * q) if n % 3 != 1 and waiting[n - 1] == q)
    assert run.replay == "confirmed by execution"
    assert [len(step.contents["add.right"]) for step in run.steps[:-1]] == waiting[1 : len(run.steps)]
    assert len(verdict.to_json()["trace"]["steps"][-2]["contents"]["add.right"]) == 100
