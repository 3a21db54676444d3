"""What is allowed in rules, and seldom meant.

Predicates that nothing satisfies, cascades that may not end, memory that nothing bounds.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from workbench.errors import LanguageError, WorkbenchError
from workbench.tesla import tree as t
from workbench.tesla.operators import bounds_exclude, readings
from workbench.tesla.own_aggregates import not_neutral
from workbench.tesla.rule_graph import LONGEST_CHAIN

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet

MOST_IN_CIRCLE = 20
"""The most rules of a circle that are named, and composites that nothing can emit."""
MOST_SILENT = 3
"""The most composites that nothing can emit of which it is said why."""


def remarks(rules: RuleSet) -> Iterator[WorkbenchError]:
    """The remarks about a rule set, in the order of the text."""
    for rule in rules.rules:
        for part in rule.parts:
            yield from _find_contradictions(part)
            window = part.window
            if isinstance(window, t.WithinWindow) and window.most is None:
                what = f"all events of type {part.type} are kept: their window is forever"
                yield LanguageError(what, where=part.where, hint="bound it where memory matters")
    for each in rules.aggregates.values():
        if what := not_neutral(each):
            what = f"{each.start} is not neutral for '{each.name}': {what}"
            yield LanguageError(what, where=each.where, hint="it counts as a value that comes first")
    yield from _find_silent(rules)
    for cycle in rules.graph.circles:
        names = [rule.name for rule in (*cycle, cycle[0])]
        named = " -> ".join(
            names if len(names) <= MOST_IN_CIRCLE else [*names[: MOST_IN_CIRCLE // 2], "...", names[-1]]
        )
        what = f"a cascade of these rules may not end: {named}"
        yield LanguageError(
            what, where=cycle[0].where, hint=f"what one event causes is limited to {LONGEST_CHAIN} in a chain"
        )


def _find_contradictions(part: t.Predicate | t.Aggregate) -> Iterator[WorkbenchError]:
    """Constraints that contradict each other: constants, and bounds of one attribute."""
    bounds: dict[str, list[tuple[str, float]]] = {}
    for each in part.constraints:
        if isinstance(each, t.Literal) and each.value is False:
            yield LanguageError(f"nothing satisfies this predicate about {part.type}", where=each.where)
        for sign, one, other in readings(each):
            if not (isinstance(one, t.OwnAttribute) and isinstance(other, t.Literal)):
                continue
            if isinstance(other.value, str | bool) or sign == "!=":
                continue
            bound = sign, other.value
            if any(bounds_exclude(before, bound) for before in bounds.setdefault(one.name, [])):
                why = f"no '{one.name}' is that large and small"
                yield LanguageError(f"nothing satisfies this predicate about {part.type}: {why}", where=each.where)
                return
            bounds[one.name].append(bound)


def _find_silent(rules: RuleSet) -> Iterator[WorkbenchError]:
    """Composites that nothing can emit: each of their rules selects what cannot come, or what nothing satisfies."""
    needed = {rule.name: rule.binding for rule in rules.rules}
    odd = {rule.name for rule in rules.rules if any(any(_find_contradictions(part)) for part in needed[rule.name])}
    come = rules.declarations.keys() - set(rules.composites)
    lacking = {rule.name: {part.type for part in needed[rule.name]} for rule in rules.rules if rule.name not in odd}
    asking: dict[str, list[t.Rule]] = {}
    for rule in rules.rules:
        for name in lacking.get(rule.name, ()):
            asking.setdefault(name, []).append(rule)
    new = [*come, *(rule.emits for rule in rules.rules if lacking.get(rule.name) == set())]
    while new:
        come.add(name := new.pop())
        for rule in asking.pop(name, ()):
            lacking[rule.name].discard(name)
            if not lacking[rule.name]:
                new.append(rule.emits)
    silent = [name for name in rules.composites if name not in come]
    for name in silent[:MOST_SILENT]:
        emitting = [rule for rule in rules.rules if rule.emits == name]
        lacks = {each.name: [part.type for part in needed[each.name] if part.type not in come] for each in emitting}
        why = [f"{each} needs {types[0] if types else 'what nothing satisfies'}" for each, types in lacks.items()]
        hint = "it comes only where what its rules need comes from outside" if any(lacks.values()) else ""
        yield LanguageError(f"nothing can emit {name}: {' and '.join(why)}", where=emitting[0].where, hint=hint)
    if more := silent[MOST_SILENT:]:
        first = next(rule for rule in rules.rules if rule.emits == more[0])
        others = f" and {len(more) - MOST_IN_CIRCLE} others" if len(more) > MOST_IN_CIRCLE else ""
        what = f"nothing can emit {', '.join(more[:MOST_IN_CIRCLE])}{others}, for reasons of this kind"
        yield LanguageError(what, where=first.where)
