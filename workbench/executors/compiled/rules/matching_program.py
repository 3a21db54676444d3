"""A rule program that writes the numbers of matches' events to columns, while it runs.

The rule of this module: columns are given away when they are full. Where one event has more matches than that, it is
processed again, and those that have been given are passed over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.early import EarlyLoop
from workbench.executors.compiled.rules.running import Makes, RunningProgram, address_of, inputs_of
from workbench.executors.compiled.rules.runs import Published
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence

FIRST_ROOM, MOST_ROOM = 1 << 10, 1 << 17
"""Matches that there is room for at first, and at most: what is more is given in parts."""


class MatchingProgram(RunningProgram):
    """A rule program of `MatchSource`.

    Attributes
    ----------
    rows: of each place in a match a column of numbers, from 1 on.
    """

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self._early: EarlyLoop | None = None
        emits = self.program.R[:-1, at.EMITS]
        self._alone = bool((self.program.T[emits, at.WATCHED] == at.UNNUMBERED).all())
        self._width = max((len(plan.event_slots) for plan in self.plan.plans), default=0)
        self._room(FIRST_ROOM)

    def again(self) -> MatchingProgram:
        made = super().again()
        assert isinstance(made, MatchingProgram)
        made._early = self._early
        return made

    def block(self, block: EventBlock, made: Makes) -> Iterable[Any]:
        self.lend(block.texts)
        given, inputs = inputs_of(block, self.memory.T, self.program)
        return self._looped(lambda first: self._run(first, len(block), [*inputs, given]), len(block), made)

    def put(self, event: Occurrence) -> bool:
        """Write an event that comes alone; whether words suffice for it."""
        try:
            self.single.put(event)
        except ValueError:  # a whole number of more than 64 bits
            return False
        return True

    def parts_of_event(self, made: Makes) -> Iterable[Any]:
        """What comes of it, part by part; `reached` is 1 unless something is beyond it."""
        return self._looped(lambda first: self._run(first, 1, self.single.given), 1, made)

    def _run(self, first: int, last: int, given: Sequence[Any]) -> int:
        """Process some events; the code is what is there by now."""
        if self._early is None and self.loop is None:
            self._early = EarlyLoop(self.program.machine, self.program.plain())
        if self._early is None:
            return self._called(0, first, last, *given)
        found = self._early.run(first, last, [*given, *self.memory.arrays()])
        self.loop = self._early.loop
        return found

    # --- columns ----------------------------------------------------------------------------------------

    def _room(self, size: int, passed: int = 0) -> None:
        """New columns, of whose matches so many are passed over."""
        self.rows: Any = np.empty((self._width, size), np.int64)
        self.memory.V[at.ROWS] = address_of(self.rows)
        self.memory.V[at.ROOM], self.memory.V[at.FOUND] = size, -passed

    def _taken(self, made: Makes) -> Any:
        found = super()._taken(made)
        if self.memory.V[at.FOUND] > 0:
            self._room(int(self.memory.V[at.ROOM]))
        return found

    def _given(self, made: Makes) -> Any:
        memory, room = self.memory, int(self.memory.V[at.ROOM])
        before = int(memory.V[at.FOUND])
        if before > 0:
            found = self._taken(made)
            self._room(min(2 * room, MOST_ROOM))
        elif not self._alone:  # what hangs on each other is given together
            found = self._taken(made)
            self._room(2 * room)
        else:
            begin, end = int(memory.V[at.MADE]), int(memory.V[at.WANTED])
            found = made(Published(memory.O[:end], np.arange(begin, end, at.RECORD + 2)), self.program, self.known)
            self._room(min(2 * room, MOST_ROOM), room - before)
        return found
