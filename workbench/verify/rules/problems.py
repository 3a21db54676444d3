"""Questions about rules: those about pipelines, of models with as much room as it takes.

The rule of this module: a run that is looked for and needs more room than a model has is looked for with more.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial

from workbench.budget import Budget, share
from workbench.errors import Refused
from workbench.language import PropertySyntax, parse_property
from workbench.language.syntax import Identifier
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds, alike, modelled, settled
from workbench.tesla.model.layout import written
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.check import Settings
from workbench.verify.answer.problem import Problem, comparison, problem
from workbench.verify.answer.verdict import Depth, Outcome, Verdict
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.equivalence import EquivalenceMode
from workbench.verify.ask.properties import Property
from workbench.verify.rules.relevant import asked_of, relevant, told_apart

MORE = 2, 4
"""How many times as much room as at first models have where no run is found before a column is full."""
SHORTER = 2.0
"""Seconds for each other rule, where one is known to emit something, to do it on a shorter stream."""
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
            wanted = verdict.outcome is Outcome.UNKNOWN
            return _with_more_room(verdict, (partial(_decided, each) for each in self.roomier) if wanted else ())


def _decided(problem_of: Callable[[], Problem]) -> Verdict:
    return problem_of().decide()


@dataclass(frozen=True, eq=False)
class SplitProblem(RuleProblem):
    """Whether composites of a type can come, asked of each of the rules that emit them, with what it depends on.

    They can where one of the rules can emit some, and a shortest stream is the shortest of those. Where nothing
    follows, since it is not known of one of them, it is asked of all together.

    Attributes
    ----------
    parts: the same of each of the rules, by how it is decided.
    """

    parts: tuple[Callable[[Settings], RuleProblem], ...] = ()

    def decide(self) -> Verdict:
        """The verdict; it rests on what that about one of the rules rests on."""
        start, parts = time.monotonic(), list[Verdict]()
        shows = Outcome.HOLDS if self.syntax and self.syntax.name == "can" else Outcome.FAILS
        with Budget(self.settings.seconds, self.settings.memory_mb):
            for number, part in enumerate(self.parts):
                seconds = share(len(self.parts) - number + 1).seconds  # as much is left for all of them together
                if any(each.outcome is shows for each in parts):
                    seconds = SHORTER if seconds is None else min(SHORTER, seconds)
                parts.append(part(replace(self.settings, seconds=seconds)).decide())
            found = shortest_of(parts, shows)
            if found is not None:
                return replace(found, seconds=time.monotonic() - start)
            verdict = super().decide()
            unknown = verdict.outcome is Outcome.UNKNOWN
            return replace(verdict, depth=deeper(verdict.depth, depth_of_all(parts))) if unknown else verdict


def shortest_of(found: Sequence[Verdict], shows: Outcome) -> Verdict | None:
    """What verdicts on parts say of all: that of the shortest run, if one has this outcome; None if nothing follows."""
    known = all(each.outcome is not Outcome.UNKNOWN for each in found)
    shown = [(each, each.counterexample) for each in found if each.outcome is shows]
    if shown:
        best, run = min(shown, key=lambda each: len(each[1].steps) if each[1] else math.inf)
        shortest = known and all(each is not None and each.shortest for _, each in shown)
        return replace(best, counterexample=run and replace(run, shortest=shortest))
    return min(found, key=lambda each: each.outcome is not Outcome.WITHIN_BOUNDS) if known else None


def depth_of_all(found: Sequence[Verdict]) -> Depth | None:
    """For how many steps all of these say something, none of which has a run that is looked for."""
    depths = [each.depth for each in found if each.outcome not in (Outcome.HOLDS, Outcome.FAILS)]
    known = [each for each in depths if each is not None]
    if not known or len(known) < len(depths):
        return None
    unless = next((each.unless for each in known if each.unless), "")
    return replace(min(known, key=lambda each: each.steps), unless=unless)


def with_more_room(asked: Callable[[RuleBounds], Verdict], bounds: RuleBounds, *, deepen: bool = True) -> Verdict:
    """The verdict on a model with these bounds; where it only says what is so before they are met, on larger ones.

    Parameters
    ----------
    deepen: whether larger ones are asked at all.
    """
    larger = (partial(asked, replace(bounds, room=bounds.room * more)) for more in MORE)
    return _with_more_room(asked(bounds), larger if deepen else ())


def _with_more_room(verdict: Verdict, larger: Iterable[Callable[[], Verdict]]) -> Verdict:
    """The verdict of the largest model that is known, and of how many steps those say something that are not."""
    for asked in larger:
        if not verdict.within_bounds:
            break
        try:
            found = asked()
        except Refused:
            return verdict  # with so much room there are too many values
        if found.outcome is Outcome.UNKNOWN and not found.within_bounds:  # a limit was met
            return replace(verdict, depth=deeper(verdict.depth, found.depth))
        verdict = found
    return verdict


def deeper(*found: Depth | None) -> Depth | None:
    """What says something of the longest runs."""
    return max(filter(None, found), key=lambda each: each.steps, default=None)


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
    if isinstance(prop, str):
        prop = parse_property(prop)
    if isinstance(prop, PropertySyntax):
        bounds, emitting = settled([rules], bounds or RuleBounds()), asked_of(rules, prop)
        asked, own = relevant(rules, emitting, bounds)
        found = _problem(asked, prop, own, settings, deepen=deepen)
        type = prop.argument.name if isinstance(prop.argument, Identifier) and prop.name != "always" else ""
        alone = [relevant(rules, [name], bounds) for name in emitting] if type in rules.composites else []
        if (
            len(alone) > 1
            and settings.engine == "auto"
            and all(len(each.rules) < len(asked.rules) for each, _ in alone)
        ):
            parts = tuple(partial(_problem, each, prop, few, deepen=deepen) for each, few in alone)
            return SplitProblem(found.subject, found.prop, settings, found.syntax, roomier=found.roomier, parts=parts)
        return found
    return _problem(rules, prop, bounds or RuleBounds(), settings, deepen=deepen)


def _problem(
    rules: RuleSet, prop: Property | PropertySyntax, bounds: RuleBounds, settings: Settings, *, deepen: bool
) -> RuleProblem:
    (model,) = modelled([rules], bounds)
    found = problem(model, prop, settings)

    def larger(room: int) -> Problem:
        return _problem(rules, prop, replace(bounds, room=room), settings, deepen=False)

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

    Where they are the same but for some rules, models are made of these and what they depend on.

    Raises
    ------
    InputError: they are not about the same types (`alike`). Refused: one of them has no finite model.
    """
    bounds, both = bounds or RuleBounds(), dict(zip(("left", "right"), alike(left, right), strict=True))
    if mode == "stepwise":
        both, bounds = told_apart(both, settled(tuple(both.values()), bounds), ordered=True)
    one, other = modelled(tuple(both.values()), bounds)
    return comparison(one, other, mode, settings)
