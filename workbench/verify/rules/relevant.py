"""The rules that a question about some of them is about: of the others no model is made.

A rule sees another one only by what that emits: so what it emits itself is decided by it and by those that emit, in one
step or several, what it looks at. These are asked about as if they were in a file of their own.

The rule of this module: it looks at the text of rules only, and keeps all of them where one could matter in another
way: where chains of causes may have no end, or windows count the events of all types.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import replace

from workbench.language.properties import PROPERTIES
from workbench.language.syntax import Expression, Field, Identifier, PropertySyntax, walk
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.model.frame import waiting_of
from workbench.tesla.occurrence import has_units
from workbench.tesla.rule_set import RuleSet


def relevant(rules: RuleSet, names: Collection[str], bounds: RuleBounds) -> tuple[RuleSet, RuleBounds]:
    """The rules of these names and all that they depend on, without the types that only others emit; bounds of these.

    Parameters
    ----------
    bounds: those that were given for all of the rules.
    """
    kept = rules.graph.sources(names) if _separable(rules) else set(rules.rule_names)
    left_out = [rule for rule in rules.rules if rule.name not in kept]
    if not left_out:
        return rules, bounds
    own = tuple(rule for rule in rules.rules if rule.name in kept)
    gone = {rule.emits for rule in left_out} - {rule.emits for rule in own}
    declared = {name: each for name, each in rules.declarations.items() if name not in gone}
    gone |= {waiting_of(rule) for rule in left_out if rule.absence is not None}
    rooms = {name: room for name, room in bounds.rooms.items() if name not in gone}
    found = replace(rules, rules=own, declarations=declared)
    tick = bounds.tick if has_units(found) == has_units(rules) else None
    return found, replace(bounds, rooms=rooms, tick=tick)


def told_apart(
    sides: Mapping[str, RuleSet], bounds: RuleBounds, *, ordered: bool
) -> tuple[dict[str, RuleSet], RuleBounds]:
    """Of two rule sets, the parts that differ in what they emit if and only if they do; all where that is not clear.

    Parameters
    ----------
    sides: by what they are called.
    ordered: whether the order counts in which composites of a step are published.
    """
    one, other = sides.values()
    if bounds.trex or one.aggregates != other.aggregates or len(one.rules) != len(other.rules):
        return dict(sides), bounds
    pairs = list(zip(one.rules, other.rules, strict=True))
    changed = {each.name for pair in pairs if pair[0] != pair[1] or len({*map(str, pair)}) > 1 for each in pair}
    behind = one.graph.dependants(changed) | other.graph.dependants(changed)
    if one.rule_names == other.rule_names:
        seen = all(
            _seen_at_once(rules, rule, behind, ordered=ordered)
            for rules in (one, other) for rule in rules.rules if rule.name in changed
        )  # fmt: skip
        same = all(a.emits == b.emits for a, b in pairs)
        if not (changed and seen and same):
            return dict(sides), bounds
        behind = changed  # each composite more or less is seen at once
    elif ordered:  # which rules are the same is told by their names
        return dict(sides), bounds
    asked = [relevant(each, behind, bounds) for each in (one, other)]
    names = {rule.name for found, _ in asked for rule in found.rules}
    asked = [relevant(each, names, bounds) for each in (one, other)]
    return dict(zip(sides, (found for found, _ in asked), strict=True)), asked[0][1]


def asked_of(rules: RuleSet, syntax: PropertySyntax) -> tuple[str, ...]:
    """The rules whose composites a condition of single steps is about; all where it may look at something else."""
    if PROPERTIES[syntax.name].one_step and isinstance(syntax.argument, Expression):
        inside = list(walk(syntax.argument))
        types = {each.name for each in inside if isinstance(each, Identifier)}
        found = tuple(rule.name for rule in rules.rules if rule.emits in types)
        plain = all(isinstance(each, Identifier | Field | t.Literal | t.Operation) for each in inside)
        if found and plain and types <= set(rules.events):
            return found
    return rules.rule_names


def parts_of(rules: RuleSet, bounds: RuleBounds) -> Iterator[tuple[RuleSet, RuleBounds]]:
    """For each rule of which no other one looks at what it emits: the rule, and all that it depends on."""
    emitted = {name for rule in rules.rules for name in rule.types}
    ends = [rule.name for rule in rules.rules if rule.emits not in emitted]
    covered = {name for end in ends for name in rules.graph.sources([end])}
    if _separable(rules) and covered.issuperset(rules.rule_names):
        yield from (relevant(rules, [end], bounds) for end in ends)
    else:
        yield rules, bounds


def _separable(rules: RuleSet) -> bool:
    windows = (part.window for rule in rules.rules for part in rule.predicates)
    counted = any(isinstance(window, t.WithinWindow) and window.counted for window in windows)
    return rules.graph.longest_chain is not None and not counted


def _seen_at_once(rules: RuleSet, rule: t.Rule, behind: Collection[str], *, ordered: bool) -> bool:
    """Whether what a rule emits besides, or less, cannot be made up for by others.

    It could be by those that look at what it emits and emit the same type; and where it is triggered more than once in
    a step, in what order its composites come among those of others.
    """
    once = rule.trigger.type in rules.primitives and rule.absence is None
    return (once or not ordered) and all(
        each.name == rule.name or each.emits != rule.emits for each in rules.rules if each.name in behind
    )
