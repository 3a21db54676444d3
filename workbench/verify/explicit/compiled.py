"""The search compiled with numba: words of 64 bits, 24 to 72 bytes a state, millions of states a second.

States lie in one array in the order in which they were found, which is the queue of the search as well. A block
of them is expanded into a buffer, and the buffer is taken into the hash set: two loops in machine code, between
which limits are looked at and Ctrl-C gets through.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from workbench.errors import Refused
from workbench.verify.explicit.search import Step
from workbench.verify.explicit.space import Space

WORD = 64
_BLOCK = 4096
"""Steps expanded at a time: their successors stay in the processor's nearest memory."""
_FULL = 2 / 3
"""How full the hash set gets."""
_MOST = 2**31 - 1
"""Most states: parents have 32 bits."""


class MemoryLimitError(Exception):
    """The next array does not fit into the memory that is left."""


@functools.cache
def available() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


def version() -> str:
    """The version of numba."""
    import numba

    return str(numba.__version__)


class CompiledSearch:
    """The search as machine code.

    Parameters
    ----------
    memory_mb: what its arrays may take.

    Raises
    ------
    Refused: a state has more than 64 bits.
    """

    def __init__(self, space: Space, memory_mb: float) -> None:
        if space.layout.bits > WORD:
            raise Refused(f"a state has {space.layout.bits} bits, and the compiled search packs it into {WORD}")
        import numpy

        from workbench.verify.explicit import kernels

        np: Any = numpy

        self._np, self._kernels = np, kernels
        self.space = space
        self._budget = memory_mb * 2**20
        self._expand = kernels.compiled(space.source)
        self._many = len(space.moves.chosen)
        self._inputs = np.array(space.moves.columns(), np.int64).reshape(len(space.moves.names), self._many)
        self._block = max(1, _BLOCK // self._many)
        self._after = np.empty(self._block * self._many, np.int64)
        self._flags = np.empty(self._block * self._many, np.int64)
        self._words = np.empty(1 << 16, np.int64)
        self._words[0] = _signed(space.initial)
        self._parents = np.zeros(1 << 16, np.int32)
        self._table = np.zeros(1 << 17, np.int64)
        self._numbers: Any = None
        self._size, self._done = 1, 0
        self._hits = np.full((space.labels, 2), -1, np.int64)

    @property
    def size(self) -> int:
        """States found."""
        return self._size

    @property
    def complete(self) -> bool:
        """Whether all steps of all states have been looked at."""
        return self._done == self._size

    @property
    def _shift(self) -> Any:
        return self._np.uint64(WORD + 1 - int(self._table.size).bit_length())

    def advance(self, states: int) -> None:
        """Look at the steps of (about) that many more states.

        Raises
        ------
        MemoryLimitError: they do not fit into the memory.
        """
        last = self._done + states
        while self._done < min(last, self._size):
            many = self._expanded(self._done)
            self._make_room(self._size + many)
            wanted = sum(1 << label for label in range(self.space.labels) if self._hits[label, 0] < 0)
            self._size, _ = self._kernels.absorb(
                self._after, self._flags, many, self._many, self._done, self._table, self._shift,
                self._words, self._parents, self._size, wanted, self._hits,
            )  # fmt: skip
            self._done += many // self._many

    def _expanded(self, first: int) -> int:
        """Put the steps of a block of states into the buffer; how many steps."""
        count = min(self._block, self._size - first)
        self._expand(self._words[first:], count, self._inputs, self._after, self._flags)
        return int(count * self._many)

    def _make_room(self, states: int) -> None:
        """Arrays for that many states."""
        np = self._np
        if states > _MOST:
            raise MemoryLimitError(f"more than {_MOST} states")
        if states > self._words.size:
            size = max(states, self._words.size * 2)
            self._afford(size * 12)
            self._words = _longer(np, self._words, self._size, size)
            self._parents = _longer(np, self._parents, self._size, size)
        if states > self._table.size * _FULL:
            size = self._table.size * 4
            while states > size * _FULL:
                size *= 2
            old = self._table
            self._afford(size * 8)
            self._table = np.zeros(size, np.int64)
            self._kernels.refill(self._table, self._shift, old)

    def _afford(self, more: int) -> None:
        if self._words.nbytes + self._parents.nbytes + self._table.nbytes + more > self._budget:
            raise MemoryLimitError(f"{self._size} states, and no memory for more")

    def hit(self, label: int) -> Step | None:
        """The first step at which a label is true, among those looked at."""
        state, move = map(int, self._hits[label])
        return None if state < 0 else Step(state, move)

    def dead_end(self, escape: int | None, target: int) -> Step | None:
        """See `Search.dead_end`.

        Raises
        ------
        MemoryLimitError: the edges do not fit into the memory.
        """
        good = self._hopeful(target)
        harmless = 1 << target | (0 if escape is None else 1 << escape) | self.space.barred
        for first in range(0, self._size, self._block):
            many = self._expanded(first)
            found = self._kernels.first_bad(
                self._after, self._flags, many, self._table, self._shift, self._numbers,
                self._words[0], harmless, good,
            )  # fmt: skip
            if found >= 0:
                return Step(first + int(found) // self._many, int(found) % self._many)
        return None

    def _hopeful(self, target: int) -> Any:
        """Per state, whether some run from it has the label."""
        np, kernels = self._np, self._kernels
        if self._numbers is None:
            self._afford(self._table.size * 4)
            self._numbers = np.zeros(self._table.size, np.int32)
            kernels.number(self._table, self._shift, self._numbers, self._words, self._size)
        good = np.zeros(self._size, np.bool_)
        sources, ends, size = np.empty(1 << 16, np.int32), np.empty(1 << 16, np.int32), 0
        for first in range(0, self._size, self._block):
            many = self._expanded(first)
            if size + many > sources.size:
                room = max(size + many, sources.size * 2)
                self._afford(room * 12)  # and as much again, for a moment, when they are sorted
                sources, ends = _longer(np, sources, size, room), _longer(np, ends, size, room)
            size = kernels.join(
                self._after, self._flags, many, self._many, first, self._table, self._shift, self._numbers,
                self._words[0], 1 << target, good, sources, ends, size,
            )  # fmt: skip
        kernels.spread(good, sources, ends, size)
        return good

    def valuations(self) -> int:
        """See `Search.valuations`."""
        np, total = self._np, 0
        weights = np.array(self.space.moves.valuations, np.int64)
        for first in range(0, self._size, self._block):
            flags = self._flags[: self._expanded(first)].reshape(-1, self._many)
            total += int(((flags & self.space.barred) == 0).sum(axis=0) @ weights)
        return total

    def path(self, state: int) -> list[int]:
        """The words of a shortest path from the initial state."""
        found = [state]
        while found[-1]:
            found.append(int(self._parents[found[-1]]))
        return [int(self._words[number]) % (1 << WORD) for number in reversed(found)]


def _longer(np: Any, array: Any, used: int, size: int) -> Any:
    longer = np.empty(size, array.dtype)
    longer[:used] = array[:used]
    return longer


def _signed(word: int) -> int:
    """The same bits as a signed number."""
    return word - (1 << WORD) if word >> (WORD - 1) else word
