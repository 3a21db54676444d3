"""Queues of pipes that carry several events in a step, in compiled code: as large as their pipes, not as they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.pipelines import traces
from workbench.core.domain import Integer
from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow
from workbench.executors.compiled.code.loop import loop_source
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.processors.held.group import flatten

TEXTS = {
    "two": "pipeline p(x: int, y: int) -> int { return stutter(x, 2) + y }",
    "both wide": "pipeline p(x: int, y: int) -> int { return stutter(x, 3) + stutter(y, 2) }",
    "of two domains": "pipeline p(y: int, u: bool) -> int { return filter(y, until(u, u, pending = 3)) }",
    "three": "pipeline p(x: int, y: int, b: bool) -> int { return if b then stutter(x, 2) else filter(y, y > 1) }",
    "one after the other": "pipeline p(x: int, y: int) -> int { return stutter(x, 2) * (stutter(y, 2) + x) }",
    "tuples": "pipeline p(x: (int, bool), y: int) -> (int, bool) { return filter(stutter(x, 2), stutter(y, 2) > 0) }",
}


def parsed(name: str) -> Pipeline:
    return wb.parse(TEXTS[name]).get().pipeline


@pytest.mark.parametrize("name", TEXTS)
def test_the_code_of_a_step_is_the_same_for_every_capacity(name: str) -> None:
    systems = [compose(parsed(name), capacity, arrays=True) for capacity in (10, 1000)]
    few, many = (loop_source(system, [{}]).count("\n") for system in systems)
    assert few == many
    assert len(systems[0].variables) == len(systems[1].variables)


Outputs = list[dict[str, Sequence[Any]]]


def made(executor: Reference | Compiled, steps: Sequence[dict[str, Any]]) -> tuple[Outputs, list[dict[str, int]], bool]:
    """What comes out and how long the queues are, step by step, and whether a queue overflows at last."""
    outputs: Outputs = []
    lengths = []
    for events in steps:
        try:
            record = executor.step(events)
        except Overflow:
            return outputs, lengths, True
        outputs.append(dict(record.outputs))
        lengths.append(dict(record.queues))
    return outputs, lengths, False


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", TEXTS)
@given(data=st.data())
@examples(40)
def test_it_does_what_the_reference_executor_does(name: str, data: st.DataObject) -> None:
    """With rings of several sizes, queues without room among them, that go round and overflow."""
    pipeline = flatten(parsed(name).resolve(Integer(5)))
    sizes = st.sampled_from([0, 1, 5, 6, 7, 8, 9])
    capacities = {queue: data.draw(sizes, label=queue) for queue in pipeline.queues}
    for node in pipeline.nodes:  # a ring is used from some capacity on
        if node.queues:
            capacities[data.draw(st.sampled_from(node.queues))] = data.draw(st.integers(5, 9))
    steps = [step for _ in range(3) for step in data.draw(traces(pipeline)) if step is not wb.END]
    compiled = Compiled(pipeline, capacities, warm_up_steps=-1, machine=False)
    assert made(compiled, steps) == made(Reference(pipeline, capacities), steps)
