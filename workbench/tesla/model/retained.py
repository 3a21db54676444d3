"""The retained events as terms: a line of slots, the newest event first.

The rule of this module: the line records which events came, in order, and knows nothing of rules but the `LineLayout`;
an empty slot holds zeros, so that equal lines are equal states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, Range
from workbench.core.ops import ADD, EQ, GT, LE, NE, both, disjunction, either, ite, negate, restrict_to_range
from workbench.core.term import FALSE, TRUE, Term, const
from workbench.tesla.model.guarded_values import GuardedValue, holds
from workbench.tesla.model.layout import ColumnLayout, LineLayout, Tables
from workbench.tesla.model.state import VariablePart, choose, compact


class RetainedEvent(NamedTuple):
    """A slot of the line.

    Attributes
    ----------
    kind: the number of the column of its event; 0: empty.
    age, back: how many ticks, and events of any type, ago it came; `back` is 0 if no window counts events.
    used: the marks for its consumers.
    """

    kind: Any
    age: Any
    back: Any
    attributes: tuple[Any, ...]
    used: tuple[Any, ...]

    @property
    def present(self) -> Any:
        """Whether it holds an event."""
        return NE(self.kind, 0)

    @property
    def vacant(self) -> Any:
        """Whether it is empty."""
        return negate(self.present)

    @property
    def empty(self) -> RetainedEvent:
        """The slot without its event."""
        return RetainedEvent(0, 0, 0, (0,) * len(self.attributes), (False,) * len(self.used))

    def of(self, column: ColumnLayout) -> Any:
        """Whether it holds an event of a column."""
        return EQ(self.kind, column.kind)

    def attribute(self, column: ColumnLayout, name: str, tables: Tables) -> GuardedValue:
        """Return an attribute of its event, which is of this column."""
        table = tables[column.type, name]
        index = column.attributes.get(name)
        return GuardedValue.at(0 if index is None else self.attributes[index], table)


class NewestEvent(NamedTuple):
    """A slot outside the line: the newest event of a column for some values of its attributes; older ones are dropped.

    Attributes
    ----------
    age: the column's limit plus one if there is no event.
    attributes: all retained attributes; those that identify the slot are plain numbers.
    """

    column: ColumnLayout
    age: Any
    attributes: tuple[Any, ...]

    @property
    def absent_age(self) -> int:
        """The age that represents no event."""
        return self.column.limit + 1

    def retain(self, used: int) -> RetainedEvent:
        """Convert it to the form of slots in the line."""
        kind = ite(LE(self.age, self.column.limit), self.column.kind, 0)
        return RetainedEvent(kind, self.age, 0, self.attributes, (FALSE,) * used)

    def where(self, when: Any, age: Any, attributes: Sequence[Any]) -> NewestEvent:
        """Replace age and attributes if a condition holds."""
        pairs = zip(attributes, self.attributes, strict=True)
        others = tuple(b if isinstance(b, int) else ite(when, a, b) for a, b in pairs)
        return NewestEvent(self.column, ite(when, age, self.age), others)


class EventLine:
    """The contents of all slots, and operations on them.

    Parameters
    ----------
    lined: the slots in the line, the newest event first, empty ones last.
    apart: the slots outside the line.
    """

    def __init__(
        self, layout: LineLayout, tables: Tables, lined: Sequence[RetainedEvent], apart: Sequence[NewestEvent]
    ) -> None:
        self.layout, self.tables, self.lined, self.apart = layout, tables, tuple(lined), tuple(apart)

    @cached_property
    def slots(self) -> tuple[RetainedEvent, ...]:
        """All slots: those in the line, then the others."""
        return (*self.lined, *(each.retain(self.layout.marks) for each in self.apart))

    def indices_of(self, column: ColumnLayout) -> list[int]:
        """Return the slots that can hold events of a column, the oldest first."""
        if not column.apart:
            return list(reversed(range(len(self.lined))))
        return [i for i, each in enumerate(self.apart, len(self.lined)) if each.column.type == column.type]

    # --- as state ---

    @staticmethod
    def template(layout: LineLayout, tables: Tables) -> tuple[tuple[RetainedEvent, ...], tuple[NewestEvent, ...]]:
        """Make the slots in the line and outside it, with variables for their unknown contents."""
        lined, apart = list[RetainedEvent](), list[NewestEvent]()
        for n in range(1, layout.slots + 1):
            back = VariablePart(f"back{n}", Range(0, layout.distance + 1), 0) if layout.distance else 0
            attributes = tuple(VariablePart(f"at{n}_{i}", Range(0, size - 1), 0) for i, size in enumerate(layout.sizes))
            used = tuple(VariablePart(f"used{n}_{i}", BOOL, False) for i in range(layout.marks))
            kind, age = VariablePart(f"kind{n}", layout.kinds, 0), VariablePart(f"age{n}", layout.ages, 0)
            lined.append(RetainedEvent(kind, age, back, attributes, used))
        for n, (column, key) in enumerate(layout.apart, 1):
            known = dict(zip(column.newest or (), key, strict=True))
            domains = {name: tables[column.type, name].domain for name in column.attributes}
            own = (known.get(name, VariablePart(f"of{n}_{name}", domain, 0)) for name, domain in domains.items())
            gone = column.limit + 1
            apart.append(NewestEvent(column, VariablePart(f"since{n}", Range(0, gone), gone), tuple(own)))
        return tuple(lined), tuple(apart)

    def length(self, column: ColumnLayout) -> Any:
        """Return the number of events of a column."""
        total: Any = const(0, Range(0, 0))
        for index in self.indices_of(column):
            total = ADD(total, ite(self.slots[index].of(column), 1, 0))
        return restrict_to_range(total, Range(0, column.capacity))

    # --- steps ---

    def _replace_slots(self, lined: Sequence[RetainedEvent], apart: Sequence[NewestEvent] | None = None) -> EventLine:
        return EventLine(self.layout, self.tables, lined, self.apart if apart is None else apart)

    def later(self, elapsed: Any) -> EventLine:
        """Return the line after some ticks, without events that can no longer be selected."""
        apart = []
        for each in self.apart:
            age = restrict_to_range(ADD(each.age, elapsed), Range(0, each.absent_age))
            apart.append(each._replace(age=age).where(EQ(age, each.absent_age), age, (0,) * len(each.attributes)))
        return self._replace_slots(self._age(elapsed, 0), apart)

    def advance(self) -> EventLine:
        """Return the line after another event of any type."""
        return self._replace_slots(self._age(0, 1), self.apart) if self.layout.distance else self

    def _age(self, elapsed: Any, events: int) -> list[RetainedEvent]:
        slots, columns = [], self.layout.line_columns
        for slot in self.lined:
            age, back = ADD(slot.age, elapsed), ADD(slot.back, events)
            gone = disjunction(both(slot.of(c), _is_too_old(c, age, back)) for c in columns)
            back = restrict_to_range(back, Range(0, self.layout.distance + 1))
            aged = slot._replace(age=restrict_to_range(age, self.layout.ages), back=back)
            slots.append(choose(both(slot.present, negate(gone)), aged, slot.empty))
        kinds = {(column.limit, column.distance, column.endless) for column in columns}
        return compact(slots) if len(kinds) > 1 or self.layout.distance else slots

    def with_event(
        self, column: ColumnLayout, when: Term, values: Mapping[str, GuardedValue], used: Sequence[Term]
    ) -> tuple[EventLine, Term]:
        """Insert an event at the head, if `when`; return the line, and whether its capacity is exceeded."""
        when = both(when, self._is_wanted(column, values))
        if when is FALSE:
            return self, FALSE
        own = [values[name].place_in(self.tables[column.type, name])[0] for name in column.attributes]
        if column.apart:
            return self._replace_slots(self.lined, [self._renew(each, column, when, own) for each in self.apart]), FALSE
        attributes: list[Any] = [const(0, Range(0, size - 1)) for size in self.layout.sizes]
        attributes[: len(own)] = own
        kind, age = const(column.kind, self.layout.kinds), const(0, Range(0, 0))
        head = RetainedEvent(kind, age, 1, tuple(attributes), tuple(used))
        replaced: list[Term] = [FALSE] * len(self.lined)
        if column.newest is not None:
            replaced = [both(slot.of(column), self._is_same(slot, column, values)) for slot in self.lined]
        if column.oldest:
            when, replaced = both(when, negate(disjunction(replaced))), [FALSE] * len(self.lined)
        full = both(both(when, EQ(self.length(column), column.capacity)), negate(disjunction(replaced)))
        shifted, before, gone = [], head, FALSE
        for slot, here in zip(self.lined, replaced, strict=True):
            # slots after the event that the new one replaces do not move
            shifted.append(choose(both(when, negate(gone)), before, slot))
            gone, before = either(gone, here), slot
        return self._replace_slots(shifted), full

    def _renew(self, slot: NewestEvent, column: ColumnLayout, when: Term, attributes: Sequence[Any]) -> NewestEvent:
        """Update a slot outside the line for an event, which may belong to it."""
        if slot.column.type != column.type:
            return slot
        known = ((a, b) for a, b in zip(slot.attributes, attributes, strict=True) if isinstance(a, int))
        is_own: Any = when
        for key, index in known:
            is_own = both(is_own, EQ(index, key))
        return slot.where(is_own, 0, attributes)

    def _is_wanted(self, column: ColumnLayout, values: Mapping[str, GuardedValue]) -> Any:
        return disjunction(holds(role.plain, lambda own: values[own.name]) for role in column.roles)

    def _is_same(self, slot: RetainedEvent, column: ColumnLayout, values: Mapping[str, GuardedValue]) -> Term:
        """Whether a slot's event equals a new one in the attributes that distinguish events."""
        assert column.newest is not None
        condition: Any = TRUE
        for name in column.newest:
            if (index := column.attributes.get(name)) is not None:
                condition = both(
                    condition, EQ(slot.attributes[index], values[name].place_in(self.tables[column.type, name])[0])
                )
        return condition  # type: ignore[no-any-return]

    def mark(self, mark: int, marks: Sequence[Term], *, also: Any = TRUE) -> EventLine:
        """Mark events; events that had the mark before keep it if `also`."""

        def marked(slot: RetainedEvent, now: Term) -> RetainedEvent:
            used = (either(both(also, u), now) if i == mark else u for i, u in enumerate(slot.used))
            return slot._replace(used=tuple(used))

        return self._replace_slots(list(map(marked, self.lined, marks)))  # those outside it are never consumed


def _is_too_old(column: ColumnLayout, age: Any, back: Any) -> Any:
    """Whether no window selects an event with this age, and this number of later events."""
    if column.endless:
        return FALSE
    return both(GT(age, column.limit), GT(back, column.distance) if column.distance else TRUE)


def merge(when: Term, one: EventLine, other: EventLine) -> EventLine:
    """Return one line if a condition holds, otherwise the other."""
    if one is other:
        return one
    lined = [choose(when, a, b) for a, b in zip(one.lined, other.lined, strict=True)]
    apart = [b.where(when, a.age, a.attributes) for a, b in zip(one.apart, other.apart, strict=True)]
    return EventLine(one.layout, one.tables, lined, apart)
