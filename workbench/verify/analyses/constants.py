"""Constant pipes: those that carry the same value whenever they carry one, and those that never carry any.

Random runs show for most pipes that they vary. What is left is proved, one invariant for each pipe: it never carries
an event, or all its events are equal.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from workbench.core.domain import Value
from workbench.core.fields import split
from workbench.core.ops import EQ, conjunction, either, negate
from workbench.core.pipeline import Pipeline
from workbench.core.program import Program
from workbench.core.term import domain_of, leaves
from workbench.ir.system import Pipe, System
from workbench.processors.held.group import flatten
from workbench.verify.analyses.sampling import Sampled
from workbench.verify.answer.check import Settings
from workbench.verify.answer.problem import check, discount_early
from workbench.verify.answer.replay import events_of, run_of
from workbench.verify.answer.verdict import Outcome, Trace, Verdict, plain
from workbench.verify.ask.properties import Property, invariant

PROVED = (Outcome.HOLDS, Outcome.WITHIN_BOUNDS)


class PipeBehaviour(StrEnum):
    """What a pipe does."""

    CONSTANT = "constant"
    SILENT = "never speaks"
    VARIES = "varies"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class Constancy:
    """What a pipe carries.

    Attributes
    ----------
    outputs: the outputs that show this pipe.
    value: of a constant pipe.
    verdict: that it is constant, or silent; None where a run decided.
    witness: a run on which it carries two values, or (constant) its value.
    """

    pipe: str
    outputs: tuple[str, ...]
    kind: PipeBehaviour
    value: Value | None
    verdict: Verdict | None
    witness: Trace | None

    @property
    def within_bounds(self) -> bool:
        """Whether it was shown only up to an overflow."""
        return self.verdict is not None and self.verdict.outcome is Outcome.WITHIN_BOUNDS

    def to_json(self, pipeline: Pipeline) -> dict[str, Any]:
        """Plain data; `pipeline` knows the domains."""
        return {
            "pipe": self.pipe,
            "outputs": list(self.outputs),
            "kind": str(self.kind),
            "value": plain(self.value, pipeline.domains[self.pipe]) if self.kind is PipeBehaviour.CONSTANT else None,
            "verdict": None if self.verdict is None else str(self.verdict.outcome),
            "assumptions": [] if self.verdict is None else list(self.verdict.rests_on),
            "witness": None if self.witness is None else self.witness.to_json(),
        }


def never_speaks(pipe: str) -> Property:
    """The pipe never carries an event."""
    return invariant(f"{pipe} never speaks", lambda s: negate(_pipe(s, pipe).present), f"'{pipe}' carries an event")


def always_carries(pipe: str, value: Value) -> Property:
    """Every event of the pipe has this value."""

    def term(system: System) -> Any:
        terms = []
        for slot in _pipe(system, pipe).slots:
            constant = split(domain_of(slot.value), value)
            equal = [EQ(a, b) for a, b in zip(leaves(slot.value), constant, strict=True)]
            terms.append(either(negate(slot.present), conjunction(equal)))
        return conjunction(terms)

    return invariant(f"{pipe} is constant", term, f"'{pipe}' carries another value")


def _pipe(system: System, name: str) -> Pipe:
    """The pipe that a name of a pipe or an output means."""
    return system.pipes[dict(system.outputs).get(name, name)]


def constants(pipeline: Program, settings: Settings | None = None) -> tuple[Constancy, ...]:
    """What every pipe carries that a processor feeds, in topological order."""
    settings = (settings or Settings()).fitted(pipeline)
    flat = flatten(settings.over(pipeline)[0])
    sampled = Sampled(flat, settings)
    given = {name for name, _ in flat.inputs}
    return tuple(_carried(flat, pipe, sampled, settings) for pipe in flat.domains if pipe not in given)


def _carried(pipeline: Pipeline, pipe: str, sampled: Sampled, settings: Settings) -> Constancy:
    outputs = tuple(name for name, shown in pipeline.outputs if shown == pipe)
    seen = _seen(pipeline, pipe, sampled)
    if isinstance(seen, Trace):
        return Constancy(pipe, outputs, PipeBehaviour.VARIES, None, None, seen)
    if not seen:
        verdict = discount_early(check(pipeline, never_speaks(pipe), settings))
        if verdict.outcome is not Outcome.FAILS:
            kind = PipeBehaviour.SILENT if verdict.outcome in PROVED else PipeBehaviour.UNKNOWN
            return Constancy(pipe, outputs, kind, None, verdict, None)
        assert verdict.counterexample is not None
        seen = events_of(verdict.counterexample.steps[-1].pipes[pipe])
    verdict = discount_early(check(pipeline, always_carries(pipe, seen[0]), settings))
    if verdict.outcome is Outcome.FAILS:
        return Constancy(pipe, outputs, PipeBehaviour.VARIES, None, verdict, verdict.counterexample)
    kind = PipeBehaviour.CONSTANT if verdict.outcome in PROVED else PipeBehaviour.UNKNOWN
    return Constancy(pipe, outputs, kind, seen[0], verdict, None)


def _seen(pipeline: Pipeline, pipe: str, sampled: Sampled) -> Trace | list[Value]:
    """The value that random runs saw on a pipe, as a list of at most one; or a run on which there are two."""
    known: list[Value] = []
    for sample in sampled.samples:
        here: list[Value] = []
        for position, step in enumerate(sample.steps):
            here += [value for value in dict.fromkeys(events_of(step.pipes[pipe])) if value not in here]
            if len(here) > 1:
                return run_of(pipeline, sample.inputs[: position + 1], shows=f"'{pipe}' carries two values")
        known += [value for value in here if value not in known]
    return known[:1]
