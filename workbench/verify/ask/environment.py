"""What is assumed of the inputs (design section 3, Environment)."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

from workbench.core.ops import AND, NOT, OR, conjunction, disjunction, either, negate
from workbench.core.term import FALSE, TRUE, Term
from workbench.errors import refuse_unknown
from workbench.ir.system import System
from workbench.smv.engines.engine import RawTrace
from workbench.smv.printer import SmvModel, print_model
from workbench.verify.ask.properties import Question

Arrivals = Literal["free", "synchronised", "always", "one"]


@dataclass(frozen=True)
class Environment:
    """How events come.

    Parameters
    ----------
    arrivals: `free` (each input may carry an event at each step or not), `synchronised` (all inputs or none),
        `always` (all inputs at every step), `one` (at most one input).
    fair: every input carries an event infinitely often.
    """

    arrivals: Arrivals = "free"
    fair: bool = False
    driven: ClassVar[bool] = False
    """Whether something outside of the pipeline decides what comes, which only SMV text tells."""

    def __post_init__(self) -> None:
        refuse_unknown("way for events to come", self.arrivals, get_args(Arrivals))

    @property
    def reducible(self) -> bool:
        """Whether there are steps without input, which can be left out where they change nothing."""
        return self.arrivals != "always"

    @property
    def may_end(self) -> bool:
        """Whether the streams may end, where the question lets them."""
        return not self.fair

    def adapt(self, question: Question) -> Question:
        """The question as it is asked in this environment."""
        return question

    def print(self, system: System, assume: Sequence[Term], header: Sequence[str]) -> SmvModel:
        """The model of a system in this environment, with its `assumptions`."""
        return print_model(system, assume=assume, fair=self.fairness(system), header=header)

    def outside(self, state: Mapping[str, str]) -> dict[str, str]:
        """What an engine's state holds beside the pipeline: variable to its value, as the engine prints it."""
        return {}

    def confirm(self, raw: RawTrace) -> bool:
        """Whether what is outside of the pipeline can behave as in this trace."""
        return True

    def assumptions(self, system: System, *, stutter_reduced: bool, ends: bool = True) -> list[Term]:
        """Conditions that hold at every step.

        With stutter reduction some input carries an event, or an event waits for time to pass. Where a processor of
        the system acts at the end of the streams, they may end at any step (unless `ends` is false or the environment
        is fair), which is a step without events; nothing comes after it. Oracles may say anything.
        """
        present = [i.present for i in system.arrivals if i.present.name in system.domains]
        nothing = conjunction(negate(p) for p in present)
        end = system.end if system.end and system.end.now.name in system.domains else None
        assume = system.assumed
        ended: Term = FALSE
        if end and ends and self.may_end:
            ended = OR(end.now, end.over)
            assume += [either(negate(ended), nothing), NOT(AND(end.now, end.over))]
        elif end:
            assume.append(NOT(end.now))
        if not present:
            return [a for a in assume if a is not TRUE]
        if self.arrivals == "always":
            return [either(conjunction(present), ended), *assume]
        if self.arrivals == "synchronised" and len(present) > 1:
            assume.append(either(conjunction(present), nothing))
        if self.arrivals == "one":
            assume += [negate(AND(one, other)) for one, other in itertools.combinations(present, 2)]
        if stutter_reduced:
            assume.append(either(disjunction(present), either(ended, system.waits)))
        return assume

    def fairness(self, system: System) -> list[Term]:
        """Conditions that hold infinitely often."""
        if not self.fair:
            return []
        return [i.present for i in system.arrivals if i.present.name in system.domains]

    def describe(self, question: Question | None = None) -> str:
        """For people: what the verdict (on `question`) rests on."""
        words = {
            "free": "inputs free: each may carry any event, or none, at each step",
            "synchronised": "inputs synchronised: all carry an event, or none",
            "always": "inputs always present",
            "one": "one input at a time carries an event",
        }[self.arrivals]
        return words + (", each infinitely often" if self.fair else "")
