"""The scheduler without parts of the algorithm, to see what they are for.

The rule of this module: what the broken variants do otherwise stands here, and they recompute what the listings
recompute; nothing is forgotten, since pairs may come back to phases that are complete.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappush

from workbench.executors.dataflow.listings import Pair, Variant, check_numbering
from workbench.executors.dataflow.numbering import NumberedGraph
from workbench.executors.dataflow.scheduler import Scheduler


def scheduler_without(graph: NumberedGraph, variant: Variant) -> Scheduler:
    """The scheduler without some parts, or the whole one."""
    return BrokenScheduler(graph, variant) if variant else Scheduler(graph)


class BrokenScheduler(Scheduler):
    """The sets of a scheduler that lacks something.

    Parameters
    ----------
    graph: with a satisfactory numbering, but for the variant that does without.

    Raises
    ------
    PipelineError: the numbering is not satisfactory.
    """

    def __init__(self, graph: NumberedGraph, variant: Variant) -> None:
        self.variant = variant
        super().__init__(graph)

    def _check(self) -> None:
        check_numbering(self.graph, self.variant)

    def x(self, phase: int) -> int:
        """x_p, or what stands for it."""
        if Variant.OVERTAKING in self.variant and self._shift <= phase <= self.begun:
            return self._own[phase - self._shift]
        return super().x(phase)

    def begin(self) -> list[Pair]:
        """Begin a phase; the pairs that are ready now and were not."""
        return [*super().begin(), *self._every_ready()]

    def _take(self, vertex: int, phase: int) -> None:
        if vertex not in self._partial[phase]:
            self._waiting[phase].discard(vertex)
        self._ready.discard((vertex, phase))
        full = self._full[vertex]
        if phase in full:
            full.remove(phase)
            heapify(full)

    def _send(self, phase: int, receivers: Iterable[int]) -> None:
        receivers = list(receivers)
        super()._send(phase, receivers)
        partial = self._partial[phase]
        for w in receivers:
            if w not in partial:  # it is full already, too early
                heappush(partial, w)

    def _settle(self, vertex: int, phase: int) -> list[Pair]:
        found: list[Pair] = []
        for q in range(phase, self.begun + 1):
            self._own[q - self._shift] = self._bound(q)
        for q in range(self._shift, self.begun + 1):
            self._note_partial(q)
            self._move(q - self._shift, q - self._shift + 1, self._m[self.x(q)], found)
        self._complete()
        return [*found, *self._every_ready()]

    def _every_ready(self) -> list[Pair]:
        found = [(v, full[0]) for v, full in enumerate(self._full) if full and (v, full[0]) not in self._ready]
        self._ready.update(found)
        return found

    def _fill(self, vertex: int, phase: int, found: list[Pair]) -> None:
        if phase in self._full[vertex]:
            return
        super()._fill(vertex, phase, found)
        if Variant.ANY_PHASE in self.variant and (vertex, phase) not in self._ready:
            self._ready.add((vertex, phase))
            found.append((vertex, phase))

    def _complete(self) -> None:
        while self.complete < self.begun and not self._waiting[self.complete + 1]:
            self.complete += 1

    @property
    def _kept_from(self) -> int:
        return self._shift
