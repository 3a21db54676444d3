"""Random pipelines over all integers: compiled executors show what the reference executor shows, in the same steps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from tests.conformance.test_compiled import agree, expected, made
from tests.conformance.unbounded import steps_of, unbounded
from tests.examples import examples
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import CompiledRun, Running
from workbench.core.fields import Map
from workbench.core.pipeline import Pipeline
from workbench.executors.compiled.execute.executor import Compiled
from workbench.processors.held.group import flatten


def capacities(pipeline: Pipeline) -> dict[str, int]:
    """Room for what can wait; what waits beside a map never does."""
    flat = flatten(pipeline)
    maps = any(isinstance(domain, Map) for domain in flat.domains.values())
    return dict.fromkeys(flat.queues, 0 if maps else 20)


@pytest.fixture(params=[1, 8], autouse=True)
def rows(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """How many slices a table has room for at first: growing is tested with few of them."""
    monkeypatch.setattr("workbench.executors.compiled.lower.tables.FIRST", request.param)


@given(pipeline=unbounded(), steps=steps_of())
@examples(40)
def test_every_pipe_and_queue_at_every_step(pipeline: Pipeline, steps: list[Any]) -> None:
    bounds = capacities(pipeline)
    check(pipeline, steps, Running(pipeline, bounds), CompiledRun(pipeline, bounds))


@given(pipeline=unbounded(), steps=steps_of(max_steps=30), data=st.data())
@examples(40)
def test_outputs_of_pieces_of_a_stream(pipeline: Pipeline, steps: list[Any], data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.lists(st.integers(0, len(steps)), max_size=2)))
    bounds = capacities(pipeline)
    executor = Compiled(pipeline, bounds, warm_up_steps=-1, machine=False)
    agree(made(executor, steps, cuts), expected(pipeline, bounds, steps))


@pytest.mark.slow
@given(pipeline=unbounded(), steps=steps_of(max_steps=60))
@examples(20, phases=[Phase.explicit, Phase.reuse, Phase.generate])
def test_machine_code(pipeline: Pipeline, steps: list[Any]) -> None:
    bounds = capacities(pipeline)
    agree(made(Compiled(pipeline, bounds, warm_up_steps=-1), steps, []), expected(pipeline, bounds, steps))
