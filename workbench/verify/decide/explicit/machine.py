"""The search as machine code: millions of states a second.

States lie in one array in the order in which they were found, which is the queue of the search as well. A block
of them is expanded into a buffer that fits the nearest memory of the processor, and the buffer is taken into the set of
states found. Between calls limits are looked at and Ctrl-C gets through.
"""

from __future__ import annotations

import functools
import importlib.util
from typing import Any

from workbench.interrupts import checkpoint
from workbench.verify.decide.explicit.graph import Graph
from workbench.verify.decide.explicit.search import Edge, Exploration, Stopped
from workbench.verify.decide.explicit.space import WORD, Space

_BLOCK = 8192
"""Steps expanded at a time."""
_BITMAP = 32
"""Most bits of a state for which every state there can be has a bit in the set of those found."""
_FULL = 2 / 3
"""How full a hash table gets."""
_SMALL = 1 << 16
"""Size of a hash table at first."""
_MOST = 2**31 - 1
"""Most states, and most edges: their numbers have 32 bits."""


@functools.cache
def available() -> bool:
    """Whether numba is installed."""
    return importlib.util.find_spec("numba") is not None


def version() -> str:
    """The version of numba."""
    import numba

    return str(numba.__version__)


class CompiledSearch(Exploration):
    """The search as machine code.

    Parameters
    ----------
    memory_mb: what its arrays may take.
    bitmap: whether a bitmap may be used.
    """

    def __init__(self, space: Space, memory_mb: float, *, bitmap: bool = True) -> None:
        import numpy

        from workbench.executors.compiled.code.llvm import LANES
        from workbench.verify.decide.explicit import kernels, native

        self._np: Any = numpy
        self._kernels = kernels
        self.space = space
        self._budget = int(memory_mb * 2**20)
        self._code = native.compiled(space)
        self._expand = self._code.address("expand")
        self._many, words, bits = len(space.moves.chosen), space.layout.words, space.layout.bits
        self._block = max(1, _BLOCK // self._many // LANES) * LANES
        steps = self._block * self._many
        np = self._np
        self._inputs = np.array(space.moves.columns(), np.int64).reshape(len(space.moves.names), self._many)
        self._after = np.empty((words, steps), np.int64)
        self._flags = np.empty(steps, np.int64)
        self._state_bytes = 8 * words + 4
        try:  # memory that nothing was written to takes no room yet, so arrays have their full size at once
            capacity = steps + min(self._budget // self._state_bytes, _MOST, 1 << bits)
            self._states, self._parents = np.empty((words, capacity), np.int64), np.empty(capacity, np.int32)
            self._bitmap = bitmap and bits <= _BITMAP and 1 << bits <= self._budget * 4
            size = (1 << bits) // WORD if self._bitmap else capacity
            self._reserve = np.zeros(1 << size.bit_length(), np.int64)
        except MemoryError as error:
            raise Stopped("no memory for the states") from error
        self._states[:, 0] = [_to_signed(space.initial >> WORD * i) for i in range(words)]
        self._parents[0] = 0
        self._size, self._done = 1, 0
        self._kind = kernels.BITMAP if self._bitmap else kernels.INDEX if words > 1 else kernels.WORDS
        self._table = self._reserve
        if self._bitmap:
            self._table[space.initial // WORD] = _to_signed(1 << space.initial % WORD)
        else:
            self._table = self._reserve[:_SMALL]
            self._fill(self._kind, self._table)
        self._hits = np.full((space.labels, 2), -1, np.int64)
        self._graph: Graph | None = None

    @property
    def size(self) -> int:
        return self._size

    def advance(self, states: int) -> None:
        """Look at the steps of (about) that many more states.

        Raises
        ------
        Stopped: they do not fit into the memory.
        """
        last = self._done + states
        while self._done < min(last, self._size):
            checkpoint()
            room = self._room(self._size + self._block * self._many)
            wanted = sum(1 << label for label in range(self.space.labels) if self._hits[label, 0] < 0)
            self._size, self._done = self._kernels.explore(
                self._expand, self._inputs, self._block, self._after, self._flags,
                self._kind, self._table, _shift(self._np, self._table), self._states, self._parents,
                self._size, self._done, last, room, wanted, self._hits,
            )  # fmt: skip

    def _room(self, states: int) -> int:
        """How many states there is room for, which are at least so many."""
        if self._bitmap:
            states = min(states, 1 << self.space.layout.bits)
            self._afford(self._table.nbytes + states * self._state_bytes)
            return len(self._parents)
        if states > self._table.size * _FULL:
            size = _table_size(states, 4 * self._table.size)
            self._afford(size * 8 + states * self._state_bytes)
            self._table[:] = 0
            self._table = self._reserve[:size]
            self._fill(self._kind, self._table)
        left = (self._budget - self._table.nbytes) // self._state_bytes
        self._afford(self._table.nbytes + states * self._state_bytes)
        return int(min(left, self._table.size * _FULL))

    def _fill(self, kind: int, table: Any) -> None:
        """Put all states into an empty hash table."""
        self._kernels.fill(kind, table, _shift(self._np, table), self._states, self._size)

    def _afford(self, size: int) -> None:
        """Refuse to take more memory than there may be."""
        if size > self._budget or self._size > _MOST - self._block * self._many:
            raise Stopped(f"{self._size} states, and no memory for more")

    def hit(self, label: int) -> Edge | None:
        state, move = map(int, self._hits[label])
        return None if state < 0 else Edge(state, move)

    def count_moves(self) -> list[int]:
        counts = self._np.zeros(self._many, self._np.int64)
        for first in range(0, self._size, self._block):
            count, apart = self._expand_from(first)
            self._kernels.count_moves(self._flags, count, apart, self._many, self.space.void, counts)
        return [int(count) for count in counts]

    def _expand_from(self, first: int) -> tuple[int, int]:
        """Put the steps of a block of states into the buffers; how many states, and how far apart their moves are."""
        count = min(self._block, self._size - first)
        given = self._expand, self._states, first, count, self._inputs, self._after, self._flags
        return count, int(self._kernels.expand(*given))

    def graph(self) -> Graph:
        """See `Exploration.graph`.

        Raises
        ------
        Stopped: the edges do not fit into the memory.
        """
        if self._graph is None:
            self._graph = self._edges()
        return self._graph

    def _edges(self) -> Graph:
        np, kernels, steps = self._np, self._kernels, self._size * self._many
        index = self._table
        if self._kind != kernels.INDEX:
            size = _table_size(self._size, _SMALL)
            self._afford(self._table.nbytes + size * 8 + self._size * self._state_bytes)
            index = np.zeros(size, np.int64)
            self._fill(kernels.INDEX, index)
        used = self._table.nbytes + index.nbytes + self._size * (self._state_bytes + 4)
        most = min(steps, _MOST, (self._budget - used) // 12 - self._block * self._many)
        if most <= 0:
            raise Stopped(f"{self._size} states, and no memory for the steps between them")
        starts = np.zeros(self._size + 1, np.int32)
        ends, flags = (np.empty(most + self._block * self._many, np.int32) for _ in range(2))
        edges = 0
        for first in range(0, self._size, self._block):
            count, apart = self._expand_from(first)
            edges = kernels.join(
                self._after, self._flags, count, apart, self._many, first, index, _shift(np, index), self._states,
                starts, ends, flags,
            )  # fmt: skip
            if edges > most:
                raise Stopped(f"{self._size} states, and no memory for the steps between them")
        return Graph(starts, ends, flags, lambda n: np.zeros(n, np.int32), kernels.graphs, self.space.void)

    def state(self, number: int) -> int:
        return sum((int(word) % (1 << WORD)) << WORD * i for i, word in enumerate(self._states[:, number]))


def _table_size(states: int, size: int) -> int:
    """The size of a hash table for so many states, at least `size`, which is a power of two."""
    while states > size * _FULL:
        size *= 2
    return size


def _shift(np: Any, table: Any) -> Any:
    """By how much a hash is shifted to be a slot."""
    return np.uint64(WORD + 1 - int(table.size).bit_length())


def _to_signed(word: int) -> int:
    """The lowest bits as a signed number."""
    word %= 1 << WORD
    return word - (1 << WORD) if word >> (WORD - 1) else word
