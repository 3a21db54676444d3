"""Questions about rules, put to larger and larger models until the answer is not vacuous.

The rule of this module: an answer is vacuous if nothing happens in the model that the question is about. If no run
decides it, models with larger capacities are tried, or, if capacities suffice, with more values and moments.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from workbench.budget import Budget, phase, share
from workbench.errors import LimitMet, Refused
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.model.needs import AT_FIRST
from workbench.verify.answer.verdict import Outcome, Vacuity, Verdict, deeper
from workbench.verify.rules.rule_subject import RuleSubject

ROOMIER, VARIED = ((2, 1), (1, 2), (4, 1), (8, 1), (4, 4), (16, 1)), ((1, 2), (1, 4))
"""Factors of capacity and of values of larger models: if a bound is met, and if none is."""
LARGEST_CAPACITY = AT_FIRST * max(growth for growth, _ in ROOMIER)
"""The largest capacity that is tried for what rules need, unless the user chooses one."""
ALWAYS = 3
"""Number of larger models that are tried even if something happens in the first model."""
LOOKING = 2.0
"""Minimum time in seconds for deciding whether anything happens."""
ENOUGH = 4
"""Factor of capacity that is tried if the user has chosen a smaller one."""
RELEASED: Mapping[str, tuple[str, Any]] = {
    "values": ("--values", {}), "tick": ("--tick", None), "count": ("-N", None), "rates": ("--rate", {}),
    "capacity": ("-Q", None),
}  # fmt: skip
"""Bounds that users give, their options, and their defaults."""


@dataclass(frozen=True)
class GrowingQuestion:
    """A question about rules, put to larger and larger models.

    Attributes
    ----------
    query: decides it in the model with these bounds.
    subject: the rules, or the first of two rule sets, with the bounds of the first model.
    happens: whether anything the question is about happens in the model with these bounds; None if unknown.
    never: the words for that nothing happens; empty if the question cannot be vacuous.
    itself: whether the question is whether that happens.
    wanted: whether a run is wanted, not its absence.
    computes: whether the rules compute with values, so that values outside the model may behave differently.
    """

    query: Callable[[RuleBounds], Verdict]
    subject: RuleSubject
    happens: Callable[[RuleBounds], bool | None]
    never: str
    itself: bool = False
    wanted: bool = False
    computes: bool = True

    def decide(self, first: Verdict | None = None) -> tuple[Verdict, RuleBounds]:
        """Return the verdict of the largest model that is decided, and its bounds; unknown if it is vacuous.

        Parameters
        ----------
        first: the verdict of the first model, if it is known.
        """
        verdict, bounds = self.query(self.subject.bounds) if first is None else first, self.subject.bounds
        if self._open(verdict) and self.subject.deepen and self.subject.settings.grow:
            with suppress(LimitMet), Budget(self.subject.settings.grow, soft=True):
                for verdict, bounds in self._larger(verdict, bounds):  # noqa: B007, B020 - the last one counts
                    pass
        if self.never and self._open(verdict) and not (can_happen := self._happens(bounds)):
            verdict = self.vacuous(verdict, can_happen)
        return verdict, bounds

    def _open(self, verdict: Verdict) -> bool:
        """Whether neither a run nor the text decides the question, and no limit was met."""
        if verdict.trivial:
            return False
        run_outcome = Outcome.HOLDS if self.wanted else Outcome.FAILS
        return verdict.within_bounds or verdict.outcome not in (run_outcome, Outcome.UNKNOWN)

    def _larger(self, verdict: Verdict, bounds: RuleBounds) -> Iterator[tuple[Verdict, RuleBounds]]:
        """Yield the verdicts of larger models that say more; if nothing happens in the first, of those where it may."""
        roomier = verdict.within_bounds
        quiet = bool(self.never) and not self._happens(bounds)
        for number, (growth, variety) in enumerate(ROOMIER if roomier else VARIED):
            if not quiet and (number >= ALWAYS or not roomier):
                return
            larger = replace(self.subject.bounds, growth=self.subject.bounds.growth * growth, variety=variety)
            speaks = not quiet or self.itself
            try:
                if not speaks and self._happens(larger) is False:
                    continue
                part = phase(f"larger model {number + 1}", part=True)
                with share(1 if number or not speaks else 2), part:
                    larger_verdict = self.query(larger)
            except (LimitMet, Refused):  # a larger capacity may mean too many values
                continue
            if not self._open(larger_verdict) and larger_verdict.outcome is Outcome.UNKNOWN:  # a limit was met
                if not speaks:  # less is known if nothing happens in the model
                    verdict, bounds = larger_verdict, larger
                elif verdict.outcome is Outcome.UNKNOWN:
                    verdict = replace(verdict, depth=deeper(verdict.depth, larger_verdict.depth))
            elif roomier or not larger_verdict.within_bounds:  # otherwise less is known than before
                verdict, bounds, quiet = larger_verdict, larger, quiet and self.itself
            yield verdict, bounds
            if not self._open(verdict) or verdict.within_bounds is not roomier:
                return

    def _happens(self, bounds: RuleBounds) -> bool | None:
        """Whether anything happens that the question is about; False if that is the question. None: not known."""
        if self.itself:
            return False
        with suppress(LimitMet, Refused), Budget(max(self.subject.settings.grow, LOOKING)):
            return self.happens(bounds)
        return None

    def vacuous(self, verdict: Verdict, can_happen: bool | None = None) -> Verdict:
        """Return the verdict marked as vacuous, if nothing the question is about happens, or that is not known."""
        if not self.never or not self._open(verdict):
            return verdict
        searched = "" if can_happen is False else ", as far as the model of this question was searched"
        never = f"{self.never}{searched}"
        values = next((ground.partition(";")[0] for ground in verdict.rests_on if ground.endswith(" null")), "")
        least = _name_bound(verdict) if verdict.within_bounds else ""
        bound = self._find_preventing() if can_happen is False else ""
        if may := bound or " or ".join(filter(None, [least, values if self.computes else ""])):
            vacuity = Vacuity(never, least if bound == "-Q" else may, certain=bool(bound))
            return replace(verdict.mark_vacuous(vacuity, unknown=True), depth=verdict.depth)
        return verdict if self.itself else verdict.mark_vacuous(Vacuity(never))

    def _find_preventing(self) -> str:
        """Return the option without which something happens; empty if that is not known."""
        facts = {name: 2 * limit for name, limit in self.subject.bounds.any_facts.items()}
        for name, (option, value) in {**RELEASED, "any_facts": ("--facts-any", facts)}.items():
            growth = ENOUGH if name == "capacity" else self.subject.bounds.growth
            if getattr(self.subject.bounds, name) != value:
                with suppress(LimitMet, Refused), Budget(LOOKING):
                    if self.happens(replace(self.subject.bounds, growth=growth, **{name: value})):
                        return option
        return ""


def _name_bound(verdict: Verdict) -> str:
    """Name the bound at which a run of the model ends."""
    run = verdict.witness
    if run is None:
        return "the time for larger models"
    full = run.steps[-1].overflows
    if not full:
        return "the longest chain of causes, or a value that the model does not have"
    return " and ".join(f"Q = {run.capacities[name]} of {name}" if name in run.capacities else name for name in full)
