"""Which rules a question is about: those that differ in two rule sets, or that emit what a property is about.

The rule of this module: it looks at the text of rules only, and keeps all of them where that does not tell.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping

from workbench.language.properties import PROPERTIES
from workbench.language.syntax import Expression, Field, Identifier, PropertySyntax, walk
from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.rule_set import RuleSet
from workbench.verify.rules.subject import RuleSubject


def slice_difference(
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
    elif ordered:  # names say which rules are the same
        return dict(sides), bounds
    whole = [RuleSubject(each, bounds) for each in (one, other)]
    names = {name for each in whole for name in each.about(behind).rules.rule_names}
    parts = [each.about(names) for each in whole]
    return dict(zip(sides, (each.rules for each in parts), strict=True)), parts[0].bounds


def rules_asked_of(rules: RuleSet, syntax: PropertySyntax) -> tuple[str, ...]:
    """The rules whose composites a condition of single steps is about; all where it may look at something else."""
    if PROPERTIES[syntax.name].one_step and isinstance(syntax.argument, Expression):
        inside = list(walk(syntax.argument))
        types = {each.name for each in inside if isinstance(each, Identifier)}
        found = tuple(rule.name for rule in rules.rules if rule.emits in types)
        plain = all(isinstance(each, Identifier | Field | t.Literal | t.Operation) for each in inside)
        if found and plain and types <= set(rules.events):
            return found
    return rules.rule_names


def _seen_at_once(rules: RuleSet, rule: t.Rule, behind: Collection[str], *, ordered: bool) -> bool:
    """Whether what a rule emits besides, or less, cannot be made up for by others.

    It could be by those that look at what it emits and emit the same type; and where it is triggered more than once in
    a step, in what order its composites come among those of others.
    """
    once = rule.trigger.type in rules.primitives and rule.absence is None
    return (once or not ordered) and all(
        each.name == rule.name or each.emits != rule.emits for each in rules.rules if each.name in behind
    )
