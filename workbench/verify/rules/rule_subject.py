"""Rules to check: the bounds and settings of their models, and the part that a question is about.

A rule depends on another one only by the composites of that. So its composites are decided by the rule itself and by
the rules that emit, in one step or several, what it reads. They are checked as if they were in a file of their own.

A comparison is about the rules that differ, a property about the rules that emit the events it mentions.

The rule of this module: keep all rules if a rule could matter in another way: if chains of causes may have no end, if
windows count the events of all types, or if the text of the rules is inconclusive.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Self

from workbench.core.pipeline import Pipeline
from workbench.language.properties import PROPERTIES
from workbench.language.syntax import Expression, Field, Identifier, PropertySyntax, walk
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds, build_models, settle_bounds
from workbench.tesla.model.needs import computes
from workbench.tesla.model.run_constants import output_of, waiting_of
from workbench.tesla.occurrence import has_units
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.problem import Problem, problem
from workbench.verify.answer.settings import Settings, require_settings
from workbench.verify.answer.verdict import Outcome, Verdict
from workbench.verify.ask.environment import Environment
from workbench.verify.ask.properties import Property, can, pipe_named
from workbench.verify.ask.scope import Adjustable

WITH_TIME = Settings({}, environment=Environment("one"))
"""The settings for models of rules: at each step one event comes, or time passes."""
ComparedParts = tuple[dict[str, RuleSet], RuleBounds]
"""Two rule sets by name, with the bounds of both models."""


def read_settings(settings: Settings | None) -> tuple[RuleBounds, Settings, bool]:
    """Return the bounds and the settings that general settings state for rules, and whether models may grow.

    Capacities and numbers of values are those of the settings where the user chose them; others follow from the rules.
    """
    settings, chosen = require_settings(settings), dict[str, Any]()
    if not isinstance(settings.q, Adjustable):
        chosen |= {"capacity": settings.q} if isinstance(settings.q, int) else {"capacities": settings.q}
    deepen = not chosen
    if not isinstance(settings.n, Adjustable):
        chosen["count"] = settings.n
    bounds, environment = settings.rules or RuleBounds(), replace(WITH_TIME.environment, fair=settings.environment.fair)
    return replace(bounds, **chosen), replace(settings, q={}, environment=environment), deepen


@dataclass(frozen=True)
class RuleSubject:
    """Rules, and how to check them.

    Attributes
    ----------
    settings: the environment must admit one event per step; capacities are those of `bounds`.
    deepen: whether to try larger models if bounds are met.
    """

    rules: RuleSet
    bounds: RuleBounds = field(default_factory=RuleBounds)
    settings: Settings = WITH_TIME
    deepen: bool = True

    def within(self, bounds: RuleBounds) -> Self:
        """Return the same subject with other bounds."""
        return replace(self, bounds=bounds)

    def settle(self) -> Self:
        """Return the same subject with fixed ticks and values, so that models of its parts have them, too."""
        return self.within(settle_bounds([self.rules], self.bounds))

    def about(self, names: Collection[str], mentioned: Collection[str] = ()) -> Self:
        """Return the rules of these names and all that they depend on, with the types that they read or emit.

        Parameters
        ----------
        mentioned: types to keep besides, unless only other rules emit them.
        """
        rules, bounds = self.rules, self.bounds
        own_names = rules.graph.sources(names) if self.is_separable else set(rules.rule_names)
        left_out = [rule for rule in rules.rules if rule.name not in own_names]
        if not left_out:
            return self
        own = tuple(rule for rule in rules.rules if rule.name in own_names)
        used = {name for rule in own for name in (rule.emits, *rule.types)} | {*mentioned} & {*rules.primitives}
        gone = {name for name in rules.events if name not in used}
        declared = {name: each for name, each in rules.declarations.items() if name not in gone}
        gone |= {waiting_of(rule) for rule in left_out if rule.absence is not None}
        rule_set = replace(rules, rules=own, declarations=declared)
        own_bounds = replace(
            bounds,
            capacities={name: capacity for name, capacity in bounds.capacities.items() if name not in gone},
            values={key: values for key, values in bounds.values.items() if key[0] not in gone},
            rates={name: rate for name, rate in bounds.rates.items() if name not in gone},
            tick=bounds.tick if has_units(rule_set) == has_units(rules) else None,
        )
        return replace(self, rules=rule_set, bounds=own_bounds)

    @property
    def is_separable(self) -> bool:
        """Whether rules affect others only by their composites."""
        return self.rules.graph.longest_chain is not None and not any(rule.counts_events for rule in self.rules.rules)

    def parts(self) -> Iterator[Self]:
        """Yield, for each rule whose composites no other rule reads, the rule and all that it depends on."""
        rules = self.rules
        emitted = {name for rule in rules.rules for name in rule.types}
        ends = [rule.name for rule in rules.rules if rule.emits not in emitted]
        covered = {name for end in ends for name in rules.graph.sources([end])}
        if self.is_separable and covered.issuperset(rules.rule_names):
            yield from (self.about([end]) for end in ends)
        else:
            yield self

    def model(self) -> Pipeline:
        """Build the model of the rules.

        Raises
        ------
        Refused: the rules have no finite model.
        """
        (model,) = build_models([self.rules], self.bounds)
        return model

    def problem(self, prop: Property | PropertySyntax) -> Problem:
        """Return the problem of a property of the model."""
        return problem(self.model(), prop, self.settings)


def can_fire(rule: t.Rule) -> Property:
    """Return the property that a rule fires, for a model with outputs by rule."""
    name = output_of(rule)
    return can(lambda system: pipe_named(system, name).present, name)


@dataclass(frozen=True, eq=False)
class RequiredFiring:
    """A firing without which a question about rules is vacuous: that of one of some rules.

    Attributes
    ----------
    rule_sets: all rule sets of the question.
    rules: the rules, each with the number of its rule set.
    never: the sentence that none of them fires.
    """

    rule_sets: Sequence[RuleSet]
    rules: Sequence[tuple[int, t.Rule]]
    never: str
    settings: Settings

    @classmethod
    def of_any(cls, rule_sets: Sequence[RuleSet], names: Collection[str], settings: Settings) -> tuple[Self, ...]:
        """Return the firing of any rule of these names; none if there are no such rules."""
        rules = _list_named(rule_sets, names)
        never = f"no {' and no '.join(dict.fromkeys(rule.emits for _, rule in rules))} comes"
        return (cls(rule_sets, rules, never, settings),) if rules else ()

    @classmethod
    def of_each(cls, rule_sets: Sequence[RuleSet], names: Collection[str], settings: Settings) -> tuple[Self, ...]:
        """Return the firing of each rule of these names, in each rule set."""
        emitting: dict[str, set[str]] = {}
        for rule in (rule for rules in rule_sets for rule in rules.rules):
            emitting.setdefault(rule.emits, set()).add(rule.name)
        return tuple(
            cls(
                rule_sets, [(number, rule)],
                f"no {rule.emits} comes" if len(emitting[rule.emits]) == 1 else f"{rule.name} never fires", settings,
            )
            for number, rule in _list_named(rule_sets, names)
        )  # fmt: skip

    @property
    def computes(self) -> bool:
        """Whether these rules, or those that they depend on, compute, so that other values may behave differently."""
        return any(computes(RuleSubject(self.rule_sets[n]).about([rule.name]).rules) for n, rule in self.rules)

    @property
    def never_there(self) -> str:
        """The sentence that none of them fires, with the name of their rule set."""
        return f"{self.never} in {' and '.join({self.rule_sets[number].name: None for number, _ in self.rules})}"

    def judge(self, bounds: RuleBounds) -> Outcome:
        """Return whether one of the rules fires in the model with these bounds; `fails`: not for any capacity."""
        outcomes, bounds = set[Outcome](), replace(settle_bounds(self.rule_sets, bounds), by_rule=True)
        for number, rule in self.rules:
            trex = [0] if number in bounds.trex else []
            own = RuleSubject(self.rule_sets[number], replace(bounds, trex=trex), self.settings)
            verdict: Verdict = own.about([rule.name]).problem(can_fire(rule)).decide()
            if verdict.outcome is Outcome.HOLDS:
                return Outcome.HOLDS
            outcomes.add(Outcome.WITHIN_BOUNDS if verdict.within_bounds else verdict.outcome)
        return next(each for each in (Outcome.UNKNOWN, Outcome.WITHIN_BOUNDS, Outcome.FAILS) if each in outcomes)


def _list_named(rule_sets: Sequence[RuleSet], names: Collection[str]) -> list[tuple[int, t.Rule]]:
    """Return the rules of these names, each with the number of its rule set."""
    return [(number, rule) for number, rules in enumerate(rule_sets) for rule in rules.rules if rule.name in names]


def slice_difference(sides: Mapping[str, RuleSet], bounds: RuleBounds, *, ordered: bool) -> ComparedParts:
    """Return the parts of two rule sets that differ in what they emit if and only if the rule sets do; all if unclear.

    Parameters
    ----------
    sides: the rule sets by name.
    ordered: whether the order counts in which composites of a step are published.
    """
    names = _find_difference(sides, bounds, ordered=ordered)
    return (dict(sides), bounds) if names is None else _cut(sides, bounds, names)


def split_difference(sides: Mapping[str, RuleSet], bounds: RuleBounds) -> dict[str, ComparedParts]:
    """Return parts of two rule sets, by name, such that these emit the same if and only if both sides of each part do.

    There is a part for each rule that differs and on which no other one depends, if the type of a composite shows which
    rule emitted it; otherwise there are no parts.
    """
    one, other = sides.values()
    changed = _find_difference(sides, bounds, ordered=True) or set()
    emitting = Counter(rule.emits for rule in one.rules)
    if one.rule_names != other.rule_names or any(
        emitting[rule.emits] > 1 for rule in one.rules if rule.name in changed
    ) or not all(RuleSubject(each).is_separable for each in (one, other)):  # fmt: skip
        return {}
    sources = {name: one.graph.sources([name]) | other.graph.sources([name]) for name in changed}
    return {
        name: _cut(sides, bounds, {name})
        for name in one.rule_names
        if name in changed and not any(name in sources[each] for each in changed - {name})
    }


def _find_difference(sides: Mapping[str, RuleSet], bounds: RuleBounds, *, ordered: bool) -> set[str] | None:
    """Return the names of the rules that decide whether two rule sets emit the same; None if all may."""
    one, other = sides.values()
    if bounds.trex or one.aggregates != other.aggregates or len(one.rules) != len(other.rules):
        return None
    pairs = list(zip(one.rules, other.rules, strict=True))
    changed = {each.name for pair in pairs if pair[0] != pair[1] or len({*map(str, pair)}) > 1 for each in pair}
    behind = one.graph.dependants(changed) | other.graph.dependants(changed)
    if one.rule_names == other.rule_names:
        is_visible = all(
            _is_seen_at_once(rules, rule, behind, ordered=ordered)
            for rules in (one, other) for rule in rules.rules if rule.name in changed
        )  # fmt: skip
        same = all(a.emits == b.emits for a, b in pairs)
        return changed if changed and is_visible and same else None  # each composite more or less is seen at once
    return None if ordered else behind  # names determine which rules are the same


def _cut(sides: Mapping[str, RuleSet], bounds: RuleBounds, names: Collection[str]) -> ComparedParts:
    """Return the rules of these names, and all that they depend on, of two rule sets."""
    one, other = sides.values()
    whole = [RuleSubject(each, bounds) for each in (one, other)]
    names = {name for each in whole for name in each.about(names).rules.rule_names}
    read = {name for each in (one, other) for rule in each.rules if rule.name in names for name in rule.types}
    parts = [each.about(names, read) for each in whole]
    return dict(zip(sides, (each.rules for each in parts), strict=True)), parts[0].bounds


def find_relevant_rules(rules: RuleSet, syntax: PropertySyntax) -> tuple[str, ...]:
    """Return the rules whose composites a condition on single steps is about; all if it may be about something else."""
    if PROPERTIES[syntax.name].one_step and isinstance(syntax.argument, Expression):
        inside = list(walk(syntax.argument))
        types = {each.name for each in inside if isinstance(each, Identifier)}
        names = tuple(rule.name for rule in rules.rules if rule.emits in types)
        plain = all(isinstance(each, Identifier | Field | t.Literal | t.Operation) for each in inside)
        if names and plain and types <= set(rules.events):
            return names
    return rules.rule_names


def _is_seen_at_once(rules: RuleSet, rule: t.Rule, behind: Collection[str], *, ordered: bool) -> bool:
    """Whether other rules cannot compensate for what a rule emits in addition, or no longer.

    They could if they read what it emits and emit the same type; if a rule is triggered more than once in a step, the
    order of its composites among those of others matters, too.
    """
    once = rule.trigger.type in rules.primitives and rule.absence is None
    return (once or not ordered) and all(
        each.name == rule.name or each.emits != rule.emits for each in rules.rules if each.name in behind
    )
