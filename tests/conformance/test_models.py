"""Random pipelines: the reference executor, the transition system and NuSMV's simulation show the same."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.builder import Builder
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import BOOL, Enum
from workbench.core.function import Function
from workbench.core.ops import EQ, ite
from workbench.core.pipeline import Pipeline
from workbench.core.term import const, is_symbolic
from workbench.processors.apply import ApplyFunction
from workbench.processors.held.group import flatten

Capacities = st.integers(0, 3)


def bounded(pipeline: Pipeline, q: int) -> Running:
    """The reference executor with every queue bounded."""
    return Running(pipeline, dict.fromkeys(flatten(pipeline).queues, q))


@given(data=st.data(), q=Capacities)
@examples(300)
def test_the_transition_system_runs_as_the_reference_does(data: st.DataObject, q: int) -> None:
    pipeline = data.draw(pipelines())
    steps = data.draw(traces(pipeline))
    check(pipeline, steps, bounded(pipeline, q), Evaluated(pipeline, q))


@given(data=st.data(), q=st.integers(0, 2))
@examples(60)
def test_nusmv_simulates_the_printed_model_as_the_transition_system_runs(data: st.DataObject, q: int) -> None:
    pipeline = data.draw(pipelines())
    steps = data.draw(traces(pipeline))
    assume(steps)
    check(pipeline, steps, Evaluated(pipeline, q), Simulated(pipeline, q))


@pytest.mark.slow
@pytest.mark.timeout(1800)
@given(data=st.data(), q=st.integers(0, 3))
@examples(3000)
def test_many_more_pipelines_in_nusmv(data: st.DataObject, q: int) -> None:
    pipeline = data.draw(pipelines())
    steps = data.draw(traces(pipeline))
    assume(steps)
    check(pipeline, steps, bounded(pipeline, q), Evaluated(pipeline, q))
    check(pipeline, steps, Evaluated(pipeline, q), Simulated(pipeline, q))


def test_an_enumeration_that_occurs_in_an_expression_only() -> None:
    """No pipe and no variable carries it, and NuSMV has to know its labels."""
    colour = Enum(("red", "green"))

    def is_red(red: Any) -> Any:
        if not is_symbolic(red):
            return red
        return EQ(ite(red, const("red", colour), const("green", colour)), const("red", colour))

    builder = Builder("p")
    seen = ApplyFunction(Function("is red", 1, is_red))(builder.input("x", BOOL))
    pipeline = builder.build(seen)
    steps = [{"x": True}, {"x": False}]
    check(pipeline, steps, Running(pipeline), Simulated(pipeline, 1))
