"""Random pipelines: the smallest capacities are what exploring the transition system by hand finds.

The exploration is a plain search over the whole system evaluated in Python, data and the end of the streams included;
it shares neither the slicing nor the printer nor the engine nor the search. Random runs of the reference executor with
unbounded queues must not contradict the answers either.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import Any

import pytest
from hypothesis import assume, given, reject
from hypothesis import strategies as st

from tests.conformance.corpus import cases
from tests.examples import examples
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import Overflowing
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.term import FALSE
from workbench.errors import Overflow
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.ir.reduce import escape_in
from workbench.ir.simulate import Simulator
from workbench.processors.held.group import flatten, with_capacities
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.properties import no_overflow
from workbench.verify.buffers.buffers import QueueStatus, buffers

MAX_STATES = 300
ROOM = 5
"""Capacity of every queue in the exploration."""


def moves(pipeline: Pipeline, *, together: bool) -> Iterator[Mapping[str, Any]]:
    """Every combination of events but the empty one; then the end, where a processor acts at it."""
    choices = [[*([] if together else [None]), *domain.values()] for _, domain in pipeline.inputs]
    for chosen in itertools.product(*choices):
        events = {n: v for (n, _), v in zip(pipeline.inputs, chosen, strict=True) if v is not None}
        if events:
            yield events
    if pipeline.late:
        yield END


def explored(flat: Pipeline, *, together: bool) -> tuple[dict[str, int], bool]:
    """The greatest length of each queue on runs that overflow nothing, and whether there are other runs."""
    flat = with_capacities(flat, dict.fromkeys(flat.inner_capacities, ROOM))
    simulator = Simulator(compose(flat, ROOM))
    simulator.reset()
    seen, frontier = {simulator.state}, [simulator.state]
    # of positions that wait one place is the least that there can be
    longest, overflows = dict.fromkeys(flat.queues, 0) | dict.fromkeys(flat.inner_capacities, 1), False
    choices = list(moves(flat, together=together))
    while frontier:
        state = frontier.pop()
        for events in choices:
            simulator.state = state
            step = simulator.step(events)
            if step.overflows:
                overflows = True
                continue
            longest = {name: max(length, step.queues[name]) for name, length in longest.items()}
            if events is not END and simulator.state not in seen:
                seen.add(simulator.state)
                frontier.append(simulator.state)
                if len(seen) > MAX_STATES:
                    reject()
    return longest, overflows


def without_checked(pipeline: Pipeline) -> bool:
    """Whether no number is checked: what follows an escape counts in the exploration, but not for `buffers`."""
    system = compose(pipeline)
    return escape_in(system, set(system.names()), Overflowing.CHECKED) is FALSE


@given(data=st.data(), together=st.booleans())
@examples(60)
def test_capacities_are_the_greatest_lengths(data: st.DataObject, together: bool) -> None:
    pipeline = data.draw(pipelines(max_bits=12))
    assume(without_checked(pipeline))
    assume(flatten(pipeline).queues)
    compare(pipeline, together=together)


@pytest.mark.parametrize("together", [False, True])
def test_what_comes_at_the_end_needs_room(together: bool) -> None:
    (case,) = (case for case in cases() if case.title == "what a slice says at the end waits in vain")
    compare(case.pipeline, together=together)
    assert explored(flatten(case.pipeline), together=together)[0] == {"apply.left": 1, "apply.right": 0}


def compare(pipeline: Pipeline, *, together: bool) -> None:
    """The capacities are the greatest lengths."""
    flat = flatten(pipeline)
    longest, overflows = explored(flat, together=together)
    given = Settings(environment=Environment("always" if together else "free"))
    found = buffers(pipeline, given)
    assert not found.gap
    for item in found.queues:
        assert item.capacity is None or item.capacity >= longest[item.queue]
        if not overflows:
            assert (item.status, item.capacity) == (QueueStatus.BOUNDED, longest[item.queue])
        if item.witness:
            assert item.witness.replay.startswith("confirmed by execution")


@given(data=st.data())
@examples(60)
def test_runs_do_not_contradict_the_answers(data: st.DataObject) -> None:
    pipeline = data.draw(pipelines())
    assume(flatten(pipeline).queues)
    found = buffers(pipeline, max=16)
    for item in found.queues:
        assert (item.capacity is None) == (item.status is not QueueStatus.BOUNDED)
        if item.witness:
            assert item.witness.replay.startswith("confirmed by execution")
    executor = Reference(pipeline, {})
    for events in data.draw(traces(pipeline, max_steps=30)):
        try:
            lengths = executor.step(events).queues
        except Overflow:  # a number leaves its checked domain
            break
        assert all(lengths[queue] <= capacity for queue, capacity in found.capacities.items())


@given(data=st.data())
@examples(60)
def test_pumping_streams_pump(data: st.DataObject) -> None:
    """Many more rounds than were run to confirm them, on the executor itself."""
    pipeline = data.draw(pipelines())
    for item in buffers(pipeline, max=16).queues:
        if item.status is not QueueStatus.UNBOUNDED:
            continue
        assert item.witness is not None
        loop, steps = item.witness.loop, [step.inputs for step in item.witness.steps]
        assert loop is not None
        if len(steps) <= loop:  # a number that the queue does not depend on has left its domain before
            assert not without_checked(pipeline)
            continue
        executor = Reference(pipeline, {item.queue: 10_000} if item.inside else {})
        try:
            executor.trace(steps[:loop])
            before = executor.lengths()[item.queue]
            for rounds in range(1, 20):
                executor.trace(steps[loop:])
                assert executor.lengths()[item.queue] == before + rounds * item.growth
        except Overflow:
            assert not without_checked(pipeline)


@given(data=st.data())
@examples(40)
def test_the_check_agrees(data: st.DataObject) -> None:
    """Where all queues are bounded, nothing overflows at these capacities, and each is needed."""
    pipeline = data.draw(pipelines(max_bits=12))
    assume(without_checked(pipeline))
    found = buffers(pipeline, max=8)
    assume(found.capacities and found.total_bits is not None)
    assert check(pipeline, no_overflow(), Settings(q=found.capacities)).outcome == "holds"
    for item in found.queues:
        assert item.capacity is not None
        if item.capacity > item.inside:
            fewer = {**found.capacities, item.queue: item.capacity - 1}
            verdict = check(pipeline, no_overflow(), Settings(q=fewer))
            assert verdict.outcome == "fails"
            assert verdict.counterexample.steps[-1].overflows == (item.queue,)
