"""The machine of slices by any key: a row for each slice that there has been, in a table (`core.memory`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from workbench.core.domain import BOOL, Domain, Integers, Texts
from workbench.core.fields import Map, Tuple, parts, scalars
from workbench.core.memory import ROW, Cells, KeyedArray
from workbench.core.ops import both, either, equal, ite, negate
from workbench.core.processor import Emission, Machine, Maybe, Scattered, Slot, State, Stored, event
from workbench.core.strict import leaves_domain, strictly, when
from workbench.core.term import FALSE, TRUE, Change, Content, Others, Term, const
from workbench.processors.held.holding import advance
from workbench.processors.slices.slice_machine import SliceMachine

if TYPE_CHECKING:
    from workbench.processors.slices.slice_last import SliceLast


def scalar(keys: Domain) -> bool:
    """Whether values of this domain can be keys of a table."""
    return isinstance(keys, Integers | Texts) or (keys.finite and not parts(keys) and not isinstance(keys, Tuple))


class SliceTable:
    """The copies of a slice processor as rows.

    Where each front makes a slice emit, it is in the map if its row is used.
    """

    def __init__(self, copies: SliceMachine) -> None:
        self.copies = copies
        self.slots = copies.own if copies.kept is None else copies.own[:-1]

    def stored(self) -> Stored:
        """The machine and its table."""
        fresh = tuple(slot.initial for slot in self.slots) if self.copies.kept is None else ()
        row = Tuple((BOOL, self.copies.map.key, *(slot.domain for slot in self.slots)))
        return Stored({"slices": KeyedArray(row, fresh=fresh)}, self._machine)

    def _machine(self, cells: Sequence[Cells]) -> Machine:
        (slices,) = cells

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
            fed = _Fed(self, slices, front)
            fed.keep()
            return state, (event(fed.change()),)

        return Machine((), step)

    def columns(self, slices: Cells) -> tuple[Term, ...]:
        """See `Content.columns`."""
        used, key, *rest = slices.columns
        names = {"is_present": [used]}
        for slot in self.slots:
            names[slot.name] = [rest.pop(0) for _ in scalars(slot.domain)]
        kept = self.copies.kept
        shown = "shown" if kept is None else self.copies.inner.slots[kept].name
        return (used, *names["is_present"], key, *names[shown])


class _Fed:
    """A table in a step that feeds it a front."""

    def __init__(self, table: SliceTable, slices: Cells, front: tuple[Any, ...]) -> None:
        self.table, self.copies, self.slices, self.front = table, table.copies, slices, front
        self.key, self.everywhere = self.copies.slice.addressed(front)
        self.place, self.one = slices.find(self.key), negate(self.everywhere)

    def before(self, place: Any) -> tuple[Any, ...]:
        """The copy in a row before the step; a fresh one where the row is not used."""
        used, _, *kept = self.slices.at(place)
        used = TRUE if place is ROW else used
        fresh = (const(slot.initial, slot.domain) for slot in self.table.slots)
        copy = tuple(ite(used, old, new) for old, new in zip(kept, fresh, strict=True))
        return copy if self.copies.kept is None else (*copy, used)

    def alive(self, place: Any) -> Any:
        """Whether there is a slice in a row, before the step."""
        return self.before(place)[0]

    def after(self, place: Any) -> tuple[Any, ...]:
        """The copy in a row if it sees the front."""
        with strictly(TRUE):  # terms are made of what is computed elsewhere
            return self.copies.fed(self.before(place), self.front)

    def entry(self, place: Any, changed: Any) -> tuple[Any, Any]:
        """Whether a slice is in the map after the step, and its value; `changed` says whether it has seen the front."""
        return self.copies.entry(ite(changed, self.after(place), self.before(place)))

    def keep(self) -> None:
        """Write what the step changes."""
        size = len(self.table.slots)
        self.slices.keep(self.place, self.key, self.after(self.place)[:size], self.one)
        if self.everywhere is not FALSE:
            self.slices.keep_all(self.everywhere, self.alive(ROW), self.after(ROW)[:size])
        self._computed()

    def _computed(self) -> None:
        """Say what the inner processors compute (see `core.strict`)."""
        with when(self.one):
            self.copies.fed(self.before(self.place), self.front)
        if self.everywhere is not FALSE:
            with strictly(self.alive(ROW)) as found:
                self.copies.fed(self.before(ROW), self.front)
            leaves_domain(self.slices.somewhere(self.everywhere, found.escape))

    def change(self) -> Change:
        """The map."""
        present, value = self.look(self.key)
        content = Content(self.look, self.total, self.table.columns(self.slices), self.others())
        return Change.of(self.copies.map, (present, self.key, value), content=content)

    def look(self, key: Any) -> tuple[Any, Any]:
        """See `Content`."""
        place = self.slices.find(key)
        own = both(self.one, equal(self.key, key))
        return self.entry(
            place, own if self.everywhere is FALSE else either(own, both(self.everywhere, self.alive(place)))
        )

    def total(self, name: str, measure: Callable[[Any], Any]) -> Any:
        """See `Content`."""

        def weigh(place: Any, later: bool) -> Any:
            sees = TRUE if self.everywhere is FALSE else either(self.one, self.alive(place))
            present, value = self.entry(place, sees if later else FALSE)
            return ite(present, measure(value), 0)

        return self.slices.total(name, self.everywhere, weigh, self.place)

    def others(self) -> Others | None:
        """See `Content`."""
        if self.everywhere is FALSE:
            return None
        present, value = self.entry(ROW, TRUE)
        return self.slices.rows(self.everywhere, self.alive(ROW), (present, self.slices.at(ROW)[1], value))


class LastTable:
    """The machine of slices of which each front shows only what they emit at it, with a row for each."""

    def __init__(self, slice: SliceLast, inner: Machine, entries: Map) -> None:
        self.slice, self.inner, self.entries = slice, inner, entries
        self.lives = slice.to_all is not None
        self.slots = (*([Slot("is_alive", BOOL, False)] if self.lives else []), *inner.slots)
        self.fresh = tuple(const(slot.initial, slot.domain) for slot in self.slots)

    def stored(self) -> Stored:
        """The machine and its table."""
        row = Tuple((BOOL, self.entries.key, *(slot.domain for slot in self.slots)))
        fresh = tuple(slot.initial for slot in self.slots)
        return Stored({"slices": KeyedArray(row, fresh=fresh)}, self._machine)

    def _machine(self, cells: Sequence[Cells]) -> Machine:
        (slices,) = cells
        return Machine((), lambda state, front: (state, (self._step(slices, front),)))

    def _fed(self, copy: tuple[Any, ...], front: tuple[Any, ...]) -> tuple[tuple[Any, ...], Maybe]:
        """What is in a row after its slice has seen a front, and what the slice emits."""
        nothing = Maybe(FALSE, const(self.entries.value.default, self.entries.value))
        after, last = advance(self.inner, copy[int(self.lives) :], nothing, front)
        over = self.slice.over(last)
        kept = ite(over, self.fresh[int(self.lives) :], after)
        return ((negate(over), *kept) if self.lives else kept), last

    def _step(self, slices: Cells, front: tuple[Any, ...]) -> Any:
        key, everywhere = self.slice.addressed(front)
        place, one = slices.find(key), negate(everywhere)
        used, _, *kept = slices.at(place)
        with when(one):
            new, last = self._fed(tuple(ite(used, a, b) for a, b in zip(kept, self.fresh, strict=True)), front)
        slices.keep(place, key, new, one)
        if everywhere is FALSE:
            return Maybe(last.present, (key, last.value))
        _, own, alive, *kept = slices.at(ROW)
        with strictly(alive) as found:
            new, each = self._fed((alive, *kept), front)
        leaves_domain(slices.somewhere(everywhere, found.escape))
        slices.keep_all(everywhere, alive, new)
        rows = slices.rows(everywhere, both(alive, each.present), (own, each.value))
        return Scattered(both(one, last.present), (key, last.value), rows)
