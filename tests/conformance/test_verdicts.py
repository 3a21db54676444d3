"""Random pipelines: what the model checker decides is what exploring the transition system by hand decides.

The exploration is a plain breadth-first search over the system evaluated in Python; it shares neither the
printer nor the engine. Counterexamples must replay, and be as long as the search says the shortest one is.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from hypothesis import assume, given, reject
from hypothesis import strategies as st

from tests.examples import examples
from workbench.conformance.compare.executables import Running
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import Overflowing
from workbench.core.fields import split
from workbench.core.ops import NE, NOT, conjunction, either, negate
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.term import FALSE, TRUE, Term, leaves
from workbench.errors import Overflow
from workbench.ir.compose import compose
from workbench.ir.reduce import escape_in
from workbench.ir.simulate import Simulator
from workbench.ir.system import System
from workbench.processors.held.group import flatten
from workbench.verify.answer.prepare import Prepared, prepare
from workbench.verify.answer.problem import check
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.verdict import Outcome
from workbench.verify.ask.properties import (
    Property,
    always,
    bounded_liveness,
    liveness,
    no_full_queues,
    no_overflow,
    response,
)

MAX_STATES = 400


class Explored:
    """The reachable part of a prepared model: per state and input, the labels and the successor."""

    def __init__(self, pipeline: Pipeline, prepared: Prepared, watched: Term) -> None:
        self.simulator = Simulator(prepared.model.system, [watched, prepared.model.overflow])
        self.depth: dict[Any, int] = {}
        self.edges: dict[Any, list[tuple[bool, bool, Any]]] = {}
        """State to (watched label, overflow flag, next state) per input."""
        moves = [*([] if prepared.question.stutter else [{}]), *_moves(pipeline)]
        system = prepared.model.system
        ends = bool(system.end and system.end.now.name in system.domains and prepared.question.ends)
        over = [v.name for v in system.variables].index(system.end.over.name) if ends and system.end else -1
        self.simulator.reset()
        frontier = [self.simulator.state]
        self.depth[self.simulator.state] = 0
        while frontier:
            state = frontier.pop(0)
            self.edges[state] = []
            possible: list[Mapping[str, Any]] = [{}] if ends and state[over] else [*moves, *([END] if ends else [])]
            for move in possible:
                self.simulator.state = state
                step = self.simulator.step(move)
                self.edges[state].append((*step.labels, self.simulator.state))
                if self.simulator.state not in self.depth:
                    self.depth[self.simulator.state] = self.depth[state] + 1
                    frontier.append(self.simulator.state)
                    if len(self.depth) > MAX_STATES:
                        reject()

    def first(self, position: int) -> int | None:
        """Length of the shortest run to a step at which a label (0: watched, 1: flag) is true."""
        found = [self.depth[s] + 1 for s, steps in self.edges.items() for step in steps if step[position]]
        return min(found, default=None)

    def always_possible(self) -> bool:
        """AG EF (watched or flag), over the steps that are possible from each state."""
        good: set[Any] = set()
        grown = True
        while grown:
            before = len(good)
            for state, steps in self.edges.items():
                if any(watched or flag or after in good for watched, flag, after in steps):
                    good.add(state)
            grown = len(good) > before
        # a step without the label is a state of its own: what counts is whether its successor is good
        return all(w or flag or after in good for steps in self.edges.values() for w, flag, after in steps)


def _moves(pipeline: Pipeline) -> Iterator[Mapping[str, Any]]:
    """Every combination of events but the empty one."""
    choices = [[None, *domain.values()] for _, domain in pipeline.inputs]
    for chosen in itertools.product(*choices):
        events = {n: v for (n, _), v in zip(pipeline.inputs, chosen, strict=True) if v is not None}
        if events:
            yield events


def avoided(system: System) -> Term:
    """The first output never carries the default of its domain."""
    pipe = system.pipes[system.outputs[0][1]]
    domain = system.domains_of_pipes[system.outputs[0][1]]
    found = []
    for slot in pipe.slots:
        pairs = zip(leaves(slot.value), split(domain, domain.default), strict=True)
        differs = [NE(leaf, value) for leaf, value in pairs]
        found.append(either(negate(slot.present), negate(conjunction(negate(d) for d in differs))))
    term: Term = conjunction(found)
    return term


INVARIANTS = [
    always(avoided, "the output differs from the default"),
    bounded_liveness(1),
    no_full_queues(),
    no_overflow(),
]


def decided(pipeline: Pipeline, prop: Property, q: int) -> tuple[Prepared, Any]:
    """The model, in which a run ends where a number leaves its range, and the verdict."""
    found = Settings(q=q)
    return prepare(flatten(pipeline), prop, found, up_to_escapes=True), check(pipeline, prop, found)


@given(data=st.data(), q=st.integers(0, 2), prop=st.sampled_from(INVARIANTS))
@examples(120)
def test_invariants(data: st.DataObject, q: int, prop: Property) -> None:
    compare_invariant(data.draw(pipelines(max_bits=12)), prop, q)


def compare_invariant(pipeline: Pipeline, prop: Property, q: int) -> None:
    """The verdict is what exploring says, and its run as long as the shortest."""
    prepared, verdict = decided(pipeline, prop, q)
    formula = prepared.question.formula.term
    assert formula is not None
    if formula is TRUE:
        assert verdict.outcome is Outcome.HOLDS
        return
    explored = Explored(flatten(pipeline), prepared, NOT(formula))
    bad, flag = explored.first(0), explored.first(1)
    if bad is not None and (prepared.question.about_overflow or flag is None or bad < flag or _bad_unflagged(explored)):
        assert verdict.outcome is Outcome.FAILS
        assert len(verdict.counterexample.steps) == _shortest(explored, prepared)
        assert verdict.counterexample.replay.startswith("confirmed by execution")
    elif flag is None or prepared.question.about_overflow:
        assert verdict.outcome in (Outcome.HOLDS, Outcome.WITHIN_BOUNDS)
        assert flag is not None or verdict.outcome is Outcome.HOLDS
    else:
        assert verdict.outcome is Outcome.WITHIN_BOUNDS
        assert verdict.witness.replay.startswith("confirmed by execution")


def _bad_unflagged(explored: Explored) -> bool:
    return any(bad and not flag for steps in explored.edges.values() for bad, flag, _ in steps)


def _shortest(explored: Explored, prepared: Prepared) -> int:
    counts = (
        explored.depth[state] + 1
        for state, steps in explored.edges.items()
        for bad, flag, _ in steps
        if bad and (prepared.question.about_overflow or not flag)
    )
    return min(counts)


@given(data=st.data(), q=st.integers(0, 2))
@examples(60)
def test_liveness(data: st.DataObject, q: int) -> None:
    pipeline = data.draw(pipelines(max_bits=12))
    prepared, verdict = decided(pipeline, liveness(), q)
    some = prepared.question.formula.args[0].args[0].term
    assert some is not None
    assume(some is not TRUE)
    explored = Explored(pipeline, prepared, some)
    if not explored.always_possible():
        assert verdict.outcome is Outcome.FAILS
        assert verdict.counterexample.replay.startswith("confirmed by execution")
    else:
        expected = Outcome.HOLDS if explored.first(1) is None else Outcome.WITHIN_BOUNDS
        assert verdict.outcome is expected


@given(data=st.data(), q=st.integers(0, 2))
@examples(80)
def test_no_run_of_the_reference_contradicts_a_verdict(data: st.DataObject, q: int) -> None:
    """What is sliced away, or left out by stutter reduction, must not hide a violation."""
    pipeline = data.draw(pipelines())
    verdict = check(pipeline, INVARIANTS[0], Settings(q=q))
    _, pipe = pipeline.outputs[0]
    default = pipeline.domains[pipe].default
    running = Running(pipeline, dict.fromkeys(flatten(pipeline).queues, q))
    try:
        for seen in running.trace(data.draw(traces(pipeline))):
            shown = seen.pipes[pipe]
            if default in shown if isinstance(shown, list) else shown == default:
                assert verdict.outcome is Outcome.FAILS
    except Overflow:
        assert verdict.outcome is not Outcome.HOLDS or not _in_cone(pipeline, q)


def _in_cone(pipeline: Pipeline, q: int) -> bool:
    """Whether the verdict speaks of all queues and of all checked numbers."""
    flat = flatten(pipeline)
    prepared, whole = prepare(flat, INVARIANTS[0], Settings(q=q)), compose(flat, q)
    outside = set(whole.names()) - set(prepared.model.system.names())
    if len(prepared.model.queues) < len(flat.queues) or prepared.settled.get("overflow", False):
        return False
    return escape_in(whole, outside, Overflowing.CHECKED) is FALSE


PROPERTIES = [*INVARIANTS, liveness(), response()]


def with_idle_steps(prop: Property) -> Property:
    """The property asked of the model in which a step may carry no input."""
    return Property(prop.name, lambda system: replace(prop.question(system), stutter=False))


@given(data=st.data(), q=st.integers(0, 2), prop=st.sampled_from(PROPERTIES))
@examples(60)
def test_leaving_out_idle_steps_is_sound(data: st.DataObject, q: int, prop: Property) -> None:
    pipeline = data.draw(pipelines(max_bits=16))
    found = Settings(q=q)
    reduced, whole = check(pipeline, prop, found), check(pipeline, with_idle_steps(prop), found)
    assert reduced.outcome is whole.outcome
    assert reduced.wraps is whole.wraps


@given(data=st.data(), q=st.integers(0, 2), prop=st.sampled_from(PROPERTIES))
@examples(25)
def test_the_executable_and_the_embedded_engine_agree(data: st.DataObject, q: int, prop: Property) -> None:
    pipeline = data.draw(pipelines(max_bits=12))
    embedded, executable = (check(pipeline, prop, Settings(q=q, engine=e)) for e in ("pynusmv", "nusmv"))
    assert embedded.outcome is executable.outcome
    for verdict in (embedded, executable):
        for trace in (verdict.counterexample, verdict.witness):
            assert trace is None or trace.replay.startswith("confirmed by execution")
