"""Tables of facts: a table or a view of a database that holds a type of facts.

The rule of this module: the declaration is checked against the table before anything runs, and every value
when it is read. A row is a tuple of the declared attributes, in the order of the row ids, or sorted by all attributes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Value, sort_key
from workbench.core.types import type_row
from workbench.errors import FactsError, did_you_mean
from workbench.tesla.declared import SPELLED, Declaration
from workbench.tesla.engines.facts.database import FactDatabase

FactRow = tuple[Value | None, ...]
NOT_A_NUMBER = "nan"
"""The text that represents NaN in a table made by `store_rows`."""
ROW_IDS = ("rowid", "_rowid_", "oid")
"""Names of the row id in SQLite, unless a column has that name."""


@dataclass(frozen=True)
class FactColumn:
    """A column of a table that holds an attribute.

    Attributes
    ----------
    exact: whether SQLite compares and sorts its values as rules do.
    """

    name: str
    domain: Domain
    exact: bool


class FactTable:
    """The table of a type of facts in a database.

    Parameters
    ----------
    table: its name in the database; None: the name of the type.
    not_numbers: whether a text represents NaN, which SQLite lacks (`store_rows`).

    Raises
    ------
    FactsError: there is no such table, it has no such column, or a column has values of another type.
    """

    def __init__(
        self, declared: Declaration, database: FactDatabase, table: str | None = None, not_numbers: bool = False
    ) -> None:
        self.declared, self.database, self._not_numbers = declared, database, not_numbers
        self.name, self.view = self._find_table(table or declared.name)
        self.columns = self._columns()
        self.shown = ", ".join(quote_name(each.name) for each in self.columns) or "1"
        """The columns, as SQL."""
        self.row_id = self._row_id()
        """The name of the row id in SQL; empty if there is none."""
        self._schema: tuple[Any, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {name: each for name, each in vars(self).items() if name != "_fits"}

    def __str__(self) -> str:
        table = "" if self.name.lower() == self.declared.name.lower() else f":{self.name}"
        return f"{self.declared.name}={self.database}{table}"

    __repr__ = __str__

    def check(self) -> None:
        """Raise a FactsError if columns have changed: rows may change while rules run, but columns may not."""
        schema = self.database.schema()
        if schema == self._schema:
            return
        name, view = self._find_table(self.name)
        if (view, self._columns(), self._row_id()) != (self.view, self.columns, self.row_id):
            what = f"the columns of table '{name}' have changed since the rules began"
            raise FactsError(what, where=self.database.path, hint="start again", reason="type")
        self._schema = schema

    # --- rows -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        ((count,),) = self.database.rows(f"SELECT COUNT(*) FROM {quote_name(self.name)}")
        return int(count)

    def __iter__(self) -> Iterator[FactRow]:
        return iter(self.rows())

    def more_than(self, count: int) -> bool:
        """Whether there are more than `count` rows; False if that is unknown without reading them."""
        if not self.row_id:
            return False
        counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {quote_name(self.name)} LIMIT {count + 1})"
        return bool(self.database.rows(counted)[0][0] > count)

    def rows(self, count: int | None = None) -> list[FactRow]:
        """Return all rows in their order, or the first `count` of them."""
        limit = "" if count is None or not self.is_ordered else f" LIMIT {count}"
        order = f" ORDER BY {self.order()}" if self.is_ordered else ""
        rows = self.read(self.database.rows(f"SELECT {self.shown} FROM {quote_name(self.name)}{order}{limit}"))
        return rows if self.is_ordered else sorted(rows, key=lambda row: [*map(sort_key, row)])[:count]

    def order(self, *, last: bool = False) -> str:
        """Return the order of rows as SQL."""
        names = [self.row_id] if self.row_id else list(map(write_comparable, self.columns))
        return ", ".join(f"{name}{' DESC' * last}" for name in names)

    @property
    def is_ordered(self) -> bool:
        """Whether SQLite can return the rows in their order."""
        return bool(self.row_id) or all(each.exact for each in self.columns)

    # --- values -----------------------------------------------------------------------------------------

    def read(self, rows: list[Any]) -> list[FactRow]:
        """Convert rows of SQLite to rows of facts; FactsError if a value has another type.

        Values after the columns are left unchanged.
        """
        return self._fits(rows, self._convert_row)

    @cached_property
    def _fits(self) -> Callable[[list[Any], Callable[[Any], FactRow]], list[FactRow]]:
        """A function that reads rows, and calls another one for each with a value to convert."""
        kinds = {INT: "int", FLOAT: "float", STR: "str"}
        tests = [
            f"(type(r[{i}]) is {kinds[column.domain]} or r[{i}] is None)"
            if column.domain in kinds
            else f"r[{i}] is None"
            for i, column in enumerate(self.columns)
        ]
        reader: Callable[[list[Any], Callable[[Any], FactRow]], list[FactRow]] = eval(
            f"lambda rows, read: [r if {' and '.join(tests) or 'False'} else read(r) for r in rows]"
        )
        return reader

    def _convert_row(self, row: Sequence[Any]) -> FactRow:
        if not self.columns:  # SQL has no rows without columns
            return ()
        values = (self._convert_value(value, column) for value, column in zip(row, self.columns, strict=False))
        return (*values, *row[len(self.columns) :])

    def _convert_value(self, value: Any, column: FactColumn) -> Value | None:
        kind, domain = type(value), column.domain
        if value is None or (kind is int and domain == INT) or (kind is str and domain == STR):
            return value
        if domain == FLOAT and kind in (int, float):
            return float(value)
        if domain == FLOAT and self._not_numbers and value == NOT_A_NUMBER:
            return float("nan")
        if domain == BOOL and kind is int and value in (0, 1):
            return bool(value)
        what = f"'{column.name}' of {self.declared.name} is declared as {SPELLED[domain]}, and a row has {value!r}"
        raise FactsError(what, where=self.database.path, hint="declare another type, or create a view", reason="type")

    # --- the schema -------------------------------------------------------------------------------------

    def _find_table(self, name: str) -> tuple[str, bool]:
        """Find the table or view with a name, ignoring case; return its name and whether it is a view."""
        rows = self.database.rows("SELECT name, type FROM sqlite_master WHERE type IN ('table', 'view')")
        tables = {table: kind for table, kind in rows if not table.startswith("sqlite_")}
        for table, kind in tables.items():
            if table.lower() == name.lower():
                return table, kind == "view"
        hint = did_you_mean(name, tables, "there are: ") or "it has no tables"
        raise FactsError(f"there is no table '{name}'", where=self.database.path, hint=hint, reason="table")

    def _columns(self) -> tuple[FactColumn, ...]:
        rows = self.database.rows(f"PRAGMA table_xinfo({quote_name(self.name)})")
        known = {row[1].lower(): (row[1], str(row[2] or "")) for row in rows if row[6] != 1}
        ((encoding,),) = self.database.rows("PRAGMA encoding")
        columns = []
        for name, domain in self.declared.domains.items():
            if name.lower() not in known:
                hint = did_you_mean(name, (column for column, _ in known.values()), "it has: ")
                what = f"the table '{self.name}' has no column '{name}'"
                raise FactsError(what, where=self.database.path, hint=hint, reason="column")
            column, kind = known[name.lower()]
            affinity = affinity_of(kind)
            if affinity not in type_row(domain).fitting:
                what = f"'{name}' of {self.declared.name} is declared as {SPELLED[domain]}, and its column is {kind}"
                hint = "declare another type, or create a view"
                raise FactsError(what, where=self.database.path, hint=hint, reason="type")
            exact = affinity in type_row(domain).exact and not (domain == FLOAT and self._not_numbers)
            columns.append(FactColumn(column, domain, exact and (domain != STR or encoding == "UTF-8")))
        return tuple(columns)

    def _row_id(self) -> str:
        if self.view:
            return ""
        rows = self.database.rows(f"PRAGMA table_xinfo({quote_name(self.name)})")
        names = {row[1].lower() for row in rows}
        for name in ROW_IDS:
            if name not in names:
                try:
                    self.database.rows(f"SELECT {name} FROM {quote_name(self.name)} LIMIT 0")
                except FactsError:  # WITHOUT ROWID
                    return ""
                return name
        return ""


def store_rows(declared: Declaration, rows: Iterable[FactRow], origin: str) -> FactTable:
    """Store rows, in their order, as a table of a database in memory.

    Rows are read as they were stored. SQLite has no NaN: it is represented by a text, which is greater than
    all numbers, as NaN is in the order of facts.

    Parameters
    ----------
    origin: where the rows come from, for messages.

    Raises
    ------
    OverflowError, UnicodeEncodeError: a whole number has more than 64 bits, or a text cannot be encoded.
    """
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    kinds = {name: type_row(domain).fitting[0] for name, domain in declared.domains.items()}
    columns = [f"{quote_name(name)} {kind}" for name, kind in kinds.items()] or ["nothing"]
    memory.execute(f"CREATE TABLE {quote_name(declared.name)} ({', '.join(columns)})")
    reals = [i for i, domain in enumerate(declared.domains.values()) if domain == FLOAT]
    nan_columns: list[int] = []

    def prepare(row: FactRow) -> Sequence[object]:
        for i in reals:
            if row[i] != row[i]:
                nan_columns.append(i)
                row = (*row[:i], NOT_A_NUMBER, *row[i + 1 :])
        return row or (None,)

    memory.execute("BEGIN")
    marks = ", ".join("?" * len(columns))
    memory.executemany(f"INSERT INTO {quote_name(declared.name)} VALUES ({marks})", map(prepare, rows))
    memory.execute("COMMIT")
    return FactTable(declared, FactDatabase(origin, memory=memory), not_numbers=bool(nan_columns))


def affinity_of(kind: str) -> str:
    """Return the affinity of a column declared so; BLOB converts nothing (Datatypes in SQLite, 3.1)."""
    kind = kind.upper()
    for words, affinity in (
        (("INT",), "INTEGER"), (("CHAR", "CLOB", "TEXT"), "TEXT"), (("BLOB",), "BLOB"),
        (("REAL", "FLOA", "DOUB"), "REAL"),
    ):  # fmt: skip
        if any(word in kind for word in words):
            return affinity
    return "NUMERIC" if kind else "BLOB"


def quote_name(name: str) -> str:
    """Quote a name for SQL."""
    return '"' + name.replace('"', '""') + '"'


def write_comparable(column: FactColumn) -> str:
    """Write a column as SQL for comparisons: texts compare by characters, whatever collation the table has."""
    return quote_name(column.name) + (" COLLATE BINARY" if column.domain == STR else "")
