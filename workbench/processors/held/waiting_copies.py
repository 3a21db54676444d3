"""The finite machine of a quantifier with waiting copies: positions in order, each with its undecided copies.

The rule of this module: the state is canonical. A copy with a verdict is removed, and so are
all copies of a decided position that waits for those before it.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, Domain, Integer, Overflowing, Value
from workbench.core.ops import EQ, GE, both, disjunction, either, ite, negate
from workbench.core.processor import Burst, Emission, Machine, Maybe, Slot, State, Stepped, slots_of
from workbench.core.strict_values import when
from workbench.core.term import FALSE, TRUE, const
from workbench.processors.held.inner_processor import as_state, computes


def waiting_place(variable: str) -> int | None:
    """Return the number, from 0 for the oldest, of the position that a variable belongs to; None if it has none."""
    match = re.search(r":position(\d+)\.", variable)
    return int(match[1]) if match else None


class WaitingCopy(NamedTuple):
    """A copy in a place of a position; all terms."""

    there: Any
    value: Any
    """The value that it reads beside every front."""
    state: State


class WaitingPosition(NamedTuple):
    """Whether a copy has emitted the deciding verdict, and the copies."""

    broken: Any
    copies: tuple[WaitingCopy, ...]


@dataclass(frozen=True)
class WaitingCopies:
    """The state of at most `capacity` positions, and their step on a front.

    Attributes
    ----------
    inner: the machine of a copy, for `capacity + 1` fronts.
    element: the domain of the values.
    keys: the values for which a position can have a copy; None where a copy stores its own.
    breaks: the verdict of one copy that decides a position.
    """

    capacity: int
    inner: Machine
    element: Domain
    keys: Sequence[Value | None]
    breaks: bool

    def slots(self) -> tuple[Slot, ...]:
        """Return the number of waiting positions, and the state of each, the oldest first."""
        slots = [Slot("waiting", Integer(self.capacity + 1, Overflowing.CHECKED), 0)]
        for index in range(self.capacity):
            slots.append(Slot(f"position{index}.broken", BOOL, False))
            for number, key in enumerate(self.keys):
                copy = f"position{index}.copy{number}"
                slots.append(Slot(f"{copy}.there", BOOL, False))
                if key is None:
                    slots.append(Slot(f"{copy}.value", self.element, self.element.default))
                slots += (Slot(f"{copy}.{each.name}", each.domain, each.initial) for each in self.inner.slots)
        return tuple(slots)

    def step(self, state: State, front: tuple[Any, ...], elements: Sequence[tuple[Any, Any]]) -> Stepped:
        """Take one front; `elements` has, for each of its possible values, whether it is present, and the value."""
        waiting, *rest = state
        newest = WaitingPosition(FALSE, tuple(WaitingCopy(*each, self._initial) for each in elements))
        positions = [*self._build_positions(rest), self._nothing]
        positions = [
            self._feed(_choose(EQ(waiting, number), newest, position), front)
            for number, position in enumerate(positions)
        ]
        leading, known = [], TRUE
        for number, position in enumerate(positions):
            silent = disjunction(copy.there for copy in position.copies)
            known = both(known, both(GE(waiting, number), negate(silent)))
            leading.append(known)
        verdicts = Burst(
            Maybe(here, position.broken if self.breaks else negate(position.broken))
            for here, position in zip(leading, positions, strict=True)
        )
        return self._after(waiting, positions, leading), (verdicts,)

    def _after(self, waiting: Any, all_positions: Sequence[WaitingPosition], leading: Sequence[Any]) -> State:
        """Remove the leading positions; the others move by powers of two, n of them by n log n choices."""
        count, positions, shift = waiting + 1, list(all_positions), 1
        for number, known in enumerate(leading):
            count = ite(known, waiting - number, count)
        last = [both(known, negate(more)) for known, more in itertools.pairwise([*leading, FALSE])]
        while shift <= len(all_positions):
            moves = disjunction(here for gone, here in enumerate(last, 1) if gone & shift)
            later = [*positions[shift:], *[self._nothing] * shift]
            positions = [_choose(moves, new, old) for new, old in zip(later, positions, strict=True)]
            shift *= 2
        state = [count]
        for position in positions[:-1]:
            state.append(position.broken)
            for copy, key in zip(position.copies, self.keys, strict=True):
                state += [copy.there, *([copy.value] if key is None else []), *copy.state]
        return tuple(state)

    @property
    def _initial(self) -> State:
        return tuple(const(slot.initial, slot.domain) for slot in self.inner.slots)

    @property
    def _nothing(self) -> WaitingPosition:
        default = self.element.default
        copies = ((FALSE, const(default if key is None else key, self.element), self._initial) for key in self.keys)
        return WaitingPosition(FALSE, tuple(WaitingCopy(*copy) for copy in copies))

    def _build_positions(self, rest: Sequence[Any]) -> list[WaitingPosition]:
        """Build the positions from the parts of a state behind the first."""
        parts, positions = iter(rest), []
        for _ in range(self.capacity):
            broken, copies = next(parts), []
            for key in self.keys:
                there = next(parts)
                value = next(parts) if key is None else const(key, self.element)
                copies.append(WaitingCopy(there, value, tuple(next(parts) for _ in self.inner.slots)))
            positions.append(WaitingPosition(broken, tuple(copies)))
        return positions

    def _feed(self, position: WaitingPosition, front: tuple[Any, ...]) -> WaitingPosition:
        """Return a position after its copies have seen the front."""
        results = [self._step_copy(copy, front) for copy in position.copies]
        decisions = (
            both(verdict.present, verdict.value if self.breaks else negate(verdict.value)) for _, verdict in results
        )
        broken = either(position.broken, disjunction(decisions))
        copies = []
        for (following, verdict), before, nothing in zip(results, position.copies, self._nothing.copies, strict=True):
            silent = both(before.there, both(negate(verdict.present), negate(broken)))
            copies.append(_choose(silent, WaitingCopy(TRUE, before.value, following), nothing))
        return WaitingPosition(broken, tuple(copies))

    def _step_copy(self, copy: WaitingCopy, front: tuple[Any, ...]) -> tuple[State, Maybe]:
        """Return a copy's state after the front, and its first event, if the copy is present."""
        with when(copy.there):
            following, (out,) = self.inner.step(copy.state, (copy.value, *front))
            computes(following, out)
        typed = tuple(as_state(new, slot) for new, slot in zip(following, self.inner.slots, strict=True))
        return typed, _first(out, copy.there)


def _first(out: Emission, there: Any) -> Maybe:
    """Return the first of the events that are emitted, where `there` holds."""
    first = Maybe(FALSE, FALSE)
    for each in reversed(slots_of(out)):
        first = Maybe(either(each.present, first.present), ite(each.present, each.value, first.value))
    return Maybe(both(there, first.present), first.value)


def _choose(condition: Any, new: Any, old: Any) -> Any:
    """Return one of two values of the same shape."""
    if isinstance(new, tuple):
        parts = [_choose(condition, a, b) for a, b in zip(new, old, strict=True)]
        return type(new)(*parts) if hasattr(new, "_fields") else tuple(parts)
    return old if new is old else ite(condition, new, old)
