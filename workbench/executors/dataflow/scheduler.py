"""The sets of Zimmerman and Chandy's listings, updated incrementally: a move of a pair costs O(log).

The rule of this module: after every update the sets, x and the ready pairs are those of listings 1 and 2
(`experiments/scheduler/listings.py`). A pair is (vertex, phase), with phases 1, 2, ... How:

- The vertices with work in a phase are a heap; its least, less one, is the phase's *own* bound. x_p is the least own
  bound of the phases up to p, so phases fall into runs with the same x, and an update touches only the runs whose x
  changes. Each begins with a phase whose own bound is less than all before it; it is found in a tree (`minima`).
- A pair is partial while its vertex is greater than m(x_p). The least partial vertices of the phases are in a second
  tree, which finds those that become full: in a run all phases have the same m(x_p).
- The full phases of a vertex are a heap, whose least is ready.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from heapq import heappop, heappush, nsmallest

from workbench.executors.dataflow.minima import least_before, next_below, set_least
from workbench.executors.dataflow.numbering import NumberedGraph

INITIAL_CAPACITY = 64
"""Initial capacity in phases."""

Pair = tuple[int, int]
"""A vertex and a phase."""


class Scheduler:
    """The sets, maintained incrementally; callers in several threads need a lock around every call.

    Parameters
    ----------
    graph: with a satisfactory numbering.

    Attributes
    ----------
    begun: p_max, the number of phases begun.
    complete: number of the last phase up to which all phases are complete.

    Raises
    ------
    PipelineError: the numbering is not satisfactory.
    """

    def __init__(self, graph: NumberedGraph) -> None:
        graph.check_numbering()
        self.graph = graph
        self.begun = self.complete = 0
        self._size, self._m, self._sources = graph.size, graph.m, graph.sources
        self._waiting: dict[int, set[int]] = {}
        """For each incomplete phase, the vertices with a message that have not finished."""
        self._heaps: dict[int, list[int]] = {}
        """Heaps of the same vertices, from which finished ones are removed late."""
        self._partial: dict[int, list[int]] = {}
        """For each incomplete phase, the heap of its partial vertices."""
        self._full: list[list[int]] = [[] for _ in range(graph.size + 1)]
        """For each vertex the heap of its full phases."""
        self._ready: set[Pair] = set()
        self._shift = 1
        self._own, self._least = self._trees(INITIAL_CAPACITY)

    # --- queries ------------------------------------------------------------------------------------------

    @property
    def partial(self) -> frozenset[Pair]:
        """Pairs with some of their inputs."""
        return frozenset((w, q) for q, vertices in self._partial.items() for w in vertices)

    @property
    def full(self) -> frozenset[Pair]:
        """Pairs with all of their inputs."""
        return frozenset((v, q) for v, phases in enumerate(self._full) for q in phases)

    @property
    def ready(self) -> frozenset[Pair]:
        """Pairs that may run, or are running."""
        return frozenset(self._ready)

    def x(self, phase: int) -> int:
        """Return x_p; 0 for phases that have not begun."""
        if phase > self.begun or phase < self._shift:
            return self._size if phase < self._shift else 0
        at = phase - self._shift
        return min(self._own[(len(self._own) >> 1) + at], least_before(self._own, at, self._size))

    # --- updates ------------------------------------------------------------------------------------------

    def begin(self) -> list[Pair]:
        """Begin a phase; return the newly ready pairs."""
        self.begun += 1
        phase, sources = self.begun, self._sources
        if phase - self._shift >= len(self._own) >> 1:
            self._ensure_capacity()
        self._waiting[phase] = set(sources)
        self._heaps[phase] = list(sources)
        self._partial[phase] = []
        set_least(self._own, phase - self._shift, 0)
        ready_pairs: list[Pair] = []
        for v in sources:
            self._fill(v, phase, ready_pairs)
        return ready_pairs

    def finish(self, vertex: int, phase: int, receivers: Iterable[int]) -> list[Pair]:
        """Finish a pair that has sent messages to these vertices; return the newly ready pairs."""
        return self.finish_all(vertex, (phase,), (receivers,))

    def open(self, receivers: Iterable[int]) -> list[Pair]:
        """Begin a phase, and finish its pair of the only source, vertex 1, which has sent messages to `receivers`."""
        self.begun += 1
        phase = self.begun
        if phase - self._shift >= len(self._own) >> 1:
            self._ensure_capacity()
        heap = sorted(set(receivers))
        self._waiting[phase], self._heaps[phase], self._partial[phase] = set(heap), heap, []
        at, cap = phase - self._shift, self._size
        if phase > self.complete + 1:
            cap = least_before(self._own, at, self._size)
        elif not heap:
            self._complete()
            return []
        own = heap[0] - 1 if heap else self._size
        set_least(self._own, at, own)
        limit = self._m[min(own, cap)]
        ready_pairs: list[Pair] = []
        for w in heap:
            if w <= limit:
                self._fill(w, phase, ready_pairs)
            else:
                self._partial[phase].append(w)
        if self._partial[phase]:
            self._note_partial(phase)
        return ready_pairs

    def phases_of(self, vertex: int, limit: int) -> list[int]:
        """Return the first `limit` full phases of a vertex: a thread that takes the first may run them in turn."""
        full = self._full[vertex]
        return nsmallest(limit, full) if len(full) > 1 else full[:]

    def finish_all(self, vertex: int, phases: Sequence[int], receivers: Sequence[Iterable[int]]) -> list[Pair]:
        """Finish several phases that one thread has run in turn; all were full when it took the first."""
        for phase, each in zip(phases, receivers, strict=True):
            self._take(vertex, phase)
            self._send(phase, each)
        ready_pairs = self._next_of(vertex)
        self._advance(phases, ready_pairs)
        return ready_pairs

    # --- the parts ----------------------------------------------------------------------------------------

    def _take(self, vertex: int, phase: int) -> None:
        self._waiting[phase].discard(vertex)
        self._ready.discard((vertex, phase))
        full = self._full[vertex]
        if full and full[0] == phase:
            heappop(full)

    def _send(self, phase: int, receivers: Iterable[int]) -> None:
        waiting, partial = self._waiting[phase], self._partial[phase]
        for w in receivers:
            if w not in waiting:
                waiting.add(w)
                heappush(self._heaps[phase], w)
                heappush(partial, w)

    def _next_of(self, vertex: int) -> list[Pair]:
        """Mark the first full phase of a vertex as ready, if there is one."""
        ready_pairs = [(vertex, phase) for phase in self._full[vertex][:1]]
        self._ready.update(ready_pairs)
        return ready_pairs

    def _advance(self, phases: Sequence[int], ready_pairs: list[Pair]) -> None:
        """Update x of these phases, which have run, and of later ones; move pairs that become full."""
        own, shift, first = self._own, self._shift, phases[0]
        base = (len(own) >> 1) - shift
        bounds = [own[base + phase] for phase in phases]
        for phase, before in zip(phases, bounds, strict=True):
            after = self._find_bound(phase)
            if after != before:
                set_least(own, phase - shift, after)
        old = new = self._size  # x of the previous phase
        if first > self.complete + 1:
            old = new = least_before(own, first - shift, self._size)
        at = first - shift
        for phase, before in zip(phases, bounds, strict=True):
            here = phase - shift
            if at < here:
                if old != new:
                    old, new = self._advance_row(at, here, old, new, ready_pairs)
                if old == new:
                    old = new = least_before(own, here, self._size)
            after = own[base + phase]
            old = before if before < old else old
            new = after if after < new else new
            partial = self._partial[phase]
            if old != new:
                limit = self._m[new]
                while partial and partial[0] <= limit:
                    self._fill(heappop(partial), phase, ready_pairs)
            self._note_partial(phase)
            at = here + 1
        if old != new:
            self._advance_row(at, self.begun - shift + 1, old, new, ready_pairs)
        if first == self.complete + 1:
            self._complete()

    def _advance_row(self, at: int, stop: int, old: int, new: int, ready_pairs: list[Pair]) -> tuple[int, int]:
        """Update a row of phases that have not run, after x of the previous phase has changed.

        Returns the old and the new x of the last phase; if they are equal, the numbers may be too large.
        """
        own = self._own
        while at < stop and old != new:
            end = min(next_below(own, at, new), stop)
            self._move(at, end, self._m[new], ready_pairs)
            if end == stop:
                break
            new = own[(len(own) >> 1) + end]
            old = min(old, new)
            at = end
        return old, new

    def _find_bound(self, phase: int) -> int:
        """Return the vertex below the least that still has to run, N where there is none."""
        heap, waiting = self._heaps[phase], self._waiting[phase]
        while heap and heap[0] not in waiting:
            heappop(heap)
        return heap[0] - 1 if heap else self._size

    def _note_partial(self, phase: int) -> None:
        partial = self._partial[phase]
        least, at = partial[0] if partial else self._size + 1, phase - self._shift
        if self._least[(len(self._least) >> 1) + at] != least:
            set_least(self._least, at, least)

    def _move(self, at: int, stop: int, limit: int, ready_pairs: list[Pair]) -> None:
        """Make pairs full whose phase is from `at` to before `stop` and whose vertex is at most `limit`."""
        at = next_below(self._least, at, limit + 1)
        while at < stop:
            phase = at + self._shift
            partial = self._partial[phase]
            while partial and partial[0] <= limit:
                self._fill(heappop(partial), phase, ready_pairs)
            self._note_partial(phase)
            at = next_below(self._least, at, limit + 1)

    def _fill(self, vertex: int, phase: int, ready_pairs: list[Pair]) -> None:
        full = self._full[vertex]
        heappush(full, phase)
        if full[0] == phase and (vertex, phase) not in self._ready:
            self._ready.add((vertex, phase))
            ready_pairs.append((vertex, phase))

    def _complete(self) -> None:
        """Drop the phases that are complete."""
        while self.complete < self.begun and not self._waiting[self.complete + 1]:
            self.complete += 1
            del self._waiting[self.complete], self._heaps[self.complete], self._partial[self.complete]

    def _ensure_capacity(self) -> None:
        """Move the incomplete phases to the beginning, or double the capacity where they are many."""
        shift, half = self.complete + 1, len(self._own) >> 1
        incomplete = slice(half + shift - self._shift, half + self.begun - self._shift)
        pairs = zip(self._own[incomplete], self._least[incomplete], strict=True)
        self._own, self._least = self._trees(half * 2 if 2 * (self.begun - shift) > half else half)
        for i, (bound, vertex) in enumerate(pairs):
            set_least(self._own, i, bound)
            set_least(self._least, i, vertex)
        self._shift = shift

    def _trees(self, size: int) -> tuple[list[int], list[int]]:
        """Build the trees of own bounds and of least partial vertices, for `size` phases."""
        return [self._size] * (2 * size), [self._size + 1] * (2 * size)
