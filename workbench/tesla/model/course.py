"""One step of a rule set as terms: an event is processed, and all that it causes is published.

The rule of this module: it follows `tesla.meaning` line by line; a `Course` is what `meaning` calls by that name, with terms
in place of what has happened.

Sources: thesis, 2.4.4 and 2.4.5 (order of execution, consumption), listing 4.1 (depth first); docs/rules.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import groupby, product
from typing import Any

from workbench.core.domain import Domain, Range, Value
from workbench.core.ops import ADD, EQ, GE, GT, LT, NE, both, disjunction, either, held_in, ite, negate
from workbench.core.term import FALSE, TRUE, Term, const
from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.model.chosen import Chosen, Table, evaluated, exactly, holds, selected
from workbench.tesla.model.kept import Line, merged
from workbench.tesla.model.layout import Layout, Tables, bound
from workbench.tesla.model.matching import Asked, Partial
from workbench.tesla.occurrence import Facts
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import fitted

Values = Mapping[str, Chosen]
"""The attributes of an event."""


@dataclass(frozen=True)
class Composite:
    """What a rule emits: when, of which type, with which values."""

    when: Term
    type: str
    values: Values


@dataclass
class Noted:
    """The values that were met of what has a table: what the next attempt at a model has tables of."""

    values: dict[tuple[str, str], dict[Any, Value | None]] = field(default_factory=dict)

    def note(self, key: tuple[str, str], found: Chosen) -> None:
        """These, too."""
        self.values.setdefault(key, {}).update((exactly(value), value) for value in found.values)


@dataclass(frozen=True)
class Frame:
    """What does not change in a run of rules in a model.

    Attributes
    ----------
    rules: windows are numbers of ticks.
    tables: by type and attribute; of rules by `rule NAME` and `per 1`, ..., and `absent 1`, ...
    depth: the most composites in a chain of causes, where nothing else bounds it.
    waits: how many matches of each rule may wait for something not to come.
    without: attributes of composites that are times, which a model does not have.
    """

    rules: RuleSet
    tables: Tables
    layout: Layout
    facts: Facts = field(default_factory=dict)
    depth: int = 4
    waits: Mapping[str, int] = field(default_factory=dict)
    without: frozenset[tuple[str, str]] = frozenset()
    noted: Noted = field(default_factory=Noted)

    @cached_property
    def looked_at(self) -> frozenset[str]:
        """The types of composites that rules look at, as triggers or otherwise."""
        return frozenset(name for rule in self.rules.rules for name in rule.types)

    @cached_property
    def absences(self) -> tuple[t.Rule, ...]:
        """The rules that wait for something not to come."""
        return tuple(rule for rule in self.rules.rules if absence(rule) is not None)

    @cached_property
    def pausing(self) -> tuple[t.Rule, ...]:
        """The rules that are silent for a while."""
        return tuple(rule for rule in self.rules.rules if rule.pause is not None)

    @property
    def rooms(self) -> dict[str, int]:
        """How much each column holds, and how many matches of each rule may wait."""
        columns = {name: column.room for name, column in self.layout.columns.items()}
        return columns | {waiting_of(rule): self.waits[rule.name] for rule in self.absences}

    def keys(self, rule: t.Rule) -> list[tuple[Any, ...]]:
        """The values for each of which a rule is silent on its own."""
        return list(product(*(self.table(_of(rule), f"per {i}").places for i in range(len(rule.per)))))

    def remembered(self, rule: t.Rule) -> list[tuple[tuple[str, str], Table]]:
        """What a match that waits has to remember: of what it is the value, and its table."""
        found = [(_of(rule), f"absent {i}") for i in range(len(_leaves(rule)))]
        found += [(rule.emits, each.name) for each in self.evaluations(rule)]
        found += [(_of(rule), f"per {i}") for i in range(len(rule.per))]
        return [(key, self.table(*key)) for key in found]

    def table(self, of: str, name: str) -> Table:
        """The values of an attribute, or of what a rule remembers; none where none have been met."""
        return self.tables.get((of, name)) or Table(())

    def evaluations(self, rule: t.Rule) -> list[t.Evaluation]:
        """The attributes that a rule emits in a model: without those that are times."""
        return [each for each in rule.evaluations if (rule.emits, each.name) not in self.without]

    def variables(self) -> list[tuple[str, Domain, Value]]:
        """Name, domain and initial value of each part of the state."""
        found = Line.variables(self.layout)
        for number, rule in enumerate(self.pausing, 1):
            assert rule.pause is not None
            most = int(rule.pause.amount)
            found += [(f"since{number}_{i}", Range(0, most), most) for i in range(1, len(self.keys(rule)) + 1)]
        for number, rule in enumerate(self.absences, 1):
            for place in range(1, self.waits[rule.name] + 1):
                found.append((f"left{number}_{place}", Range(0, _deadline(rule) + 1), 0))
                tables = self.remembered(rule)
                found += [(f"waits{number}_{place}_{i}", table.domain, 0) for i, (_, table) in enumerate(tables, 1)]
        return found


def absence(rule: t.Rule) -> t.Predicate | None:
    """The predicate about what must not come later."""
    found = [p for p in rule.predicates if isinstance(p, t.Predicate) and p.policy is t.Policy.ABSENT]
    return found[0] if found else None


def waiting_of(rule: t.Rule) -> str:
    """What the matches of a rule that wait for something not to come are called, as a queue."""
    return f"absent_{rule.name.replace(' ', '_')}"


def _deadline(rule: t.Rule) -> int:
    part = absence(rule)
    assert part is not None
    assert isinstance(part.window, t.AfterWindow)
    return int(part.window.most.amount)


def _of(rule: t.Rule) -> str:
    return f"rule {rule.name}"


def _leaves(rule: t.Rule) -> list[t.Expression]:
    """What the predicate about what must not come asks of the match."""
    part = absence(rule)
    assert part is not None
    own = {each.name for each in part.assignments}
    expressions = [*part.constraints, *(each.value for each in part.assignments)]
    found = {
        str(leaf): leaf
        for each in expressions
        for leaf in t.within(each)
        if isinstance(leaf, t.OtherAttribute | t.TimeOf) or (isinstance(leaf, t.BoundParameter) and leaf.name not in own)
    }
    return list(found.values())


@dataclass(frozen=True)
class Waiting:
    """A match that is one if something does not come: the ticks that are left, plus one (0: there is none)."""

    left: Any
    places: tuple[Any, ...]


class Course:
    """What has happened up to now, and goes on."""

    def __init__(self, frame: Frame, line: Line, since: Mapping[str, list[Any]], waiting: Mapping[str, list[Waiting]]):
        self.frame, self.line = frame, line
        self.since = {name: list(each) for name, each in since.items()}
        self.waiting = {name: list(each) for name, each in waiting.items()}
        self.composites: list[Composite] = []
        self.full: dict[str, Any] = dict.fromkeys(frame.rooms, FALSE)
        self.beyond: Any = FALSE
        """Whether something leaves what the model has: values, or chains of causes."""

    # --- as state ---

    @classmethod
    def read(cls, frame: Frame, state: Sequence[Any]) -> Course:
        """The course in a state."""
        values = iter(state)
        kept = [next(values) for _ in Line.variables(frame.layout)]
        since = {rule.name: [next(values) for _ in frame.keys(rule)] for rule in frame.pausing}
        waiting = {
            rule.name: [
                Waiting(next(values), tuple(next(values) for _ in frame.remembered(rule)))
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
        waits = [w for rule in self.frame.absences for each in self.waiting[rule.name] for w in (each.left, *each.places)]
        return (*self.line.state, *since, *waits)

    # --- what happens ---

    def passes(self, when: Term, elapsed: Any) -> None:
        """Ticks pass: first the deadlines that lie before the new time (`elapsed` is then a single tick)."""
        for rule in self.frame.absences:
            for place in range(self.frame.waits[rule.name]):
                waiting = self.waiting[rule.name][place]
                due = both(when, EQ(waiting.left, 1))
                self.waiting[rule.name][place] = _where(due, None, waiting)
                self._decided(rule, [(due, *self._recalled(rule, waiting), None)], 0)
            ticked = [replace(w, left=ite(both(when, NE(w.left, 0)), held_in(ADD(w.left, -1), _left(rule)), w.left))
                      for w in self.waiting[rule.name]]  # fmt: skip
            self.waiting[rule.name] = _closed(ticked)
        self.line = merged(when, self.line.later(elapsed), self.line)
        for rule in self.frame.pausing:
            assert rule.pause is not None
            most = int(rule.pause.amount)
            self.since[rule.name] = [
                ite(when, held_in(ADD(each, elapsed), Range(0, most)), each) for each in self.since[rule.name]
            ]

    def happens(self, when: Term, type: str, values: Values, depth: int = 0) -> None:
        """An event comes, and with it all that it causes; it is no part of the history before (`meaning._processed`)."""
        caused: list[Composite] = []
        used: list[Any] = [FALSE] * len(self.frame.layout.consuming)
        for rule in self.frame.rules.rules:
            self._satisfied(rule, type, when, values)
            if rule.trigger.type == type:
                caused += self._triggered(rule, when, values, used, depth)
        if column := self.frame.layout.columns.get(type):
            self.line, full = self.line.with_event(column, when, values, used)
            self.full[type] = either(self.full[type], full)
        self._publish(caused, depth)

    def _publish(self, caused: Sequence[Composite], depth: int) -> None:
        """Each in full before the next (listing 4.1)."""
        for each in caused:
            self.composites.append(each)
            if each.type in self.frame.looked_at:
                if depth >= self.frame.depth:
                    self.beyond = either(self.beyond, each.when)
                else:
                    self.happens(each.when, each.type, each.values, depth + 1)

    def _triggered(
        self, rule: t.Rule, when: Term, values: Values, used: list[Any], depth: int
    ) -> list[Composite]:
        """What a rule makes of its trigger, and what it consumes."""
        number = self.frame.layout.consuming.index(rule) if rule in self.frame.layout.consuming else None
        asked = Asked(self.frame.rules, self.line, self.frame.facts, rule, number)
        matches = [
            (either_all(p.when for p in group), group)
            for group in map(list, _grouped(asked.matches(when, values)))
        ]  # fmt: skip
        found = [(when_, *self._emitted(rule, group), group) for when_, group in matches]
        if absence(rule) is not None:
            self._awaits(rule, found)
            return []
        return self._made(rule, found, number, used)

    def _emitted(self, rule: t.Rule, group: Sequence[Partial]) -> tuple[Values, list[Chosen]]:
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
            values[each.name] = Chosen.at(place, table)
        keys = [selected([(p.when, evaluated(each, p.look())) for p in group]) for each in rule.per]
        for i, each in enumerate(keys):
            self.frame.noted.note((_of(rule), f"per {i}"), each)
        return values, keys

    def _made(
        self,
        rule: t.Rule,
        found: Sequence[tuple[Term, Values, list[Chosen], Sequence[Partial] | None]],
        number: int | None,
        used: list[Any],
    ) -> list[Composite]:
        """What is emitted of finished matches: `limit`, then `at most once`; only that consumes (`meaning._decided`)."""
        made: list[Composite] = []
        count: Any = const(0, Range(0, 0))
        for when, values, key, group in found:
            if rule.limit is not None:
                before, count = count, ADD(count, ite(when, 1, 0))
                when = both(when, LT(before, rule.limit))
            if rule.pause is not None:
                when = self._speaks(rule, when, key)
            if number is not None and group is not None:
                self._consumes(rule, number, when, group, used)
            if when is not FALSE:
                made.append(Composite(when, rule.emits, values))
        return made

    def _speaks(self, rule: t.Rule, when: Term, key: Sequence[Chosen]) -> Term:
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

    def _consumes(self, rule: t.Rule, number: int, when: Term, group: Sequence[Partial], used: list[Any]) -> None:
        marks: list[Any] = [FALSE] * len(self.line.slots)
        for partial in group:
            for name in rule.consuming:
                slot = partial.slots.get(name)
                if slot is None:
                    continue
                if slot < 0:
                    used[number] = either(used[number], both(when, partial.when))
                else:
                    marks[slot] = either(marks[slot], both(when, partial.when))
        self.line = self.line.marked(number, marks)

    # --- absence ----------------------------------------------------------------------------------------

    def _awaits(
        self, rule: t.Rule, found: Sequence[tuple[Term, Values, list[Chosen], Sequence[Partial]]]
    ) -> None:
        """Matches that are ones if something does not come wait behind those that wait already."""
        for when, values, keys, group in found:
            asked = [selected([(p.when, evaluated(leaf, p.look())) for p in group]) for leaf in _leaves(rule)]
            whole = [*asked, *values.values(), *keys]
            places = []
            for chosen, (key, table) in zip(whole, self.frame.remembered(rule), strict=True):
                self.frame.noted.note(key, chosen)
                place, outside = chosen.placed(table)
                self.beyond = either(self.beyond, both(when, outside))
                places.append(place)
            new = Waiting(const(_deadline(rule) + 1, _left(rule)), tuple(places))
            line, taken = [], negate(when)
            for each in self.waiting[rule.name]:
                here = both(negate(taken), EQ(each.left, 0))
                line.append(_where(here, new, each))
                taken = either(taken, here)
            self.waiting[rule.name] = line
            self.full[waiting_of(rule)] = either(self.full[waiting_of(rule)], negate(taken))

    def _satisfied(self, rule: t.Rule, type: str, when: Term, values: Values) -> None:
        """An event after the start that satisfies what must not come: what waits for it is no match."""
        part = absence(rule)
        if part is None or part.type != type:
            return
        kept = []
        for each in self.waiting[rule.name]:
            known = dict(zip(map(str, _leaves(rule)), self._read(rule, each), strict=False))
            partial = Partial(when, {}, {}, {})
            own = dict(values)

            def look(expression: t.Expression, known: Any = known, own: Any = own, bound_: Any = partial) -> Chosen:
                if isinstance(expression, t.OwnAttribute):
                    found: Chosen = own[expression.name]
                    return found
                given: Chosen = known[str(expression)]
                return given

            for assigned in part.assignments:
                known[f"${assigned.name}"] = evaluated(assigned.value, look)
            comes = both(both(when, NE(each.left, 0)), holds(part.constraints, look))
            kept.append(_where(comes, None, each))
        self.waiting[rule.name] = _closed(kept)

    def _read(self, rule: t.Rule, waiting: Waiting) -> list[Chosen]:
        tables = self.frame.remembered(rule)
        return [Chosen.at(place, table) for place, (_, table) in zip(waiting.places, tables, strict=True)]

    def _recalled(self, rule: t.Rule, waiting: Waiting) -> tuple[Values, list[Chosen]]:
        """What a match that has waited emits, and its values of `per`."""
        found = self._read(rule, waiting)[len(_leaves(rule)) :]
        names = [each.name for each in self.frame.evaluations(rule)]
        return dict(zip(names, found, strict=False)), found[len(names) :]

    def _decided(self, rule: t.Rule, found: Any, depth: int) -> None:
        self._publish(self._made(rule, found, None, []), depth)


def _left(rule: t.Rule) -> Range:
    return Range(0, _deadline(rule) + 1)


def _where(when: Any, one: Waiting | None, other: Waiting) -> Waiting:
    """One that waits where a condition holds (None: nothing does), else the other."""
    one = one or Waiting(0, (0,) * len(other.places))
    places = tuple(ite(when, a, b) for a, b in zip(one.places, other.places, strict=True))
    return Waiting(ite(when, one.left, other.left), places)


def _closed(line: Sequence[Waiting]) -> list[Waiting]:
    """The same in the same order, with no empty place before a full one."""
    done: list[Waiting] = []
    for each in line:
        there, free = NE(each.left, 0), FALSE
        after = []
        for other in done:
            empty = EQ(other.left, 0)
            after.append(_where(both(there, both(empty, negate(free))), each, other))
            free = either(free, empty)
        done = [*after, _where(both(there, negate(free)), each, Waiting(0, (0,) * len(each.places)))]
    return done


def _grouped(partials: Sequence[Partial]) -> Iterator[list[Partial]]:
    """Matches that exclude each other together, in the order of the others."""
    ordered = sorted(partials, key=lambda each: each.choice)
    for _, group in groupby(ordered, key=lambda each: each.choice):
        yield list(group)


def _fitted(found: Chosen, domain: Domain) -> Chosen:
    """What an attribute of a type gets."""
    if all(exactly(fitted(value, domain)) == key for key, (value, _) in found.cases.items()):
        return found
    return Chosen.of((fitted(value, domain), when) for value, when in found.cases.values())


def either_all(conditions: Any) -> Term:
    """Whether one of these holds."""
    found: Any = FALSE
    for each in conditions:
        found = either(found, each)
    return found  # type: ignore[no-any-return]


__all__ = ["Composite", "Course", "Frame", "Noted", "Refused", "absence", "bound", "disjunction", "either_all", "GT"]
