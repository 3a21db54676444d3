"""Values read and written by their position: what systems for compiled code have, and models have not.

The rule of this module: all reading of a step comes before all writing of it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, INT, Domain, Map, Range, Tuple, Value, parts, scalars
from workbench.core.ops import EQ, Operator, as_term, negate
from workbench.core.processor import Machine
from workbench.core.term import FALSE, TRUE, Entries, Term, intern, leaves
from workbench.core.typing_rules import coerce

USED = "used"
"""The operator that reads whether a row of a table is used, which nearly always is so."""


DIRECT = 64
"""The keys from 0 to this one have rows of their own in a table: they need not be looked for."""


def table_size(rows: int) -> int:
    """The size of a table with so many rows, a power of two, for other keys; the first row belongs to no key."""
    return 1 + DIRECT + rows


class Store(NamedTuple):
    """A memory: so many values of a domain."""

    name: str
    domain: Domain
    size: int
    blank: bool = True
    """Whether it holds the domain's default at first; it need not where only what was written is looked at."""
    fresh: tuple[Value, ...] | None = None
    """Of a table: what a row that is not used stands for, after the key; () where a row that is used always counts.

    A table is a memory whose values are rows: whether it is used, a key, and what belongs to it. `Cells.find` knows
    where the row of a key is. It grows as it fills, so `size` is that at first: see `table_size`.
    """


class Write(NamedTuple):
    """What a step writes, after all that it reads."""

    happens: Term
    position: Term
    value: Any
    first: int = 0
    """The first array of the memory to which something is written: the value may be a part of what is there."""


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
        self.full: Term = FALSE
        """Of a table: whether there is no row for what is written."""
        kinds = [part for _, part in scalars(store.domain)]
        names = [USED if store.fresh is not None else "load", *["load"] * len(kinds)]
        call = f"find({', '.join(self.arrays[:2])}, {{0}})"
        self._finder = Load("find", 1, call, lambda _, __: INT, _no_value, call)
        self._loads = [_load(*each) for each in zip(names, arrays, kinds, strict=False)]

    def find(self, key: Any) -> Any:
        """The position of the row of a key in a table, or the one where it belongs; 0 where none is free."""
        return self._finder.build((as_term(key, parts(self.store.domain)[1][1]),))

    def at(self, position: Any) -> Any:
        """The value at a position before the step."""
        flat = iter([load.build((position,)) for load in self._loads])
        return _shaped(self.store.domain, flat)

    def put(self, position: Any, value: Any, happens: Any = True) -> None:
        """Write a value."""
        where = coerce(self._loads[0], (position,))[0]
        self.writes.append(Write(as_term(happens, BOOL), where, as_term(value, self.store.domain)))

    def keep(self, position: Any, key: Any, rest: tuple[Any, ...]) -> None:
        """Write the row of a key in a table, which `find` has found there."""
        used = self.at(position)[0]
        self.full = EQ(position, 0)
        kinds = (BOOL, *(domain for _, domain in parts(self.store.domain)[1:]))
        row = (TRUE, key, *rest)
        for first, last, happens in ((0, 2, negate(used)), (2, len(row), TRUE))[: 2 if rest else 1]:
            wanted = tuple(_kept(value, kind) for value, kind in zip(row[first:last], kinds[first:last], strict=True))
            self.writes.append(Write(happens, position, wanted, len(list(leaves(row[:first])))))


def _kept(value: Any, domain: Domain) -> Any:
    """A term to be written. Ranges are left as wide as arithmetic made them: the step keeps in bounds."""
    if isinstance(value, tuple):
        return tuple(_kept(part, inside) for part, (_, inside) in zip(value, parts(domain), strict=True))
    return value if isinstance(domain, Range) and isinstance(value, Term) else as_term(value, domain)


def _load(name: str, array: str, domain: Domain) -> Load:
    return Load(name, 1, array, lambda _, __: domain, _no_value, f"{array}[at({{0}})]")


def _no_value(position: Any) -> Any:
    raise NotImplementedError(f"a memory at {position}")


def _shaped(domain: Domain, flat: Any) -> Any:
    inside = parts(domain)
    if inside or isinstance(domain, Tuple):
        found = tuple(_shaped(part, flat) for _, part in inside)
        return Entries.of(domain, found) if isinstance(domain, Map) else found
    return next(flat)
