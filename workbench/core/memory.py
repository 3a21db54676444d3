"""Values read and written by their position: what systems for compiled code have, and models have not.

The rule of this module: all reading of a step comes before all writing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, Domain, Tuple, parts, scalars
from workbench.core.ops import Operator, as_term
from workbench.core.processor import Machine
from workbench.core.term import Term, intern
from workbench.core.typing_rules import coerce


class Store(NamedTuple):
    """A memory: so many values of a domain."""

    name: str
    domain: Domain
    size: int
    blank: bool = True
    """Whether it holds the domain's default at first; it need not where only what was written is looked at."""


class Write(NamedTuple):
    """What a step writes, after all that it reads."""

    happens: Term
    position: Term
    value: Any


class Stored(NamedTuple):
    """A machine that keeps some of its state in memory: its stores, and the machine once they are there."""

    stores: tuple[Store, ...]
    machine: Callable[[Sequence[Cells]], Machine]


class Load(Operator):
    """Reads one array of a memory; never evaluated beforehand, not even at a constant position."""

    def build(self, args: tuple[Any, ...]) -> Term:
        """The term."""
        terms = coerce(self, args)
        return intern(self, terms, self.result(self, terms))


class Cells:
    """The content of a store within one step.

    Parameters
    ----------
    arrays: what code calls the array of each scalar part of the domain.
    """

    def __init__(self, store: Store, arrays: Sequence[str]) -> None:
        self.store, self.arrays = store, tuple(arrays)
        self.writes: list[Write] = []
        kinds = (part for _, part in scalars(store.domain))
        self._loads = [_load(array, part) for array, part in zip(arrays, kinds, strict=True)]

    def at(self, position: Any) -> Any:
        """The value at a position before the step."""
        flat = iter([load.build((position,)) for load in self._loads])
        return _shaped(self.store.domain, flat)

    def put(self, position: Any, value: Any, happens: Any = True) -> None:
        """Write a value."""
        where = coerce(self._loads[0], (position,))[0]
        self.writes.append(Write(as_term(happens, BOOL), where, as_term(value, self.store.domain)))


def _load(array: str, domain: Domain) -> Load:
    def no_value(position: Any) -> Any:
        raise NotImplementedError(f"{array} at {position}")

    return Load("load", 1, array, lambda _, __: domain, no_value, f"{array}[at({{0}})]")


def _shaped(domain: Domain, flat: Any) -> Any:
    inside = parts(domain)
    if inside or isinstance(domain, Tuple):
        return tuple(_shaped(part, flat) for _, part in inside)
    return next(flat)
