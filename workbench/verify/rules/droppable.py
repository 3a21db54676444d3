"""What rules can do without: predicates, aggregates, constraints and conditions without which they emit the same.

Each is left out alone; that two of them can be left out does not say that both can at once. Source: design of rules in
the model, "which rules, predicates and constraints can be dropped".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.tesla import tree as t
from workbench.tesla.model.build import RuleBounds
from workbench.tesla.rule_set import RuleSet
from workbench.verify.answer.settings import Settings
from workbench.verify.finding import Finding, findings_in_turn
from workbench.verify.rules.problems import WITH_TIME
from workbench.verify.rules.variants import compared

ANSWERS = "needed", "droppable"


def droppable(
    rules: RuleSet, bounds: RuleBounds | None = None, settings: Settings = WITH_TIME, *, deepen: bool = True
) -> tuple[Finding, ...]:
    """For each part of a rule that it could be written without, whether it then emits the same; a stream if not.

    Parameters
    ----------
    deepen: whether larger models are asked where bounds are met.

    Raises
    ------
    Refused: the rules have no finite model.
    """
    bounds = bounds or RuleBounds()

    def compare(about: str, variant: RuleSet) -> Iterator[Finding]:
        sets = {"as it is": rules, "without it": variant}
        says = ("needed: without it the rules differ", "can be dropped")
        yield compared(about, sets, ANSWERS, says, bounds, settings, deepen=deepen)

    asked = [
        (f"{rule.name}, {what}", without_it(rules, number, shorter))
        for number, rule in enumerate(rules.rules)
        for what, shorter in shorter_rules(rule)
    ]
    return findings_in_turn([(about, partial(compare, about, variant)) for about, variant in asked])


def without_it(rules: RuleSet, number: int, rule: t.Rule) -> RuleSet:
    """The rules with another one in this place."""
    changed = (*rules.rules[:number], rule, *rules.rules[number + 1 :])
    return replace(rules, rules=changed)


def shorter_rules(rule: t.Rule) -> Iterator[tuple[str, t.Rule]]:
    """The rule without one of its parts, constraints or conditions, and what is left out."""
    for place, part in enumerate(rule.predicates):
        rest = (*rule.predicates[:place], *rule.predicates[place + 1 :])
        shorter = replace(rule, predicates=rest)
        if not _parameters_bound(part) & _parameters_used(shorter):
            yield f"'{part}'", shorter
    for place, part in enumerate(rule.parts):
        for constraint in part.constraints:
            looser = replace(part, constraints=_without(part.constraints, constraint))
            parts = (*rule.parts[:place], looser, *rule.parts[place + 1 :])
            trigger, *others = parts
            assert isinstance(trigger, t.Predicate)
            of = f"{part.function} of {part.type}" if isinstance(part, t.Aggregate) else part.name
            yield f"'{constraint}' of {of}", replace(rule, trigger=trigger, predicates=tuple(others))
    for condition in rule.where_clause:
        yield f"'where {condition}'", replace(rule, where_clause=_without(rule.where_clause, condition))


def _without(of: tuple[t.Expression, ...], one: t.Expression) -> tuple[t.Expression, ...]:
    return tuple(each for each in of if each is not one)


def _parameters_bound(part: t.Predicate | t.Aggregate) -> set[str]:
    """What others may call what a part binds."""
    if isinstance(part, t.Aggregate):
        return {f"${part.parameter}"}
    return {part.name, *(f"${each.name}" for each in part.assignments)} if part.policy.binds else set()


def _parameters_used(rule: t.Rule) -> set[str]:
    """What a rule's parts call what is bound."""
    found = set(rule.consuming)
    for leaf in (leaf for each in rule.expressions for leaf in t.within(each)):
        if isinstance(leaf, t.BoundParameter):
            found.add(f"${leaf.name}")
        elif isinstance(leaf, t.OtherAttribute | t.TimeOf):
            found.add(leaf.of if isinstance(leaf, t.OtherAttribute) else leaf.name)
    for window in (part.window for part in rule.predicates):
        found |= {window.one, window.two} if isinstance(window, t.BetweenWindow) else {getattr(window, "of", "")}
    return found
