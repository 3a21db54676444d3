"""Values read and written by their position: what systems for compiled code have, and models have not.

The rule of this module: all reading of a step comes before all writing of it. What is done to every row of a table is
written once, as terms over the number of a row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, INT, Domain, Map, Range, Tuple, Value
from workbench.core.fields import parts, scalars
from workbench.core.ops import CAST, EQ, SUB, Operator, as_term, both, ite, negate
from workbench.core.processor import Machine
from workbench.core.term import FALSE, TRUE, Entries, Others, Term, const, intern, var
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


class Update(NamedTuple):
    """What a step writes to many rows of a table: terms over `row_of` the table."""

    happens: Term
    """Whether anything is written; does not depend on the row."""
    which: Term
    """Of the rows that are used, those to which it is."""
    value: Any
    first: int


class Total(NamedTuple):
    """A sum over the rows of a table, kept from step to step: a variable, and its value after the step."""

    symbol: Term
    after: Term


class Stored(NamedTuple):
    """A machine that keeps some of its state in memory: its stores, and the machine once they are there."""

    stores: tuple[Store, ...]
    machine: Callable[[Sequence[Cells]], Machine]


class Load(Operator):
    """Reads one array of a memory; never evaluated beforehand, not even at a constant position.

    With a second argument it says as well how many writes ago that was written which it reads: see `Cells.at`.
    """

    def build(self, args: tuple[Any, ...]) -> Term:
        """The term."""
        terms = coerce(self, args)
        return intern(self, terms, self.result(self, terms))


@dataclass(frozen=True, eq=False, repr=False)
class Gather(Operator):
    """Goes over the rows of a table that are used, if its first argument is true, and collects the second one.

    Attributes
    ----------
    table, used: the name of the table, and what code calls the array that says which rows are used.
    start, collect: statements that begin with the result `{0}`, and that add a value `{1}` to it.
    """

    binds: bool = True
    table: str = ""
    used: str = ""
    start: tuple[str, ...] = ()
    collect: tuple[str, ...] = ()

    @property
    def row(self) -> Term:
        """The variable of the second argument."""
        return row_of(self.table)

    def build(self, args: tuple[Any, ...]) -> Term:
        """The term; the neutral value where nothing is collected."""
        happens, value = coerce(self, args)
        domain = self.result(self, (happens, value))
        nothing = const(domain.default, domain)
        return nothing if happens is FALSE or value is nothing else intern(self, (happens, value), domain)

    def leaves_word(self, args: tuple[Term, ...]) -> Term:
        """Whether a sum does on the way: what is added up to it counts as well."""
        happens, value = args
        few = value.op is CAST and value.args[0].domain.finite  # of what is small, there would have to be too many
        return (
            FALSE
            if self.result(self, args) == BOOL or few
            else gather("overflow", self.table, self.used).build((happens, value))
        )


@cache
def gather(kind: str, table: str, used: str) -> Gather:
    """The operator that collects from the rows of a table: their `sum`, whether there is `any`, or an `overflow`."""
    domain = INT if kind == "sum" else BOOL
    start, collect = _GATHERED[kind]
    return Gather(
        f"gather_{kind}", 2, kind, lambda *_: domain, _no_value, "",
        table=table, used=used, start=start, collect=collect,
    )  # fmt: skip


_GATHERED = {
    "sum": (("{0} = 0",), ("{0} += {1}",)),
    "any": (("{0} = False",), ("{0} = {0} | {1}",)),
    "overflow": (
        ("{0} = False", "{0}_sum = 0"),
        ("{0} = {0} | sum_overflows({0}_sum, {1})", "{0}_sum += {1}"),
    ),
}


def row_of(table: str) -> Term:
    """The variable that stands for the number of any row of a table."""
    symbol: Term = var(f"{table}:row", INT)
    return symbol


class Cells:
    """The content of a store within one step.

    Parameters
    ----------
    arrays: what code calls the array of each scalar part of the domain.
    """

    def __init__(self, store: Store, arrays: Sequence[str]) -> None:
        self.store, self.arrays = store, tuple(arrays)
        self.writes: list[Write] = []
        self.updates: list[Update] = []
        self.totals: dict[str, Total] = {}
        self.fires: Term = TRUE
        """Whether the step is one of the processor to which this belongs, where that is known before."""
        self.full: Term = FALSE
        """Of a table: whether there is no row for what is written."""
        kinds = [part for _, part in scalars(store.domain)]
        names = [USED if store.fresh is not None else "load", *["load"] * len(kinds)]
        call = f"find({', '.join(self.arrays[:2])}, {{0}})"
        self._finder = Load("find", 1, call, lambda _, __: INT, _no_value, call)
        self._loads = [_load(*each) for each in zip(names, arrays, kinds, strict=False)]
        self._recalls = [_load(*each, arity=2) for each in zip(names, arrays, kinds, strict=False)]

    def find(self, key: Any) -> Any:
        """The position of the row of a key in a table, or the one where it belongs; 0 where none is free."""
        return self._finder.build((as_term(key, parts(self.store.domain)[1][1]),))

    def at(self, position: Any, back: Any = None) -> Any:
        """The value at a position before the step.

        Parameters
        ----------
        back: how many writes ago it was written there, if that is known: 1 for that of the step before. What has not
            been written yet is the default, if the memory is `blank`; else it does not matter.
        """
        if back is None:
            flat = [load.build((position,)) for load in self._loads]
        else:
            flat = [load.build((position, back)) for load in self._recalls]
        return _shaped(self.store.domain, iter(flat))

    def put(self, position: Any, value: Any, happens: Any = True) -> None:
        """Write a value."""
        where = coerce(self._loads[0], (position,))[0]
        self.writes.append(Write(as_term(happens, BOOL), where, as_term(value, self.store.domain)))

    def keep(self, position: Any, key: Any, rest: tuple[Any, ...], happens: Term = TRUE) -> None:
        """Write the row of a key in a table, which `find` has found there."""
        used = self.at(position)[0]
        self.full = both(happens, EQ(position, 0))
        row = self._row(TRUE, key, *rest)
        self.writes.append(Write(both(happens, negate(used)), position, row[:2]))
        if rest:
            self.writes.append(Write(happens, position, row[2:], 2))

    # --- all rows of a table ---

    @cached_property
    def row(self) -> Term:
        """Stands for the number of any row that is used."""
        return row_of(self.store.name)

    def keep_all(self, happens: Term, which: Any, rest: tuple[Any, ...]) -> None:
        """Write all rows of which `which` is true; it and what is written are terms over `row`."""
        wanted = self._row(TRUE, self.at(self.row)[1], *rest)[2:]
        self.updates.append(Update(happens, as_term(which, BOOL), wanted, 2))

    def somewhere(self, happens: Term, condition: Term) -> Term:
        """Whether, if something happens, a condition on the number of a row is true of some row."""
        return gather("any", self.store.name, self.arrays[0]).build((both(self.fires, happens), condition))

    def rows(self, happens: Term, which: Term, value: Any) -> Others:
        """What a step makes of all rows."""
        return Others(happens, which, value, self.store.name, *self.arrays[:2])

    def total(self, name: str, everywhere: Term, weigh: Callable[[Any, bool], Any], position: Any) -> Term:
        """A sum over all rows, after the step: kept from one to the next.

        Parameters
        ----------
        everywhere: whether the step writes all rows, and not the one at `position`.
        weigh: the number that is added for a row, given its position, and whether it is as it is after the step.
        """
        if name not in self.totals:
            symbol: Term = var(f"{self.store.name}.{name}", INT)
            change = as_term(SUB(weigh(position, True), weigh(position, False)), INT)
            collect = gather("sum", self.store.name, self.arrays[0])
            anew = collect.build((both(self.fires, everywhere), as_term(weigh(self.row, True), INT)))
            self.totals[name] = Total(symbol, ite(everywhere, anew, symbol + change))
        return self.totals[name].after

    def _row(self, *values: Any) -> tuple[Any, ...]:
        kinds = (domain for _, domain in parts(self.store.domain))
        return tuple(_kept(value, kind) for value, kind in zip(values, kinds, strict=True))


def _kept(value: Any, domain: Domain) -> Any:
    """A term to be written. Ranges are left as wide as arithmetic made them: the step keeps in bounds."""
    if isinstance(value, tuple):
        return tuple(_kept(part, inside) for part, (_, inside) in zip(value, parts(domain), strict=True))
    return value if isinstance(domain, Range) and isinstance(value, Term) else as_term(value, domain)


def _load(name: str, array: str, domain: Domain, arity: int = 1) -> Load:
    return Load(name, arity, array, lambda _, __: domain, _no_value, f"{array}[at({{0}})]")


def _no_value(*position: Any) -> Any:
    raise NotImplementedError(f"a memory at {position}")


def _shaped(domain: Domain, flat: Any) -> Any:
    inside = parts(domain)
    if inside or isinstance(domain, Tuple):
        found = tuple(_shaped(part, flat) for _, part in inside)
        return Entries.of(domain, found) if isinstance(domain, Map) else found
    return next(flat)
