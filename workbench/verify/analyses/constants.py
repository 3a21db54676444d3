"""Constant pipes: pipes that always carry the same value, and pipes that never carry any.

Random runs show that most pipes vary. For the others one invariant per pipe is proved: it never carries an event, or
all its events are equal.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import StrEnum
from typing import Any

from workbench.core.domain import Value
from workbench.core.fields import split
from workbench.core.ops import EQ, conjunction, either, negate
from workbench.core.pipeline import Pipeline
from workbench.core.readable import show_value
from workbench.core.term import domain_of, leaves
from workbench.ir.system import System
from workbench.language import AnyProgram, program_of
from workbench.verify.analyses.sampling import Sampled
from workbench.verify.answer.problem import check
from workbench.verify.answer.replay import events_of, replay_inputs
from workbench.verify.answer.settings import Settings, refuse_loose_settings, require_settings
from workbench.verify.answer.trace import Trace, plain
from workbench.verify.answer.verdict import Outcome, Verdict, discount_early
from workbench.verify.ask.properties import Property, invariant, pipe_named
from workbench.verify.finding import BEFORE_OVERFLOW, Finding


class PipeBehaviour(StrEnum):
    """The behaviour of a pipe."""

    CONSTANT = "constant"
    SILENT = "never emits"
    VARIES = "varies"
    UNKNOWN = "unknown"


CONSTANT = {
    "pipe": "about", "outputs": "outputs", "kind": "answer", "value": "value", "verdict": "outcome",
    "assumptions": "rests_on", "witness": "witness",
}  # fmt: skip
"""The form of a finding about a pipe: `outputs` of the pipe; `value` of a constant one."""


def never_speaks(pipe: str) -> Property:
    """Return the property that a pipe never carries an event."""
    return invariant(f"{pipe} never emits", lambda s: negate(pipe_named(s, pipe).present), f"'{pipe}' carries an event")


def always_carries(pipe: str, value: Value) -> Property:
    """Return the property that every event of a pipe has this value."""

    def term(system: System) -> Any:
        terms = []
        for slot in pipe_named(system, pipe).slots:
            constant = split(domain_of(slot.value), value)
            equal = [EQ(a, b) for a, b in zip(leaves(slot.value), constant, strict=True)]
            terms.append(either(negate(slot.present), conjunction(equal)))
        return conjunction(terms)

    return invariant(f"{pipe} is constant", term, f"'{pipe}' carries another value")


@refuse_loose_settings
def constants(pipeline: AnyProgram, settings: Settings | None = None) -> tuple[Finding, ...]:
    """Find the `PipeBehaviour` of every pipe that a processor feeds, in topological order.

    A witness is a run on which a pipe carries two values.
    """
    pipeline = program_of(pipeline)
    settings = require_settings(settings).fit(pipeline)
    flat = settings.flat(pipeline)
    sampled = Sampled(flat, settings)
    inputs = {name for name, _ in flat.inputs}
    return tuple(_decide_constant(flat, pipe, sampled, settings) for pipe in flat.domains if pipe not in inputs)


def _decide_constant(pipeline: Pipeline, pipe: str, sampled: Sampled, settings: Settings) -> Finding:
    values = _sample_values(pipeline, pipe, sampled)
    if isinstance(values, Trace):
        return _report(pipeline, pipe, None, witness=values)
    if not values:
        verdict = discount_early(check(pipeline, never_speaks(pipe), settings))
        if verdict.outcome is not Outcome.FAILS:
            return _report(pipeline, pipe, verdict)
        assert verdict.counterexample is not None
        values = events_of(verdict.counterexample.steps[-1].pipes[pipe])
    verdict = discount_early(check(pipeline, always_carries(pipe, values[0]), settings))
    return _report(pipeline, pipe, verdict, values[:1], verdict.counterexample)


def _report(
    pipeline: Pipeline, pipe: str, verdict: Verdict | None, values: Sequence[Value] = (), witness: Trace | None = None
) -> Finding:
    """Report on a pipe that carries no other values, unless there is a witness."""
    kind = PipeBehaviour.VARIES
    if verdict is not None and verdict.outcome is not Outcome.FAILS:
        settled = PipeBehaviour.CONSTANT if values else PipeBehaviour.SILENT
        kind = settled if verdict.outcome.is_proved else PipeBehaviour.UNKNOWN
    domain, decided = pipeline.domains[pipe], kind is not PipeBehaviour.UNKNOWN
    outputs = tuple(name for name, output_pipe in pipeline.outputs if output_pipe == pipe)
    name = f"{pipe} = {', '.join(outputs)}" if outputs else pipe
    text = {
        PipeBehaviour.CONSTANT: f"  {name} always carries {show_value(values[0], domain) if values else ''}",
        PipeBehaviour.SILENT: f"  {name} never carries an event",
        PipeBehaviour.VARIES: "",
        PipeBehaviour.UNKNOWN: f"? {name}: unknown: {verdict.reason if verdict else ''}",
    }[kind]
    if verdict is not None and kind in (PipeBehaviour.CONSTANT, PipeBehaviour.SILENT):
        text += ", every N" * verdict.for_every_n + BEFORE_OVERFLOW * verdict.within_bounds
    value = plain(values[0], domain) if kind is PipeBehaviour.CONSTANT else None
    data = {"outputs": outputs, "value": value, "witness": witness if kind is PipeBehaviour.VARIES else None}
    return Finding(pipe, kind, text, verdict, decided=decided, data=data, form=CONSTANT)


def constant_lines(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield a line for each pipe that does not vary, and one for all others."""
    lines = [each.says for each in findings if each.says]
    varying = [each.about for each in findings if not each.says]
    yield from lines
    if varying:
        yield f"  {'the others vary' if lines else 'all vary'}: {', '.join(varying)}"


def _sample_values(pipeline: Pipeline, pipe: str, sampled: Sampled) -> Trace | list[Value]:
    """Return the value of a pipe in random runs, as a list of at most one; or a run with two values."""
    known: list[Value] = []
    for sample in sampled.samples:
        here: list[Value] = []
        for position, step in enumerate(sample.steps):
            here += [value for value in dict.fromkeys(events_of(step.pipes[pipe])) if value not in here]
            if len(here) > 1:
                return replay_inputs(pipeline, sample.inputs[: position + 1], shows=f"'{pipe}' carries two values")
        known += [value for value in here if value not in known]
    return known[:1]
