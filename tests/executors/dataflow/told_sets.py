"""The sets of the scheduler in machine code as those of the listings are: told step by step, and looked at."""

# mypy: allow-untyped-defs, allow-untyped-calls
# numba finds the types.

from __future__ import annotations

from collections.abc import Iterable
from functools import cache

import numba
import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.execute import columns
from workbench.executors.dataflow import minima
from workbench.executors.dataflow.machine.layout import BEGUN, HEAD, SHIFT, TAIL
from workbench.executors.dataflow.machine.set_loops import (
    begin,
    finish_phases,
    first_full,
    open_phase,
    send,
    take_vertex,
)
from workbench.executors.dataflow.machine.sets import MachineSets
from workbench.executors.dataflow.numbering import NumberedGraph
from workbench.executors.dataflow.scheduler import Pair

FOLDER = MachineSets.__module__.rpartition(".")[0]


@numba.njit(nogil=True)
def tell(sets, vertex, phase, count, pairs):
    """Begin a phase, where no vertex is named, or finish one of it, with messages to the first vertices in `pairs`.

    How many numbers it has put into `pairs`: the vertices that are ready now and were not, each with its phase.
    """
    if not vertex:
        begin(sets)
        phase = sets.head[BEGUN]
    for i in range(count):
        send(sets, pairs[i], phase)
    if vertex:
        pairs[0] = phase
        finish_phases(sets, vertex, pairs, 1)
    else:
        open_phase(sets)
    found, h = 0, sets.head
    while h[HEAD] != h[TAIL]:
        pairs[found] = take_vertex(sets)
        pairs[found + 1] = first_full(sets, pairs[found])
        found += 2
    return found


@cache
def telling() -> MachineLoop:
    """It as machine code, which is kept."""
    return MachineLoop(code_of(__name__, "tell", f"{FOLDER}.layout", f"{FOLDER}.set_loops", minima.__name__))


class ToldSets(MachineSets):
    """See `PhaseSets`."""

    def __init__(self, graph: NumberedGraph, phases: int) -> None:
        super().__init__(graph, phases)
        self._pairs = columns.zeros(2 * graph.size + 2)

    @property
    def partial(self) -> frozenset[Pair]:
        return self._waiting(full=False)

    @property
    def full(self) -> frozenset[Pair]:
        return self._waiting(full=True)

    @property
    def ready(self) -> frozenset[Pair]:
        return frozenset(dict(sorted(self.full, reverse=True)).items())

    def x(self, phase: int) -> int:
        if phase > self.begun:
            return 0
        own = self.arrays.own[2 * self.rows :]
        bounds: list[int] = own[: max(phase - self.head.item(SHIFT) + 1, 0)].tolist()
        return min(self.graph.size, *bounds)

    def begin(self) -> list[Pair]:
        return self._tell(0, 0, self.graph.sources)

    def finish(self, vertex: int, phase: int, receivers: Iterable[int]) -> list[Pair]:
        return self._tell(vertex, phase, receivers)

    def _tell(self, vertex: int, phase: int, receivers: Iterable[int]) -> list[Pair]:
        named = list(receivers)
        self._pairs[: len(named)] = named
        count = telling()(self.arrays, vertex, phase, len(named), self._pairs)
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
