"""The numbering: definitions of section 3.1.1, and which orders satisfy the additional restriction."""

from itertools import chain, combinations, permutations

import pytest

from workbench.errors import PipelineError
from workbench.executors.dataflow.numbering import NumberedGraph, number_graph, renumber_graph


def subsets(items):
    return chain.from_iterable(combinations(items, n) for n in range(len(items) + 1))


def every_graph(size):
    """All graphs whose edges lead from smaller to greater vertices, each as predecessors."""
    if size == 0:
        yield {}
        return
    for smaller in every_graph(size - 1):
        for before in subsets(range(1, size)):
            yield smaller | {size: before}


def restricted(graph):
    """The additional restriction as it stands: every S(v) is {1, ..., |S(v)|}."""
    return all(graph.s(v) == frozenset(range(1, len(graph.s(v)) + 1)) for v in range(graph.size + 1))


FIGURE_2A = NumberedGraph(tuple(map(frozenset, [(), (), (), (1, 3), (2,), (4,), (5, 6)])))
LAST_2B = (0, 0, 0, 2, 3, 5, 6)


def test_the_sets_of_figure_2():
    assert [sorted(FIGURE_2A.s(v)) for v in range(4)] == [[1, 2, 3], [1, 2, 3], [1, 2, 3, 5], [1, 2, 3, 4, 5]]
    assert not FIGURE_2A.satisfactory
    better, order = number_graph(dict(enumerate(FIGURE_2A.predecessors, 1)))
    assert better.satisfactory
    assert order[3:5] == (5, 4)  # vertices 4 and 5 are transposed
    figure = NumberedGraph(tuple(frozenset({last} - {0}) for last in LAST_2B))
    assert figure.m == (3, 3, 4, 5, 5, 6, 7, 7)


def check_numberings(size):
    """Of every graph: Kahn's order, and which of the topological orders are satisfactory."""
    for graph in every_graph(size):
        found, order = number_graph(graph)
        assert found == renumber_graph(graph, order)
        assert found.satisfactory
        assert restricted(found)
        assert found.m == tuple(len(found.s(v)) for v in range(size + 1))
        assert all(v < found.m[v] for v in range(1, size))
        assert found.m[-1] == size
        given = NumberedGraph(tuple(map(frozenset, graph.values())))
        assert given.satisfactory == restricted(given)


@pytest.mark.parametrize("size", range(6))
def test_every_graph_has_a_satisfactory_numbering(size):
    check_numberings(size)


@pytest.mark.slow
def test_every_graph_of_six_has_a_satisfactory_numbering():
    check_numberings(6)


def test_satisfactory_orders_are_those_in_which_the_greatest_predecessor_never_decreases():
    for graph in every_graph(4):
        for order in permutations(graph):
            place = {v: i for i, v in enumerate(order, 1)}
            if all(place[u] < place[v] for v in graph for u in graph[v]):
                greatest = [max((place[u] for u in graph[v]), default=0) for v in order]
                assert restricted(renumber_graph(graph, order)) == (greatest == sorted(greatest))


def test_what_is_no_acyclic_graph_is_refused():
    with pytest.raises(PipelineError, match="vertex b never"):
        number_graph({"a": (), "b": ("a", "c"), "c": ("b",)})
    with pytest.raises(PipelineError, match="vertex 2 has the predecessors \\[2\\]"):
        NumberedGraph((frozenset(), frozenset({2})))
