"""Delay: a processor on a pipe that may hold events back for some steps, in order.

An event that is struck with k is emitted k steps after the step at which it arrived, and never before earlier events;
events that are due at one step are emitted together. At the end of the streams all events are emitted. No event
overtakes another, so each waits for at most `by` steps, and the pipe holds at most the events of the last `by` steps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar, Self

from workbench.core.domain import Domain, Range, Value
from workbench.core.kinds import Happening, Tick
from workbench.core.ops import EQ, GT, MAX, both, either, ite, negate
from workbench.core.processor import Burst, Emission, Machine, Maybe, Slot, State
from workbench.core.term import const
from workbench.faults.unreliable import Unreliable

Delayed = tuple[Any, Any, Any]
"""A possible event in the pipe: whether it is present, for how many more steps it stays, and its value."""


@dataclass(frozen=True)
class Delay(Unreliable):
    """A processor that emits every event, up to `by` steps later.

    Its state, besides the count of strikes, is a queue of `width * by` places, oldest first: the number of steps that
    an event still stays (0 if the place is empty), and its value.
    """

    by: int = 1

    participle: ClassVar[str] = "delayed"

    @property
    def oracle(self) -> Domain:
        return Range(1, self.by)

    @property
    def words(self) -> str:
        steps = "1 step" if self.by == 1 else f"up to {self.by} steps"
        return super().words.replace(self.participle, f"{self.participle} by {steps}", 1)

    @property
    def places(self) -> int:
        """The maximum number of events that it holds after a step."""
        return self.width * self.by

    @property
    def finishes(self) -> int:
        return self.places

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        del inputs
        return self.by + 1

    def unfold(self, steps: Sequence[Happening], *, ended: bool) -> list[Value]:
        events, due = [], 0
        for step, event, strike in self.struck(steps):
            due = max(due, step + (strike or 0))
            if ended or due < len(steps):
                events.append(event)
        return events

    # --- operation ---

    def initial(self) -> State:
        return (*super().initial(), *(0, None) * self.places)

    def step(self, state: State, front: Tick) -> tuple[State, tuple[Emission, ...]]:  # type: ignore[override]
        return self._step(None, state, front)

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        del horizon
        blank, held = inputs[0].default, Range(0, self.by)
        counts = [Slot(name, domain, 0) for name, domain in self.slots(inputs)]
        entry_slots = [
            slot
            for i in range(1, self.places + 1)
            for slot in (Slot(f"stays{i}", held, 0), Slot(f"held{i}", inputs[0], blank))
        ]
        step: Any = partial(self._step, const(blank, inputs[0]))
        return Machine((*counts, *entry_slots), step, pending=lambda state: GT(state[len(counts)], 0))

    def _step(self, blank: Any, state: State, tick: Tick) -> tuple[State, tuple[Emission, ...]]:
        """Perform one step; `blank` is the value in an empty place."""
        size = len(super().initial())
        used, strikes = self.strikes(state[:size], tick)
        entries = self._entries(list(zip(state[size::2], state[size + 1 :: 2], strict=True)), tick.events, strikes)
        leaves = [both(present, either(EQ(stays, 0), tick.ends)) for present, stays, _ in entries]
        out = Burst(Maybe(now, value) for now, (_, _, value) in zip(leaves, entries, strict=True))
        rest = [(both(p, negate(now)), stays, v) for now, (p, stays, v) in zip(leaves, entries, strict=True)]
        return (*used, *self._queue(rest, blank)), (out,)

    @staticmethod
    def _entries(held: Sequence[tuple[Any, Any]], events: Sequence[Maybe], strikes: Sequence[Maybe]) -> list[Delayed]:
        """Return all events in the pipe, in order, after one step for the held ones."""
        entries: list[Delayed] = []
        last: Any = 0
        for stays, value in held:
            there = GT(stays, 0)
            left = ite(there, stays - 1, 0)
            last = ite(there, left, last)
            entries.append((there, left, value))
        for event, strike in zip(events, strikes, strict=True):
            left = MAX(ite(strike.present, strike.value, 0), last)
            last = ite(event.present, left, last)
            entries.append((event.present, left, event.value))
        return entries

    def _queue(self, entries: Sequence[Delayed], blank: Any) -> tuple[Any, ...]:
        """Return the places of the events that stay, without gaps."""
        queue: list[tuple[Any, Any]] = [(0, blank)] * self.places
        for there, stays, value in entries:
            before: Any = True
            after = []
            for cell in queue:
                is_occupied = GT(cell[0], 0)
                here = both(there, both(before, negate(is_occupied)))
                after.append((ite(here, stays, cell[0]), ite(here, value, cell[1])))
                before = is_occupied
            queue = after
        return tuple(part for cell in queue for part in cell)

    @classmethod
    def samples(cls) -> tuple[Self, ...]:
        return (cls(), cls(by=2), cls(2, 1))
