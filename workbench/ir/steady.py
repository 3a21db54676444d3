"""The part of a system that soon goes round in a circle, whatever the events are.

Counters of a decimation, of events seen before a window is full, of events that wait at a join: where all inputs
always have an event, many of them depend on themselves only. After some steps they repeat their values, so that what
they decide can be decided before a loop over events begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from workbench.core.domain import Value
from workbench.core.evaluate import compile_terms
from workbench.core.fold import Substitute, variables
from workbench.core.term import Term, const, var
from workbench.ir.system import System

LONGEST = 4096
"""Most steps that are looked at."""

MOST_PHASES = 16
"""Most steps of the circle, where nothing else is said: the code of a step is written once for each."""


class Steady(NamedTuple):
    """Variables that go round in a circle.

    Attributes
    ----------
    variables: their positions among the variables of the system.
    phases: per step of the circle, what is known of it: these variables, and what was given.
    distance: values of the variables to the number of steps until the first phase; for those on the way from the
        initial state.
    """

    variables: tuple[int, ...]
    phases: tuple[Mapping[Term, Term], ...]
    distance: Mapping[tuple[Value, ...], int]


def steady(system: System, given: Mapping[Term, Term], most_phases: int = MOST_PHASES) -> Steady:
    """The largest such part, given constants for inputs, that goes round in so many steps."""
    known = Substitute(dict(given))
    after = {v.name: known(system.inlined(v.next)) for v in system.variables if v.domain.finite}
    needs = {name: set(variables([term])) for name, term in after.items()}
    alone = _closed(needs)
    names = [v.name for v in system.variables if v.name in alone]
    history = _history(system, names, [after[name] for name in names])
    circles = {name: _circle(history, [i for i, n in enumerate(names) if n in _cone(name, needs)]) for name in names}
    # a queue's length goes on growing where it overflows: such a run is void, and no circle begins there
    domains = {v.name: v.domain for v in system.variables}
    circles = {
        name: circle
        for i, (name, circle) in enumerate(circles.items())
        if all(state[i] in domains[name] for state in history)
    }
    chosen, start, length = [], 0, 1
    for name, circle in sorted(circles.items(), key=lambda item: item[1][1] if item[1] else 0):
        if circle and math.lcm(length, circle[1]) <= most_phases:
            chosen.append(name)
            start, length = max(start, circle[0]), math.lcm(length, circle[1])
    places = tuple(i for i, v in enumerate(system.variables) if v.name in chosen)
    columns = [names.index(system.variables[i].name) for i in places]
    values = [tuple(state[c] for c in columns) for state in history[: start + length]]
    phases = tuple(
        dict(given)
        | {_symbol(system, i): const(v, system.variables[i].domain) for i, v in zip(places, each, strict=True)}
        for each in values[start:]
    )
    return Steady(
        places, phases, {state: (start - t) % length if t >= start else start - t for t, state in enumerate(values)}
    )


def _symbol(system: System, position: int) -> Term:
    variable = system.variables[position]
    symbol: Term = var(variable.name, variable.domain)
    return symbol


def _closed(needs: Mapping[str, set[str]]) -> set[str]:
    """The names that depend on each other only."""
    found = set(needs)
    while True:
        fewer = {name for name in found if needs[name] <= found}
        if fewer == found:
            return found
        found = fewer


def _cone(name: str, needs: Mapping[str, set[str]]) -> set[str]:
    found, todo = {name}, [name]
    while todo:
        fresh = needs[todo.pop()] - found
        found |= fresh
        todo += fresh
    return found


def _history(system: System, names: list[str], after: list[Any]) -> list[tuple[Value, ...]]:
    """The values of these variables from the initial state on, until they repeat."""
    by_name = {v.name: v for v in system.variables}
    step = compile_terms(after, [var(name, by_name[name].domain) for name in names])
    state = tuple(by_name[name].initial for name in names)
    found, seen = [state], {state}
    while len(found) < LONGEST:
        state = step(*state)
        found.append(state)
        if state in seen:
            break
        seen.add(state)
    return found


def _circle(history: list[tuple[Value, ...]], columns: list[int]) -> tuple[int, int] | None:
    """When the values in these columns begin to repeat, and after how many steps; None if they do not."""
    first: dict[tuple[Value, ...], int] = {}
    for time, state in enumerate(history):
        part = tuple(state[column] for column in columns)
        if part in first:
            return first[part], time - first[part]
        first[part] = time
    return None
