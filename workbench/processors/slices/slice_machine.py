"""The finite machine of slices: a copy of the inner one for each key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from workbench.core.domain import BOOL, Domain
from workbench.core.ops import both, disjunction, either, equal, ite, negate
from workbench.core.processor import Emission, Machine, Maybe, Slot, State, event
from workbench.core.strict import when
from workbench.core.term import FALSE, TRUE, Entries, const, same
from workbench.processors.held.holding import advance, ended, symbolic_step

if TYPE_CHECKING:
    from workbench.processors.slices.slice import Slice


class SliceMachine:
    """The finite machine of a slice processor.

    For each key: whether the slice is there (where that is not the same as to have been fed), the inner state,
    and the last event. What is not there holds the initial state, and the default.
    """

    def __init__(self, slice: Slice, inner: Machine, inputs: tuple[Domain, ...]) -> None:
        self.slice, self.inner = slice, inner
        self.map = slice.map_of(inputs)
        self.lives = slice.to_all is not None or inner.finish is not None
        self.kept = self._kept(inputs)
        own = [Slot("is_alive", BOOL, False)] if self.lives else []
        own += [*inner.slots, Slot("is_present", BOOL, False)]
        if self.kept is None:
            own.append(Slot("shown", self.map.value, self.map.value.default))
        self.own = own

    def _kept(self, inputs: tuple[Domain, ...]) -> int | None:
        """The inner slot that always holds the event emitted last, if there is one: it need not be kept twice."""
        if self.slice.until is not None or self.inner.finish is not None:
            return None
        after, out = symbolic_step(self.inner, inputs)
        if not isinstance(out, Maybe) or not (out.present is True or out.present is TRUE):
            return None
        slots = zip(after, self.inner.slots, strict=True)
        return next(
            (i for i, (new, slot) in enumerate(slots) if same(new, out.value) and slot.domain == self.map.value), None
        )

    def machine(self) -> Machine:
        slots = tuple(Slot(f"{s.name}.{word}", s.domain, s.initial) for _, word in self.map.slots for s in self.own)
        return Machine(slots, self.step, self.finish if self.inner.finish else None)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        key, everywhere = self.slice.addressed(front)
        after: list[Any] = []
        entries = []
        for copy, (candidate, _) in zip(self._each(state), self.map.slots, strict=True):
            chosen = both(negate(everywhere), equal(key, const(candidate, self.map.key)))
            fed = either(chosen, both(everywhere, copy[0])) if self.lives else chosen
            with when(fed):
                new = self.fed(copy, front)
            new = tuple(ite(fed, a, b) for a, b in zip(new, copy, strict=True))
            after += new
            entries.append(self.entry(new))
        return tuple(after), (event(Entries.of(self.map, entries)),)

    def finish(self, state: State) -> tuple[Emission, ...]:
        spoke, entries = [], []
        for copy in self._each(state):
            alive, inner, shown = self._parts(copy)
            with when(alive):
                final = ended(self.inner, inner, Maybe(FALSE, const(self.map.value.default, self.map.value)))
            said = both(alive, final.present)
            spoke.append(said)
            entries.append((either(said, shown.present), ite(said, final.value, shown.value)))
        return (Maybe(disjunction(spoke), Entries.of(self.map, entries)),)

    def _each(self, state: State) -> Iterator[tuple[Any, ...]]:
        size = len(self.own)
        return (tuple(state[i : i + size]) for i in range(0, len(state), size))

    def _parts(self, copy: tuple[Any, ...]) -> tuple[Any, State, Maybe]:
        """Whether the slice is there, its inner state, and the last event."""
        first = int(self.lives)
        inner = copy[first : first + len(self.inner.slots)]
        return copy[0] if self.lives else TRUE, inner, Maybe(*self.entry(copy))

    def entry(self, copy: tuple[Any, ...]) -> tuple[Any, Any]:
        """The slice in the map: whether it is there, and its value."""
        if self.kept is None:
            return copy[-2], copy[-1]
        nothing = const(self.map.value.default, self.map.value)
        return copy[-1], ite(copy[-1], copy[int(self.lives) + self.kept], nothing)

    def fed(self, copy: tuple[Any, ...], front: tuple[Any, ...]) -> tuple[Any, ...]:
        """What is kept of a slice after it has seen the front."""
        _, inner, shown = self._parts(copy)
        nothing = Maybe(FALSE, const(self.map.value.default, self.map.value))
        after, found = advance(self.inner, inner, nothing, front)
        last = Maybe(either(found.present, shown.present), ite(found.present, found.value, shown.value))
        alive: Any = TRUE
        if self.slice.until is not None:
            over = self.slice.over(found)
            fresh = tuple(const(slot.initial, slot.domain) for slot in self.inner.slots)
            alive, after = negate(over), ite(over, fresh, after)
            if self.slice.forget:
                last = Maybe(both(last.present, negate(over)), ite(over, nothing.value, last.value))
        value = () if self.kept is not None else (last.value,)
        return (*((alive,) if self.lives else ()), *after, last.present, *value)
