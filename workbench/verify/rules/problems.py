"""Questions about rules: those about pipelines, of models with as much room as it takes.

The rule of this module: a run that is looked for and needs more room than a model has is looked for with more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from workbench.budget import Budget
from workbench.errors import Refused
from workbench.language import PropertySyntax
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds, alike, modelled
from workbench.tesla.model.layout import written
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.check import Settings
from workbench.verify.answer.problem import Problem, comparison, problem
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.equivalence import EquivalenceMode
from workbench.verify.ask.properties import Property

MORE = 2, 4
"""How many times as much room as at first models have where no run is found before a column is full."""
MOST_COUNTED = 32
"""The most room that is tried for what rules count."""
WITH_TIME = Settings({}, environment=Environment("one"))
"""How models of rules are checked: at each step one event comes, or time passes."""


@dataclass(frozen=True, eq=False)
class RuleProblem(Problem):
    """A property of the model of rules.

    Attributes
    ----------
    roomier: the same of models with more room.
    """

    roomier: tuple[Callable[[], Problem], ...] = ()

    def decide(self) -> Verdict:
        """The verdict; where a run is wanted, and there is none before the bounds are met, on models with more room."""
        with Budget(self.settings.seconds, self.settings.memory_mb):
            verdict = super().decide()
            for problem_of in self.roomier:
                if verdict.outcome is not Outcome.UNKNOWN or verdict.witness is None:
                    break
                try:
                    verdict = problem_of().decide()
                except Refused:
                    break  # with so much room there are too many values
        return verdict


def with_more_room(asked: Callable[[RuleBounds], Verdict], bounds: RuleBounds, *, deepen: bool = True) -> Verdict:
    """The verdict on a model with these bounds; where it only says what is so before they are met, on larger ones.

    Parameters
    ----------
    deepen: whether larger ones are asked at all.
    """
    verdict = asked(bounds)
    for more in MORE if deepen else ():
        if not verdict.within_bounds:
            break
        try:
            larger = asked(replace(bounds, room=bounds.room * more))
        except Refused:
            break  # with so much room there are too many values
        if larger.outcome is Outcome.UNKNOWN and not larger.within_bounds:
            break  # a limit was met
        verdict = larger
    return verdict


def rule_problem(
    rules: RuleSet,
    prop: Property | PropertySyntax | str,
    bounds: RuleBounds | None = None,
    settings: Settings = WITH_TIME,
    *,
    deepen: bool = True,
) -> RuleProblem:
    """A property of rules, not decided yet: `can(Fire)`, `never(Fire)`, `always (Fire.value > 45)`, ...

    Parameters
    ----------
    settings: their environment lets one event come at a step; capacities are those of `bounds`.
    deepen: whether a run that is looked for is looked for in larger models, too.

    Raises
    ------
    Refused: the rules have no finite model. LanguageError: the text is no property.
    """
    bounds = bounds or RuleBounds()
    (model,) = modelled([rules], bounds)
    found = problem(model, prop, settings)

    def larger(room: int) -> Problem:
        return rule_problem(rules, prop, replace(bounds, room=room), settings, deepen=False)

    rooms = [*(bounds.room * more for more in MORE), *_counted(rules, bounds.room * MORE[-1])] if deepen else []
    roomier = tuple(partial(larger, room) for room in rooms)
    return RuleProblem(found.subject, found.prop, settings, found.syntax, roomier=roomier)


def _counted(rules: RuleSet, room: int) -> Iterator[int]:
    """The room that it takes to count as far as rules ask, where it is more than this."""
    found = []
    for rule in rules.rules:
        counts = {p.parameter for p in rule.predicates if isinstance(p, t.Aggregate) and p.function == "COUNT"}
        for leaves in (list(t.within(each)) for whole in written(rule) for each in t.within(whole)):
            if any(isinstance(leaf, t.BoundParameter) and leaf.name in counts for leaf in leaves):
                found += [leaf.value + 1 for leaf in leaves if isinstance(leaf, t.Literal) and type(leaf.value) is int]
    if room < (most := max(found, default=0)) <= MOST_COUNTED:
        yield most


def rule_comparison(
    left: RuleSet,
    right: RuleSet,
    bounds: RuleBounds | None = None,
    settings: Settings = WITH_TIME,
    mode: EquivalenceMode = "stepwise",
) -> Problem:
    """Whether two rule sets emit the same composites at the same steps, not decided yet.

    Raises
    ------
    InputError: they are not about the same types (`alike`). Refused: one of them has no finite model.
    """
    one, other = modelled(alike(left, right), bounds or RuleBounds())
    return comparison(one, other, mode, settings)
