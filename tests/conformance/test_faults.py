"""Random pipelines with random faults: everything that runs shows the same, whatever strikes."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.conformance.test_verdicts import INVARIANTS, PROPERTIES, compare_invariant, with_idle_steps
from tests.examples import examples
from tests.found import program
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.conformance.generate.pipelines import faults, pipelines, traces
from workbench.conformance.generate.python_source import body
from workbench.core.fault import delay
from workbench.core.ops import disjunction, either, negate
from workbench.core.pipeline import Pipeline
from workbench.core.term import Term
from workbench.errors import Overflow
from workbench.executors.reference.executor import Reference
from workbench.ir.system import System
from workbench.processors.held.group import flatten
from workbench.verify.answer.problem import check as decide
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.properties import Property, always, arrivals, outputs


def with_faults(data: st.DataObject, **options: Any) -> Pipeline:
    pipeline = data.draw(pipelines(**options))
    return pipeline.with_faults(data.draw(faults(pipeline)))


@given(data=st.data())
@examples(100)
def test_the_executor_does_what_the_specification_says(data: st.DataObject) -> None:
    pipeline = with_faults(data)
    steps = data.draw(traces(flatten(pipeline)))
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))


@given(data=st.data(), q=st.integers(0, 3))
@examples(100)
def test_the_model_does_what_the_executor_does(data: st.DataObject, q: int) -> None:
    pipeline = with_faults(data)
    steps = data.draw(traces(flatten(pipeline)))
    running = Running(pipeline, dict.fromkeys(flatten(pipeline).queues, q))
    check(pipeline, steps, running, Evaluated(pipeline, q))


@given(data=st.data(), q=st.integers(0, 2))
@examples(25)
def test_nusmv_does_what_the_model_does(data: st.DataObject, q: int) -> None:
    pipeline = with_faults(data, max_nodes=3, max_bits=12)
    steps = data.draw(traces(flatten(pipeline), max_steps=5))
    assume(steps)
    check(pipeline, steps, Evaluated(pipeline, q), Simulated(pipeline, q))


@given(data=st.data())
@examples(60)
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


SMALL: dict[str, Any] = {"max_nodes": 3, "max_inputs": 1, "max_bits": 8}


@given(data=st.data(), q=st.integers(0, 2), prop=st.sampled_from(INVARIANTS))
@examples(40)
def test_verdicts_are_what_exploring_by_hand_says(data: st.DataObject, q: int, prop: Property) -> None:
    compare_invariant(with_faults(data, **SMALL), prop, q)


def at_once(system: System) -> Term:
    """Outputs come only at steps at which something arrives."""
    term: Term = either(negate(disjunction(outputs(system))), disjunction(arrivals(system)))
    return term


@given(data=st.data(), q=st.integers(0, 2), prop=st.sampled_from([always(at_once, "at once"), *PROPERTIES]))
@examples(60)
def test_leaving_out_idle_steps_is_sound(data: st.DataObject, q: int, prop: Property) -> None:
    """Not while an event is delayed: then they are in the model. (Streams that end would let it out, too.)"""
    pipeline = data.draw(pipelines(**SMALL))
    late = delay(pipeline.outputs[0][0], 1, at_most=data.draw(st.sampled_from([None, 1])))
    pipeline, found = pipeline.with_faults([late]), Settings(q=q, environment=Environment(fair=True))
    assert decide(pipeline, prop, found).outcome is decide(pipeline, with_idle_steps(prop), found).outcome


@given(data=st.data(), q=st.integers(0, 2))
@examples(60)
def test_no_run_contradicts_a_verdict(data: st.DataObject, q: int) -> None:
    """Whatever arrives and whatever strikes: where no default ever comes out, none does."""
    pipeline = with_faults(data, **SMALL)
    verdict = decide(pipeline, INVARIANTS[0], Settings(q=q))
    _, pipe = flatten(pipeline).outputs[0]
    default = flatten(pipeline).domains[pipe].default
    running = Running(pipeline, dict.fromkeys(flatten(pipeline).queues, q))
    try:
        for seen in running.trace(data.draw(traces(flatten(pipeline), max_steps=12))):
            shown = seen.pipes[pipe]
            if default in shown if isinstance(shown, list) else shown == default:
                assert verdict.outcome is Outcome.FAILS
    except Overflow:
        return


@given(data=st.data())
@examples(30)
def test_they_print_as_programs(data: st.DataObject) -> None:
    pipeline = with_faults(data)
    scope: dict[str, Pipeline] = {}
    exec(program(body(pipeline)), scope)
    steps = data.draw(traces(flatten(pipeline), max_steps=4))
    check(pipeline, steps, Running(pipeline), Running(scope["pipeline"]))
