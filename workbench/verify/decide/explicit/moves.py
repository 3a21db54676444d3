"""The moves of the environment: every choice of all inputs that its assumptions allow."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import BOOL, Domain, Value
from workbench.core.evaluate import compile_terms
from workbench.core.fold import variables
from workbench.core.ops import as_term, conjunction
from workbench.core.term import Term, leaves, var
from workbench.errors import Refused
from workbench.executors.compiled.code.numbers import encode
from workbench.ir.system import System

MOST_MOVES = 2**16
"""Most moves per state; with more of them, sets of states (BDDs) are the better means."""
MOST_CASES = 64
"""Most values of what the assumptions look at in a state."""


@dataclass(frozen=True)
class Moves:
    """The choices of the environment.

    Attributes
    ----------
    names: the input leaves.
    chosen: per move, the value of each leaf.
    valuations: per move, in how many ways NuSMV can choose the inputs: with any values of absent ones.
    """

    names: tuple[str, ...]
    domains: tuple[Domain, ...]
    chosen: tuple[tuple[Value, ...], ...]
    valuations: tuple[int, ...]

    def columns(self) -> list[list[int]]:
        """Per leaf, its number in each move."""
        return [[encode(domain, move[i]) for move in self.chosen] for i, domain in enumerate(self.domains)]

    def values(self, move: int) -> dict[str, Value]:
        """The value of each leaf in a move."""
        return dict(zip(self.names, self.chosen[move], strict=True))


def list_moves(system: System, assume: Sequence[Term]) -> Moves:
    """Every move that the assumptions allow in some state, reachable or not.

    Raises
    ------
    Refused: there are too many.
    """
    choices, other = [], dict(system.free)
    for source in system.inputs:
        values = {leaf.name: other.pop(leaf.name) for leaf in leaves(source.value) if leaf.name in other}
        present = source.present.name
        choices.append(_Choice(present if other.pop(present, None) is not None else None, values))
    choices += [_Choice(None, {name: domain}) for name, domain in other.items()]  # no events
    count = math.prod(each.count for each in choices)
    if count > MOST_MOVES:
        raise Refused(f"a state has {count} choices of inputs; more than {MOST_MOVES} are too many to try one by one")
    allowed = _find_allowed(system, assume)
    chosen, valuations = [], []
    for options in itertools.product(*(each.options() for each in choices)):
        given = {name: value for values, _ in options for name, value in values.items()}
        move = tuple(given[name] for name in system.free)
        if allowed(move):
            chosen.append(move)
            valuations.append(math.prod(weight for _, weight in options))
    return Moves(tuple(system.free), tuple(system.free.values()), tuple(chosen), tuple(valuations))


def _find_allowed(system: System, assume: Sequence[Term]) -> Callable[[tuple[Value, ...]], bool]:
    """Whether a move is allowed in some state, by the values of what the assumptions look at there.

    Those that look at definitions, which each step makes anew, forbid none here: they make moves void where they fail.
    """
    made = {definition.name for definition in system.definitions}
    assume = [each for each in assume if not made & variables([each]).keys()]
    inputs = [var(name, domain) for name, domain in system.free.items()]
    looked_at = {name: domain for name, domain in variables(assume).items() if name not in system.free}
    unknown = looked_at.keys() - {variable.name for variable in system.variables}
    cases = math.prod(domain.size or MOST_CASES + 1 for domain in looked_at.values())
    if unknown or cases > MOST_CASES:
        raise Refused(f"what may come depends on too much: {', '.join(looked_at)}")
    states = [var(name, domain) for name, domain in looked_at.items()]
    condition: Any = compile_terms([as_term(conjunction(assume), BOOL)], [*inputs, *states])
    choices = list(itertools.product(*(list(domain.values()) for domain in looked_at.values())))
    return lambda move: any(condition(*move, *case)[0] for case in choices)


class _Choice:
    """One choice of the environment: whether an event is `present`, if that is looked at, and the values of leaves."""

    def __init__(self, present: str | None, values: Mapping[str, Domain]) -> None:
        self.present, self.values = present, values
        self.size = math.prod(domain.size or MOST_MOVES + 1 for domain in values.values())
        self.count = self.size + (present is not None)

    def options(self) -> Iterator[tuple[dict[str, Value], int]]:
        """Each choice, and the number of valuations that it stands for."""
        there = {} if self.present is None else {self.present: True}
        if self.present is not None:
            absent = {name: domain.default for name, domain in self.values.items()}
            yield {self.present: False, **absent}, self.size
        for chosen in itertools.product(*(domain.values() for domain in self.values.values())):
            yield there | dict(zip(self.values, chosen, strict=True)), 1
