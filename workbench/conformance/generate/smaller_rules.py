"""Reductions of a case of rules by one part, for minimising a disagreement about rules."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, TypeVar

from workbench.conformance.generate.rule_cases import RuleCase
from workbench.errors import LanguageError
from workbench.tesla import tree as t
from workbench.tesla.check import check_rule_set

Whole = TypeVar("Whole", bound=t.Placed | RuleCase)


def smaller_cases(case: RuleCase) -> Iterator[RuleCase]:
    """Yield all cases with one part less: an event, a fact, a rule or a part of it, an unused declaration."""
    yield from (_but(case, name, None) for name in ("saved", "until") if getattr(case, name) is not None)
    if case.trex:
        yield replace(case, trex=False)
    for i in range(len(case.events)):
        saved = case.saved and case.saved - (i < case.saved)
        yield replace(case, events=[*case.events[:i], *case.events[i + 1 :]], saved=saved)
    for name, rows in case.facts.items():
        for i in range(len(rows)):
            yield replace(case, facts={**case.facts, name: [*rows[:i], *rows[i + 1 :]]})
    file = case.rules.file
    whole = (each for name in ("rules", "declarations", "aggregates") for each in _without(file, name))
    for lesser in (*whole, *_lesser_rules(file)):
        with suppress(LanguageError):  # something else needs what is left out
            candidate = replace(case, rules=check_rule_set(lesser, case.rules.name))
            facts = {name: rows for name, rows in case.facts.items() if name in candidate.rules.declarations}
            if all(event.type in candidate.rules.declarations for event in case.events):
                yield replace(candidate, facts=facts)


def _lesser_rules(file: t.RuleFile) -> Iterator[t.RuleFile]:
    for i, rule in enumerate(file.rules):
        for lesser in _lesser(rule):
            yield replace(file, rules=(*file.rules[:i], lesser, *file.rules[i + 1 :]))


def _lesser(rule: t.Rule) -> Iterator[t.Rule]:
    """Yield the rules with one part less."""
    yield from (_but(rule, name, None) for name in ("limit", "pause") if getattr(rule, name) is not None)
    for name in ("predicates", "where_clause", "per"):
        yield from _without(rule, name)
    yield from (replace(each, consuming_at=()) for each in _without(rule, "consuming"))
    for i, part in enumerate(rule.parts):
        names = ("constraints",) if isinstance(part, t.Aggregate) else ("constraints", "assignments")
        for lesser in (each for name in names for each in _without(part, name)):
            if isinstance(lesser, t.Predicate) and i == 0:
                yield replace(rule, trigger=lesser)
            else:
                yield replace(rule, predicates=(*rule.predicates[: i - 1], lesser, *rule.predicates[i:]))


def _without(whole: Whole, name: str) -> list[Whole]:
    """Return the copies of an object with one item of a field less."""
    items = getattr(whole, name)
    return [_but(whole, name, (*items[:i], *items[i + 1 :])) for i in range(len(items))]


def _but(whole: Whole, name: str, value: Any) -> Whole:
    """Return a copy with another value in a field."""
    changed: dict[str, Any] = {name: value}
    return replace(whole, **changed)
