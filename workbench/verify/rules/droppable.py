"""What rules can do without: predicates, aggregates, constraints and conditions without which they emit the same.

Each is left out alone; that two of them can be left out does not say that both can at once. Source: design of rules in
the model, "which rules, predicates and constraints can be dropped".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from workbench.tesla import tree as t
from workbench.tesla.resolved import ResolvedRule, slots, written
from workbench.tesla.rewriting.laws import with_part, without_part
from workbench.verify.finding import Finding, findings_in_turn
from workbench.verify.rules.subject import RuleSubject
from workbench.verify.rules.variants import Variation, with_rule


def droppable(subject: RuleSubject) -> tuple[Finding, ...]:
    """For each part of a rule that it could be written without, whether it then emits the same; a stream if not.

    Raises
    ------
    Refused: the rules have no finite model.
    """

    def compare(about: str, number: int, shorter: t.Rule) -> Iterator[Finding]:
        variation = Variation(
            with_rule(subject.rules, number, shorter),
            ("as it is", "without it"),
            ("needed", "droppable"),
            ("needed: without it the rules differ", "can be dropped"),
        )
        yield variation.compare(subject, about)

    shorter = (
        (f"{rule.name}, {what}", number, less)
        for number, rule in enumerate(subject.rules.resolved)
        for what, less in shorter_rules(rule)
    )
    return findings_in_turn([(each[0], partial(compare, *each)) for each in shorter])


def shorter_rules(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    """The rule without one of its parts, constraints or conditions, as it is written, and what is left out."""
    return ((what, written(each)) for what, each in _shorten(rule))


def _shorten(rule: ResolvedRule) -> Iterator[tuple[str, t.Rule]]:
    for place, part in enumerate(rule.predicates, 1):
        shorter = without_part(rule, place)
        if not _is_read(shorter, part, place):
            yield f"'{part}'", shorter
    for place, part in enumerate(rule.parts):
        of = f"{part.function} of {part.type}" if isinstance(part, t.Aggregate) else part.name
        for at, constraint in enumerate(part.constraints):
            looser = replace(part, constraints=_drop(part.constraints, at))
            yield f"'{constraint}' of {of}", with_part(rule, place, looser)
    for at, condition in enumerate(rule.where_clause):
        yield f"'where {condition}'", replace(rule, where_clause=_drop(rule.where_clause, at))


def _drop(of: tuple[t.Expression, ...], at: int) -> tuple[t.Expression, ...]:
    return (*of[:at], *of[at + 1 :])


def _is_read(rest: t.Rule, part: t.Predicate | t.Aggregate, place: int) -> bool:
    """Whether the rest of a rule reads what a part binds."""
    if any(slot.place == place for slot in slots(*rest.expressions)):
        return True
    named = {name for each in rest.predicates if each.window is not None for name in each.window.names}
    return t.binds(part) and part.name in named.union(rest.consuming)
