"""Random pipelines with random faults: everything that runs shows the same, whatever strikes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbench.backends.reference import Reference
from workbench.conformance.differential import check
from workbench.conformance.executables import Denoting, Running
from workbench.conformance.models import Evaluated, Simulated
from workbench.conformance.source import program
from workbench.conformance.strategies import faults, pipelines, traces
from workbench.core.pipeline import Pipeline
from workbench.processors.group import flatten


def with_faults(data: st.DataObject, **options: Any) -> Pipeline:
    pipeline = data.draw(pipelines(**options))
    return pipeline.with_faults(data.draw(faults(pipeline)))


@given(data=st.data())
@settings(max_examples=100)
def test_the_executor_does_what_the_specification_says(data: st.DataObject) -> None:
    pipeline = with_faults(data)
    steps = data.draw(traces(flatten(pipeline)))
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))


@given(data=st.data(), q=st.integers(0, 3))
@settings(max_examples=100)
def test_the_model_does_what_the_executor_does(data: st.DataObject, q: int) -> None:
    pipeline = with_faults(data)
    steps = data.draw(traces(flatten(pipeline)))
    running = Running(pipeline, dict.fromkeys(flatten(pipeline).queues, q))
    check(pipeline, steps, running, Evaluated(pipeline, q))


@given(data=st.data(), q=st.integers(0, 2))
@settings(max_examples=25)
def test_nusmv_does_what_the_model_does(data: st.DataObject, q: int) -> None:
    pipeline = with_faults(data, max_nodes=3, max_bits=12)
    steps = data.draw(traces(flatten(pipeline), max_steps=5))
    assume(steps)
    check(pipeline, steps, Evaluated(pipeline, q), Simulated(pipeline, q))


@given(data=st.data())
@settings(max_examples=60)
def test_nothing_goes_wrong_where_no_oracle_speaks(data: st.DataObject) -> None:
    pipeline = data.draw(pipelines())
    steps = data.draw(traces(pipeline))
    faulty = pipeline.with_faults(data.draw(faults(pipeline)))
    plain, silent = Reference(pipeline), Reference(faulty)
    for events in steps:
        try:
            expected = plain.step(events).outputs
        except Exception as error:
            with pytest.raises(type(error)):
                silent.step(events)
            return
        assert silent.step(events).outputs == expected


@given(data=st.data())
@settings(max_examples=30)
def test_they_print_as_programs(data: st.DataObject) -> None:
    pipeline = with_faults(data)
    scope: dict[str, Pipeline] = {}
    exec(program(pipeline), scope)
    steps = data.draw(traces(flatten(pipeline), max_steps=4))
    check(pipeline, steps, Running(pipeline), Running(scope["pipeline"]))
