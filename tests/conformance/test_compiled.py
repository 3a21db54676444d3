"""Random pipelines: compiled executors show what the reference executor shows, in the same steps."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import pytest
from hypothesis import Phase, assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.compare.contenders import is_excused
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import CompiledRun, Running
from workbench.conformance.generate.domains import domains
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import STR
from workbench.core.fields import FrozenMap
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.errors import Overflow, PipelineError, Refused
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference
from workbench.processors.held.group import flatten
from workbench.processors.insert import Insert

INPUTS = st.one_of(domains, st.just(STR))
"""What goes in: texts, too, which the model checkers do not have."""
Made = tuple[list[dict[str, list[Any]]], bool]
"""What came out in each step, and whether the run ended with an overflow."""


def drawn(data: st.DataObject, **limits: Any) -> Pipeline:
    """A random pipeline that compares texts at most: what reads or makes them is refused."""
    pipeline = data.draw(pipelines(inputs=INPUTS, **limits))
    try:
        Compiled(pipeline, machine=False)
    except Refused as error:
        assume("only compares them" not in str(error))
        raise
    return pipeline


def capacities(pipeline: Pipeline, q: int) -> dict[str, int]:
    return dict.fromkeys(flatten(pipeline).queues, q)


@pytest.fixture(params=["variables", "memory"], autouse=True)
def where(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where queues and windows lie: both forms are tested on small ones."""
    if request.param == "memory":
        monkeypatch.setattr("workbench.ir.ring_buffer.MAX_VARIABLES", 0)
        monkeypatch.setattr("workbench.processors.held.sliding.NARROW", 1)


@given(data=st.data(), q=st.integers(0, 3))
@examples(100)
def test_every_pipe_and_queue_at_every_step(data: st.DataObject, q: int) -> None:
    pipeline = drawn(data)
    bounds = capacities(pipeline, q)
    check(pipeline, data.draw(traces(pipeline)), Running(pipeline, bounds), CompiledRun(pipeline, bounds))


class Expected(NamedTuple):
    """What the reference executor did."""

    made: Made
    certain: bool
    """Whether an overflow that it met counts for all (see `excused`)."""


def expected(pipeline: Pipeline, bounds: dict[str, int], steps: Sequence[Any]) -> Expected:
    executor, rows = Reference(pipeline, bounds), []
    for events in steps:
        try:
            rows.append(dict(executor.step(events).outputs))
        except Overflow as error:
            return Expected((rows, True), not is_excused(error))
    return Expected((rows, False), True)


def agree(made: Made, expected: Expected) -> None:
    """The same outputs, and an overflow in the same step."""
    if expected.certain:
        assert made == expected.made
    else:
        rows, _ = expected.made
        assert made[0][: len(rows)] == rows


def made(executor: Compiled, steps: Sequence[Any], cuts: Sequence[int]) -> Made:
    """The steps fed in pieces; after an overflow, those before it are made again, since none has happened."""
    rows: list[dict[str, list[Any]]] = []
    pieces = [list(steps[a:b]) for a, b in zip([0, *cuts], [*cuts, len(steps)], strict=True) if a < b]
    for piece in pieces:
        ends = piece[-1:] == [END] and piece[-1] is END
        try:
            rows += executor.outputs(piece[:-1] if ends else piece)
            if ends:
                rows.append({name: output.events() for name, output in executor.finish().items()})
        except Overflow as error:
            number = int(str(error).split()[1].rstrip(":")) - executor.steps
            rows += executor.outputs(piece[:number])
            if piece[number] is not END:
                with pytest.raises(Overflow):  # it is as it was before that step
                    executor.outputs(piece[number : number + 1])
            return rows, True
    return rows, False


@given(data=st.data(), q=st.integers(0, 3), together=st.booleans())
@examples(120)
def test_outputs_of_pieces_of_a_stream(data: st.DataObject, q: int, together: bool) -> None:
    """The generated loops, run by Python; `together` takes those for steps in which every input has an event."""
    pipeline = drawn(data, max_nodes=4)
    steps = data.draw(traces(pipeline, together=together, max_steps=12))
    cuts = sorted(data.draw(st.lists(st.integers(0, len(steps)), max_size=2)))
    bounds = capacities(pipeline, q)
    executor = Compiled(pipeline, bounds, warm_up_steps=-1, machine=False)
    agree(made(executor, steps, cuts), expected(pipeline, bounds, steps))


@given(data=st.data(), q=st.integers(0, 3))
@examples(100)
def test_inputs_that_end_one_by_one(data: st.DataObject, q: int) -> None:
    """Between steps inputs end, each for itself; those that are left go on, and in the end all have ended."""
    pipeline = drawn(data, max_nodes=5)
    steps = [events for events in data.draw(traces(pipeline, max_steps=8)) if events is not END]
    ends = {name: data.draw(st.integers(0, len(steps))) for name, _ in pipeline.inputs}
    bounds = capacities(pipeline, q)
    reference, compiled = Reference(pipeline, bounds), Compiled(pipeline, bounds, machine=False)
    for number in range(len(steps) + 1):
        for name in (name for name, end in ends.items() if end == number):
            if not same(partial(reference.end, name), partial(compiled.end, name)):
                return
            with pytest.raises(PipelineError, match="ended"):
                compiled.end(name)
        if number < len(steps):
            events = {name: value for name, value in steps[number].items() if ends[name] > number}
            # where all have ended, the reference executor still takes steps that bring nothing
            left = max(ends.values()) > number
            if left and not same(partial(shown, reference, events), partial(shown, compiled, events)):
                return


def shown(executor: Reference | Compiled, events: Mapping[str, Any]) -> dict[str, Any]:
    """What comes out in a step."""
    return executor.outputs([events])[0] if isinstance(executor, Compiled) else dict(executor.step(events).outputs)


def same(ours: Callable[[], Any], theirs: Callable[[], Any]) -> bool:
    """Whether it goes on: both show the same, or both overflow."""
    try:
        expected = ours()
    except Overflow as error:
        if not is_excused(error):
            with pytest.raises(Overflow):
                theirs()
        return False
    assert theirs() == expected
    return True


@pytest.mark.slow
@given(data=st.data(), q=st.integers(0, 3), together=st.booleans())
@examples(25, phases=[Phase.explicit, Phase.reuse, Phase.generate])  # shrinking would compile for hours
def test_machine_code(data: st.DataObject, q: int, together: bool) -> None:
    pipeline = drawn(data, max_nodes=4)
    steps = data.draw(traces(pipeline, together=together, max_steps=40))
    bounds = capacities(pipeline, q)
    agree(made(Compiled(pipeline, bounds, warm_up_steps=-1), steps, []), expected(pipeline, bounds, steps))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(data=st.data(), q=st.integers(0, 3), together=st.booleans())
@examples(500)
def test_many_more_pipelines(data: st.DataObject, q: int, together: bool) -> None:
    pipeline = drawn(data, max_nodes=8, max_bits=60)
    steps = data.draw(traces(pipeline, together=together, max_steps=20))
    bounds = capacities(pipeline, q)
    executor = Compiled(pipeline, bounds, warm_up_steps=-1, machine=False)
    agree(made(executor, steps, [len(steps) // 2]), expected(pipeline, bounds, steps))


def test_maps_that_wait_in_a_queue_are_maps_when_they_leave_it() -> None:
    """A map is put before those that come out of a queue, which reads them from memory in one of the forms."""
    source = wb.parse("""
function itself(v) = v
pipeline p(x: bool, y: bool) -> map(bool, bool) {
    maps = slice(x, itself, passthrough)
    return filter(maps, y)
}
""")
    inner = source.get().pipeline
    builder = wb.Builder("padded")
    x, y = builder.input("x", wb.BOOL), builder.input("y", wb.BOOL)
    pipeline = builder.build(Insert(FrozenMap(), 1)(builder.add(wb.processors.Group(inner), [x, y])))
    bounds = capacities(pipeline, 2)
    steps = [{"x": True}, {"x": False}, {"y": True}, {"y": True}]
    check(pipeline, steps, Running(pipeline, bounds), CompiledRun(pipeline, bounds))
