"""Numbered graphs whose scheduler is checked: all of a size, and that of a pipeline in any order of its vertices."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations, product

from workbench.errors import PipelineError
from workbench.executors.dataflow.numbering import NumberedGraph, renumber_graph
from workbench.executors.dataflow.vertices import VertexGraph


def enumerate_graphs(size: int) -> Iterator[NumberedGraph]:
    """Yield all graphs of this many vertices in topological order, with satisfactory numberings and others."""
    choices = [[frozenset(c) for k in range(v) for c in combinations(range(1, v), k)] for v in range(1, size + 1)]
    return map(NumberedGraph, product(*choices))


def renumbered(vertices: VertexGraph, order: Sequence[str]) -> NumberedGraph:
    """The graph with its vertices numbered in this order, the log first.

    Raises
    ------
    PipelineError: the order has other vertices, or is not topological.
    """
    names = vertices.names
    if sorted(order) != sorted(names):
        raise PipelineError(f"the order {', '.join(order)} is none of the vertices", hint=", ".join(names))
    before = {name: [names[u - 1] for u in each] for name, each in zip(names, vertices.graph.predecessors, strict=True)}
    return renumber_graph(before, order)
