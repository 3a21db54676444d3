"""Rows of facts in a database in memory: where they are too many, or are found by more than equations.

The rule of this module: the rows that come out are those that went in. SQLite has no NaN: in its place stands a text
that is greater than all numbers, as NaN is where facts are ordered.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

from workbench.core.domain import FLOAT
from workbench.core.types import type_row
from workbench.tesla.declared import Declaration
from workbench.tesla.engines.facts.database import FactDatabase
from workbench.tesla.engines.facts.table import NOT_A_NUMBER, FactRow, FactTable, quote_name


def store_rows(declared: Declaration, rows: Iterable[FactRow], shown: str) -> FactTable:
    """A table of these rows, in their order.

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
