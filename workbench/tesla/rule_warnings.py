"""Warn of constructs in rules that are allowed but rarely intended.

Predicates that nothing satisfies, cascades that may not end, unbounded memory.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, NamedTuple

from workbench.errors import LanguageError, WorkbenchError
from workbench.tesla import tree as t
from workbench.tesla.operators import bounds_exclude, readings
from workbench.tesla.own_aggregates import not_neutral
from workbench.tesla.rule_graph import LONGEST_CHAIN
from workbench.tesla.time_bounds import have_no_times

if TYPE_CHECKING:
    from workbench.tesla.rule_set import RuleSet

NOT_STRICT = {"<": "<=", "<=": "<=", ">": ">=", ">=": ">=", "==": "=="}
"""The comparisons of a rounded sum, by those of the number that was exact."""
IN_LOG = "events of this type in the log may satisfy it"
"""The hint where the rules that emit a type exclude it: a log may contain composites, too."""
MAX_IN_CIRCLE = 20
"""Maximum number of rules of a cycle that are named, and of types that nothing can emit."""
MAX_SILENT = 3
"""Maximum number of composites that nothing can emit for which reasons are given."""


def remarks(rules: RuleSet) -> Iterator[WorkbenchError]:
    """Yield the warnings about a rule set, in the order of the text."""
    contradictions = _find_contradictions(rules)
    for rule in rules.rules:
        yield from (error for _, error in contradictions[rule.name])
        for part in rule.parts:
            if part.window is not None and part.window.before and part.window.maximum is None:
                what = f"all events of type {part.type} are retained: their window is forever"
                yield LanguageError(what, where=part.where, hint="bound it where memory matters")
    for each in rules.aggregates.values():
        if what := not_neutral(each):
            what = f"{each.start} is not neutral for '{each.name}': {what}"
            yield LanguageError(what, where=each.where, hint="it counts as a first value")
    yield from _find_silent(rules, contradictions)
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
    silent = _name_silent(_find_contradictions(rules))
    if not silent:
        return rules
    return replace(rules, rules=tuple(_cut(rules, each) if each.name in silent else each for each in rules.rules))


def _cut(rules: RuleSet, rule: t.Rule) -> t.Rule:
    inputs = rules.declarations.keys() - {*rules.composites}
    type = rule.trigger.type if rule.trigger.type in inputs or not inputs else min(inputs)  # it needs no other rule
    trigger = replace(rule.trigger, type=type, assignments=(), constraints=(t.Literal(False),))
    attributes = rules.declarations[rule.emits].attributes
    emitted = (t.Evaluation(each.name, t.Literal(each.domain.default if each.domain else 0)) for each in attributes)
    return t.Rule(rule.name, rule.named, trigger, (), (), rule.emits, tuple(emitted), where=rule.where)


def _find_contradictions(rules: RuleSet) -> Mapping[str, list[_Contradiction]]:
    """Return the contradictions of each rule, by its name.

    What the one rule that emits a type implies about its attributes is known where other rules read it.
    """
    emitters = Counter(rule.emits for rule in rules.rules)
    emitted, contradictions = dict[str, Mapping[str, _Held]](), dict[str, list[_Contradiction]]()
    for number in dict.fromkeys([*rules.graph.in_order, *range(len(rules.rules))]):
        rule, known = rules.rules[number], _Comparisons()
        contradictions[rule.name] = [*_refute_rule(rule, known, emitted)]
        if emitters[rule.emits] == 1:
            emitted[rule.emits] = known.describe_effect(rule)
    return contradictions


def _name_silent(contradictions: Mapping[str, Sequence[_Contradiction]]) -> Set[str]:
    """Return the names of the rules whose contradictions make them silent."""
    return {name for name, each in contradictions.items() if any(silent for silent, _ in each)}


def _refute_rule(
    rule: t.Rule, known: _Comparisons, emitted: Mapping[str, Mapping[str, _Held]]
) -> Iterator[_Contradiction]:
    """Yield the contradictions of a rule, and add its comparisons to the known ones."""
    for index, part in enumerate(rule.parts):
        here = known if t.binds(part) else _Comparisons({**known.names}, {**known.held})
        here.held.update((f"{index}.{name}", held) for name, held in emitted.get(part.type, {}).items())
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


_Contradiction = tuple[bool, WorkbenchError]
"""Whether it makes the rule silent, and the warning."""


class _Comparison(NamedTuple):
    """A comparison of a value with a constant, the text that states it, and the rule of the text, if it is another."""

    sign: str
    constant: t.Literal
    text: str
    rule: str = ""

    def __str__(self) -> str:
        return f"'{self.text}'" + (f" of {self.rule}" if self.rule else "")

    def shift(self, by: float) -> _Comparison | None:
        """Return the comparison of the sum with a number, which floats round, so that it may reach the constant."""
        bound = self.constant.value
        if self.sign not in NOT_STRICT or isinstance(bound, str | bool) or bound is None:
            return None
        return self._replace(sign=NOT_STRICT[self.sign], constant=replace(self.constant, value=bound + by))


_Held = tuple[_Comparison, ...]
"""The comparisons of a value."""


@dataclass
class _Comparisons:
    """Comparisons of values with constants, implied by constraints.

    Attributes
    ----------
    names: for a parameter the value that it stands for; for an event, with a dot, its place.
    held: the comparisons of each value.
    """

    names: dict[str, str] = field(default_factory=dict)
    held: dict[str, _Held] = field(default_factory=dict)

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
                for known in before:
                    if bounds_exclude((known.sign, known.constant.value), (sign, other.value)):
                        why = f"{known} and '{each}' exclude each other"
                        subject = f"nothing that {known.rule} emits" if known.rule else "nothing"
                        hint = IN_LOG if known.rule else ""
                        yield LanguageError(f"{subject} satisfies {what}: {why}", where=each.where, hint=hint)
                        return
                self.held[name] = (*before, _Comparison(sign, other, str(each)))

    def _find_held(self, value: t.Expression, index: int) -> _Held:
        """Return the comparisons of a value, also of `$x + 5` and `$x - 5`, where those of `$x` are known."""
        match value:
            case t.Operation(operator="+" | "-" as sign, operands=(one, t.Literal(value=int() | float() as number))):
                by = number if sign == "+" else -number
                return tuple(filter(None, (each.shift(by) for each in self._find_held(one, index))))
            case t.Operation(operator="+", operands=(t.Literal(value=int() | float() as number), other)):
                return tuple(filter(None, (each.shift(number) for each in self._find_held(other, index))))
            case _:
                return self.held.get(self.name_value(value, index), ())

    def describe_effect(self, rule: t.Rule) -> dict[str, _Held]:
        """Return the comparisons of the attributes that a rule emits."""
        held = dict[str, _Held]()
        for each in rule.evaluations:
            if isinstance(each.value, t.Literal):
                held[each.name] = (_Comparison("==", each.value, str(each), rule.name),)
            elif known := self._find_held(each.value, len(rule.parts)):
                held[each.name] = tuple(one._replace(rule=one.rule or rule.name) for one in known)
        return held


def find_silent_rules(rules: RuleSet) -> frozenset[str]:
    """Return the names of the rules whose texts show that they never fire."""
    odd = _name_silent(_find_contradictions(rules))
    come = _find_possible_types(rules, odd)
    return frozenset(
        {*odd, *(each.name for each in rules.rules if any(part.type not in come for part in each.binding))}
    )


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


def _find_silent(rules: RuleSet, contradictions: Mapping[str, Sequence[_Contradiction]]) -> Iterator[WorkbenchError]:
    """Report composites that nothing can emit: each of their rules needs an impossible event, or is silent."""
    come = _find_possible_types(rules, _name_silent(contradictions))
    silent = [name for name in rules.composites if name not in come]
    for name in silent[:MAX_SILENT]:
        emitting = [rule for rule in rules.rules if rule.emits == name]
        lacks = {each.name: [part.type for part in each.binding if part.type not in come] for each in emitting}
        why = [f"{each} needs {types[0]}" if types else f"{each} never fires" for each, types in lacks.items()]
        in_log = any(lacks.values()) or any(error.hint for each in lacks for _, error in contradictions[each])
        hint = "it is emitted only if the log contains the events that its rules need" if in_log else ""
        yield LanguageError(f"nothing can emit {name}: {' and '.join(why)}", where=emitting[0].where, hint=hint)
    if more := silent[MAX_SILENT:]:
        first = next(rule for rule in rules.rules if rule.emits == more[0])
        others = f" and {len(more) - MAX_IN_CIRCLE} others" if len(more) > MAX_IN_CIRCLE else ""
        what = f"nothing can emit {', '.join(more[:MAX_IN_CIRCLE])}{others}, for reasons of this kind"
        yield LanguageError(what, where=first.where)
