"""One step of a rule set as terms: an event is processed, and everything that it causes is published.

The rule of this module: it follows `tesla.meaning` line by line; a `ModelCourse` corresponds to `_Course` there, with
terms in place of values.

Sources: thesis, 2.4.4 and 2.4.5 (order of execution, consumption), listing 4.1 (depth first); docs/reference/rules.md.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

from workbench.core.domain import Domain, Range
from workbench.core.ops import ADD, EQ, GE, LT, NE, both, disjunction, either, ite, negate, restrict_to_range
from workbench.core.term import FALSE, TRUE, Term, const, exactly
from workbench.tesla import tree as t
from workbench.tesla.model.guarded_values import GuardedValue, evaluate, holds, mark_outside, select
from workbench.tesla.model.layout import Consumer
from workbench.tesla.model.matching import TRIGGER, GuardedMatch, RuleMatching
from workbench.tesla.model.retained import EventLine, merge
from workbench.tesla.model.run_constants import (
    CourseState,
    RuleFrame,
    has_several_matches,
    list_needed_later,
    memory_of,
    waiting_of,
)
from workbench.tesla.model.state import fill_in, values_of
from workbench.tesla.model.waiting_matches import (
    WaitingMatch,
    append,
    find_remaining,
    first_due,
    is_tag_used,
    remove,
    tick,
)
from workbench.tesla.resolved import ResolvedRule, RuleSlot
from workbench.tesla.values import fit_value

Values = Mapping[str, GuardedValue]
"""The attributes of an event."""
ConsumedSlots = Mapping[Consumer, Sequence[tuple[int, Term]]]
"""The events that a match consumes, by consumer, each with its condition."""


@dataclass(frozen=True)
class ModelComposite:
    """A composite: its condition, type and values, its rule, and its position in a chain of causes."""

    when: Term
    type: str
    values: Values
    rule: str
    chain: int = 0


class ModelCourse:
    """The state of a run in a model, and the steps from it; `comes`: whether the processed item has come."""

    def __init__(self, frame: RuleFrame, state: CourseState, comes: Term = TRUE):
        self.frame, self.comes = frame, comes
        self.line = EventLine(frame.layout, frame.tables, state.lined, state.apart)
        self.since = {rule.name: list(each) for rule, each in zip(frame.pausing, state.since, strict=True)}
        self.waiting = {rule.name: list(each) for rule, each in zip(frame.absences, state.waiting, strict=True)}
        self.given, self.begun = dict(zip(frame.fixed_facts, state.fixed_facts, strict=True)), state.begun
        self.recent = {type: list(each) for type, each in zip(frame.rates, state.recent, strict=True)}
        self.composites: list[ModelComposite] = []
        self.full: dict[str, Any] = dict.fromkeys(frame.capacities, FALSE)
        self.beyond: Any = FALSE
        """Whether the model lacks the rest of the run: the effects of a composite, or values that a match remembers."""
        self.outside: Any = FALSE
        """Whether the model lacks the value of an attribute; values that depend on it leave their domains, too."""

    # --- as state ---

    @classmethod
    def read(cls, frame: RuleFrame, state: Sequence[Any], comes: Term = TRUE) -> ModelCourse:
        """Read the course from the variables of a state."""
        return cls(frame, fill_in(frame.template, iter(state)), comes)

    @property
    def lengths(self) -> tuple[Any, ...]:
        """The length of each column, and the number of waiting matches."""
        lengths = [self.line.length(column) for column in self.frame.layout.columns.values()]
        for rule in self.frame.absences:
            total: Any = const(0, Range(0, 0))
            for each in self.waiting[rule.name]:
                total = ADD(total, ite(EQ(each.left, 0), 0, 1))
            lengths.append(total)
        return tuple(lengths)

    @property
    def state(self) -> tuple[Any, ...]:
        """The values of the state variables."""
        since, waiting, recent = (tuple(map(tuple, each.values())) for each in (self.since, self.waiting, self.recent))
        facts = tuple(self.given.values())
        now = CourseState(self.line.lined, self.line.apart, since, waiting, facts, self.begun, recent)
        return values_of(self.frame.template, now)

    # --- steps ---

    def add_fact(self, type: str, values: Values) -> None:
        """Add an arbitrary row of facts before anything happens; later it has no effect unless facts may change."""
        when = TRUE if type in self.frame.changing else negate(self.begun)
        self.given[type] = self.given[type].with_row(when, values)

    def passes(self, when: Term, elapsed: Any) -> None:
        """Let ticks pass, after the deadlines before the new time (`elapsed` is then a single tick)."""
        self.begun = either(self.begun, when)
        for rule in self.frame.absences:
            for _ in range(self.frame.layout.waits[rule.name]):
                self._emit_due(rule, when)
        for rule in self.frame.absences:
            if not rule.timeout:  # a match that has just begun to wait is due, too
                self.beyond = either(self.beyond, both(when, EQ(self.waiting[rule.name][0].left, 1)))
            self.waiting[rule.name] = tick(self.waiting[rule.name], when, rule)
        self.line = merge(when, self.line.later(elapsed), self.line)
        for type, ages in self.recent.items():
            later = self.frame.rates[type].later(ages, elapsed)
            self.recent[type] = [ite(when, a, b) for a, b in zip(later, ages, strict=True)]
        for rule in self.frame.pausing:
            assert rule.pause is not None
            pause = int(rule.pause.amount)
            self.since[rule.name] = [
                ite(when, restrict_to_range(ADD(each, elapsed), Range(0, pause)), each)
                for each in self.since[rule.name]
            ]

    def happens(self, when: Term, type: str, values: Values, depth: int = 0) -> None:
        """Process an event, then all that it causes; it joins the history only afterwards (`meaning._process`)."""
        self.begun = either(self.begun, when)
        if ages := self.recent.get(type):
            self.recent[type] = [ite(when, a, b) for a, b in zip([0, *ages], ages, strict=False)]
        caused: list[ModelComposite] = []
        used: list[Any] = [FALSE] * self.frame.layout.marks
        for rule in self.frame.rules.resolved:
            self._drop_refuted(rule, type, when, values)
            if rule.trigger.type == type:
                caused += self._match_trigger(rule, when, values, used)
        self.line = merge(when, self.line.advance(), self.line)
        if column := self.frame.layout.columns.get(type):
            self.line, full = self.line.with_event(column, when, values, used)
            self.full[type] = either(self.full[type], full)
        self._publish(caused, depth)

    def _publish(self, caused: Sequence[ModelComposite], depth: int) -> None:
        """Publish each composite in full before the next (listing 4.1)."""
        for each in caused:
            self.composites.append(replace(each, chain=depth + 1))
            if each.type in self.frame.types_read:
                if depth >= self.frame.depth:
                    self.beyond = either(self.beyond, each.when)
                else:
                    self.happens(each.when, each.type, each.values, depth + 1)
            else:
                self.line = merge(each.when, self.line.advance(), self.line)

    def _match_trigger(self, rule: ResolvedRule, when: Term, values: Values, used: list[Any]) -> list[ModelComposite]:
        """Return the composites that a rule emits for a trigger, and mark the events that they consume."""
        matching = RuleMatching(rule, self.line, self.frame.facts, self.given)
        emissions = [
            (either_all(p.when for p in group), *self._evaluate_emission(rule, group), group)
            for group in _group_exclusive(matching.matches(when, values))
        ]
        if rule.absence is not None:
            self._let_wait(rule, emissions, used)
            return []
        consumed = [
            (now, attributes, keys, self._find_consumed(rule, group)) for now, attributes, keys, group in emissions
        ]
        return self._emit_matches(rule, consumed, used)

    def _evaluate_emission(
        self, rule: ResolvedRule, group: Sequence[GuardedMatch]
    ) -> tuple[Values, list[GuardedValue]]:
        """Evaluate the composite of mutually exclusive matches: its attributes, and its values of `per`."""
        values = {}
        declared = self.frame.rules.declarations[rule.emits].domains
        for each in self.frame.evaluations(rule):
            table = self.frame.table(rule.emits, each.name)
            attribute = _fit(_evaluate_in(group, each.value), declared[each.name])
            self.frame.note((rule.emits, each.name), attribute)
            index, outside = attribute.place_in(table)
            outside = both(self.comes, both(either_all(p.when for p in group), outside))
            self.outside = either(self.outside, outside)
            values[each.name] = GuardedValue.at(mark_outside(index, outside, table), table)
        keys = [_evaluate_in(group, each) for each in rule.per]
        for i, key in enumerate(keys):
            self.frame.note((memory_of(rule), f"per {i}"), key)
        return values, keys

    def _emit_matches(
        self,
        rule: ResolvedRule,
        emissions: Sequence[tuple[Term, Values, list[GuardedValue], ConsumedSlots]],
        used: list[Any],
    ) -> list[ModelComposite]:
        """Return the composites of matches: `limit`, then `at most once`; only these consume (`meaning._decide`)."""
        composites: list[ModelComposite] = []
        count: Any = const(0, Range(0, 0))
        for when, values, key, consumed in emissions:
            if rule.limit is not None:
                before, count = count, ADD(count, ite(when, 1, 0))
                when = both(when, LT(before, rule.limit))
            if rule.pause is not None:
                when = self._emit_and_restart_pause(rule, when, key)
            for consumer, slots in consumed.items():
                self._mark_events(self.frame.layout.consuming.index(consumer), when, slots, used)
            if when is not FALSE:
                composites.append(ModelComposite(when, rule.emits, values, rule.name))
        return composites

    def _emit_and_restart_pause(self, rule: ResolvedRule, when: Term, key: Sequence[GuardedValue]) -> Term:
        """Whether a match is emitted by a rule with a pause; if it is, the pause restarts."""
        assert rule.pause is not None
        pause, spoken = int(rule.pause.amount), list[Term]()
        for i, values in enumerate(self.frame.keys(rule)):
            same: Any = TRUE
            for component, value in zip(key, values, strict=True):
                same = both(same, component.cases.get(value, (None, FALSE))[1])
            speaks = both(both(when, same), GE(self.since[rule.name][i], pause))
            self.since[rule.name][i] = ite(speaks, 0, self.since[rule.name][i])
            spoken.append(speaks)
        return either_all(spoken)

    def _find_consumed(self, rule: ResolvedRule, group: Sequence[GuardedMatch]) -> ConsumedSlots:
        """Return the events that matches consume, if anything depends on that later."""
        by_consumer: dict[Consumer, list[tuple[int, Term]]] = {}
        for index in rule.consumed:
            consumer = self.frame.layout.consumer(rule, index)
            if consumer in self.frame.layout.consuming:
                by_consumer.setdefault(consumer, []).extend((p.slots[index], p.when) for p in group)
        return by_consumer

    def _mark_events(
        self, mark: int, when: Any, slots: Sequence[tuple[int, Term]], used: list[Any], *, also: Any = TRUE
    ) -> None:
        """Mark events: those in slots of the line, and the trigger."""
        marks: list[Any] = [FALSE] * len(self.line.slots)
        for slot, now in ((slot, both(when, there)) for slot, there in slots):
            if slot == TRIGGER:
                used[mark] = either(used[mark], now)
            else:
                marks[slot] = either(marks[slot], now)
        self.line = self.line.mark(mark, marks, also=also)

    # --- absence ----------------------------------------------------------------------------------------

    def _let_wait(
        self,
        rule: ResolvedRule,
        emissions: Sequence[tuple[Term, Values, list[GuardedValue], Sequence[GuardedMatch]]],
        used: list[Any],
    ) -> None:
        """Append matches of an `absent` rule to the waiting ones."""
        starts: Any = TRUE
        for when, values, keys, group in emissions:
            whole = [*(_evaluate_in(group, leaf) for leaf in list_needed_later(rule)), *values.values(), *keys]
            indices = []
            for entry, (key, table) in zip(whole, self.frame.list_remembered(rule), strict=True):
                self.frame.note(key, entry)
                index, outside = entry.place_in(table)
                self.beyond = either(self.beyond, both(when, outside))
                indices.append(index)
            tag = self._reserve_events(rule, when, group, used)
            new = WaitingMatch(const(rule.timeout + 1, find_remaining(rule)), starts, tag, tuple(indices))
            self.waiting[rule.name], full = append(self.waiting[rule.name], when, new)
            self.full[waiting_of(rule)] = either(self.full[waiting_of(rule)], full)
            starts = both(starts, negate(when))

    def _reserve_events(self, rule: ResolvedRule, when: Term, group: Sequence[GuardedMatch], used: list[Any]) -> Any:
        """Reserve a tag for a match that will consume events, and mark these with it."""
        tags, layout = self.frame.tags(rule), self.frame.layout
        tag: Any = const(0, Range(0, tags - 1))
        free: Any = TRUE
        for number in range(self.frame.layout.waits[rule.name]):
            here = both(free, negate(is_tag_used(self.waiting[rule.name], number)))
            free = both(free, negate(here))
            tag = ite(here, number, tag) if number < tags else tag
            for consumer, slots in self._find_consumed(rule, group).items():
                mark = len(layout.consuming) + layout.waiting_consumers.index((*consumer, number))
                self._mark_events(mark, both(when, here), slots, used)
        return tag

    def _release_events(self, rule: ResolvedRule) -> None:
        """Remove the marks of matches that no longer wait."""
        layout = self.frame.layout
        for mark, (of, _, tag) in enumerate(layout.waiting_consumers, len(layout.consuming)):
            if of == rule.name:
                self._mark_events(mark, FALSE, (), [], also=is_tag_used(self.waiting[rule.name], tag))

    def _find_reserved(self, rule: ResolvedRule, waiting: WaitingMatch) -> ConsumedSlots:
        """Return the events that a match consumes after it has waited."""
        layout = self.frame.layout
        by_consumer: dict[Consumer, list[tuple[int, Term]]] = {}
        for mark, (of, name, tag) in enumerate(layout.waiting_consumers, len(layout.consuming)):
            if of == rule.name:
                known = [(i, both(EQ(waiting.tag, tag), slot.used[mark])) for i, slot in enumerate(self.line.slots)]
                by_consumer.setdefault((of, name), []).extend(known)
        return by_consumer

    def _drop_refuted(self, rule: ResolvedRule, type: str, when: Term, values: Values) -> None:
        """Drop the waiting matches whose `absent` predicate an event satisfies."""
        part = rule.absence
        if part is None or part.type != type:
            return
        gone = []
        for each in self.waiting[rule.name]:
            known = dict(zip(list_needed_later(rule), self._read_memory(rule, each), strict=False))

            def look(slot: RuleSlot, known: Mapping[RuleSlot, GuardedValue] = known) -> GuardedValue:
                if slot in known:
                    return known[slot]
                return values[slot.name] if slot.value is None else evaluate(slot.value, look)

            gone.append(both(both(when, NE(each.left, 0)), holds(part.constraints, look)))
        self.waiting[rule.name] = remove(self.waiting[rule.name], gone)
        self._release_events(rule)

    def _read_memory(self, rule: ResolvedRule, waiting: WaitingMatch) -> list[GuardedValue]:
        tables = self.frame.list_remembered(rule)
        return [GuardedValue.at(index, table) for index, (_, table) in zip(waiting.indices, tables, strict=True)]

    def _recall_emission(self, rule: ResolvedRule, waiting: WaitingMatch) -> tuple[Values, list[GuardedValue]]:
        """Return the attributes that a match emits after it has waited, and its values of `per`."""
        memory = self._read_memory(rule, waiting)[len(list_needed_later(rule)) :]
        names = [each.name for each in self.frame.evaluations(rule)]
        return dict(zip(names, memory, strict=False)), memory[len(names) :]

    def _emit_due(self, rule: ResolvedRule, when: Term) -> None:
        """Emit the matches of the first trigger that are due when a tick passes (`meaning._judge`)."""
        line = self.waiting[rule.name]
        due = first_due(line, when, several=has_several_matches(rule))
        emissions = [
            (now, *self._recall_emission(rule, each), self._find_reserved(rule, each))
            for now, each in zip(due, line, strict=True)
            if now is not FALSE
        ]
        self.waiting[rule.name] = remove(line, due)
        composites = self._emit_matches(rule, emissions, [])
        self._release_events(rule)
        self._publish(composites, 0)


def _group_exclusive(partials: Sequence[GuardedMatch]) -> Iterator[list[GuardedMatch]]:
    """Group mutually exclusive matches, in the order of the groups."""
    ordered = sorted(partials, key=lambda each: each.choice)
    for _, group in groupby(ordered, key=lambda each: each.choice):
        yield list(group)


def _evaluate_in(group: Sequence[GuardedMatch], expression: t.Expression) -> GuardedValue:
    """Evaluate an expression in the one match of an exclusive group that exists."""
    return select([(each.when, evaluate(expression, each.look())) for each in group])


def _fit(attribute: GuardedValue, domain: Domain) -> GuardedValue:
    """Convert a value to the type of an attribute."""
    if all(exactly(fit_value(value, domain)) == key for key, (value, _) in attribute.cases.items()):
        return attribute
    return GuardedValue.of((fit_value(value, domain), when) for value, when in attribute.cases.values())


def either_all(conditions: Any) -> Term:
    """Return the disjunction of conditions."""
    term: Term = disjunction((FALSE, *conditions))
    return term
