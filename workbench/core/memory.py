"""State in arrays: values at positions, and rows of tables found by their key.

The rule of this module: all reads of a step come before all its writes. Operators that read are functions of the
values of arrays before the step (`Filled`), and so have a meaning of their own, `exact`. An operation on every
row of a table is written once, as terms over the number of a row, `ROW`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, NamedTuple

from workbench.core.domain import BOOL, INT, Domain, Range, Value
from workbench.core.fields import FrozenMap, parts, scalars
from workbench.core.ops import CAST, SUB, WORD_HI, WORD_LO, Operator, as_term, both, ite, negate
from workbench.core.term import FALSE, TRUE, Others, Term, const, leaves, var, whole


@dataclass(frozen=True)
class Filled:
    """The value of an array of scalars: the values at written positions, and `default` elsewhere."""

    default: Value
    written: FrozenMap[int, Value] = FrozenMap()

    def __getitem__(self, position: int) -> Value:
        return self.written.get(position, self.default)

    def put(self, position: int, value: Value) -> Filled:
        """Return the array with this value at a position."""
        return Filled(self.default, self.written.set(position, value))

    def rows(self) -> list[int]:
        """Return the positions of true values in order. In the first array of a table: the rows that are used."""
        return sorted(position for position, there in self.written.items() if there)

    def find(self, *keys: Any) -> int:
        """Return the used row with a key, or else a free row. Rows are numbered from 1.

        Parameters
        ----------
        keys: the array of each word of keys, and then each word of the key.
        """
        rows, words = self.rows(), len(keys) // 2
        same = (row for row in rows if all(keys[i][row] == keys[words + i] for i in range(words)))
        return next(same, max(rows, default=0) + 1)


@dataclass(frozen=True)
class Array(Domain):
    """A sequence of values of a domain, by their positions from 0.

    Attributes
    ----------
    length: None if it grows with what is written: such an array is endless, its positions grow, and code keeps
        the last of its entries (`EXTENT`).
    blank: whether all values are the domain's default at first, as is needed unless only written values are read.
    """

    element: Domain
    length: int | None
    blank: bool = True

    @property
    def default(self) -> Filled:
        return Filled(self.element.default)

    @property
    def endless(self) -> bool:
        """Whether code keeps only the last entries, up to the capacity."""
        return self.length is None and not self.blank  # the arrays of a table are blank

    def columns(self, name: str) -> tuple[Term, ...]:
        """Return the terms of the array: a variable for the array of each scalar part."""
        of = scalars(self.element)
        return tuple(var(".".join((name, *path)), Array(part, self.length, self.blank)) for path, part in of)


@dataclass(frozen=True)
class KeyedArray(Array):
    """A table, which grows: its elements are rows of a flag (used or not), a key, and the rest.

    Attributes
    ----------
    fresh: the meaning of an unused row, after the key; () where a used row always counts.
    """

    length: None = None
    fresh: tuple[Value, ...] = ()

    @property
    def words(self) -> int:
        """The number of words of a key."""
        return len(scalars(parts(self.element)[1][1]))


class Write(NamedTuple):
    """A write of a step, after all its reads."""

    happens: Term
    position: Term
    value: Any
    first: int = 0
    """The first column that is written: the value may be a part of the element."""


class Update(NamedTuple):
    """A write of a step to many rows of a table: terms over `ROW`."""

    happens: Term
    """Whether anything is written; does not depend on the row."""
    which: Term
    """Whether a used row is written."""
    value: Any
    first: int


# --- reading ----------------------------------------------------------------------------------------------


def _element(op: Operator, args: tuple[Term, ...]) -> Domain:
    del op
    array = args[0].domain
    assert isinstance(array, Array)
    return array.element


MAX_EVENTS = 1 << 40
"""A number of entries that exceeds any memory."""

READ = Operator("read", 2, "read", _element, lambda cells, position: cells[position], "{0}[{1}]")
"""The value of an array at a position."""

RECALL = Operator("recall", 3, "read", _element, lambda cells, position, _: cells[position], "{0}[{1}]")
"""The value at a position that was written a known number of writes ago: the third argument, see `Cells.at`."""

IS_USED = Operator(
    "is_used", 2, "used", _element, lambda cells, row: cells[row], "{0}[{1}]",
    lambda args: TRUE if is_row(args[1]) else None,
)  # fmt: skip
"""The value of the first array of a table: whether a row is used, which is almost always true where it is read."""


def _own_row(args: tuple[Term, ...]) -> Term | None:
    """Return the row from which a key has been read."""
    words = len(args) // 2
    pairs = list(zip(args[1 : 1 + words], args[1 + words :], strict=True))
    rows = {key.args[1] for column, key in pairs if key.op is READ and key.args[0] is column}
    read = len(rows) == 1 and all(key.op is READ and key.args[0] is column for column, key in pairs)
    return next((row for row in rows if read and is_row(row)), None)


FIND = Operator("find", 3, "find", lambda *_: INT, lambda used, *keys: used.find(*keys), "{0}.find({1}, {2})", _own_row)
"""The row of a key in a table, given its first two arrays, or the row where it belongs."""

FIND_PAIR = Operator(
    "find_pair", 5, "find", lambda *_: INT, lambda used, *keys: used.find(*keys), "{0}.find({1}, {2}, {3}, {4})",
    _own_row,
)  # fmt: skip
"""The row of a key that is a pair."""


def _entry(begins: Filled, keys: Filled, number: int, key: Value) -> int:
    return next((position for position in range(begins[number], begins[number + 1]) if keys[position] == key), 0)


FIND_ENTRY = Operator("find_entry", 4, "find", lambda *_: INT, _entry, "")
"""The position of a key's entry, given the begins of all maps, the keys, the map's number, the key; 0: none."""

ENTRIES = Operator(
    "entries", 2, "size", lambda *_: Range(0, MAX_EVENTS), lambda begins, number: begins[number + 1] - begins[number],
    "({0}[at({1} + 1)] - {0}[at({1})])",
)  # fmt: skip
"""The number of entries of a map, given the begins of all maps and its number."""

FINDS = (FIND, FIND_PAIR)
MAX_WORDS = len(FINDS)
"""Maximum number of words of a key of a table."""

READS = (READ, RECALL, IS_USED)

EXTENT = Operator("extent", 1, "len", lambda *_: Range(0, MAX_EVENTS), lambda _: MAX_EVENTS, "len({0})")
"""The capacity of code for an endless array, of which it keeps the last entries: a power of two."""


# --- all rows of a table ----------------------------------------------------------------------------------

ROW: Term = var("a row", INT)
"""The variable for the number of any used row."""


class RowFold(Operator):
    """Collects a value of each used row of a table under a condition: of its first array, the condition, the value.

    The value is a term over `ROW`; `exact` takes a function of the row for it.
    """

    def leaves_word(self, args: tuple[Term, ...]) -> Term:
        """Return whether the sum, or a partial sum, is outside a word of 64 bits."""
        value = args[-1]
        is_small = value.op is CAST and value.args[0].domain.finite  # small values would have to be too many
        return FALSE if self is not SUM_ROWS or is_small else SUM_ROWS_OVERFLOWS.build(args)


def _fold(name: str, domain: Domain, collected: Callable[[list[Any]], Value]) -> RowFold:
    nothing = const(domain.default, domain)

    def simplify(args: tuple[Term, ...]) -> Term | None:
        return nothing if args[1] is FALSE or args[2] is nothing else None

    def exact(used: Filled, guard: bool, value: Callable[[int], Value]) -> Value:
        return collected([value(row) for row in used.rows()] if guard else [])

    return RowFold(f"{name}_rows", 3, name, lambda *_: domain, exact, "", simplify, binds=True)


SUM_ROWS = _fold("sum", INT, sum)
ANY_ROW = _fold("any", BOOL, any)
SUM_ROWS_OVERFLOWS = _fold(
    "overflows_sum", BOOL, lambda values: any(not WORD_LO <= total <= WORD_HI for total in accumulate(values))
)


# --- looking for a row ------------------------------------------------------------------------------------

_ROW = "a row of level "


def row_of(level: int) -> Term:
    """Return the variable for the number of a used row in a search at a nesting level."""
    return var(f"{_ROW}{level}", INT)  # type: ignore[no-any-return]


def is_row(term: Term) -> bool:
    """Whether a term is such a variable."""
    return term.is_var and term.name.startswith(_ROW)


class RowSearch(Operator):
    """Whether a condition holds for some row of a table, under a precondition.

    Arguments: the table's first array, the row's variable (`row_of`), the precondition and the condition; for a search
    among rows whose key has a given first word, preceded by the second array and that word.
    """


def _search(name: str, arity: int) -> RowSearch:
    def simplify(args: tuple[Term, ...]) -> Term | None:
        return FALSE if args[-1] is FALSE or args[-2] is FALSE else None

    return RowSearch(name, arity, name, lambda *_: BOOL, lambda *_: False, "", simplify, binds=True)


SOME_ROW, SOME_ROW_OF = _search("some_row", 4), _search("some_row_of", 6)
SOME_ENTRY = _search("some_entry", 5)
"""The search among the entries of a map, given the begins of all maps, and its number."""


class Cells:
    """An array within one step: its reads and writes.

    Parameters
    ----------
    name: the name of its slot of the state, which identifies the processor.
    """

    def __init__(self, name: str, domain: Array) -> None:
        self.name, self.domain, self.columns = name, domain, domain.columns(name)
        self.writes: list[Write] = []
        self.updates: list[Update] = []
        self.totals: dict[str, tuple[Term, Term]] = {}
        """Sums over the rows of a table, maintained from step to step: a variable, and its value after the step."""
        self.fires: Term = TRUE
        """Whether this is a step of the processor that owns the array, if that is known in advance."""

    def find(self, key: Any) -> Any:
        """Return the position of the row of a key in a table, or the one where it belongs."""
        assert isinstance(self.domain, KeyedArray)
        words = self.domain.words
        key_leaves = leaves(as_term(key, parts(self.domain.element)[1][1]))
        return FINDS[words - 1].build((*self.columns[: 1 + words], *key_leaves))

    def at(self, position: Any, back: Any = None) -> Any:
        """Return the value at a position before the step.

        Parameters
        ----------
        back: how many writes ago it was written, if that is known: 1 for that of the step before. A value that has not
            been written yet is the default, if the array is `blank`; else it does not matter.
        """
        where = _number(position)
        if back is not None:
            read = [RECALL.build((column, where, _number(back))) for column in self.columns]
        else:
            read = [READ.build((column, where)) for column in self.columns]
            if isinstance(self.domain, KeyedArray):
                read[0] = IS_USED.build((self.columns[0], where))
        return whole(self.domain.element, iter(read))

    def put(self, position: Any, value: Any, guard: Any = True) -> None:
        """Write a value."""
        self.writes.append(Write(as_term(guard, BOOL), _number(position), as_term(value, self.domain.element)))

    def keep(self, position: Any, key: Any, rest: tuple[Any, ...], guard: Term = TRUE) -> None:
        """Write the row of a key in a table, at the position that `find` has returned."""
        assert isinstance(self.domain, KeyedArray)
        used = self.at(position)[0]
        row = self._row(TRUE, key, *rest)
        self.writes.append(Write(both(guard, negate(used)), position, row[:2]))
        if rest:
            self.writes.append(Write(guard, position, row[2:], 1 + self.domain.words))

    def keep_all(self, guard: Term, which: Any, rest: tuple[Any, ...]) -> None:
        """Write all rows for which `which` is true; it and the values are terms over `ROW`."""
        values = self._row(TRUE, self.at(ROW)[1], *rest)[2:]
        self.updates.append(Update(guard, as_term(which, BOOL), values, 2))

    def somewhere(self, guard: Term, condition: Term) -> Term:
        """Return whether `guard` is true, and a condition on the number of a row is true for some row."""
        return ANY_ROW.build((self.columns[0], both(self.fires, guard), condition))

    def rows(self, guard: Term, which: Term, value: Any) -> Others:
        """Return the effect of a step on many rows."""
        return Others(guard, which, value, *self.columns[:2])

    def total(self, name: str, everywhere: Term, weigh: Callable[[Any, bool], Any], position: Any) -> Term:
        """Return a sum over all rows after the step, maintained from step to step.

        Parameters
        ----------
        everywhere: whether the step writes all rows, and not the one at `position`.
        weigh: returns the summand of a row, given its position, and whether its value after the step is meant.
        """
        if name not in self.totals:
            symbol: Term = var(f"{self.name}.{name}", INT)
            change = as_term(SUB(weigh(position, True), weigh(position, False)), INT)
            anew = SUM_ROWS.build((self.columns[0], both(self.fires, everywhere), as_term(weigh(ROW, True), INT)))
            self.totals[name] = symbol, ite(everywhere, anew, symbol + change)
        return self.totals[name][1]

    def _row(self, *values: Any) -> tuple[Any, ...]:
        kinds = (domain for _, domain in parts(self.domain.element))
        return tuple(_widen_range(value, kind) for value, kind in zip(values, kinds, strict=True))


def _number(value: Any) -> Term:
    return value if isinstance(value, Term) else const(value, Range(value, value))


def _widen_range(value: Any, domain: Domain) -> Any:
    """Convert a value to a term to be written. Ranges stay as wide as arithmetic made them; steps stay in bounds."""
    if isinstance(value, tuple):
        return tuple(_widen_range(part, inside) for part, (_, inside) in zip(value, parts(domain), strict=True))
    return value if isinstance(domain, Range) and isinstance(value, Term) else as_term(value, domain)
