"""A type of facts that is a table or a view of a database.

The rule of this module: what the declaration says is checked against the table before anything runs, and every value
when it is read. A row is a tuple of the declared attributes, in the order of the row ids, or of all attributes.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Value, sort_key
from workbench.core.types import type_row
from workbench.errors import FactsError, did_you_mean
from workbench.tesla.declared import SPELLED, Declaration
from workbench.tesla.engines.facts.database import FactDatabase

FactRow = tuple[Value | None, ...]
NOT_A_NUMBER = "nan"
"""The text that stands for NaN in a table of our own."""
ROW_IDS = ("rowid", "_rowid_", "oid")
"""What SQLite calls the id of a row, where no column is called so."""


@dataclass(frozen=True)
class FactColumn:
    """A column of a table, for an attribute.

    Attributes
    ----------
    exact: whether SQLite compares and sorts its values as rules do.
    """

    name: str
    domain: Domain
    exact: bool


class FactTable:
    """The rows of a type of facts in a database.

    Parameters
    ----------
    table: its name in the database; None: that of the type.
    not_numbers: whether texts in it stand for NaN, which SQLite does not have (`store_rows`).

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
        """The columns, as SQL has them."""
        self.row_id = self._row_id()
        """What SQL calls the id of a row; empty where there is none."""
        self._fits = self._compile_reader()
        self._schema: tuple[Any, ...] = ()

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_fits": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._fits = self._compile_reader()

    def __str__(self) -> str:
        table = "" if self.name.lower() == self.declared.name.lower() else f":{self.name}"
        return f"{self.declared.name}={self.database}{table}"

    __repr__ = __str__

    def check(self) -> None:
        """FactsError where this is not the table that it was: rows may change while rules run, and columns may not."""
        schema = self.database.schema()
        if schema == self._schema:
            return
        name, view = self._find_table(self.name)
        if (view, self._columns(), self._row_id()) != (self.view, self.columns, self.row_id):
            what = f"the table '{name}' has not the columns any more that it had when the rules began"
            raise FactsError(what, where=self.database.path, hint="start again", reason="type")
        self._schema = schema

    # --- rows -------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        ((count,),) = self.database.rows(f"SELECT COUNT(*) FROM {quote_name(self.name)}")
        return int(count)

    def __iter__(self) -> Iterator[FactRow]:
        return iter(self.rows())

    def more_than(self, count: int) -> bool:
        """Whether there are more rows than so many, as far as that is told without reading them."""
        if not self.row_id:
            return False
        counted = f"SELECT COUNT(*) FROM (SELECT 1 FROM {quote_name(self.name)} LIMIT {count + 1})"
        return bool(self.database.rows(counted)[0][0] > count)

    def rows(self, most: int | None = None) -> list[FactRow]:
        """All rows in their order, or the first of them."""
        limit = "" if most is None or not self.is_ordered else f" LIMIT {most}"
        order = f" ORDER BY {self.order()}" if self.is_ordered else ""
        found = self.read(self.database.rows(f"SELECT {self.shown} FROM {quote_name(self.name)}{order}{limit}"))
        return found if self.is_ordered else sorted(found, key=lambda row: [*map(sort_key, row)])[:most]

    def order(self, *, last: bool = False) -> str:
        """The order of rows as SQL."""
        names = [self.row_id] if self.row_id else list(map(write_comparable, self.columns))
        return ", ".join(f"{name}{' DESC' * last}" for name in names)

    @property
    def is_ordered(self) -> bool:
        """Whether SQLite has the rows in the order that is theirs."""
        return bool(self.row_id) or all(each.exact for each in self.columns)

    # --- values -----------------------------------------------------------------------------------------

    def read(self, rows: list[Any]) -> list[FactRow]:
        """Rows as SQLite has them, as rules have them; FactsError where a value is of another type.

        What stands behind the columns stays as it is.
        """
        return self._fits(rows, self._convert_row)

    def _compile_reader(self) -> Callable[[list[Any], Callable[[Any], FactRow]], list[FactRow]]:
        kinds = {INT: "int", FLOAT: "float", STR: "str"}
        tests = [
            f"(type(r[{i}]) is {kinds[column.domain]} or r[{i}] is None)"
            if column.domain in kinds
            else f"r[{i}] is None"
            for i, column in enumerate(self.columns)
        ]
        made: Callable[[list[Any], Callable[[Any], FactRow]], list[FactRow]] = eval(
            f"lambda rows, read: [r if {' and '.join(tests) or 'False'} else read(r) for r in rows]"
        )
        return made

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
        raise FactsError(what, where=self.database.path, hint="declare it otherwise, or make a view", reason="type")

    # --- what the database has --------------------------------------------------------------------------

    def _find_table(self, name: str) -> tuple[str, bool]:
        """The table or view of a name, which capital letters do not change; whether it is a view."""
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
        found = []
        for name, domain in self.declared.domains.items():
            if name.lower() not in known:
                hint = did_you_mean(name, (column for column, _ in known.values()), "it has: ")
                what = f"the table '{self.name}' has no column '{name}'"
                raise FactsError(what, where=self.database.path, hint=hint, reason="column")
            column, kind = known[name.lower()]
            affinity = affinity_of(kind)
            if affinity not in type_row(domain).fitting:
                what = f"'{name}' of {self.declared.name} is declared as {SPELLED[domain]}, and its column is {kind}"
                hint = "declare it otherwise, or make a view"
                raise FactsError(what, where=self.database.path, hint=hint, reason="type")
            exact = affinity in type_row(domain).exact and not (domain == FLOAT and self._not_numbers)
            found.append(FactColumn(column, domain, exact and (domain != STR or encoding == "UTF-8")))
        return tuple(found)

    def _row_id(self) -> str:
        if self.view:
            return ""
        rows = self.database.rows(f"PRAGMA table_xinfo({quote_name(self.name)})")
        taken = {row[1].lower() for row in rows}
        for name in ROW_IDS:
            if name not in taken:
                try:
                    self.database.rows(f"SELECT {name} FROM {quote_name(self.name)} LIMIT 0")
                except FactsError:  # WITHOUT ROWID
                    return ""
                return name
        return ""


def store_rows(declared: Declaration, rows: Iterable[FactRow], shown: str) -> FactTable:
    """A table of these rows, in their order, in a database in memory.

    The rows that come out are those that went in. SQLite has no NaN: in its place stands a text that is greater than
    all numbers, as NaN is where facts are ordered.

    Parameters
    ----------
    shown: where they are from.

    Raises
    ------
    OverflowError, UnicodeEncodeError: a whole number has more than 64 bits, or a text is none that can be written.
    """
    memory = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
    kinds = {name: type_row(domain).fitting[0] for name, domain in declared.domains.items()}
    columns = [f"{quote_name(name)} {kind}" for name, kind in kinds.items()] or ["nothing"]
    memory.execute(f"CREATE TABLE {quote_name(declared.name)} ({', '.join(columns)})")
    reals = [i for i, domain in enumerate(declared.domains.values()) if domain == FLOAT]
    found: list[int] = []

    def prepare(row: FactRow) -> Sequence[object]:
        for i in reals:
            if row[i] != row[i]:
                found.append(i)
                row = (*row[:i], NOT_A_NUMBER, *row[i + 1 :])
        return row or (None,)

    memory.execute("BEGIN")
    marks = ", ".join("?" * len(columns))
    memory.executemany(f"INSERT INTO {quote_name(declared.name)} VALUES ({marks})", map(prepare, rows))
    memory.execute("COMMIT")
    return FactTable(declared, FactDatabase(shown, memory=memory), not_numbers=bool(found))


def affinity_of(kind: str) -> str:
    """What SQLite makes of values in a column that is declared so, BLOB being nothing (Datatypes in SQLite, 3.1)."""
    kind = kind.upper()
    for words, found in (
        (("INT",), "INTEGER"), (("CHAR", "CLOB", "TEXT"), "TEXT"), (("BLOB",), "BLOB"),
        (("REAL", "FLOA", "DOUB"), "REAL"),
    ):  # fmt: skip
        if any(word in kind for word in words):
            return found
    return "NUMERIC" if kind else "BLOB"


def quote_name(name: str) -> str:
    """A name in SQL."""
    return '"' + name.replace('"', '""') + '"'


def write_comparable(column: FactColumn) -> str:
    """A column in SQL where values are compared: texts by their characters, whatever the table says."""
    return quote_name(column.name) + (" COLLATE BINARY" if column.domain == STR else "")
