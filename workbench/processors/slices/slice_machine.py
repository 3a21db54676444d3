"""The finite machines of slices: a copy of the inner one for each key."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from workbench.core.domain import BOOL, Domain
from workbench.core.ops import both, disjunction, either, equal, ite, negate
from workbench.core.processor import Burst, Emission, Machine, Maybe, Scattered, Slot, State, event
from workbench.core.strict_values import when
from workbench.core.term import FALSE, TRUE, Entries, const, same
from workbench.processors.held.inner_processor import advance, end_window, symbolic_step

if TYPE_CHECKING:
    from workbench.processors.slices.slice import Slice
    from workbench.processors.slices.slice_table import FedTable


class FedCopy(NamedTuple):
    """A slice at a front; all terms.

    Attributes
    ----------
    key: the key of the slice.
    copy: its state after the front.
    answer: the last event that it emits at this front.
    """

    key: Any
    copy: tuple[Any, ...]
    answer: Maybe


class SliceMachine(ABC):
    """The finite machine of a slice processor.

    For each key: whether the slice is present (where that differs from having been fed), the inner state, and
    the memory of it. An absent slice has the initial state, and the default.
    """

    retained_slot: int | None = None
    """The inner slot that always has the event emitted last, if that is remembered, and there is one."""

    def __init__(self, slice: Slice, inner: Machine, inputs: tuple[Domain, ...]) -> None:
        self.slice, self.inner = slice, inner
        self.map = slice.map_of(inputs)
        self.lives = slice.to_all is not None or inner.finish is not None
        self.nothing = Maybe(FALSE, const(self.map.value.default, self.map.value))
        alive = [Slot("is_alive", BOOL, False)] if self.lives else []
        self.own = [*alive, *inner.slots, *self.memory(inputs)]

    @abstractmethod
    def memory(self, inputs: tuple[Domain, ...]) -> Sequence[Slot]:
        """Return the slots of the memory of a slice."""

    @abstractmethod
    def remember(self, copy: tuple[Any, ...], output: Maybe, over: Any) -> tuple[Any, ...]:
        """Return the memory of a slice that has emitted this, and may be over."""

    @abstractmethod
    def show(self, slices: Sequence[FedCopy]) -> Emission:
        """Return the emission at a front."""

    @abstractmethod
    def show_last(self, slices: Sequence[FedCopy]) -> Emission:
        """Return the emission at the end of the stream."""

    @abstractmethod
    def show_table(self, table: FedTable) -> Emission | Scattered:
        """Return the emission at a front if the copies are rows of a table."""

    def machine(self) -> Machine:
        slots = tuple(Slot(f"{s.name}.{word}", s.domain, s.initial) for _, word in self.map.slots for s in self.own)
        return Machine(slots, self.step, self.finish if self.inner.finish else None)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        key, everywhere = self.slice.address(front)
        slices = []
        for copy, candidate in self._each(state):
            own = both(negate(everywhere), equal(key, candidate))
            fed = either(own, both(everywhere, copy[0])) if self.lives else own
            with when(fed):
                new, output = self.feed(copy, front)
            new = tuple(ite(fed, a, b) for a, b in zip(new, copy, strict=True))
            slices.append(FedCopy(candidate, new, output._replace(present=both(fed, output.present))))
        return tuple(part for each in slices for part in each.copy), (self.show(slices),)

    def finish(self, state: State) -> tuple[Emission, ...]:
        slices = []
        for copy, candidate in self._each(state):
            alive = copy[0]
            with when(alive):
                final = end_window(self.inner, self.inner_state(copy), self.nothing)
            slices.append(FedCopy(candidate, copy, final._replace(present=both(alive, final.present))))
        return (self.show_last(slices),)

    def _each(self, state: State) -> Iterator[tuple[tuple[Any, ...], Any]]:
        """Yield the copies, each with its key."""
        size = len(self.own)
        for i, (candidate, _) in enumerate(self.map.slots):
            yield tuple(state[i * size : (i + 1) * size]), const(candidate, self.map.key)

    def inner_state(self, copy: tuple[Any, ...]) -> State:
        """Return the state of the inner processor."""
        first = int(self.lives)
        return copy[first : first + len(self.inner.slots)]

    def feed(self, copy: tuple[Any, ...], front: tuple[Any, ...]) -> tuple[tuple[Any, ...], Maybe]:
        """Return the state of a slice after the front, and the last event that it emits at it."""
        after, output = advance(self.inner, self.inner_state(copy), self.nothing, front)
        over = self.slice.over(output)
        if over is not FALSE:
            after = ite(over, tuple(const(slot.initial, slot.domain) for slot in self.inner.slots), after)
        alive = (negate(over),) if self.lives else ()
        return (*alive, *after, *self.remember(copy, output, over)), output


class MapMachine(SliceMachine):
    """The machine of `Slice`: the last event of each slice is remembered."""

    def memory(self, inputs: tuple[Domain, ...]) -> Sequence[Slot]:
        self.retained_slot = self._find_retained(inputs)
        last_slot = Slot("shown", self.map.value, self.map.value.default)
        return (Slot("is_present", BOOL, False), *((last_slot,) if self.retained_slot is None else ()))

    def _find_retained(self, inputs: tuple[Domain, ...]) -> int | None:
        if self.slice.until is not None or self.inner.finish is not None:
            return None
        after, out = symbolic_step(self.inner, inputs)
        if not isinstance(out, Maybe) or not (out.present is True or out.present is TRUE):
            return None
        slots = zip(after, self.inner.slots, strict=True)
        return next(
            (i for i, (new, slot) in enumerate(slots) if same(new, out.value) and slot.domain == self.map.value), None
        )

    def entry(self, copy: tuple[Any, ...]) -> tuple[Any, Any]:
        """Return whether the slice is in the map, and its value."""
        if self.retained_slot is None:
            return copy[-2], copy[-1]
        return copy[-1], ite(copy[-1], copy[int(self.lives) + self.retained_slot], self.nothing.value)

    def _after(self, copy: tuple[Any, ...], output: Maybe) -> tuple[Any, Any]:
        """Return the slice's entry in the map after its emission."""
        present, value = self.entry(copy)
        return either(output.present, present), ite(output.present, output.value, value)

    def remember(self, copy: tuple[Any, ...], output: Maybe, over: Any) -> tuple[Any, ...]:
        present, value = self._after(copy, output)
        if self.slice.forget:
            present, value = both(present, negate(over)), ite(over, self.nothing.value, value)
        return (present, value) if self.retained_slot is None else (present,)

    def show(self, slices: Sequence[FedCopy]) -> Emission:
        return event(Entries.of(self.map, [self.entry(each.copy) for each in slices]))

    def show_last(self, slices: Sequence[FedCopy]) -> Emission:
        entries = [self._after(each.copy, each.answer) for each in slices]
        return Maybe(disjunction(each.answer.present for each in slices), Entries.of(self.map, entries))

    def show_table(self, table: FedTable) -> Emission:
        return event(table.change(self))


class LastMachine(SliceMachine):
    """The machine of `SliceLast`: nothing is remembered."""

    def memory(self, inputs: tuple[Domain, ...]) -> Sequence[Slot]:
        return ()

    def remember(self, copy: tuple[Any, ...], output: Maybe, over: Any) -> tuple[Any, ...]:
        return ()

    def show(self, slices: Sequence[FedCopy]) -> Emission:
        """Return the emission at a front: a single event, if only one slice is fed."""
        outputs = [Maybe(each.answer.present, (each.key, each.answer.value)) for each in slices]
        if len(outputs) == 1 or self.lives:
            return outputs[0] if len(outputs) == 1 else Burst(outputs)
        value = outputs[-1].value
        for other in reversed(outputs[:-1]):
            value = ite(other.present, other.value, value)
        return Maybe(disjunction(slot.present for slot in outputs), value)

    def show_last(self, slices: Sequence[FedCopy]) -> Emission:
        return self.show(slices)

    def show_table(self, table: FedTable) -> Emission | Scattered:
        return table.emission()
