"""The sets of the scheduler as arrays that machine code keeps: what `Scheduler` is, for graphs whose vertices compile.

The rule of this module: whoever uses it from several threads has a lock around every call. Imports numpy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.execute import columns
from workbench.executors.dataflow.listings import Pair, Variant, check_numbering
from workbench.executors.dataflow.machine.layout import BEGUN, COMPLETE, HEAD, SHIFT, SIZE, TAIL, SetArrays
from workbench.executors.dataflow.numbering import NumberedGraph

_FOLDER = "workbench.executors.dataflow.machine"


@cache
def flow_loop(module: str, name: str) -> MachineLoop:
    """A function of a module here."""
    others = [f"{_FOLDER}.{each}" for each in ("layout", "set_loops") if each != module]
    return MachineLoop(code_of(f"{_FOLDER}.{module}", name, *others))


class MachineSets:
    """The sets.

    Parameters
    ----------
    graph: with a satisfactory numbering.
    phases: the most that are not complete at a time.

    Attributes
    ----------
    arrays: what machine code takes.

    Raises
    ------
    PipelineError: the numbering is not satisfactory.
    """

    def __init__(self, graph: NumberedGraph, phases: int) -> None:
        check_numbering(graph, Variant.WHOLE)
        self.graph = graph
        size, rows = graph.size, 1 << max(phases - 1, 0).bit_length()
        head = columns.zeros(32)
        head[SIZE], head[SHIFT] = size, 1
        of_vertices, of_phases = _levels(size + 1), _levels(rows)
        self.arrays = SetArrays(
            head,
            np.array(graph.last, np.int64),
            np.array(graph.m, np.int64),
            np.zeros((rows, _words(of_vertices)), np.uint64),
            of_vertices,
            np.zeros((size + 1, _words(of_phases)), np.uint64),
            of_phases,
            np.full(4 * rows, size),
            np.full(4 * rows, size + 1),
            np.zeros(size + 1, np.int8),
            columns.zeros(1 << size.bit_length()),
        )
        self.head, self.rows = head, rows
        self._pairs = columns.zeros(2 * size + 2)

    @property
    def begun(self) -> int:
        """p_max, the number of phases begun."""
        return int(self.head.item(BEGUN))

    @property
    def complete(self) -> int:
        """The phases up to this one have nothing left to do."""
        return int(self.head.item(COMPLETE))

    @property
    def waits(self) -> bool:
        """Whether a vertex is in the run queue."""
        return bool(self.head.item(HEAD) != self.head.item(TAIL))

    @property
    def partial(self) -> frozenset[Pair]:
        """Pairs with some of their inputs."""
        return self._waiting(full=False)

    @property
    def full(self) -> frozenset[Pair]:
        """Pairs with all of their inputs."""
        return self._waiting(full=True)

    @property
    def ready(self) -> frozenset[Pair]:
        """Pairs that may run, or do."""
        return frozenset(dict(sorted(self.full, reverse=True)).items())

    def x(self, phase: int) -> int:
        """x_p; 0 for phases that have not begun."""
        if phase > self.begun:
            return 0
        own = self.arrays.own[2 * self.rows :]
        bounds: list[int] = own[: max(phase - self.head.item(SHIFT) + 1, 0)].tolist()
        return min(self.graph.size, *bounds)

    def begin(self) -> list[Pair]:
        """Begin a phase; the pairs that are ready now and were not."""
        return self._told(0, 0, self.graph.sources)

    def finish(self, vertex: int, phase: int, receivers: Iterable[int]) -> list[Pair]:
        """A pair has run and sent messages to these vertices; the pairs that are ready now and were not."""
        return self._told(vertex, phase, receivers)

    def finishing(self, vertex: int, phase: int, receivers: Iterable[int]) -> Iterator[list[Pair]]:
        """The same; its parts cannot be told apart."""
        yield self.finish(vertex, phase, receivers)

    def _told(self, vertex: int, phase: int, receivers: Iterable[int]) -> list[Pair]:
        named = list(receivers)
        self._pairs[: len(named)] = named
        count = flow_loop("set_loops", "told")(self.arrays, vertex, phase, len(named), self._pairs)
        numbers = iter(self._pairs[:count].tolist())
        return list(zip(numbers, numbers, strict=True))

    def _waiting(self, *, full: bool) -> frozenset[Pair]:
        """Pairs with a message that are full, or not."""
        words, found = (self.graph.size >> 6) + 1, []
        for phase in range(self.complete + 1, self.begun + 1):
            bits = np.unpackbits(self.arrays.waiting[phase & self.rows - 1, :words].view(np.uint8), bitorder="little")
            most = self.graph.m[self.x(phase)]
            found += [(v, phase) for v in np.flatnonzero(bits).tolist() if (v <= most) == full]
        return frozenset(found)


def _levels(count: int) -> Any:
    """Of a set of so many numbers as words: where each level of bits begins, and how many bits it has."""
    sizes = [count]
    while sizes[-1] > 64:
        sizes.append(-(-sizes[-1] // 64))
    starts = np.cumsum([0, *(-(-size // 64) for size in sizes[:-1])])
    return np.array([starts, sizes], np.int64)


def _words(levels: Any) -> int:
    return int(levels[0, -1]) + 1
