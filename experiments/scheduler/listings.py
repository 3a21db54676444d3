"""Listings 1 and 2 of Zimmerman and Chandy, verbatim: the specification of the scheduler.

The rule of this module: the sets are recomputed as the listings say, statement by statement; nothing is optimised.
Vertices are those of a `NumberedGraph`, phases 1, 2, ...; a pair is (vertex, phase). A `Variant` shows what the
algorithm loses without one of its parts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import Flag, auto
from typing import Protocol

from workbench.executors.dataflow.numbering import NumberedGraph
from workbench.executors.dataflow.scheduler import Pair


class Variant(Flag):
    """Parts of the algorithm that are left out, to demonstrate their purpose."""

    WHOLE = 0
    NUMBERING = auto()
    """Any topological numbering is accepted, such as figure 2(a)'s."""
    OVERTAKING = auto()
    """Without x_p <= x_(p-1) (statements 1.19 to 1.21)."""
    ANY_PHASE = auto()
    """All phases of a vertex in the full set are ready, not only the least (statements 1.27 and 2.16)."""
    UNLOCKED = auto()
    """Sets are updated without the lock: other threads may interleave with the parts of `Listings.finishing`."""


class PhaseSets(Protocol):
    """The sets of a scheduler: recomputed as in the listings, or kept incrementally."""

    @property
    def graph(self) -> NumberedGraph:
        """The graph that runs."""

    @property
    def begun(self) -> int:
        """p_max, the number of phases begun."""

    @property
    def partial(self) -> frozenset[Pair]:
        """Pairs with some of their inputs."""

    @property
    def full(self) -> frozenset[Pair]:
        """Pairs with all of their inputs."""

    @property
    def ready(self) -> frozenset[Pair]:
        """Pairs that may run, or are running."""

    def x(self, phase: int) -> int:
        """Return x_p: all vertices up to this one have finished the phase, and those before it."""

    def begin(self) -> list[Pair]:
        """Begin a phase (listing 2); return the newly ready pairs."""

    def finish(self, vertex: int, phase: int, receivers: Iterable[int]) -> list[Pair]:
        """Finish a pair that has sent messages to these vertices (listing 1, locked); return the newly ready pairs."""


class Listings:
    """The sets of the listings.

    Parameters
    ----------
    graph: with a satisfactory numbering, except in the variant without.

    Raises
    ------
    PipelineError: the numbering is not satisfactory.
    """

    def __init__(self, graph: NumberedGraph, variant: Variant = Variant.WHOLE) -> None:
        check_numbering(graph, variant)
        self.graph, self.variant = graph, variant
        self._partial: set[Pair] = set()
        self._full: set[Pair] = set()
        self._ready: set[Pair] = set()
        self._x = [graph.size]
        self.begun = 0

    @property
    def partial(self) -> frozenset[Pair]:
        """Pairs with some of their inputs."""
        return frozenset(self._partial)

    @property
    def full(self) -> frozenset[Pair]:
        """Pairs with all of their inputs."""
        return frozenset(self._full)

    @property
    def ready(self) -> frozenset[Pair]:
        """Pairs that may run, or are running."""
        return frozenset(self._ready)

    def x(self, phase: int) -> int:
        """Return x_p; 0 for phases that have not begun."""
        return self._x[phase] if phase < len(self._x) else 0

    def begin(self) -> list[Pair]:
        """Begin a phase, as the environment in listing 2."""
        self.begun += 1
        self._x.append(0)
        self._full |= {(v, self.begun) for v in self.graph.sources}
        return self._newly_ready()

    def finish(self, vertex: int, phase: int, receivers: Iterable[int]) -> list[Pair]:
        """Finish a pair: listing 1, with the lock."""
        return [pair for pairs in self.finishing(vertex, phase, receivers) for pair in pairs]

    def finishing(self, vertex: int, phase: int, receivers: Iterable[int]) -> Iterator[list[Pair]]:
        """Finish a pair in parts, between which other threads may run without a lock; yield the newly ready pairs.

        The parts: the pair is removed from the sets (1.5 to 1.7); messages are put into the partial set (1.8 to 1.11);
        x_p is computed, pairs are moved, and become ready (1.12 to 1.30).
        """
        self._full = self._full - {(vertex, phase)}
        self._ready = self._ready - {(vertex, phase)}
        yield []
        self._partial = self._partial | {(w, phase) for w in receivers}
        yield []
        self._update_x(phase)
        newly_full = {(w, q) for w, q in self._partial if w <= self.graph.m[self._x[q]]}
        self._partial = self._partial - newly_full
        self._full = self._full | newly_full
        yield self._newly_ready()

    def _update_x(self, phase: int) -> None:
        for i in range(phase, self.begun + 1):
            waiting = [w for w, q in self._partial | self._full if q == i]
            self._x[i] = min(waiting) - 1 if waiting else self.graph.size
            if self._x[i] > self._x[i - 1] and Variant.OVERTAKING not in self.variant:
                self._x[i] = self._x[i - 1]

    def _newly_ready(self) -> list[Pair]:
        least = {w: min(q for v, q in self._full if v == w) for w, _ in self._full}
        every = Variant.ANY_PHASE in self.variant
        ready_pairs = [(w, q) for w, q in sorted(self._full - self._ready) if every or q == least[w]]
        self._ready = self._ready | set(ready_pairs)
        return ready_pairs


def check_numbering(graph: NumberedGraph, variant: Variant) -> None:
    """Raise PipelineError where the algorithm needs another numbering."""
    if Variant.NUMBERING not in variant:
        graph.check_numbering()


def define_sets(
    graph: NumberedGraph, messages: Iterable[Pair], last_phase: int
) -> tuple[frozenset[Pair], frozenset[Pair], frozenset[Pair]]:
    """Return the partial, full and ready sets by definitions (7) to (9).

    Parameters
    ----------
    messages: the pairs that have a message (or the signal of their phase) and have not finished: msg.
    last_phase: p_max.
    """
    waiting = set(messages)
    x = [graph.size]
    for p in range(1, last_phase + 1):
        least = min((w for w, q in waiting if q == p), default=graph.size + 1)
        x.append(min(x[-1], least - 1))
    full = frozenset((w, q) for w, q in waiting if x[q] < w <= graph.m[x[q]])
    ready = frozenset((w, q) for w, q in full if all(q <= r for v, r in full if v == w))
    return frozenset((w, q) for w, q in waiting if graph.m[x[q]] < w), full, ready
