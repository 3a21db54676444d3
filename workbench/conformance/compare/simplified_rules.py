"""Rules made simpler, with the reason for each step.

The rule of this module: laws come first; what no law says the model is asked, within its bounds, and only if random
streams, with values and nulls that the model does not have, tell no difference.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from workbench.budget import Budget
from workbench.conformance.generate.rule_streams import stream_case
from workbench.errors import LimitMet, WorkbenchError
from workbench.tesla import tree as t
from workbench.tesla.meaning import meaning
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.occurrence import Facts, Occurrence, has_units, in_units
from workbench.tesla.rewriting.candidates import smaller
from workbench.tesla.rewriting.lawful import by_laws, differing, renumbered
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.rule_simplification import RewritingStep, RuleSimplification, UndecidedRewriting
from workbench.verify.answer.verdict import Outcome
from workbench.verify.rules.problems import WITH_TIME, rule_comparison

STREAMS, EVENTS = 40, 12
"""So many random streams, of so many events at most, are tried before the model is asked."""
NULLS = 0.1
"""How many of the values in them are null."""


def simplified_rules(
    rules: RuleSet, *, bounds: RuleBounds | None = None, within_bounds: bool = False, seconds: float = 10
) -> RuleSimplification:
    """A rule set that means the same with fewer constraints, predicates and rules, and shorter windows.

    Parameters
    ----------
    bounds: of the model.
    within_bounds: whether what holds as far as no column of the model is full is applied, too.
    seconds: how long one question to the model may take; 0: it is asked nothing, and what is done holds without bounds.
    """
    made, steps, undecided = rules, list[RewritingStep](), list[UndecidedRewriting]()
    while True:
        for step, fewer in by_laws(made):
            steps.append(step)
            made = fewer
        undecided = []
        asking = _Asking(made, bounds or RuleBounds(), within_bounds, seconds, undecided)
        found = asking.step() if seconds else None
        if found is None:
            return RuleSimplification(rules, made, tuple(steps), tuple(undecided))
        step, made = found
        steps.append(step)


@dataclass
class _Asking:
    """What is asked of the model about one rule set."""

    rules: RuleSet
    bounds: RuleBounds
    within_bounds: bool
    seconds: float
    undecided: list[UndecidedRewriting]

    def step(self) -> tuple[RewritingStep, RuleSet] | None:
        """The first step that the model allows."""
        for at, rule in enumerate(self.rules.rules):
            for what, other in smaller(rule):
                after = replace(self.rules, rules=(*self.rules.rules[:at], other, *self.rules.rules[at + 1 :]))
                begun = time.perf_counter()
                if (found := self._same(rule, other, after, what)) is not None:
                    seconds = time.perf_counter() - begun
                    step = RewritingStep("model", what, *differing(self.rules, after), seconds, *found)
                    return step, renumbered(after)
        return None

    def _same(self, rule: t.Rule, other: t.Rule, after: RuleSet, what: str) -> tuple[tuple[str, ...], str] | None:
        """What the verdict rests on, and the verdict; None if it does not allow the step."""
        one, two = _alone(self.rules, rule), _alone(after, other)
        if one is None or two is None:  # it looks at what it emits itself
            one, two = self.rules, after
        if told_apart(one, two, self.bounds.facts):
            return None
        reason = ""
        try:
            with Budget(self.seconds, None):
                settings = replace(WITH_TIME, seconds=self.seconds)
                verdict = rule_comparison(one, two, self.bounds, settings).decide()
        except LimitMet:
            reason = f"not decided in {self.seconds:g} s"
        except WorkbenchError as error:
            reason = error.what
        else:
            if verdict.outcome is Outcome.FAILS:
                return None
            if verdict.outcome is Outcome.HOLDS or (verdict.outcome is Outcome.WITHIN_BOUNDS and self.within_bounds):
                return verdict.rests_on, str(verdict.outcome)
            limited = verdict.outcome is Outcome.WITHIN_BOUNDS
            reason = "it holds within bounds; --within-bounds applies it" if limited else verdict.reason
        self.undecided.append(UndecidedRewriting(rule.name, what, reason or "not decided"))
        return None


def _alone(rules: RuleSet, rule: t.Rule) -> RuleSet | None:
    """One rule by itself: where it emits the same of any events, so does the whole set; None if it feeds itself."""
    if rule.emits in rule.types:
        return None
    types = {rule.emits, *rule.types}
    declared = {name: each for name, each in rules.declarations.items() if name in types}
    return replace(rules, declarations=declared, rules=(rule,), warnings=())


def told_apart(one: RuleSet, other: RuleSet, facts: Facts | None = None) -> bool:
    """Whether a random stream tells two rule sets from each other."""
    unit = "us" if has_units(one) else None
    one, other = in_units(one, unit), in_units(other, unit)
    return any(_differ(one, other, seed, facts) for seed in range(STREAMS))


def _differ(one: RuleSet, other: RuleSet, seed: int, facts: Facts | None) -> bool:
    case, rng = stream_case(one, seed, EVENTS), random.Random(seed)
    events = [replace(each, values=tuple(_or_null(each.values, rng))) for each in case.events]
    both: list[object] = []
    for rules in (one, other):
        try:
            both.append(_told(meaning(rules, events, facts or case.facts, until=case.until)))
        except WorkbenchError as error:  # a cascade that does not end
            both.append(error.what)
    return both[0] != both[1]


def _or_null(values: tuple[Any, ...], rng: random.Random) -> Iterator[Any]:
    return (None if rng.random() < NULLS else each for each in values)


def _told(composites: list[Occurrence]) -> list[tuple[str, int, str]]:
    return [(each.type, each.time, repr(each.values)) for each in composites]
