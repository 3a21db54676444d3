"""Warn of constructs in rules that are allowed but rarely intended.

Predicates that nothing satisfies, cascades that may not end, unbounded memory.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from workbench.errors import LanguageError, WorkbenchError
from workbench.tesla import tree as t
from workbench.tesla.operators import bounds_exclude, readings
from workbench.tesla.own_aggregates import not_neutral
from workbench.tesla.rule_graph import LONGEST_CHAIN
from workbench.tesla.time_bounds import have_no_times

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet

MAX_IN_CIRCLE = 20
"""Maximum number of rules of a cycle that are named, and of types that nothing can emit."""
MAX_SILENT = 3
"""Maximum number of composites that nothing can emit for which reasons are given."""


def remarks(rules: RuleSet) -> Iterator[WorkbenchError]:
    """Yield the warnings about a rule set, in the order of the text."""
    odd = set[str]()
    for rule in rules.rules:
        for silent, error in _find_contradictions(rule):
            yield error
            if silent:
                odd.add(rule.name)
        for part in rule.parts:
            if part.window is not None and part.window.before and part.window.maximum is None:
                what = f"all events of type {part.type} are retained: their window is forever"
                yield LanguageError(what, where=part.where, hint="bound it where memory matters")
    for each in rules.aggregates.values():
        if what := not_neutral(each):
            what = f"{each.start} is not neutral for '{each.name}': {what}"
            yield LanguageError(what, where=each.where, hint="it counts as a first value")
    yield from _find_silent(rules, odd)
    for cycle in rules.graph.circles:
        names = [rule.name for rule in (*cycle, cycle[0])]
        named = " -> ".join(names if len(names) <= MAX_IN_CIRCLE else [*names[: MAX_IN_CIRCLE // 2], "...", names[-1]])
        what = f"a cascade of these rules may not end: {named}"
        yield LanguageError(
            what, where=cycle[0].where, hint=f"the effects of one event are limited to a chain of {LONGEST_CHAIN}"
        )


def cut_silent(rules: RuleSet) -> RuleSet:
    """Reduce each rule whose conditions exclude each other to a trigger that nothing satisfies.

    A model of it has no windows, so its answers need no bounds.
    """
    if not any(map(_is_silent, rules.rules)):
        return rules
    return replace(rules, rules=tuple(_cut(rules, each) if _is_silent(each) else each for each in rules.rules))


def _is_silent(rule: t.Rule) -> bool:
    return any(silent for silent, _ in _find_contradictions(rule))


def _cut(rules: RuleSet, rule: t.Rule) -> t.Rule:
    trigger = replace(rule.trigger, assignments=(), constraints=(t.Literal(False),))
    attributes = rules.declarations[rule.emits].attributes
    emitted = (t.Evaluation(each.name, t.Literal(each.domain.default if each.domain else 0)) for each in attributes)
    return t.Rule(rule.name, rule.named, trigger, (), (), rule.emits, tuple(emitted), where=rule.where)


def _find_contradictions(rule: t.Rule) -> Iterator[tuple[bool, WorkbenchError]]:
    """Yield unsatisfiable parts, then the rule with its conditions; and whether this makes the rule silent."""
    known = _Comparisons()
    for index, part in enumerate(rule.parts):
        here = known if t.binds(part) else _Comparisons({**known.names}, {**known.held})
        here.names.update((f"${each.name}", here.name_value(each.value, index)) for each in part.assignments)
        for error in here.refute(part.constraints, index, f"this predicate about {part.type}"):
            yield t.binds(part), error
        if isinstance(part, t.Aggregate):
            known.names[f"${part.parameter}"] = f"{index}.${part.parameter}"
        elif t.binds(part):
            known.names[f"{part.name}."] = str(index)
    refuted = [*known.refute(rule.where_clause, len(rule.parts), "this rule")]
    yield from ((True, error) for error in refuted)
    if not refuted and have_no_times(rule):
        what = "nothing satisfies this rule: its windows and the times in its conditions exclude each other"
        yield True, LanguageError(what, where=rule.where)


@dataclass
class _Comparisons:
    """Comparisons of values with constants, implied by constraints.

    Attributes
    ----------
    names: for a parameter the value that it stands for; for an event, with a dot, its place.
    held: for each value its comparisons: sign, constant, and the constraint that states it.
    """

    names: dict[str, str] = field(default_factory=dict)
    held: dict[str, tuple[tuple[str, t.Literal, t.Expression], ...]] = field(default_factory=dict)

    def name_value(self, value: t.Expression, index: int) -> str:
        """Return a text that is equal for equal values, seen from a part of the rule."""
        if isinstance(value, t.OtherAttribute):
            return f"{self.names[value.of + '.']}.{value.name}"
        return self.names.get(str(value), f"{index}.{value}")

    def refute(self, constraints: Iterable[t.Expression], index: int, what: str) -> Iterator[WorkbenchError]:
        """Report the first constraint that is false, or that an earlier one excludes."""
        for each in t.conjuncts(*constraints):
            if isinstance(each, t.Literal) and each.value is False:
                yield LanguageError(f"nothing satisfies {what}", where=each.where)
                return
            for sign, one, other in readings(each):
                if isinstance(one, t.Literal) or not isinstance(other, t.Literal):
                    continue
                name = self.name_value(one, index)
                before = self.held.get(name, ())
                for known, bound, excluding in before:
                    if bounds_exclude((known, bound.value), (sign, other.value)):
                        why = f"'{excluding}' and '{each}' exclude each other"
                        yield LanguageError(f"nothing satisfies {what}: {why}", where=each.where)
                        return
                self.held[name] = (*before, (sign, other, each))


def find_silent_rules(rules: RuleSet) -> frozenset[str]:
    """Return the names of the rules whose texts show that they never fire."""
    odd = {rule.name for rule in rules.rules if _is_silent(rule)}
    come = _find_possible_types(rules, odd)
    return frozenset(odd | {each.name for each in rules.rules if any(part.type not in come for part in each.binding)})


def _find_possible_types(rules: RuleSet, odd: Collection[str]) -> Collection[str]:
    """Return the types of which events may come, if the rules in `odd` never fire."""
    come = rules.declarations.keys() - set(rules.composites)
    lacking = {rule.name: {part.type for part in rule.binding} for rule in rules.rules if rule.name not in odd}
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
    return come


def _find_silent(rules: RuleSet, odd: Collection[str]) -> Iterator[WorkbenchError]:
    """Report composites that nothing can emit: each of their rules needs an impossible event, or is silent."""
    come = _find_possible_types(rules, odd)
    silent = [name for name in rules.composites if name not in come]
    for name in silent[:MAX_SILENT]:
        emitting = [rule for rule in rules.rules if rule.emits == name]
        lacks = {each.name: [part.type for part in each.binding if part.type not in come] for each in emitting}
        why = [f"{each} needs {types[0] if types else 'an event that cannot come'}" for each, types in lacks.items()]
        hint = "it is emitted only if the log contains the events that its rules need" if any(lacks.values()) else ""
        yield LanguageError(f"nothing can emit {name}: {' and '.join(why)}", where=emitting[0].where, hint=hint)
    if more := silent[MAX_SILENT:]:
        first = next(rule for rule in rules.rules if rule.emits == more[0])
        others = f" and {len(more) - MAX_IN_CIRCLE} others" if len(more) > MAX_IN_CIRCLE else ""
        what = f"nothing can emit {', '.join(more[:MAX_IN_CIRCLE])}{others}, for reasons of this kind"
        yield LanguageError(what, where=first.where)
