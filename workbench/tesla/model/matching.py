"""The matches of a rule among the retained events, as terms: each match has a condition.

The rule of this module: it follows the formulas predicate by predicate, as `tesla.formulas` does, with a condition in
place of each decision. The slots of events in a match are known; whether the match exists is a term.

Sources: thesis, 2.3.3 and 3.3.2; 2.4.5 for consumption.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from workbench.core.domain import Domain, Range, Value
from workbench.core.ops import EQ, GE, GT, LE, LT, SUB, both, negate
from workbench.core.term import FALSE, TRUE, Term, const
from workbench.errors import Refused
from workbench.tesla import tree as t
from workbench.tesla.aggregate import AggregateRow
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.model.fact_rows import FixedFacts, ModelRow
from workbench.tesla.model.guarded_values import GuardedValue, Lookup, apply, choose_value, evaluate, holds
from workbench.tesla.model.retained import EventLine
from workbench.tesla.occurrence import Facts, sort_facts
from workbench.tesla.resolved import OWN, TIME, ResolvedRule, RuleSlot

TRIGGER = -1
"""The slot number of the trigger, which is in no slot."""
ReadsValue = Callable[[str], GuardedValue]
"""A function from a name to an attribute of an event or a fact, its time, or the parameter of an aggregate."""


@dataclass(frozen=True)
class GuardedMatch:
    """A partial match with its condition.

    Attributes
    ----------
    when: the condition under which it exists.
    slots: the slot of each bound event, by part of the rule; `TRIGGER` for the trigger.
    bound: by part of the rule a reader of its attributes, its time less that of the trigger, or the parameter.
    choice: the choices of `each` so far; matches with the same choices exclude each other.
    """

    when: Term
    slots: Mapping[int, int] = field(default_factory=dict)
    bound: Mapping[int, ReadsValue] = field(default_factory=dict)
    choice: tuple[int, ...] = ()

    def look(self, own: ReadsValue | None = None) -> Lookup:
        """Return a lookup of parameters and attributes; `own` reads those of the predicate's own event."""
        bound = self.bound if own is None else {**self.bound, OWN: own}

        @functools.cache  # a parameter may use others several times
        def look_up(slot: RuleSlot) -> GuardedValue:
            return bound[slot.part](slot.name) if slot.value is None else evaluate(slot.value, look_up)

        return look_up


@dataclass(frozen=True)
class RuleMatching:
    """The search for matches of a rule."""

    rule: ResolvedRule
    line: EventLine
    facts: Facts
    fixed_facts: Mapping[str, FixedFacts] = field(default_factory=dict)

    def matches(self, when: Term, trigger: Mapping[str, GuardedValue]) -> list[GuardedMatch]:
        """Return all matches of a trigger, in order, with `where`; a trigger of `absent` is still undecided."""
        start = self._bind(GuardedMatch(when), 0, trigger.__getitem__, TRIGGER)
        partials = [] if start is None else [start]
        for index in range(1, len(self.rule.parts)):
            partials = [grown for partial in partials for grown in self._extend(partial, index)]
        matches = [replace(p, when=both(p.when, holds(self.rule.where_clause, p.look()))) for p in partials]
        return [each for each in matches if each.when is not FALSE]

    def _extend(self, partial: GuardedMatch, index: int) -> list[GuardedMatch]:
        part = self.rule.parts[index]
        if isinstance(part, t.Aggregate):
            bound = {**partial.bound, index: self._aggregate(partial, index, part)}
            return [replace(partial, bound=bound)]
        if part.policy.later:
            return [partial]
        candidates = list(self._candidates(partial, index, part))
        if part.policy.forbids:
            for candidate in candidates:
                partial = replace(partial, when=both(partial.when, negate(candidate.when)))
            return [] if partial.when is FALSE else [partial]
        if part.policy.many:
            return [replace(each, choice=(*each.choice, i)) for i, each in enumerate(candidates)]
        if not part.policy.ends:
            what = f"models have no policy '{part.policy.value}'"
            raise Refused(what, where=part.where, hint="write each, first or last")
        ordered = candidates if part.policy.oldest else list(reversed(candidates))
        matches: list[GuardedMatch] = []
        free: Any = TRUE
        for each in ordered:
            matches.append(replace(each, when=both(each.when, free)))
            free = both(free, negate(each.when))
        return [each for each in matches if each.when is not FALSE]

    # --- candidates -------------------------------------------------------------------------------------

    def _candidates(self, partial: GuardedMatch, index: int, part: t.Predicate) -> Iterator[GuardedMatch]:
        """Yield the match extended by each candidate, in order; for `not` by each event that satisfies it."""
        layout, consumer = self.line.layout, self.line.layout.consumer(self.rule, index)
        for when, own, slot in self._sources(partial, index):
            if part.policy.binds and slot is not None:
                if slot in partial.slots.values():
                    continue
                if consumer in layout.consuming:
                    when = both(when, negate(self.line.slots[slot].used[layout.consuming.index(consumer)]))
            grown = replace(partial, when=both(partial.when, when))
            if (match := self._bind(grown, index, own, slot)) is not None:
                yield match

    def _sources(self, partial: GuardedMatch, index: int) -> Iterator[tuple[Term, ReadsValue, int | None]]:
        """Yield the rows, or the events in the window, in order: a condition, a reader, and the slot."""
        part = self.rule.parts[index]
        if self.rule.declarations[part.type].fact:
            yield from ((there, row.__getitem__, None) for there, row in self._rows(part))
        else:
            for slot, when in self._in_range(partial, index):
                yield when, self._reader(part.type, slot), slot

    def _bind(self, partial: GuardedMatch, index: int, own: ReadsValue, slot: int | None) -> GuardedMatch | None:
        """Bind an event or row (`slot` None); return None if the result never exists."""
        part = self.rule.parts[index]
        assert isinstance(part, t.Predicate)
        when = both(partial.when, holds(self._open_constraints(part, slot), partial.look(own)))
        if when is FALSE:
            return None
        if slot is None:
            return replace(partial, when=when, bound={**partial.bound, index: own})
        read = lambda name: self._time(part, slot) if name == TIME else own(name)  # noqa: E731
        return GuardedMatch(when, {**partial.slots, index: slot}, {**partial.bound, index: read}, partial.choice)

    def _time(self, part: t.Predicate, slot: int) -> GuardedValue:
        """Return the time of an event, less that of the trigger."""
        if slot == TRIGGER:
            return GuardedValue.constant(0)
        (lookback,) = {r.lookback.time for r in self.line.layout.columns[part.type].roles if r.part is part}
        if lookback is None:
            raise Refused(
                f"TIME({part.name}): a model does not know how long ago it was", where=part.where,
                hint="give it a window of time that depends on the trigger: within 5 min from ...",
            )  # fmt: skip
        age = self.line.slots[slot].age
        return GuardedValue.of((-ticks * self.line.layout.tick, EQ(age, ticks)) for ticks in range(lookback + 1))

    def _open_constraints(self, part: t.Predicate | t.Aggregate, slot: int | None) -> Sequence[t.Expression]:
        """Return the constraints to test, without those that all retained events satisfy."""
        column = self.line.layout.columns.get(part.type)
        if slot is None or slot == TRIGGER or column is None or not column.alike:
            return part.constraints
        return next(role.linking_constraints for role in column.roles if role.part is part)

    def _reader(self, type: str, slot: int) -> ReadsValue:
        column = self.line.layout.columns[type]
        return lambda name: self.line.slots[slot].attribute(column, name, self.line.tables)

    def _in_range(self, partial: GuardedMatch, index: int) -> Iterator[tuple[int, Term]]:
        """Yield the slots of events in the window, oldest first, each with its condition."""
        part, ends = self.rule.parts[index], [partial.slots[anchor] for anchor in self.rule.anchors[index]]
        column, window = self.line.layout.columns[part.type], part.window
        for slot in self.line.indices_of(column):
            when: Any = self.line.slots[slot].of(column)
            assert window is not None
            if window.between:
                one, two = sorted(ends)
                inside: Any = self._between(slot, one, two) if one < slot < two else FALSE
            else:
                inside = self._within(window, slot, ends[0])
            if inside is not FALSE:
                yield slot, both(when, inside)

    def _within(self, window: t.EventWindow, slot: int, anchor: int) -> Any:
        if slot <= anchor:
            return FALSE
        far, least = window.far, window.near
        if not window.bounds:
            return GT(self.line.slots[slot].age, 0) if self.line.layout.trex else TRUE
        counted = window.counts_events
        events = [self.line.slots[each] for each in (slot, anchor) if each != TRIGGER]
        ago, *since = (each.back if counted else each.age for each in events)
        ago = SUB(ago, since[0]) if since else ago
        if self.line.layout.trex and not counted:
            return both(GT(ago, least), TRUE if far is None else LT(ago, far))
        is_recent = TRUE if far is None else LE(ago, far)
        return both(GE(ago, least), is_recent) if least else is_recent

    def _between(self, slot: int, later: int, earlier: int) -> Any:
        """Whether an event lies between two others, given their order; in T-Rex also in time."""
        if not self.line.layout.trex:
            return TRUE
        age, since = self.line.slots[slot].age, const(0, Range(0, 0))
        after = since if later == TRIGGER else self.line.slots[later].age
        return both(GT(age, after), LT(age, self.line.slots[earlier].age))

    # --- facts ------------------------------------------------------------------------------------------

    def _rows(self, part: t.Predicate | t.Aggregate) -> list[ModelRow]:
        if part.type in self.fixed_facts:
            return self.fixed_facts[part.type].order_rows(part.ordering)
        declared = self.rule.declarations[part.type]
        rows = sort_facts(part, declared, self.facts.get(part.type, ()))
        constant = GuardedValue.constant
        return [(TRUE, dict(zip(declared.positions, map(constant, row), strict=True))) for row in rows]

    # --- aggregates -------------------------------------------------------------------------------------

    def _aggregate(self, partial: GuardedMatch, index: int, part: t.Aggregate) -> ReadsValue:
        """Return a reader of an aggregate's parameter."""
        domain = self.rule.declarations[part.type].domains.get(part.attribute or "")
        aggregate, named = aggregate_row(part), f"{part.type}.{part.attribute or 'ATTRIBUTE'}"
        what = f"{part.function} of {named if part.attribute else part.type}"
        bag = GuardedValue.constant(())
        for there, own, slot in self._sources(partial, index):
            when = both(there, holds(self._open_constraints(part, slot), partial.look(own)))
            if when is not FALSE:
                value = own(part.attribute) if part.attribute else GuardedValue.constant(True)
                more = apply(lambda one, other: _add_member(aggregate, domain, one, other), (bag, value), what, named)
                bag = choose_value(when, more, bag)
        parameter = apply(lambda values: aggregate.over(values, domain), (bag,), what, named)
        return lambda _: parameter


def _add_member(row: AggregateRow, domain: Domain | None, bag: Any, value: Value | None) -> tuple[Value | None, ...]:
    """Add a value to the values of an aggregate, and retain as few as it needs."""
    if value is None:
        return tuple(bag)
    if row.selects:
        return (row.over((*bag, value), domain),)
    return (*bag, value) if row.ordered else tuple(sorted((*bag, value), key=lambda each: (each != each, each)))
