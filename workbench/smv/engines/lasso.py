"""Fair lassos: a path and a loop that satisfies fairness conditions, found with sets of states.

The rule of this module: it uses sets of states (with `&`, `|`, `~`, `==` and `is_false()`) and the operations of a
`SymbolicGraph`.

Source of `_find_core`: Kesten, Pnueli, Raviv, Algorithmic verification of linear temporal logic specifications, ICALP
1998.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

States = Any
"""A set of states."""


@dataclass(frozen=True)
class SymbolicGraph:
    """The operations on sets of states: successors, predecessors, and the choice of one state."""

    post: Callable[[States], States]
    pre: Callable[[States], States]
    pick: Callable[[States], States]


@dataclass(frozen=True)
class Fairness:
    """The fairness conditions of a run.

    Attributes
    ----------
    justice: sets that the run visits infinitely often.
    compassion: pairs of sets: if the run visits the first infinitely often, then also the second.
    """

    justice: Sequence[States] = ()
    compassion: Sequence[tuple[States, States]] = ()


def fair_lasso(graph: SymbolicGraph, start: States, fairness: Fairness) -> tuple[list[States], int | None]:
    """Return a fair run from a state of `start`: its states, the last of which closes the loop, and the loop's start.

    If there is no such run, return no states and None. The path to the loop is a shortest one.
    """
    core = _find_core(graph, _close(graph.post, start), fairness)
    if core.is_false():
        return [], None
    component = _find_terminal(graph, core)
    path = _walk(graph, start, component)
    loop = len(path) - 1
    goals = [*fairness.justice, *(q for p, q in fairness.compassion if not (p & component).is_false())]
    for goal in goals:
        if all((state & goal).is_false() for state in path[loop:]):
            path += _walk(graph, path[-1], goal, component)[1:]
    path += _walk(graph, graph.post(path[-1]) & component, path[loop], component)
    return path, loop


def _find_core(graph: SymbolicGraph, states: States, fairness: Fairness) -> States:
    """Return the states from which a fair run can stay among them for ever; every fair loop is inside."""
    while True:
        before = states
        for goal in fairness.justice:
            states = _close(graph.pre, states & goal, states)
        for p, q in fairness.compassion:
            states = (states & ~p) | _close(graph.pre, states & q, states)
        while (staying := states & graph.pre(states)) != states:
            states = staying
        if states == before:
            return states


def _find_terminal(graph: SymbolicGraph, states: States) -> States:
    """Return a terminal strongly connected component of the states, in which the promises of `_find_core` come true."""
    state = graph.pick(states)
    while True:
        ahead = _close(graph.post, state, states)
        beyond = ahead & ~_close(graph.pre, state, ahead)
        if beyond.is_false():
            return ahead
        state = graph.pick(beyond)


def _close(step: Callable[[States], States], states: States, within: States | None = None) -> States:
    """Return the states reached from some states by any number of steps, inside `within`."""
    new = states
    while not new.is_false():
        new = step(new) & ~states
        if within is not None:
            new = new & within
        states = states | new
    return states


def _walk(graph: SymbolicGraph, start: States, goal: States, within: States | None = None) -> list[States]:
    """Return the states of a shortest path from one set to another, which must be reachable."""
    layers, visited = [start], start
    while (hit := layers[-1] & goal).is_false():
        layer = graph.post(layers[-1]) & ~visited
        layers.append(layer if within is None else layer & within)
        visited = visited | layers[-1]
    path = [graph.pick(hit)]
    for layer in reversed(layers[:-1]):
        path.append(graph.pick(graph.pre(path[-1]) & layer))
    return path[::-1]
