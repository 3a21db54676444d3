"""Numbered graphs: the vertices whose inputs are known when all vertices up to v have finished (section 3.1.1).

The rule of this module: vertices are 1 to N and edges lead from smaller to greater ones. Zimmerman and Chandy's
additional restriction, that every S(v) is {1, ..., |S(v)|}, holds exactly where the greatest predecessor of a vertex
never decreases with its number (docs/explanation/dataflow.md has the proof); `satisfactory` tests it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from typing import TypeVar

from workbench.errors import PipelineError

V = TypeVar("V", bound=Hashable)


@dataclass(frozen=True)
class NumberedGraph:
    """An acyclic graph with numbered vertices.

    Parameters
    ----------
    predecessors: the predecessors of the vertices 1, 2, ..., N in order; all are smaller than the vertex.

    Attributes
    ----------
    last: the greatest predecessor of every vertex, 0 where it has none; entry 0 is unused.
    m: |S(v)| for v from 0 to N.

    Raises
    ------
    PipelineError: an edge does not lead to a greater vertex.
    """

    predecessors: tuple[frozenset[int], ...]
    last: tuple[int, ...] = field(init=False, compare=False, repr=False)
    m: tuple[int, ...] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        for v, before in enumerate(self.predecessors, 1):
            if any(not 0 < u < v for u in before):
                raise PipelineError(
                    f"vertex {v} has the predecessors {sorted(before)}", hint="number them in topological order, from 1"
                )
        last = (0, *(max(before, default=0) for before in self.predecessors))
        object.__setattr__(self, "last", last)
        counts = [0] * (self.size + 1)
        for greatest in last[1:]:
            counts[greatest] += 1
        object.__setattr__(self, "m", tuple(accumulate(counts)))

    @property
    def size(self) -> int:
        """The number of vertices, N."""
        return len(self.predecessors)

    @cached_property
    def successors(self) -> tuple[tuple[int, ...], ...]:
        """The successors of each vertex, in order; entry 0 is unused."""
        successors: list[list[int]] = [[] for _ in range(self.size + 1)]
        for v, before in enumerate(self.predecessors, 1):
            for u in before:
                successors[u].append(v)
        return tuple(map(tuple, successors))

    @cached_property
    def sources(self) -> tuple[int, ...]:
        """The vertices without predecessors, S(0)."""
        return tuple(v for v, before in enumerate(self.predecessors, 1) if not before)

    def s(self, v: int) -> frozenset[int]:
        """Return S(v): the vertices all of whose predecessors are at most v (equation 1)."""
        return frozenset(w for w, before in enumerate(self.predecessors, 1) if all(u <= v for u in before))

    @cached_property
    def satisfactory(self) -> bool:
        """Whether every S(v) is {1, ..., m(v)}."""
        return all(a <= b for a, b in zip(self.last[1:], self.last[2:], strict=False))

    def check_numbering(self) -> None:
        """Raise PipelineError where the numbering is not satisfactory."""
        if not self.satisfactory:
            v = next(v for v in range(self.size + 1) if self.s(v) != frozenset(range(1, self.m[v] + 1)))
            raise PipelineError(
                f"the numbering is not satisfactory: S({v}) is {sorted(self.s(v))}", hint="`number_graph` makes one"
            )


def number_graph(graph: Mapping[V, Collection[V]]) -> tuple[NumberedGraph, tuple[V, ...]]:
    """Return the graph with a satisfactory numbering, and its vertices in that order.

    Kahn's algorithm with a first-in first-out queue: a vertex is appended when the last of its predecessors leaves.

    Parameters
    ----------
    graph: each vertex and its predecessors.

    Raises
    ------
    PipelineError: it has a cycle.
    """
    left = {v: len(before) for v, before in graph.items()}
    after: dict[V, list[V]] = {v: [] for v in graph}
    for v, before in graph.items():
        for u in before:
            after[u].append(v)
    queue = deque(v for v in graph if not left[v])
    order: list[V] = []
    while queue:
        u = queue.popleft()
        order.append(u)
        for v in after[u]:
            left[v] -= 1
            if not left[v]:
                queue.append(v)
    if len(order) < len(graph):
        stuck = next(v for v in graph if left[v])
        raise PipelineError(f"the graph has a cycle: vertex {stuck} never has all its predecessors")
    return renumber_graph(graph, order), tuple(order)


def renumber_graph(graph: Mapping[V, Collection[V]], order: Sequence[V]) -> NumberedGraph:
    """Return the graph with its vertices numbered in a given order, satisfactory or not."""
    numbers = {v: i for i, v in enumerate(order, 1)}
    return NumberedGraph(tuple(frozenset(numbers[u] for u in graph[v]) for v in order))
