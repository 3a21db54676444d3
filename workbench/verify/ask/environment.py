"""Assumptions about the inputs."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import ClassVar, Literal

from workbench.core.ops import AND, NOT, OR, conjunction, disjunction, either, negate
from workbench.core.term import FALSE, TRUE, Term
from workbench.errors import refuse_unknown
from workbench.ir.system import System
from workbench.smv.engines.engine import RawTrace
from workbench.smv.printer import SmvModel, print_model
from workbench.verify.ask.properties import Question

Arrivals = Literal["free", "synchronised", "always", "one"]


@dataclass(frozen=True)
class ArrivalsRow:
    """A pattern of arrivals.

    Attributes
    ----------
    words: the assumption, as verdicts print it.
    assume: conditions of every step, given whether each input carries an event, and whether the streams have ended.
    draw: the inputs that carry an event at a random step with events; each does with a probability.
    idle: whether there are steps without input.
    together: whether all inputs carry an event as soon as one does.
    single: whether at most one input carries an event, as for rules that are a model by themselves.
    """

    words: str
    assume: Callable[[Sequence[Term], Term], list[Term]]
    draw: Callable[[Random, Sequence[str], float], Sequence[str]]
    idle: bool = True
    together: bool = False
    single: bool = False


def _all_or_none(present: Sequence[Term], _: Term) -> list[Term]:
    nothing = conjunction(negate(each) for each in present)
    return [either(conjunction(present), nothing)] if len(present) > 1 else []


ARRIVALS: dict[Arrivals, ArrivalsRow] = {
    "free": ArrivalsRow(
        "inputs free: each may carry any event, or none, at each step", lambda *_: [],
        lambda rng, names, weight: [n for n in names if rng.random() < weight] or [rng.choice(names)],
    ),
    "synchronised": ArrivalsRow(
        "inputs synchronised: all carry an event, or none", _all_or_none, lambda _, names, __: names, together=True
    ),
    "always": ArrivalsRow(
        "inputs always present", lambda present, ended: [either(conjunction(present), ended)],
        lambda _, names, __: names, idle=False, together=True,
    ),
    "one": ArrivalsRow(
        "one input at a time carries an event",
        lambda present, _: [negate(AND(one, other)) for one, other in itertools.combinations(present, 2)],
        lambda rng, names, _: [rng.choice(names)], single=True,
    ),
}  # fmt: skip
"""All patterns of arrivals."""


@dataclass(frozen=True)
class Environment:
    """Assumptions about how events arrive.

    Parameters
    ----------
    arrivals: `free` (each input may carry an event at each step or not), `synchronised` (all inputs or none),
        `always` (all inputs at every step), `one` (at most one input); `row` defines the meaning.
    fair: whether every input carries an event infinitely often.
    """

    arrivals: Arrivals = "free"
    fair: bool = False
    driven: ClassVar[bool] = False
    """Whether a system outside of the pipeline drives the inputs; it exists as SMV text only."""

    def __post_init__(self) -> None:
        refuse_unknown("pattern of arrivals", self.arrivals, ARRIVALS)

    @property
    def row(self) -> ArrivalsRow:
        """The row of the pattern of arrivals."""
        return ARRIVALS[self.arrivals]

    @property
    def reducible(self) -> bool:
        """Whether there are steps without input, which can be omitted where they change nothing."""
        return self.row.idle

    @property
    def may_end(self) -> bool:
        """Whether the streams may end, if the question allows it."""
        return not self.fair

    def adapt(self, question: Question) -> Question:
        """Return the question adapted to this environment."""
        return question

    def print(self, system: System, assume: Sequence[Term], header: Sequence[str]) -> SmvModel:
        """Print the model of a system in this environment, with its `assumptions`."""
        return print_model(system, assume=assume, fair=self.fairness(system), header=header)

    def outside(self, state: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of an engine's state outside of the pipeline, with their values as the engine prints."""
        return {}

    def confirm(self, raw: RawTrace) -> bool:
        """Whether the system outside of the pipeline can behave as in this trace."""
        return True

    def assumptions(self, system: System, *, stutter_reduced: bool, ends: bool = True) -> list[Term]:
        """Return the conditions that hold at every step.

        With stutter reduction, every step has an input event or an event that waits for time to pass, unless
        assumptions may rule out all events. Where a processor of the system acts at the end of the streams, they may
        end at any step (unless `ends` is false or the environment is fair), which is a step without events; nothing
        comes after it. Oracles may carry any value.
        """
        present = [i.present for i in system.arrivals if i.present.name in system.domains]
        nothing = conjunction(negate(p) for p in present)
        end = system.end if system.end and system.end.now.name in system.domains else None
        assume = system.assumptions
        ended: Term = FALSE
        if end and ends and self.may_end:
            ended = OR(end.now, end.over)
            assume += [either(negate(ended), nothing), NOT(AND(end.now, end.over))]
        elif end:
            assume.append(NOT(end.now))
        if not present:
            return [a for a in assume if a is not TRUE]
        own = self.row.assume(present, ended)
        if not self.row.idle:
            return [*own, *assume]
        assume += own
        if stutter_reduced and not system.is_restricted_by_state:
            assume.append(either(disjunction(present), either(ended, system.waits)))
        return assume

    def fairness(self, system: System) -> list[Term]:
        """Return the conditions that hold infinitely often."""
        if not self.fair:
            return []
        return [i.present for i in system.arrivals if i.present.name in system.domains]

    def describe(self, question: Question | None = None) -> str:
        """Describe the assumptions that a verdict (on `question`) rests on."""
        return self.row.words + (", each infinitely often" if self.fair else "")
