"""The states of a compiled pipeline for many keys, in arrays with a row per key.

The rule of this module: rows without a key hold the initial state, so that more keys need only more rows; and all keys
have the queue capacity that one of them has needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.budget import spare_mb
from workbench.errors import Overflow
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.execute.queues import widen
from workbench.executors.compiled.execute.state import EndlessQueue, LoopArrays

COPIES = 2
"""Copies of the states that exist while they are enlarged."""


class KeyedStates:
    """The arrays of `LoopArrays`, each with a further axis; the integers are followed by the number of steps.

    Parameters
    ----------
    one: the executor, with the system and its initial state.
    """

    def __init__(self, one: Compiled) -> None:
        self.one, self.count = one, 0
        """The executor, and the number of keys."""
        self._begin()
        self.arrays = [array[None][:0] for array in self._initial]

    def _begin(self) -> None:
        """Build the initial state of the system; a queue without a capacity has space for one event."""
        self.form = LoopArrays(self.one.system, self.one.form, self.one.texts)
        self.form.reset()
        whole, *rest = self.form.copy()
        self._initial = [np.append(whole, np.int64(0)), *rest]
        for queue in self.form.endless:
            self._initial[queue.array_slice] = [array[:1] for array in self._initial[queue.array_slice]]

    def grow(self, count: int) -> None:
        """Allocate states for this many keys."""
        if count > len(self.arrays[0]):
            capacity = max(count, 2 * len(self.arrays[0]))
            for index, (first, content) in enumerate(zip(self._initial, self.arrays, strict=True)):
                row: Any = np.zeros((1, content.shape[1]), first.dtype)
                row[0, : len(first)] = first  # longer queues are empty
                self.arrays[index] = np.repeat(row, capacity, axis=0)
                self.arrays[index][: len(content)] = content
        self.count = max(count, self.count)

    def begin(self, key: int | None) -> None:
        """Forget all keys except this one, which becomes the first; or all."""
        for first, content in zip(self._initial, self.arrays, strict=True):
            row = None if key is None else content[key].copy()
            content[: self.count, : len(first)] = first
            if row is not None:
                content[0] = row
        self.count = 0 if key is None else 1

    def steps(self, key: int) -> int:
        """Return the number of steps of a key."""
        return int(self.arrays[0][key, -1])

    def column(self, variable: str) -> Any:
        """Return the value of an integer variable, for each key."""
        index = [self.form.system.variables[i].name for i in self.form.form.whole].index(variable)
        return self.arrays[0][: self.count, index]

    def turn(self, key: int) -> None:
        """Load the state of this key into the executor."""
        whole, *rest = (array[key] for array in self.arrays)
        self.one._state.restore([whole[:-1], *rest])
        self.one.steps = int(whole[-1])

    def take(self, key: int) -> None:
        """Store the executor's state as that of this key; enlarged arrays are enlarged for all keys."""
        if self.one.system is not self.form.system:
            self._change(self.one._state.copy(), self.one.steps)
        self._put(key, self.one._state, self.one.steps)

    def widen(self) -> None:
        """Let queues grow, if they may need it."""
        if self.one.narrow:
            self.one.widen()
            self._change(self.one._state.copy(), self.one.steps)

    def _change(self, snapshot: Sequence[Any], steps: int) -> None:
        """Switch to the executor's new system, and convert all states."""
        before, old, count = self.form, self.arrays, self.count
        self._begin()
        self.arrays = [array[None][:0] for array in self._initial]
        self.grow(count)
        for key in range(count):
            whole, *rest = (array[key] for array in old)
            before.restore([whole[:-1], *rest])
            after = LoopArrays(self.one.system, self.one.form, self.one.texts)
            after.reset()
            widen(self.one.flat, before, after)
            self._put(key, after, int(whole[-1]))
        self.one._state.restore(snapshot)
        self.one.steps = steps

    def _put(self, key: int, state: LoopArrays, steps: int) -> None:
        """Store a state as that of a key."""
        whole, *rest = state.arrays
        self.arrays[0][key, :-1], self.arrays[0][key, -1] = whole, steps
        within = {index for queue in state.endless for index in range(queue.array_slice.start, queue.array_slice.stop)}
        for index, content in enumerate(rest, 1):
            if index not in within:
                self.arrays[index][key] = content
        for queue in state.endless:
            first, waiting = state.number(queue.first), state.number(queue.length)
            while waiting > self.arrays[queue.array_slice.start].shape[1]:
                self._double(queue)
            indices: Any = first + np.arange(waiting)
            for array, content in zip(self.arrays[queue.array_slice], state.arrays[queue.array_slice], strict=True):
                array[key, indices & array.shape[1] - 1] = content[indices & len(content) - 1]

    def _double(self, queue: EndlessQueue) -> None:
        """Double the capacity of a queue, for all keys.

        Raises
        ------
        Overflow: there is too little memory.
        """
        size, firsts = self.arrays[queue.array_slice.start].shape[1], self.column(queue.first)
        megabytes = COPIES * 2 * sum(array.nbytes for array in self.arrays[queue.array_slice]) / 2**20
        if megabytes > spare_mb():
            what = f"queue '{queue.name}' of {self.one.flat.ports.of} is out of memory: more than {size} events wait in"
            what += f" it for one of {self.count} keys, and for twice as many {megabytes:.0f} MB would be needed"
            raise Overflow(what, hint="`workbench buffers FILE` shows whether it has a bound", queue=queue.name)
        keys = np.arange(self.count)
        for index in range(queue.array_slice.start, queue.array_slice.stop):
            array = self.arrays[index]
            larger: Any = np.zeros((len(array), 2 * size), array.dtype)
            if size <= self.count:
                for at in range(size):
                    larger[keys, firsts + at & 2 * size - 1] = array[keys, firsts + at & size - 1]
            else:
                for key, first in enumerate(firsts.tolist()):
                    indices = first + np.arange(size)
                    larger[key, indices & 2 * size - 1] = array[key, indices & size - 1]
            self.arrays[index] = larger
