"""The machine of slices by any key: a table (`core.memory`) with a row for each slice so far."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.domain import BOOL, Domain, Integers, Texts
from workbench.core.fields import Tuple, parts, scalars
from workbench.core.memory import ROW, Cells, KeyedArray
from workbench.core.ops import both, either, equal, ite, negate
from workbench.core.processor import Machine, Maybe, Scattered, State, Stored
from workbench.core.strict_values import leaves_domain, strictly, when
from workbench.core.term import FALSE, TRUE, Change, Content, Term, const
from workbench.processors.slices.slice_machine import MapMachine, SliceMachine


def scalar(keys: Domain) -> bool:
    """Whether values of this domain can be keys of a table."""
    return isinstance(keys, Integers | Texts) or (keys.finite and not parts(keys) and not isinstance(keys, Tuple))


class SliceTable:
    """The copies of a slice processor as rows.

    If each front makes a slice emit, a slice is in the map if its row is used.
    """

    def __init__(self, copies: SliceMachine) -> None:
        self.copies = copies
        self.slots = copies.own if copies.retained_slot is None else copies.own[:-1]

    def stored(self) -> Stored:
        """Return the machine and its table."""
        fresh = tuple(slot.initial for slot in self.slots) if self.copies.retained_slot is None else ()
        row = Tuple((BOOL, self.copies.map.key, *(slot.domain for slot in self.slots)))
        return Stored({"slices": KeyedArray(row, fresh=fresh)}, self._machine)

    def _machine(self, cells: Sequence[Cells]) -> Machine:
        (slices,) = cells

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Any, ...]]:
            fed = FedTable(self, slices, front)
            fed.keep()
            return state, (self.copies.show_table(fed),)

        return Machine((), step)

    def columns(self, slices: Cells) -> tuple[Term, ...]:
        """Return the columns for `Content.columns`."""
        used, key, *rest = slices.columns
        names = {"is_present": [used]}
        for slot in self.slots:
            names[slot.name] = [rest.pop(0) for _ in scalars(slot.domain)]
        last_index = self.copies.retained_slot
        last_name = "shown" if last_index is None else self.copies.inner.slots[last_index].name
        return (used, *names["is_present"], key, *names[last_name])


class FedTable:
    """A table in a step that feeds it a front."""

    def __init__(self, table: SliceTable, slices: Cells, front: tuple[Any, ...]) -> None:
        self.table, self.copies, self.slices, self.front = table, table.copies, slices, front
        self.key, self.everywhere = self.copies.slice.address(front)
        self.place, self.one = slices.find(self.key), negate(self.everywhere)

    def before(self, row: Any) -> tuple[Any, ...]:
        """Return the copy in a row before the step; a fresh one if the row is not used."""
        used, _, *state = self.slices.at(row)
        used = TRUE if row is ROW else used
        fresh = (const(slot.initial, slot.domain) for slot in self.table.slots)
        copy = tuple(ite(used, old, new) for old, new in zip(state, fresh, strict=True))
        return copy if self.copies.retained_slot is None else (*copy, used)

    def alive(self, row: Any) -> Any:
        """Return whether a row has a slice, before the step."""
        return self.before(row)[0]

    def after(self, row: Any) -> tuple[tuple[Any, ...], Maybe]:
        """Return the copy in a row after the front, and the emission of its slice."""
        with strictly(TRUE):  # the values of these terms are computed elsewhere
            return self.copies.feed(self.before(row), self.front)

    def keep(self) -> None:
        """Write the changes of the step."""
        size = len(self.table.slots)
        self.slices.keep(self.place, self.key, self.after(self.place)[0][:size], self.one)
        if self.everywhere is not FALSE:
            self.slices.keep_all(self.everywhere, self.alive(ROW), self.after(ROW)[0][:size])
        self._mark_computed()

    def _mark_computed(self) -> None:
        """Record what the inner processors compute (see `core.strict_values`)."""
        with when(self.one):
            self.copies.feed(self.before(self.place), self.front)
        if self.everywhere is not FALSE:
            with strictly(self.alive(ROW)) as collector:
                self.copies.feed(self.before(ROW), self.front)
            leaves_domain(self.slices.somewhere(self.everywhere, collector.escape))

    def emission(self) -> Maybe | Scattered:
        """Return the emissions of slices, beside their keys."""
        (_, output), own = self.after(self.place), self.slices.at(ROW)[1]
        if self.everywhere is FALSE:
            return Maybe(output.present, (self.key, output.value))
        _, each = self.after(ROW)
        rows = self.slices.rows(self.everywhere, both(self.alive(ROW), each.present), (own, each.value))
        return Scattered(both(self.one, output.present), (self.key, output.value), rows)

    def change(self, copies: MapMachine) -> Change:
        """Return the map from slices to their last events."""

        def entry(row: Any, changed: Any) -> tuple[Any, Any]:
            """Whether a slice is in the map after the step, and its value; `changed`: whether it saw the front."""
            return copies.entry(ite(changed, self.after(row)[0], self.before(row)))

        def look(key: Any) -> tuple[Any, Any]:
            row = self.slices.find(key)
            own = both(self.one, equal(self.key, key))
            return entry(row, own if self.everywhere is FALSE else either(own, both(self.everywhere, self.alive(row))))

        def total(name: str, measure: Callable[[Any], Any]) -> Any:
            def weigh(row: Any, later: bool) -> Any:
                sees = TRUE if self.everywhere is FALSE else either(self.one, self.alive(row))
                present, value = entry(row, sees if later else FALSE)
                return ite(present, measure(value), 0)

            return self.slices.total(name, self.everywhere, weigh, self.place)

        others = None
        if self.everywhere is not FALSE:
            present, value = entry(ROW, TRUE)
            others = self.slices.rows(self.everywhere, self.alive(ROW), (present, self.slices.at(ROW)[1], value))
        present, value = look(self.key)
        content = Content(look, total, self.table.columns(self.slices), others)
        return Change.of(copies.map, (present, self.key, value), content=content)
