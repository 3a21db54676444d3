"""The part of a system that is soon periodic, whatever the events are.

Counters of a decimation, of events before a window is full, of events that wait at a join: where all inputs always have
an event, many of them depend only on themselves. After some steps they are periodic, so that conditions on them can be
evaluated before a loop over events begins.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from operator import itemgetter
from typing import Any, NamedTuple

from workbench.core.domain import Value
from workbench.core.evaluate import compile_terms
from workbench.core.fold import Substitute, variables
from workbench.core.term import Term, const, var
from workbench.ir.system import System

LONGEST = 4096
"""Maximum number of steps that are examined."""

MAX_PHASES = 16
"""Default maximum length of the period: the code of a step is unrolled once for each."""


class Steady(NamedTuple):
    """Periodic variables.

    Attributes
    ----------
    variables: their positions among the variables of the system.
    phases: for each step of the period, its constants: the values of these variables, and the given ones.
    distance: values of the variables to the number of steps until the first phase; for those that occur from the
        initial state on.
    """

    variables: tuple[int, ...]
    phases: tuple[Mapping[Term, Term], ...]
    distance: Mapping[tuple[Value, ...], int]


def steady(system: System, constants: Mapping[Term, Term], most_phases: int = MAX_PHASES) -> Steady:
    """Return the largest part with a period of at most `most_phases`, given constants for inputs."""
    names, history, periods = _alone(system, constants, LONGEST)
    rounds = {name: circle and (circle.start, circle.length) for name, circle in periods.items()}
    part_names, start, length = [], 0, 1
    for name, circle in sorted(rounds.items(), key=lambda item: item[1][1] if item[1] else 0):
        if circle and math.lcm(length, circle[1]) <= most_phases:
            part_names.append(name)
            start, length = max(start, circle[0]), math.lcm(length, circle[1])
    indices = tuple(i for i, v in enumerate(system.variables) if v.name in part_names)
    going = [system.variables[i] for i in indices]
    columns = [names.index(v.name) for v in going]
    values = [tuple(state[c] for c in columns) for state in history[: start + length]]
    phases = tuple(
        dict(constants) | {var(v.name, v.domain): const(x, v.domain) for v, x in zip(going, each, strict=True)}
        for each in values[start:]
    )
    return Steady(
        indices, phases, {state: (start - t) % length if t >= start else start - t for t, state in enumerate(values)}
    )


class Circle(NamedTuple):
    """The period of a variable that depends only on itself and a few others.

    Attributes
    ----------
    cone: the variables on which it depends, by name; `values` are tuples of their values.
    values: their values from the initial state to the end of the first period.
    start, length: number of steps before the first period, and length of a period.
    """

    cone: tuple[str, ...]
    values: tuple[tuple[Value, ...], ...]
    start: int
    length: int

    def at(self, time: int) -> int:
        """Return the index into `values` after `time` steps."""
        return time if time < self.start else self.start + (time - self.start) % self.length


def circles(system: System, constants: Mapping[Term, Term], longest: int) -> dict[str, Circle]:
    """Return the variables that depend only on each other and repeat within `longest` steps, given input constants."""
    return {name: circle for name, circle in _alone(system, constants, longest)[2].items() if circle}


def _alone(
    system: System, constants: Mapping[Term, Term], longest: int
) -> tuple[list[str], list[tuple[Value, ...]], dict[str, Circle | None]]:
    """Return the finite variables that depend only on each other, their joint history, and the period of each."""
    known = Substitute(dict(constants))
    finite = [v for v in system.variables if v.domain.finite]
    terms = system.inline(tuple(v.next for v in finite))
    after = {v.name: known(term) for v, term in zip(finite, terms, strict=True)}
    needs = {name: set(variables([term])) for name, term in after.items()}
    alone = _find_closed(needs)
    names = [v.name for v in system.variables if v.name in alone]
    history = _history(system, names, [after[name] for name in names], longest)
    # a queue's length keeps growing where it overflows: such a run is void, and has no period
    domains = {v.name: v.domain for v in system.variables}
    values = {name: set(column) for name, column in zip(names, zip(*history, strict=True), strict=True)}
    valid_names = [name for name in names if all(value in domains[name] for value in values[name])]
    cones = {name: frozenset(find_reached({name}, needs)) for name in valid_names}
    cone_periods = {cone: _circle(history, names, cone) for cone in set(cones.values())}
    return names, history, {name: cone_periods[cone] for name, cone in cones.items()}


def _find_closed(needs: Mapping[str, set[str]]) -> set[str]:
    """Return the names that depend only on each other."""
    names = set(needs)
    while True:
        fewer = {name for name in names if needs[name] <= names}
        if fewer == names:
            return names
        names = fewer


def find_reached(names: set[str], needs: Mapping[str, set[str]]) -> set[str]:
    """Return these names, and all on which they depend."""
    closure, todo = set(names), list(names)
    while todo:
        fresh = needs[todo.pop()] - closure
        closure |= fresh
        todo += fresh
    return closure


def _history(system: System, names: list[str], after: list[Any], longest: int) -> list[tuple[Value, ...]]:
    """Return the values of these variables from the initial state on, until they repeat."""
    by_name = {v.name: v for v in system.variables}
    step = compile_terms(after, [var(name, by_name[name].domain) for name in names])
    state = tuple(by_name[name].initial for name in names)
    states, visited = [state], {state}
    while len(states) < longest:
        state = step(*state)
        states.append(state)
        if state in visited:
            break
        visited.add(state)
    return states


def _circle(history: list[tuple[Value, ...]], names: list[str], cone: Set[str]) -> Circle | None:
    """Return the first period of the values of these names; None if they do not repeat."""
    columns = [i for i, name in enumerate(names) if name in cone]
    first: dict[tuple[Value, ...], int] = {}
    for time, part in enumerate(zip(*(map(itemgetter(column), history) for column in columns), strict=True)):
        if part in first:
            start = first[part]
            return Circle(tuple(names[column] for column in columns), tuple(first), start, time - start)
        first[part] = time
    return None
