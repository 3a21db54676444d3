"""Measure latency from an event to its effect, and the longest silence: numbers of steps, with a run for each.

Latency: an output event is caused by the input events from which a chain of firings leads to it, each firing consuming
what the one before has emitted (`tagged` explains why memories do not count). Latency is therefore the time that
events spend in queues. Only steps with an input event count; an output in the same step has latency 0. If an event
causes several outputs, the last one counts. One tagged event, chosen freely by the environment, stands for all.

Silence: a silent step carries an input event and no output. The longest silence is the smallest k for which
`bounded-liveness(k)` holds.

Both are longest paths inside a set of states, found in one search: the states from which a tagged output is still to
come, and those in which a silent step begins. The engine peels states off round by round; if nothing peels off any
more, a run can stay in the set for ever.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from workbench.core.domain import BOOL, Range
from workbench.core.ops import GE, LT, both, disjunction, either, ite, negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.readable import plural
from workbench.core.term import Term, var
from workbench.errors import Refused, refuse_unknown
from workbench.ir.reduce import observe
from workbench.ir.system import Definition, StateVariable, System
from workbench.language import AnyProgram, program_of
from workbench.processors.held.group import flatten
from workbench.verify.analyses.tagging import FIRST, tag_events
from workbench.verify.answer.problem import check
from workbench.verify.answer.replay import replay_inputs
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.trace import Trace
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.formula import Formula, atom, build
from workbench.verify.ask.properties import (
    Property,
    Question,
    arrivals,
    bounded_liveness,
    make_property,
    outputs,
    pipe_named,
)
from workbench.verify.finding import Finding

MEASURE = {
    "what": "about", "steps": "steps", "unbounded": "unbounded", "verdict": "outcome", "reason": "reason",
    "seconds": "seconds", "assumptions": "rests_on", "witness": "witness",
}  # fmt: skip
"""The form of a measure: `steps` is the maximum, None if there is none, or it was not found."""


def find_longest(
    pipeline: Program, longest: Property, fewer: Callable[[int], Property], settings: Settings
) -> tuple[Verdict, Trace | None]:
    """Return the verdict on the maximum number of consecutive steps of something, and a run that shows it.

    If there is a maximum, the run is from another algorithm: a shortest one that refutes a counter of `fewer` steps.
    """
    verdict = check(pipeline, longest, settings)
    if not verdict.length:
        return verdict, verdict.counterexample
    return verdict, check(pipeline, fewer(verdict.length - 1), settings).counterexample


def measure(what: str, verdict: Verdict, steps: int | None, witness: Trace | None, **between: str) -> Finding:
    """Make the finding of a maximum number of steps.

    Parameters
    ----------
    verdict: of the search: `holds`: there is a maximum, `steps`; `holds-within-bounds`: `steps` is the maximum
        before a queue overflows (or a checked number leaves its domain), and a lower bound beyond; `fails`: there is
        none, and the counterexample is a lasso on which it grows for ever.
    steps: the number; None if there is none, or it was not found.
    witness: a run that reaches the number, or the lasso.
    between: further entries of JSON, before all others.
    """
    data = {
        "steps": steps, "unbounded": verdict.outcome is Outcome.FAILS, "reason": verdict.reason,
        "seconds": round(verdict.seconds, 4), "witness": witness, **between,
    }  # fmt: skip
    runs = {"": witness} if witness is not None and steps != 0 else {}
    decided = verdict.outcome is not Outcome.UNKNOWN
    form = {**{name: name for name in between}, **MEASURE}
    text = _words(verdict, steps)
    return Finding(what, text, text, verdict, runs, decided, data=data, form=form)


def _words(verdict: Verdict, steps: int | None) -> str:
    if verdict.outcome is Outcome.FAILS:
        return "unbounded"
    if verdict.outcome is Outcome.UNKNOWN:
        return f"unknown: {verdict.reason}"
    exact = verdict.outcome is Outcome.HOLDS
    if steps is None:
        return "none" if exact else "none within the bounds"
    return plural(steps, "step") + ("" if exact else " within the bounds, perhaps more beyond")


# --- latency --------------------------------------------------------------------------------------------------------


WATCH = "(latency)"
"""The name of the observer that stores whether the tagged event has come."""


def _watch(system: System, source: str) -> tuple[System, Term]:
    """Return the system with an observer, and whether the tagged event comes at this step or came before."""
    entry = system.pipes[f"{source}.{FIRST}"]
    before = var(f"{WATCH}:before", BOOL)
    since = var(f"{WATCH}:since", BOOL)
    definition = Definition(since.name, either(before, both(entry.present, entry.value[1])))
    return observe(system, WATCH, [StateVariable(before.name, BOOL, False, since)], [definition]), since


def _is_caused(system: System, output: str) -> Term:
    """Return the condition that an output carries an event which the tagged one causes."""
    slots = pipe_named(system, output).slots
    condition: Term = disjunction(both(slot.present, slot.value[1]) for slot in slots)
    return condition


def _counts(system: System) -> Term:
    """Return the condition that a step carries an input event, or that a delayed event waits for it."""
    condition: Term = disjunction([*arrivals(system), system.waits])
    return condition


def waiting(source: str, output: str) -> Property:
    """Return the property of how many consecutive steps it takes until the last output that the tagged event causes."""

    def question(system: System) -> Question:
        watched, since = _watch(system, source)
        to_come = build("EF", atom(_is_caused(system, output)))
        # every step counts (both ends included), so every input is in the model
        some = atom(both(since, _counts(system)))
        text = f"an event of '{source}' waits, and what it causes on '{output}' can come later and later"
        return Question(watched, "longest", build("and", some, to_come), failure=text)

    return Property(f"latency({source}, {output})", question)


def latency_below(source: str, output: str, k: int) -> Property:
    """Return the property that no output comes `k` steps or more after the tagged event that causes it."""

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


@refuse_loose_settings
def latency(pipeline: AnyProgram, source: str, output: str, settings: Settings | None = None) -> Finding:
    """Measure the maximum number of steps from an event of an input to an output event that it causes.

    Raises
    ------
    InputError: there is no such input or output. Refused: the events pass rules.
    """
    pipeline = program_of(pipeline)
    refuse_unknown("input", source, [each.name for each in pipeline.ports.inputs])
    refuse_unknown("output", output, [each.name for each in pipeline.ports.outputs])
    settings = require_settings(settings).fit(pipeline)
    flat = settings.flat(pipeline)
    if rules := next((node.processor for node in flat.nodes if node.processor.marks), None):
        what = f"latency is not measured through {rules}: several events cause its outputs"
        raise Refused(what, hint="run the other analyses: --only dead-paths,silence,constants,order")
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
    """Return the run of the pipeline itself."""
    inputs = [{n: v[0] if n == source else v for n, v in step.inputs.items()} for step in trace.steps]
    run = replay_inputs(pipeline, inputs, trace.loop, shows=shows, shortest=trace.shortest)
    return replace(run, replay=trace.replay) if trace.gap else run


@refuse_loose_settings
def latencies(pipeline: AnyProgram, settings: Settings | None = None) -> tuple[Finding, ...]:
    """Measure the latency from every input to every output that depends on it."""
    pipeline = program_of(pipeline).pipeline
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


# --- silence --------------------------------------------------------------------------------------------------------


def silent_steps() -> Property:
    """Return the property of how many consecutive silent steps there can be; it `fails` if there is no maximum."""

    def falls_silent(system: System) -> Formula:
        if system.pending:
            raise Refused(
                "the longest silence is not measured where a pipe delays events: time passes without input, too",
                hint="check bounded-liveness(k), which counts the steps with input",
            )
        return atom(both(disjunction(arrivals(system)), negate(disjunction(outputs(system)))))

    return make_property("longest-silence", "longest", falls_silent, "no output comes, whatever the loop feeds")


@refuse_loose_settings
def longest_silence(pipeline: AnyProgram, settings: Settings | None = None, output: str | None = None) -> Finding:
    """Measure the maximum number of consecutive steps that carry an input event and no output event.

    Parameters
    ----------
    output: the only output to consider; None: a step on which any output emits is not silent.
    """
    pipeline = program_of(pipeline)
    settings = require_settings(settings).fit(pipeline)
    if output is not None:
        pipeline = _with_output(pipeline, output)
    verdict, witness = find_longest(pipeline, silent_steps(), bounded_liveness, settings)
    if verdict.length and witness is not None:
        witness = replace(witness, shows=f"{plural(verdict.length, 'step')} with input and without output")
    what = "silence" if output is None else f"silence of {output}"
    return measure(what, verdict, verdict.length, witness)


def silences(pipeline: Pipeline, settings: Settings) -> list[Finding]:
    """Measure the longest silence, of all outputs together and of each."""
    names = [name for name, _ in pipeline.outputs] if pipeline.out_arity > 1 else []
    return [longest_silence(pipeline, settings, name) for name in (None, *names)]


def _with_output(pipeline: Program, output: str) -> Pipeline:
    """Return the pipeline with one of its outputs only."""
    flat = flatten(pipeline)
    return replace(flat, outputs=((output, flat.pipe(output)),))
