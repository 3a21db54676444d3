"""Questions about rules, put to larger and larger models until the answer is not vacuous.

The rule of this module: an answer is vacuous if an event that the question is about does not happen in the model. If
no run decides it, models with larger capacities are tried, or, if capacities suffice, with more values and moments.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.budget import Budget, phase, share
from workbench.errors import LimitMet, Refused
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.model.needs import AT_FIRST
from workbench.verify.answer.verdict import Outcome, Vacuity, Verdict, deeper
from workbench.verify.rules.rule_subject import RequiredFiring, RuleSubject

ROOMIER, VARIED = ((2, 1), (1, 2), (4, 1), (8, 1), (4, 4), (16, 1)), ((1, 2), (1, 4))
"""Factors of capacity and of values of larger models: if a bound is met, and if none is."""
LARGEST_CAPACITY = AT_FIRST * max(growth for growth, _ in ROOMIER)
"""The largest capacity of columns that is tried, unless the user chooses one."""
ALWAYS = 3
"""Number of larger models that are tried even if all that the question is about happens in the first model."""
LOOKING = 2.0
"""Minimum time in seconds for deciding whether a rule fires."""
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
    required: the firings that the question is about; without one of them in the model, the answer is vacuous.
    itself: whether the question is whether one of these rules fires.
    wanted: whether a run is wanted, not its absence.
    fired: the firings that were found, each with the growth and the variety of the models.
    """

    query: Callable[[RuleBounds], Verdict]
    subject: RuleSubject
    required: Sequence[RequiredFiring] = ()
    itself: bool = False
    wanted: bool = False
    fired: set[tuple[RequiredFiring, int, int]] = field(default_factory=set, repr=False)

    def decide(self, first: Verdict | None = None) -> tuple[Verdict, RuleBounds]:
        """Return the verdict of the largest model that is decided, and its bounds; `unknown` if that is vacuous.

        Parameters
        ----------
        first: the verdict of the first model, if it is known.
        """
        verdict, bounds = self.query(self.subject.bounds) if first is None else first, self.subject.bounds
        if self._open(verdict) and self.subject.deepen and self.subject.settings.grow:
            with suppress(LimitMet), Budget(self.subject.settings.grow, soft=True):
                for verdict, bounds in self._larger(verdict, bounds):  # noqa: B007, B020 - the last one counts
                    pass
        if self._open(verdict):
            verdict = self.vacuous(verdict, self._find_idle(bounds))
        return verdict, bounds

    def _open(self, verdict: Verdict) -> bool:
        """Whether neither a run nor the text decides the question, and no limit was met."""
        if verdict.trivial:
            return False
        run_outcome = Outcome.HOLDS if self.wanted else Outcome.FAILS
        return verdict.within_bounds or verdict.outcome not in (run_outcome, Outcome.UNKNOWN)

    def _larger(self, verdict: Verdict, bounds: RuleBounds) -> Iterator[tuple[Verdict, RuleBounds]]:
        """Yield the verdicts of larger models that say more; while a required firing is missing, of all of them."""
        roomier, idle = verdict.within_bounds, self._find_idle(bounds)
        for number, (growth, variety) in enumerate(ROOMIER if roomier else VARIED):
            if not idle and (number >= ALWAYS or not roomier):
                return
            larger = replace(self.subject.bounds, growth=self.subject.bounds.growth * growth, variety=variety)
            speaks = not idle or self.itself
            try:
                idle_there = self._find_idle(larger)
                less = bool(idle_there.keys() - idle.keys()) or (idle_there and len(idle_there) == len(self.required))
                if less and not self.itself and Outcome.UNKNOWN not in idle_there.values():
                    continue
                part = phase(f"larger model {number + 1}", part=True)
                with share(1 if number or not speaks else 2), part:
                    larger_verdict = self.query(larger)
            except (LimitMet, Refused):  # a larger capacity may mean too many values
                continue
            if not self._open(larger_verdict) and larger_verdict.outcome is Outcome.UNKNOWN:  # a limit was met
                if not speaks and idle_there != idle:  # less is known if less happens in the model
                    verdict, bounds, idle = larger_verdict, larger, idle_there
                elif verdict.outcome is Outcome.UNKNOWN:
                    verdict = replace(verdict, depth=deeper(verdict.depth, larger_verdict.depth))
            elif roomier or not larger_verdict.within_bounds:  # otherwise less is known than before
                verdict, bounds, idle = larger_verdict, larger, idle_there
            yield verdict, bounds
            if not self._open(verdict) or verdict.within_bounds is not roomier:
                return

    def _find_idle(self, bounds: RuleBounds) -> dict[RequiredFiring, Outcome]:
        """Return the required firings that the model with these bounds lacks; all if one of them is the question."""
        idle = dict.fromkeys(self.required, Outcome.UNKNOWN)
        for each in () if self.itself else self.required:
            known = any(of is each and g <= bounds.growth and v <= bounds.variety for of, g, v in self.fired)
            with suppress(LimitMet, Refused), Budget(max(self.subject.settings.grow / len(self.required), LOOKING)):
                idle[each] = Outcome.HOLDS if known else each.judge(bounds)
            if idle[each] is Outcome.HOLDS:
                self.fired.add((each, bounds.growth, bounds.variety))
                del idle[each]
        return idle

    def vacuous(self, verdict: Verdict, idle: Mapping[RequiredFiring, Outcome] | None = None) -> Verdict:
        """Return the verdict marked as vacuous if required firings are missing in its model, or if that is not known.

        Parameters
        ----------
        idle: the firings that are missing, each with the outcome of its search; None: those that were not found.
        """
        if idle is None:
            fired = {each for each, _, _ in self.fired}
            idle = {each: Outcome.UNKNOWN for each in self.required if each not in fired}
        elif self.itself:
            idle = dict.fromkeys(idle, Outcome.WITHIN_BOUNDS if verdict.within_bounds else Outcome.FAILS)
        if not idle or not self._open(verdict):
            return verdict
        known = [each for each in idle if idle[each] is not Outcome.UNKNOWN]
        least = _name_bound(verdict) if verdict.within_bounds else ""
        values = next((ground.partition(";")[0] for ground in verdict.rests_on if ground.endswith(" null")), "")
        bound, missing = self._find_preventing(known)
        certain = bool(bound)
        if not certain:  # a larger capacity does not help if no capacity does
            missing = [each for each in idle if idle[each] is not Outcome.FAILS or (values and each.computes)]
            missing = [each for each in missing if each in known] or missing
            bound = " or ".join(filter(None, [least, values * any(each.computes for each in missing)]))
        if missing and bound:
            vacuity = Vacuity(self._describe(missing, idle), least if bound == "-Q" else bound, certain=certain)
            return replace(verdict.mark_vacuous(vacuity, unknown=True), depth=verdict.depth)
        if self.itself or len(idle) < len(self.required):
            return verdict
        return verdict.mark_vacuous(Vacuity(self._describe(idle, idle)))

    def _describe(self, missing: Collection[RequiredFiring], idle: Mapping[RequiredFiring, Outcome]) -> str:
        """Describe the missing firings; with the rule set, if they are missing in only one of two."""
        others = {each.never for each in self.required if each not in idle}
        words = dict.fromkeys(each.never_there if each.never in others else each.never for each in missing)
        unknown = any(idle[each] is Outcome.UNKNOWN for each in missing)
        return " and ".join(words) + ", as far as the model of this question was searched" * unknown

    def _find_preventing(self, idle: Collection[RequiredFiring]) -> tuple[str, list[RequiredFiring]]:
        """Return the option that prevents some of these firings, and these; empty if it is not known."""
        facts = {name: 2 * limit for name, limit in self.subject.bounds.any_facts.items()}
        for name, (option, value) in {**RELEASED, "any_facts": ("--facts-any", facts)}.items():
            growth = ENOUGH if name == "capacity" else self.subject.bounds.growth
            if getattr(self.subject.bounds, name) == value:
                continue
            released, coming = replace(self.subject.bounds, growth=growth, **{name: value}), list[RequiredFiring]()
            for each in idle:
                with suppress(LimitMet, Refused), Budget(LOOKING):
                    coming += [each] if each.judge(released) is Outcome.HOLDS else []
            if coming:
                return option, coming
        return "", []


def _name_bound(verdict: Verdict) -> str:
    """Name the bound at which a run of the model ends."""
    run = verdict.witness
    if run is None:
        return "the time for larger models"
    full = run.steps[-1].overflows
    if not full:
        return "the longest chain of causes, or a value that the model lacks"
    return " and ".join(f"Q = {run.capacities[name]} of {name}" if name in run.capacities else name for name in full)
