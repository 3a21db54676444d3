"""Simplification of rules, with the reason for each step.

The rule of this module: laws come first. Other steps are checked on the model, within its bounds, and only if random
streams, with values and nulls that the model does not have, show no difference.
"""

from __future__ import annotations

import random
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.budget import Budget, phase, share
from workbench.conformance.generate.rule_streams import stream_case
from workbench.errors import LimitMet, WorkbenchError
from workbench.tesla import tree as t
from workbench.tesla.meaning import meaning
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.occurrence import Occurrence, has_units, in_units
from workbench.tesla.rewriting.law_application import differing, make_smaller, renumber, rewrite_by_laws
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.rule_simplification import RewritingStep, RuleSimplification, UndecidedRewriting
from workbench.verify.answer.verdict import Outcome
from workbench.verify.rules.problems import rule_comparison
from workbench.verify.rules.rule_subject import WITH_TIME

STREAMS, EVENTS = 40, 12
"""Number of random streams, and maximum number of events in one, that are tried before the model is checked."""
NULLS = 0.1
"""Share of null among the values of their events."""


def simplified_rules(
    rules: RuleSet, *, bounds: RuleBounds | None = None, within_bounds: bool = False, seconds: float = 10
) -> RuleSimplification:
    """Simplify a rule set to an equivalent one with fewer constraints, predicates and rules, and shorter windows.

    Parameters
    ----------
    bounds: the bounds of the model.
    within_bounds: whether to apply steps, too, that hold only as long as no column of the model is full.
    seconds: the time limit of one check of the model; 0: no check is made, so all steps hold without bounds.
    """
    current, steps = rules, list[RewritingStep]()
    asking = _Asking(bounds or RuleBounds(), within_bounds, seconds)
    while True:
        for step, fewer in rewrite_by_laws(current):
            steps.append(step)
            current = fewer
        try:
            with share(1):
                rewriting = asking.step(current) if seconds else None
        except LimitMet as met:
            asking.undecided.append(UndecidedRewriting(rules.name, "the rest, which was not examined", met.what))
            rewriting = None
        if rewriting is None:
            return RuleSimplification(rules, current, tuple(steps), tuple(asking.undecided))
        step, current = rewriting
        steps.append(step)


@dataclass
class _Asking:
    """The checks of possible steps on the model.

    Attributes
    ----------
    refused: the pairs of rules that are not known to be equivalent, each with the reason, empty if they differ.
    undecided: the undecided steps from the rules that were checked last.
    """

    bounds: RuleBounds
    within_bounds: bool
    seconds: float
    refused: dict[tuple[str, str], str] = field(default_factory=dict)
    undecided: list[UndecidedRewriting] = field(default_factory=list)

    def step(self, rules: RuleSet) -> tuple[RewritingStep, RuleSet] | None:
        """Return the first step that the model allows, with its result."""
        self.undecided = []
        for at, rule in enumerate(rules.rules):
            for what, other in make_smaller(rules.resolved[at]):
                after = replace(rules, rules=(*rules.rules[:at], other, *rules.rules[at + 1 :]))
                one, two = _isolate(rules, rule), _isolate(after, other)
                if one is None or two is None:  # the rule reads the events that it emits
                    one, two = rules, after
                start = time.perf_counter()
                with phase(f"rule {at + 1} of {len(rules.rules)}: {what}", part=True):
                    verdict = self._same(one, two)
                if verdict is not None:
                    seconds = time.perf_counter() - start
                    return RewritingStep("model", what, *differing(rules, after), seconds, *verdict), renumber(after)
                if reason := self.refused[str(one), str(two)]:
                    self.undecided.append(UndecidedRewriting(rule.name, what, reason))
        return None

    def _same(self, one: RuleSet, two: RuleSet) -> tuple[tuple[str, ...], str] | None:
        """Return the grounds and the outcome of the verdict; None if it does not allow the step."""
        key = str(one), str(two)
        if key in self.refused:
            return None
        self.refused[key] = ""
        if has_difference(one, two):
            return None
        if any(one.declarations[name].fact for rule in one.rules for name in rule.types):
            self.refused[key] = "it uses facts, whose values a model does not have"
            return None
        try:
            with Budget(self.seconds, None):
                settings = replace(WITH_TIME, seconds=self.seconds)
                verdict = rule_comparison(one, two, self.bounds, settings).decide()
        except LimitMet:
            self.refused[key] = f"not decided in {self.seconds:g} s"
            return None
        except WorkbenchError as error:
            self.refused[key] = error.what
            return None
        limited = verdict.outcome is Outcome.WITHIN_BOUNDS
        if verdict.outcome is Outcome.HOLDS or (limited and self.within_bounds):
            return verdict.rests_on, str(verdict.outcome)
        if verdict.outcome is not Outcome.FAILS:
            reason = "it holds within bounds; --within-bounds applies it" if limited else verdict.reason
            self.refused[key] = reason or "not decided"
        return None


def _isolate(rules: RuleSet, rule: t.Rule) -> RuleSet | None:
    """Return a rule set of one rule, which is enough to compare two rules; None if the rule reads its own events."""
    if rule.emits in rule.types:
        return None
    types = {rule.emits, *rule.types}
    declared = {name: each for name, each in rules.declarations.items() if name in types}
    return replace(rules, declarations=declared, rules=(rule,), warnings=())


def has_difference(one: RuleSet, other: RuleSet) -> bool:
    """Whether a random stream shows a difference between two rule sets."""
    unit = "us" if has_units(one) else None
    one, other = in_units(one, unit), in_units(other, unit)
    return any(_differ(one, other, seed) for seed in range(STREAMS))


def _differ(one: RuleSet, other: RuleSet, seed: int) -> bool:
    case, rng = stream_case(one, seed, EVENTS), random.Random(seed)
    events = [replace(each, values=tuple(_or_null(each.values, rng))) for each in case.events]
    both: list[object] = []
    for rules in (one, other):
        try:
            both.append(_comparable(meaning(rules, events, case.facts, until=case.until)))
        except WorkbenchError as error:  # a cascade that does not end
            both.append(error.what)
    return both[0] != both[1]


def _or_null(values: tuple[Any, ...], rng: random.Random) -> Iterator[Any]:
    return (None if rng.random() < NULLS else each for each in values)


def _comparable(composites: list[Occurrence]) -> list[tuple[str, int, str]]:
    return [(each.type, each.time, repr(each.values)) for each in composites]
