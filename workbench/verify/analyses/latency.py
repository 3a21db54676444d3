"""Latency: the most steps from an input event to an output event that it causes.

An output event is caused by the input events from which a chain of firings leads to it, each firing consuming what the
one before has emitted (`tagged` says why memories do not count). Latency is therefore the time that events spend in
queues. Steps are counted that carry an input event; an output in the same step has latency 0. Where an event causes
several outputs, the last one counts.

One tagged event, chosen freely by the environment, stands for all. Its latency is the longest path, one search, inside
the states from which a tagged output is still to come.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial

from workbench.core.domain import BOOL, Range
from workbench.core.ops import GE, LT, both, disjunction, either, ite, negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.readable import plural
from workbench.core.term import Term, var
from workbench.errors import Refused
from workbench.ir.reduce import observe
from workbench.ir.system import Definition, StateVariable, System
from workbench.verify.analyses.measure import find_longest, measure
from workbench.verify.analyses.tagged import FIRST, tag_events
from workbench.verify.answer.replay import run_of
from workbench.verify.answer.settings import Settings
from workbench.verify.answer.trace import Trace
from workbench.verify.ask.formula import atom, build
from workbench.verify.ask.properties import Property, Question, arrivals, pipe_named
from workbench.verify.finding import Finding

WATCH = "latency"
"""The observer that knows whether the tagged event has come."""


def _watch(system: System, source: str) -> tuple[System, Term]:
    """The system with an observer, and whether the tagged event comes at this step or came before."""
    entry = system.pipes[f"{source}.{FIRST}"]
    before = var(f"{WATCH}:before", BOOL)
    since = var(f"{WATCH}:since", BOOL)
    definition = Definition(since.name, either(before, both(entry.present, entry.value[1])))
    return observe(system, WATCH, [StateVariable(before.name, BOOL, False, since)], [definition]), since


def _is_caused(system: System, output: str) -> Term:
    """An event that the tagged one causes comes out."""
    slots = pipe_named(system, output).slots
    found: Term = disjunction(both(slot.present, slot.value[1]) for slot in slots)
    return found


def _counts(system: System) -> Term:
    """Steps that carry an input event, and those that a delayed event waits for."""
    found: Term = disjunction([*arrivals(system), system.waits])
    return found


def waiting(source: str, output: str) -> Property:
    """How many steps in a row it takes until the last output that the tagged event causes, both ends included."""

    def question(system: System) -> Question:
        watched, since = _watch(system, source)
        to_come = build("EF", atom(_is_caused(system, output)))
        # every step counts, so every input is in the model
        some = atom(both(since, _counts(system)))
        text = f"an event of '{source}' waits, and what it causes on '{output}' can come later and later"
        return Question(watched, "longest", build("and", some, to_come), failure=text)

    return Property(f"latency({source}, {output})", question)


def latency_below(source: str, output: str, k: int) -> Property:
    """No output comes `k` steps or more after the tagged event that causes it."""

    def question(system: System) -> Question:
        watched, since = _watch(system, source)
        age = var(f"{WATCH}:age", Range(0, k))
        older = ite(LT(age, k), age + 1, age)
        counted = replace(
            watched, variables=(*watched.variables, StateVariable(age.name, Range(0, k), 0, ite(since, older, 0)))
        )
        late = both(both(_is_caused(system, output), GE(age, k)), _counts(system))
        return Question(counted, "invar", atom(negate(late)))

    return Property(f"latency({source}, {output}) < {k}", question)


def latency(pipeline: Program, source: str, output: str, settings: Settings | None = None) -> Finding:
    """The most steps from an event of an input to an output event that it causes: `measure`."""
    settings = (settings or Settings()).fitted(pipeline)
    flat = settings.flat(pipeline)
    if rules := next((node.processor for node in flat.nodes if node.processor.marks), None):
        what = f"latency is not measured through {rules}: what it emits is caused by several events"
        raise Refused(what, hint="ask for the others: --only dead-paths,silence,constants,order")
    following = tag_events(flat, source)
    verdict, witness = find_longest(
        following, waiting(source, output), partial(latency_below, source, output), settings
    )
    steps, shows = verdict.length - 1 if verdict.length else None, witness.shows if witness else ""
    if steps is not None:
        shows = f"'{output}' carries what the event of '{source}' causes, {plural(steps, 'step')} after it"
    run = witness and _untag(flat, source, witness, shows)
    return measure(f"latency from {source} to {output}", verdict, steps, run, input=source, output=output)


def _untag(pipeline: Pipeline, source: str, trace: Trace, shows: str) -> Trace:
    """The run of the pipeline itself."""
    inputs = [{n: v[0] if n == source else v for n, v in step.inputs.items()} for step in trace.steps]
    found = run_of(pipeline, inputs, trace.loop, shows=shows, shortest=trace.shortest)
    return replace(found, replay=trace.replay) if trace.gap else found


def latencies(pipeline: Program, settings: Settings | None = None) -> tuple[Finding, ...]:
    """The latency from every input to every output that pipes lead to from it."""
    pipeline = pipeline.pipeline
    before = {
        output: {pipe, *(read for node in pipeline.upstream([pipe]) for read in node.inputs)}
        for output, pipe in pipeline.outputs
    }
    return tuple(
        latency(pipeline, source, output, settings)
        for source, _ in pipeline.inputs
        for output, pipes in before.items()
        if source in pipes
    )
