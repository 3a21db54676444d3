"""The reachable states as a graph, and decisions on it: what can always still come, and what recurs for ever.

The labels of an edge are a bit each. The functions below the class take their arrays from the caller and use nothing
but indices and integers, so they run on lists as they are, and numba compiles them for arrays. None calls another.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

import bisect
from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

from workbench.verify.decide.explicit.records import Edges


@dataclass
class Graph:
    """The graph of the states.

    Parameters
    ----------
    zeros: makes an array of zeros of a given size.
    functions: the functions of this module, in Python or compiled.
    void: the label of edges to ignore.
    """

    edges: Edges
    zeros: Callable[[int], Any]
    functions: Any
    void: int

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.edges.starts) - 1

    def source(self, edge: int) -> int:
        """Return the state that an edge starts from."""
        return bisect.bisect_right(self.edges.starts, edge) - 1

    def dead_end(self, target: int, escape: int | None) -> int | None:
        """Return the first edge without either label to a state from which no run has `target`; None: there is none."""
        good, begins, offsets, todo = (self.zeros(self.size + 1) for _ in range(4))
        into = self.zeros(int(self.edges.starts[self.size]))
        self.functions.transpose(self.edges, begins, into, offsets)
        self.functions.spread(self.edges, 1 << target, begins, into, good, todo)
        harmless = bits({target, self.void} | ({escape} - {None}))
        edge = int(self.functions.first_bad(self.edges, harmless, good))
        return None if edge < 0 else edge

    def recurring(self, needed: Collection[int], avoided: Collection[int]) -> list[int] | None:
        """Return the edges of a cycle on which every needed label occurs and no avoided one; None if there is none."""
        avoid = bits({*avoided, self.void})
        part = self.zeros(self.size)
        self.functions.components(self.edges, avoid, part, *(self.zeros(self.size) for _ in range(5)))
        has = self.zeros(self.size + 1)
        here = int(self.functions.cover(self.edges, avoid, bits(needed), part, has))
        return None if here < 0 else self._find_cycle(here, set(needed), avoid, part)

    def _find_cycle(self, root: int, needed: set[int], avoid: int, part: Any) -> list[int]:
        """Return a cycle from a state through its component that has every needed label."""
        cycle: list[int] = []
        here = root
        while needed:
            cycle += self._walk(here, bits(needed), -1, avoid, part)
            here = int(self.edges.ends[cycle[-1]])
            needed = {label for label in needed if not int(self.edges.flags[cycle[-1]]) >> label & 1}
        return cycle if cycle and here == root else cycle + self._walk(here, 0, root, avoid, part)

    def _walk(self, here: int, labels: int, goal: int, avoid: int, part: Any) -> list[int]:
        came, todo = self.zeros(self.size), self.zeros(self.size)
        edge = self.functions.walk(self.edges, avoid, part, here, labels, goal, came, todo)
        edges = [int(edge)]
        while (state := self.source(edges[-1])) != here:
            edges.append(int(came[state]) - 1)
        return edges[::-1]


def bits(labels: Collection[int | None]) -> int:
    """Return the labels as a mask."""
    return sum(1 << label for label in set(labels) if label is not None)


def transpose(edges, begins, into, offsets):
    """Sort edges by their ends: `into[begins[i]:begins[i + 1]]` are the predecessors of state i; return their count."""
    starts, ends, _ = edges
    size = len(starts) - 1
    for edge in range(starts[size]):
        begins[ends[edge] + 1] += 1
    for i in range(size):
        begins[i + 1] += begins[i]
        offsets[i] = begins[i]
    for i in range(size):
        for edge in range(starts[i], starts[i + 1]):
            into[offsets[ends[edge]]] = i
            offsets[ends[edge]] += 1
    return starts[size]


def spread(edges, target, begins, into, good, todo):
    """Mark every state from which a run has a label of the mask `target` as good; return the number of good states."""
    starts, _, flags = edges
    many = 0
    for i in range(len(starts) - 1):
        for edge in range(starts[i], starts[i + 1]):
            if flags[edge] & target:
                good[i] = 1
        if good[i]:
            todo[many] = i
            many += 1
    done = 0
    while done < many:
        i = todo[done]
        done += 1
        for k in range(begins[i], begins[i + 1]):
            before = into[k]
            if not good[before]:
                good[before] = 1
                todo[many] = before
                many += 1
    return many


def first_bad(edges, harmless, good):
    """Return the first edge without a label of the mask `harmless` to a state that is not good; -1: none."""
    starts, ends, flags = edges
    for edge in range(starts[len(starts) - 1]):
        if not flags[edge] & harmless and not good[ends[edge]]:
            return edge
    return -1


def components(edges, avoid, part, met, low, at, stack, path):
    """Number the strongly connected components of the graph without the edges to avoid, from 1, in `part`.

    R. Tarjan, Depth-first search and linear graph algorithms, SIAM Journal on Computing 1, 1972; `path` replaces
    the recursion, and `at` has the next edge of each state on it.
    """
    starts, ends, flags = edges
    clock = parts = piled = 0
    for first in range(len(part)):
        if met[first]:
            continue
        depth = 1
        path[0] = first
        while depth:
            i = path[depth - 1]
            if met[i] == 0:
                clock += 1
                met[i] = low[i] = clock
                at[i] = starts[i]
                stack[piled] = i
                piled += 1
            deeper = False
            while at[i] < starts[i + 1] and not deeper:
                edge = at[i]
                j = ends[edge]
                if flags[edge] & avoid or part[j]:
                    at[i] += 1
                elif met[j] == 0:
                    path[depth] = j  # the edge is visited again when j is done
                    depth += 1
                    deeper = True
                else:
                    low[i] = min(low[i], low[j])
                    at[i] += 1
            if deeper:
                continue
            depth -= 1
            if low[i] == met[i]:
                parts += 1
                while part[i] == 0:
                    piled -= 1
                    part[stack[piled]] = parts
    return parts


def cover(edges, avoid, labels, part, has):
    """Return the first state in a component whose edges have all labels of the mask `labels`; -1: none."""
    starts, ends, flags = edges
    inside = labels | 1 << 30
    for i in range(len(part)):
        for edge in range(starts[i], starts[i + 1]):
            if part[ends[edge]] == part[i] and not flags[edge] & avoid:
                has[part[i]] |= flags[edge] & labels | 1 << 30
    for i in range(len(part)):
        if has[part[i]] == inside:
            return i
    return -1


def walk(edges, avoid, part, here, labels, goal, came, todo):
    """Return the last edge of a shortest walk inside of a component, to a label of `labels` or to the state `goal`.

    `came` gets, for each state on the way, the edge by which it was reached, plus 1.
    """
    starts, ends, flags = edges
    todo[0] = here
    many, done = 1, 0
    while done < many:
        i = todo[done]
        done += 1
        for edge in range(starts[i], starts[i + 1]):
            j = ends[edge]
            if part[j] != part[i] or flags[edge] & avoid:
                continue
            if flags[edge] & labels or j == goal:
                return edge
            if came[j] == 0 and j != here:
                came[j] = edge + 1
                todo[many] = j
                many += 1
    return -1
