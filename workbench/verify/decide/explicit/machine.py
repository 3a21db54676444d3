"""The search as machine code: millions of states a second.

States are stored in one array in the order in which they were found, which is also the queue of the search. A block
of them is expanded into a buffer that fits the nearest cache of the processor, and the successors are added to the
set of states found. Limits and Ctrl-C are checked between calls.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.metadata import version as version_of
from importlib.util import find_spec
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from workbench.interrupts import checkpoint
from workbench.verify.decide.explicit.graph import Graph
from workbench.verify.decide.explicit.records import (
    BITMAP,
    INDEX,
    WORDS,
    BlockSteps,
    Edges,
    Expander,
    SearchProgress,
    StateList,
    StateSet,
)
from workbench.verify.decide.explicit.search import Edge, Exploration
from workbench.verify.decide.explicit.space import WORD, Space
from workbench.verify.decide.system_decider import OutOfLimits

if TYPE_CHECKING:
    from workbench.executors.compiled.code.machine import MachineLoop

_BLOCK = 8192
"""Number of steps expanded at a time."""
_BITMAP = 32
"""Maximum number of bits of a state for which the set of states found has a bit for every possible state."""
_FULL = 2 / 3
"""Maximum load factor of a hash table."""
_SMALL = 1 << 16
"""Initial size of a hash table."""
_MAXIMUM = 2**31 - 1
"""Maximum number of states, and of edges: their numbers have 32 bits."""


@cache
def available() -> bool:
    """Whether numba is installed."""
    return find_spec("numba") is not None


def version() -> str:
    """Return the version of numba."""
    return version_of("numba")


@cache
def search_loop(name: str, module: str = "kernels") -> MachineLoop:
    """Return a function of `kernels`, or of `graph`, as machine code."""
    from workbench.executors.compiled.code.machine import MachineLoop
    from workbench.executors.compiled.code.objects import code_of

    return MachineLoop(code_of(f"{__package__}.{module}", name, f"{__package__}.records", f"{__package__}.native"))


@cache
def graph_functions() -> SimpleNamespace:
    """Return the functions of `graph` as machine code."""
    names = ("transpose", "spread", "first_bad", "components", "cover", "walk")
    return SimpleNamespace(**{name: search_loop(name, "graph") for name in names})


class CompiledSearch(Exploration):
    """The search as machine code.

    Parameters
    ----------
    memory_mb: memory limit of its arrays.
    bitmap: whether a bitmap may be used.
    """

    def __init__(self, space: Space, memory_mb: float, *, bitmap: bool = True) -> None:
        import numpy

        from workbench.verify.decide.explicit import native

        self._np: Any = numpy
        self.space = space
        self._budget = int(memory_mb * 2**20)
        self._code = native.compile_steps(space)
        self._many, words, bits = len(space.moves.chosen), space.layout.words, space.layout.bits
        block = max(1, _BLOCK // self._many // native.LANES) * native.LANES
        steps = block * self._many
        np = self._np
        inputs = np.array(space.moves.columns(), np.int64).reshape(len(space.moves.names), self._many)
        buffers = np.empty((words, steps), np.int64), np.empty(steps, np.int64)
        self._expander = Expander(self._code.expand, inputs, block, *buffers)
        self._state_bytes = 8 * words + 4
        try:  # untouched memory is not allocated yet, so arrays have their full size at once
            capacity = steps + min(self._budget // self._state_bytes, _MAXIMUM, 1 << bits)
            self._listed = StateList(np.empty((words, capacity), np.int64), np.empty(capacity, np.int32))
            self._bitmap = bitmap and bits <= _BITMAP and 1 << bits <= self._budget * 4
            size = (1 << bits) // WORD if self._bitmap else capacity
            self._reserve = np.zeros(1 << size.bit_length(), np.int64)
        except MemoryError as error:
            raise OutOfLimits("no memory for the states") from error
        self._parents = self._listed.parents
        self._listed.states[:, 0] = [_to_signed(space.initial >> WORD * i) for i in range(words)]
        self._parents[0] = 0
        self._counts = np.array([1, 0], np.int64)
        """The number of states found, and of states whose steps have been taken."""
        if self._bitmap:
            self._found = self._make_set(BITMAP, self._reserve)
            self._reserve[space.initial // WORD] = _to_signed(1 << space.initial % WORD)
        else:
            self._found = self._fill(INDEX if words > 1 else WORDS, self._reserve[:_SMALL])
        self._hits = np.full((space.labels, 2), -1, np.int64)
        self._graph: Graph | None = None

    @property
    def size(self) -> int:
        return int(self._counts[0])

    @property
    def done(self) -> int:
        return int(self._counts[1])

    def advance(self, states: int) -> None:
        """Take the steps of about that many more states.

        Raises
        ------
        OutOfLimits: they do not fit into the memory.
        """
        last = self.done + states
        while self.done < min(last, self.size):
            checkpoint()
            capacity = self._ensure_capacity(self.size + self._expander.block * self._many)
            open_labels = sum(1 << label for label in range(self.space.labels) if self._hits[label, 0] < 0)
            progress = SearchProgress(self._counts, last, capacity)
            search_loop("explore")(self._expander, self._found, self._listed, progress, open_labels, self._hits)

    def _ensure_capacity(self, states: int) -> int:
        """Return the number of states that fit, after making space for at least this many."""
        if self._bitmap:
            states = min(states, 1 << self.space.layout.bits)
            self._afford(self._found.slots.nbytes + states * self._state_bytes)
            return len(self._parents)
        if states > self._found.slots.size * _FULL:
            size = _size_table(states, 4 * self._found.slots.size)
            self._afford(size * 8 + states * self._state_bytes)
            self._found.slots[:] = 0
            self._found = self._fill(self._found.kind, self._reserve[:size])
        table = self._found.slots
        left = (self._budget - table.nbytes) // self._state_bytes
        self._afford(table.nbytes + states * self._state_bytes)
        return int(min(left, table.size * _FULL))

    def _make_set(self, kind: int, slots: Any) -> StateSet:
        return StateSet(kind, slots, WORD + 1 - int(slots.size).bit_length())

    def _fill(self, kind: int, slots: Any) -> StateSet:
        """Return the set of all states, in an empty hash table."""
        state_set = self._make_set(kind, slots)
        search_loop("fill")(state_set, self._listed.states, self.size)
        return state_set

    def _afford(self, size: int) -> None:
        """Stop the search if it would exceed the memory limit."""
        if size > self._budget or self.size > _MAXIMUM - self._expander.block * self._many:
            raise OutOfLimits(f"{self.size} states, and no memory for more")

    def hit(self, label: int) -> Edge | None:
        state, move = map(int, self._hits[label])
        return None if state < 0 else Edge(state, move)

    def count_moves(self) -> list[int]:
        counts = self._np.zeros(self._many, self._np.int64)
        for steps in self._expand_blocks():
            search_loop("count_moves")(steps, self.space.void, counts)
        return [int(count) for count in counts]

    def _expand_blocks(self) -> Iterator[BlockSteps]:
        """Yield the steps of all states, block by block, in the same buffers."""
        address, inputs, block, after, flags = self._expander
        for first in range(0, self.size, block):
            count = min(block, self.size - first)
            apart = search_loop("expand")(address, self._listed.states, first, count, inputs, after, flags)
            yield BlockSteps(after, flags, first, count, apart, self._many)

    def graph(self) -> Graph:
        """See `Exploration.graph`.

        Raises
        ------
        OutOfLimits: the edges do not fit into the memory.
        """
        if self._graph is None:
            self._graph = self._edges()
        return self._graph

    def _edges(self) -> Graph:
        np, block = self._np, self._expander.block * self._many
        index, table = self._found, self._found.slots
        if index.kind != INDEX:
            size = _size_table(self.size, _SMALL)
            self._afford(table.nbytes + size * 8 + self.size * self._state_bytes)
            index = self._fill(INDEX, np.zeros(size, np.int64))
        used = table.nbytes + index.slots.nbytes + self.size * (self._state_bytes + 4)
        limit = min(self.size * self._many, _MAXIMUM, (self._budget - used) // 12 - block)
        if limit <= 0:
            raise OutOfLimits(f"{self.size} states, and no memory for the steps between them")
        edges = Edges(np.zeros(self.size + 1, np.int32), *(np.empty(limit + block, np.int32) for _ in range(2)))
        for steps in self._expand_blocks():
            if search_loop("join")(steps, index, self._listed.states, edges) > limit:
                raise OutOfLimits(f"{self.size} states, and no memory for the steps between them")
        return Graph(edges, lambda n: np.zeros(n, np.int32), graph_functions(), self.space.void)

    def state(self, number: int) -> int:
        return sum((int(word) % (1 << WORD)) << WORD * i for i, word in enumerate(self._listed.states[:, number]))


def _size_table(states: int, size: int) -> int:
    """Return the size of a hash table for this many states: a power of two, at least `size`, which is one."""
    while states > size * _FULL:
        size *= 2
    return size


def _to_signed(word: int) -> int:
    """Return the lowest 64 bits as a signed number."""
    word %= 1 << WORD
    return word - (1 << WORD) if word >> (WORD - 1) else word
