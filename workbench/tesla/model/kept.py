"""The events that rules may still ask for, as terms: a line of slots, the newest event first.

The rule of this module: the line says what has come, in order, and nothing of rules but what `KeptLayout` says; an
empty slot holds zeros, so that equal lines are equal states.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from workbench.core.domain import BOOL, Domain, Range, Value
from workbench.core.ops import ADD, EQ, GT, LE, NE, both, disjunction, either, held_in, ite, negate
from workbench.core.term import FALSE, TRUE, Term, const
from workbench.tesla.model.chosen import ChosenValue, holds
from workbench.tesla.model.layout import KeptColumn, KeptLayout, Tables


@dataclass(frozen=True)
class Kept:
    """One slot.

    Attributes
    ----------
    kind: which column's event it holds; 0: none.
    age, back: how many ticks, and events of any type, ago it came; `back` is 0 where nothing counts them.
    used: what consumes it.
    """

    kind: Any
    age: Any
    back: Any
    attributes: tuple[Any, ...]
    used: tuple[Any, ...]

    @property
    def present(self) -> Term:
        """Whether it holds an event."""
        found: Term = NE(self.kind, 0)
        return found

    def of(self, column: KeptColumn) -> Term:
        """Whether it holds an event of this column."""
        found: Term = EQ(self.kind, column.kind)
        return found

    def attribute(self, column: KeptColumn, name: str, tables: Tables) -> ChosenValue:
        """An attribute of the event that it holds, one of this column."""
        table = tables[column.type, name]
        place = column.attributes.get(name)
        return ChosenValue.at(0 if place is None else self.attributes[place], table)

    @property
    def parts(self) -> tuple[Any, ...]:
        """All of it."""
        return (self.kind, self.age, self.back, *self.attributes, *self.used)


@dataclass(frozen=True)
class Newest:
    """A slot outside of the line: the newest event of a column for some values of its attributes; older ones are gone.

    Attributes
    ----------
    age: one more than the column's limit where there is none.
    attributes: all that are kept; those by which the slot is known are plain numbers.
    """

    column: KeptColumn
    age: Any
    attributes: tuple[Any, ...]

    @property
    def gone(self) -> int:
        """The age of what is not there."""
        return self.column.limit + 1

    @property
    def parts(self) -> tuple[Any, ...]:
        """What is not known of it."""
        return (self.age, *(each for each in self.attributes if not isinstance(each, int)))

    def kept(self, used: int) -> Kept:
        """The same as other slots are."""
        kind = ite(LE(self.age, self.column.limit), self.column.kind, 0)
        return Kept(kind, self.age, 0, self.attributes, (FALSE,) * used)

    def where(self, when: Any, age: Any, attributes: Sequence[Any]) -> Newest:
        """This, or with another age and other attributes where a condition holds."""
        pairs = zip(attributes, self.attributes, strict=True)
        others = tuple(b if isinstance(b, int) else ite(when, a, b) for a, b in pairs)
        return replace(self, age=ite(when, age, self.age), attributes=others)


class Line:
    """What slots hold, and how that changes.

    Parameters
    ----------
    lined: the newest event first, empty ones last.
    apart: the slots outside of the line.
    """

    def __init__(self, layout: KeptLayout, tables: Tables, lined: Sequence[Kept], apart: Sequence[Newest]) -> None:
        self.layout, self.tables, self.lined, self.apart = layout, tables, tuple(lined), tuple(apart)

    @cached_property
    def slots(self) -> tuple[Kept, ...]:
        """All slots: those in the line, then the others."""
        return (*self.lined, *(each.kept(self.layout.marks) for each in self.apart))

    def places_of(self, column: KeptColumn) -> list[int]:
        """The slots that can hold events of a column, the oldest first."""
        if not column.apart:
            return list(reversed(range(len(self.lined))))
        return [i for i, each in enumerate(self.apart, len(self.lined)) if each.column.type == column.type]

    # --- as state ---

    @staticmethod
    def variables(layout: KeptLayout, tables: Tables) -> list[tuple[str, Domain, Value]]:
        """Name, domain and initial value of what holds a line."""
        found: list[tuple[str, Domain, Value]] = []
        for number in range(1, layout.slots + 1):
            found.append((f"kind{number}", layout.kinds, 0))
            found.append((f"age{number}", layout.ages, 0))
            found += [(f"back{number}", Range(0, layout.places + 1), 0)] if layout.places else []
            found += [(f"at{number}_{i}", Range(0, size - 1), 0) for i, size in enumerate(layout.sizes)]
            found += [(f"used{number}_{i}", BOOL, False) for i in range(layout.marks)]
        for number, (column, _) in enumerate(layout.apart, 1):
            found.append((f"since{number}", Range(0, column.limit + 1), column.limit + 1))
            for name in column.attributes:
                if name not in (column.newest or ()):
                    found.append((f"of{number}_{name}", tables[column.type, name].domain, 0))
        return found

    @classmethod
    def read(cls, layout: KeptLayout, tables: Tables, state: Sequence[Any]) -> Line:
        """The line that these variables hold."""
        values = iter(state)
        lined, apart = list[Kept](), list[Newest]()
        for _ in range(layout.slots):
            kind, age, back = next(values), next(values), next(values) if layout.places else 0
            places = tuple(next(values) for _ in layout.sizes)
            lined.append(Kept(kind, age, back, places, tuple(next(values) for _ in range(layout.marks))))
        for column, key in layout.apart:
            age, known = next(values), dict(zip(column.newest or (), key, strict=True))
            places = tuple(known[name] if name in known else next(values) for name in column.attributes)
            apart.append(Newest(column, age, places))
        return cls(layout, tables, lined, apart)

    @property
    def state(self) -> tuple[Any, ...]:
        """What its variables are."""
        backs = 3 if self.layout.places else 2
        lined = (part for slot in self.lined for part in (*slot.parts[:backs], *slot.parts[3:]))
        return (*lined, *(part for slot in self.apart for part in slot.parts))

    def length(self, column: KeptColumn) -> Any:
        """How many events of a column it holds."""
        total: Any = const(0, Range(0, 0))
        for place in self.places_of(column):
            total = ADD(total, ite(self.slots[place].of(column), 1, 0))
        return held_in(total, Range(0, column.room))

    # --- what happens ---

    def _with(self, lined: Sequence[Kept], apart: Sequence[Newest] | None = None) -> Line:
        return Line(self.layout, self.tables, lined, self.apart if apart is None else apart)

    def later(self, elapsed: Any) -> Line:
        """The line when so many ticks have passed: what nobody can ask for any more is gone."""
        apart = []
        for each in self.apart:
            age = held_in(ADD(each.age, elapsed), Range(0, each.gone))
            apart.append(replace(each, age=age).where(EQ(age, each.gone), age, (0,) * len(each.attributes)))
        return self._with(self._aged(elapsed, 0), apart)

    def followed(self) -> Line:
        """The line when another event has come, of any type."""
        return self._with(self._aged(0, 1), self.apart) if self.layout.places else self

    def _aged(self, elapsed: Any, events: int) -> list[Kept]:
        found, columns = [], self.layout.lined
        for slot in self.lined:
            age, back = ADD(slot.age, elapsed), ADD(slot.back, events)
            gone = disjunction(both(slot.of(c), _beyond(c, age, back)) for c in columns)
            back = held_in(back, Range(0, self.layout.places + 1))
            aged = replace(slot, age=held_in(age, self.layout.ages), back=back)
            found.append(_where(both(slot.present, negate(gone)), aged, None))
        kinds = {(column.limit, column.places, column.endless) for column in columns}
        return _closed(found) if len(kinds) > 1 or self.layout.places else found

    def with_event(
        self, column: KeptColumn, when: Term, values: Mapping[str, ChosenValue], used: Sequence[Term]
    ) -> tuple[Line, Term]:
        """The line with an event at its head, where `when`; and whether there is no room for it."""
        when = both(when, self._wanted(column, values))
        if when is FALSE:
            return self, FALSE
        own = [values[name].placed(self.tables[column.type, name])[0] for name in column.attributes]
        if column.apart:
            return self._with(self.lined, [self._renewed(each, column, when, own) for each in self.apart]), FALSE
        places: list[Any] = [const(0, Range(0, size - 1)) for size in self.layout.sizes]
        places[: len(own)] = own
        head = Kept(const(column.kind, self.layout.kinds), const(0, Range(0, 0)), 1, tuple(places), tuple(used))
        replaced: list[Term] = [FALSE] * len(self.lined)
        if column.newest is not None:
            replaced = [both(slot.of(column), self._same(slot, column, values)) for slot in self.lined]
        if column.oldest:
            when, replaced = both(when, negate(disjunction(replaced))), [FALSE] * len(self.lined)
        full = both(both(when, EQ(self.length(column), column.room)), negate(disjunction(replaced)))
        shifted, before, gone = [], head, FALSE
        for slot, here in zip(self.lined, replaced, strict=True):
            # behind the event that the new one stands for, nothing moves
            shifted.append(_where(both(when, negate(gone)), before, slot))
            gone, before = either(gone, here), slot
        return self._with(shifted), full

    def _renewed(self, slot: Newest, column: KeptColumn, when: Term, places: Sequence[Any]) -> Newest:
        """A slot outside of the line when an event has come, to which it may belong."""
        if slot.column.type != column.type:
            return slot
        known = ((a, b) for a, b in zip(slot.attributes, places, strict=True) if isinstance(a, int))
        mine: Any = when
        for key, place in known:
            mine = both(mine, EQ(place, key))
        return slot.where(mine, 0, places)

    def _wanted(self, column: KeptColumn, values: Mapping[str, ChosenValue]) -> Term:
        found: Term = disjunction(holds(role.plain, lambda own: values[own.name]) for role in column.roles)
        return found

    def _same(self, slot: Kept, column: KeptColumn, values: Mapping[str, ChosenValue]) -> Term:
        """Whether a slot's event equals a new one in all that tells one from the other."""
        assert column.newest is not None
        found: Any = TRUE
        for name in column.newest:
            if (place := column.attributes.get(name)) is not None:
                found = both(found, EQ(slot.attributes[place], values[name].placed(self.tables[column.type, name])[0]))
        return found  # type: ignore[no-any-return]

    def marked(self, mark: int, marks: Sequence[Term], *, also: Any = TRUE) -> Line:
        """The line when these events have a mark; besides those that had it before, where `also`."""
        return self._with(
            [
                replace(
                    slot, used=tuple(either(both(also, u), now) if i == mark else u for i, u in enumerate(slot.used))
                )
                for slot, now in zip(self.lined, marks, strict=False)  # those outside are never consumed
            ]
        )


def _beyond(column: KeptColumn, age: Any, back: Any) -> Any:
    """Whether nothing asks any more for an event of so great an age, so many places back."""
    if column.endless:
        return FALSE
    return both(GT(age, column.limit), GT(back, column.places) if column.places else TRUE)


def _where(when: Term, one: Kept, other: Kept | None) -> Kept:
    """One slot's content where a condition holds, else the other's (None: it is empty)."""
    others: Sequence[Any] = (
        (0, 0, 0, *[0] * len(one.attributes), *[False] * len(one.used)) if other is None else other.parts
    )
    kind, age, back, *rest = (ite(when, a, b) for a, b in zip(one.parts, others, strict=True))
    return Kept(kind, age, back, tuple(rest[: len(one.attributes)]), tuple(rest[len(one.attributes) :]))


def _closed(slots: Sequence[Kept]) -> list[Kept]:
    """The same events in the same order, with no empty slot before a full one."""
    done: list[Kept] = []
    for slot in slots:
        place: Term = both(TRUE, slot.present)
        after: list[Kept] = []
        # the event goes into the first empty slot of those before it
        free_before: Any = FALSE
        for other in done:
            here = both(place, both(negate(other.present), negate(free_before)))
            free_before = either(free_before, negate(other.present))
            after.append(_where(here, slot, other))
        done = [*after, _where(both(place, negate(free_before)), slot, None)]
    return done


def merged(when: Term, one: Line, other: Line) -> Line:
    """One line where a condition holds, else the other."""
    if one is other:
        return one
    lined = [_where(when, a, b) for a, b in zip(one.lined, other.lined, strict=True)]
    apart = [b.where(when, a.age, a.attributes) for a, b in zip(one.apart, other.apart, strict=True)]
    return Line(one.layout, one.tables, lined, apart)
