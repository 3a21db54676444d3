"""One step of a rule set as terms: an event is processed, and all that it causes is published.

The rule of this module: it follows `tesla.meaning` line by line; a `ModelCourse` is what that has under this name, with
terms in place of what has happened.

Sources: thesis, 2.4.4 and 2.4.5 (order of execution, consumption), listing 4.1 (depth first); docs/rules.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from workbench.core.domain import Domain, Range
from workbench.core.ops import ADD, EQ, GE, LT, NE, both, either, held_in, ite
from workbench.core.term import FALSE, TRUE, Term, const
from workbench.tesla import tree as t
from workbench.tesla.model.chosen import ChosenValue, evaluated, exactly, holds, selected
from workbench.tesla.model.frame import RuleFrame, absence, asked_later, memory_of, waiting_of
from workbench.tesla.model.kept import Line, merged
from workbench.tesla.model.matching import TRIGGER, Partial, RuleMatching
from workbench.tesla.model.waits import WaitingMatch, closed, ticked, where, with_waiting
from workbench.tesla.values import fitted

Values = Mapping[str, ChosenValue]
"""The attributes of an event."""


@dataclass(frozen=True)
class ModelComposite:
    """What a rule emits: when, of which type, with which values."""

    when: Term
    type: str
    values: Values
    rule: str


class ModelCourse:
    """What has happened up to now, and goes on."""

    def __init__(
        self, frame: RuleFrame, line: Line, since: Mapping[str, list[Any]], waiting: Mapping[str, list[WaitingMatch]]
    ):
        self.frame, self.line = frame, line
        self.since = {name: list(each) for name, each in since.items()}
        self.waiting = {name: list(each) for name, each in waiting.items()}
        self.composites: list[ModelComposite] = []
        self.full: dict[str, Any] = dict.fromkeys(frame.rooms, FALSE)
        self.beyond: Any = FALSE
        """Whether something leaves what the model has: values, or chains of causes."""

    # --- as state ---

    @classmethod
    def read(cls, frame: RuleFrame, state: Sequence[Any]) -> ModelCourse:
        """The course in a state."""
        values = iter(state)
        kept = [next(values) for _ in Line.variables(frame.layout, frame.tables)]
        since = {rule.name: [next(values) for _ in frame.keys(rule)] for rule in frame.pausing}
        waiting = {
            rule.name: [
                WaitingMatch(next(values), tuple(next(values) for _ in frame.remembered(rule)))
                for _ in range(frame.waits[rule.name])
            ]
            for rule in frame.absences
        }
        return cls(frame, Line.read(frame.layout, frame.tables, kept), since, waiting)

    @property
    def lengths(self) -> tuple[Any, ...]:
        """How much each column holds, and how many matches wait."""
        found = [self.line.length(column) for column in self.frame.layout.columns.values()]
        for rule in self.frame.absences:
            total: Any = const(0, Range(0, 0))
            for each in self.waiting[rule.name]:
                total = ADD(total, ite(EQ(each.left, 0), 0, 1))
            found.append(total)
        return tuple(found)

    @property
    def state(self) -> tuple[Any, ...]:
        """What its variables are."""
        since = [each for rule in self.frame.pausing for each in self.since[rule.name]]
        waits = [
            w for rule in self.frame.absences for each in self.waiting[rule.name] for w in (each.left, *each.places)
        ]
        return (*self.line.state, *since, *waits)

    # --- what happens ---

    def passes(self, when: Term, elapsed: Any) -> None:
        """Ticks pass: first the deadlines that lie before the new time (`elapsed` is then a single tick)."""
        for rule in self.frame.absences:
            for place in range(self.frame.waits[rule.name]):
                waiting = self.waiting[rule.name][place]
                due = both(when, EQ(waiting.left, 1))
                self.waiting[rule.name][place] = where(due, None, waiting)
                self._decided(rule, [(due, *self._recalled(rule, waiting), None)], 0)
            self.waiting[rule.name] = ticked(self.waiting[rule.name], when, rule)
        self.line = merged(when, self.line.later(elapsed), self.line)
        for rule in self.frame.pausing:
            assert rule.pause is not None
            most = int(rule.pause.amount)
            self.since[rule.name] = [
                ite(when, held_in(ADD(each, elapsed), Range(0, most)), each) for each in self.since[rule.name]
            ]

    def happens(self, when: Term, type: str, values: Values, depth: int = 0) -> None:
        """An event comes, then all that it causes; it is no part of the history before (`meaning._processed`)."""
        caused: list[ModelComposite] = []
        used: list[Any] = [FALSE] * len(self.frame.layout.consuming)
        for rule in self.frame.rules.rules:
            self._satisfied(rule, type, when, values)
            if rule.trigger.type == type:
                caused += self._triggered(rule, when, values, used, depth)
        if column := self.frame.layout.columns.get(type):
            self.line, full = self.line.with_event(column, when, values, used)
            self.full[type] = either(self.full[type], full)
        self._publish(caused, depth)

    def _publish(self, caused: Sequence[ModelComposite], depth: int) -> None:
        """Each in full before the next (listing 4.1)."""
        for each in caused:
            self.composites.append(each)
            if each.type in self.frame.looked_at:
                if depth >= self.frame.depth:
                    self.beyond = either(self.beyond, each.when)
                else:
                    self.happens(each.when, each.type, each.values, depth + 1)

    def _triggered(self, rule: t.Rule, when: Term, values: Values, used: list[Any], depth: int) -> list[ModelComposite]:
        """What a rule makes of its trigger, and what it consumes."""
        asked = RuleMatching(self.frame.rules, self.line, self.frame.facts, rule)
        matches = [
            (either_all(p.when for p in group), group)
            for group in map(list, _grouped(asked.matches(when, values)))
        ]  # fmt: skip
        found = [(when_, *self._emitted(rule, group), group) for when_, group in matches]
        if absence(rule) is not None:
            self._awaits(rule, found)
            return []
        return self._made(rule, found, used)

    def _emitted(self, rule: t.Rule, group: Sequence[Partial]) -> tuple[Values, list[ChosenValue]]:
        """The attributes of what matches that exclude each other emit, and for which values the rule is then silent."""
        values = {}
        declared = self.frame.rules.declarations[rule.emits].domains
        for each in self.frame.evaluations(rule):
            table = self.frame.table(rule.emits, each.name)
            cases = [(p.when, evaluated(each.value, p.look())) for p in group]
            found = _fitted(selected(cases), declared[each.name])
            self.frame.noted.note((rule.emits, each.name), found)
            place, outside = found.placed(table)
            self.beyond = either(self.beyond, both(either_all(p.when for p in group), outside))
            values[each.name] = ChosenValue.at(place, table)
        keys = [selected([(p.when, evaluated(each, p.look())) for p in group]) for each in rule.per]
        for i, key in enumerate(keys):
            self.frame.noted.note((memory_of(rule), f"per {i}"), key)
        return values, keys

    def _made(
        self,
        rule: t.Rule,
        found: Sequence[tuple[Term, Values, list[ChosenValue], Sequence[Partial] | None]],
        used: list[Any],
    ) -> list[ModelComposite]:
        """What is emitted of matches: `limit`, then `at most once`; only that consumes (`meaning._decided`)."""
        made: list[ModelComposite] = []
        count: Any = const(0, Range(0, 0))
        for when, values, key, group in found:
            if rule.limit is not None:
                before, count = count, ADD(count, ite(when, 1, 0))
                when = both(when, LT(before, rule.limit))
            if rule.pause is not None:
                when = self._speaks(rule, when, key)
            for name in rule.consuming:
                self._consumes(self.frame.layout.consumer(rule, name), name, when, group or (), used)
            if when is not FALSE:
                made.append(ModelComposite(when, rule.emits, values, rule.name))
        return made

    def _speaks(self, rule: t.Rule, when: Term, key: Sequence[ChosenValue]) -> Term:
        """Whether a match is emitted by a rule that is silent for a while after it has emitted something."""
        assert rule.pause is not None
        most, spoken = int(rule.pause.amount), list[Term]()
        for i, values in enumerate(self.frame.keys(rule)):
            same: Any = TRUE
            for chosen, value in zip(key, values, strict=True):
                same = both(same, chosen.cases.get(value, (None, FALSE))[1])
            speaks = both(both(when, same), GE(self.since[rule.name][i], most))
            self.since[rule.name][i] = ite(speaks, 0, self.since[rule.name][i])
            spoken.append(speaks)
        return either_all(spoken)

    def _consumes(
        self, consumer: tuple[str, str], name: str, when: Term, group: Sequence[Partial], used: list[Any]
    ) -> None:
        """What a name stands for in matches is consumed, if that is asked for further on."""
        if consumer not in self.frame.layout.consuming:
            return
        number = self.frame.layout.consuming.index(consumer)
        marks: list[Any] = [FALSE] * len(self.line.slots)
        for slot, now in ((p.slots[name], both(when, p.when)) for p in group if name in p.slots):
            if slot == TRIGGER:
                used[number] = either(used[number], now)
            else:
                marks[slot] = either(marks[slot], now)
        self.line = self.line.marked(number, marks)

    # --- absence ----------------------------------------------------------------------------------------

    def _awaits(self, rule: t.Rule, found: Sequence[tuple[Term, Values, list[ChosenValue], Sequence[Partial]]]) -> None:
        """Matches that are ones if something does not come wait behind those that wait already."""
        for when, values, keys, group in found:
            asked = [selected([(p.when, evaluated(leaf, p.look())) for p in group]) for leaf in asked_later(rule)]
            whole = [*asked, *values.values(), *keys]
            places = []
            for chosen, (key, table) in zip(whole, self.frame.remembered(rule), strict=True):
                self.frame.noted.note(key, chosen)
                place, outside = chosen.placed(table)
                self.beyond = either(self.beyond, both(when, outside))
                places.append(place)
            self.waiting[rule.name], full = with_waiting(self.waiting[rule.name], when, places, rule)
            self.full[waiting_of(rule)] = either(self.full[waiting_of(rule)], full)

    def _satisfied(self, rule: t.Rule, type: str, when: Term, values: Values) -> None:
        """An event after the start that satisfies what must not come: what waits for it is no match."""
        part = absence(rule)
        if part is None or part.type != type:
            return
        kept = []
        for each in self.waiting[rule.name]:
            known = dict(zip(map(str, asked_later(rule)), self._read(rule, each), strict=False))

            def look(expression: t.Expression, known: Mapping[str, ChosenValue] = known) -> ChosenValue:
                own = isinstance(expression, t.OwnAttribute)
                return values[expression.name] if own else known[str(expression)]  # type: ignore[attr-defined]

            for assigned in part.assignments:
                known[f"${assigned.name}"] = evaluated(assigned.value, look)
            comes = both(both(when, NE(each.left, 0)), holds(part.constraints, look))
            kept.append(where(comes, None, each))
        self.waiting[rule.name] = closed(kept)

    def _read(self, rule: t.Rule, waiting: WaitingMatch) -> list[ChosenValue]:
        tables = self.frame.remembered(rule)
        return [ChosenValue.at(place, table) for place, (_, table) in zip(waiting.places, tables, strict=True)]

    def _recalled(self, rule: t.Rule, waiting: WaitingMatch) -> tuple[Values, list[ChosenValue]]:
        """What a match that has waited emits, and its values of `per`."""
        found = self._read(rule, waiting)[len(asked_later(rule)) :]
        names = [each.name for each in self.frame.evaluations(rule)]
        return dict(zip(names, found, strict=False)), found[len(names) :]

    def _decided(self, rule: t.Rule, found: Any, depth: int) -> None:
        self._publish(self._made(rule, found, []), depth)


def _grouped(partials: Sequence[Partial]) -> Iterator[list[Partial]]:
    """Matches that exclude each other together, in the order of the others."""
    ordered = sorted(partials, key=lambda each: each.choice)
    for _, group in groupby(ordered, key=lambda each: each.choice):
        yield list(group)


def _fitted(found: ChosenValue, domain: Domain) -> ChosenValue:
    """What an attribute of a type gets."""
    if all(exactly(fitted(value, domain)) == key for key, (value, _) in found.cases.items()):
        return found
    return ChosenValue.of((fitted(value, domain), when) for value, when in found.cases.values())


def either_all(conditions: Any) -> Term:
    """Whether one of these holds."""
    found: Any = FALSE
    for each in conditions:
        found = either(found, each)
    return found  # type: ignore[no-any-return]
