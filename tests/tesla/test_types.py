"""What a row says of a type, held to those of whom it says it."""

import sqlite3

import numpy as np
import pytest

from workbench.conformance.generate.rule_cases import VALUES
from workbench.core.domain import ANY, FLOAT, INT, STR, Range
from workbench.core.types import LITERALS, TYPES, type_row
from workbench.errors import TypingError
from workbench.tesla import tree as t
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.facts.table import affinity_of


@pytest.mark.parametrize("row", TYPES, ids=lambda row: row.names[0])
def test_names_and_literals(row):
    for name in row.names:
        made = parse_rules(f"declare A(x: {name}) declare B(x: {name}) from A emit B(x = A.x)")
        assert made.declarations["A"].domains == {"x": row.domain}
        assert str(made.declarations["A"]) == f"declare A(x: {row.names[0]})"
    assert type(row.domain.default) is row.python
    assert LITERALS[row.python] == row.domain
    assert isinstance(row.domain, row.carried)


@pytest.mark.parametrize("row", TYPES, ids=lambda row: row.names[0])
def test_a_column_of_numpy_holds_its_values(row):
    """Whole numbers of 64 bits, and texts as their numbers."""
    numbers = (
        [1, 0, -(2**63), 2**63 - 1] if row.domain in (INT, STR) else [v for v in VALUES[row.domain] if v is not None]
    )
    assert list(map(repr, np.array(numbers, row.column).tolist())) == list(map(repr, numbers))


@pytest.mark.parametrize("row", TYPES, ids=lambda row: row.names[0])
def test_a_column_of_sqlite_holds_its_values(row):
    """In each column that fits; where it is exact, SQLite compares as Python does. NaN is none of SQLite's values."""
    words = {"REAL": "REAL", "INTEGER": "INT", "NUMERIC": "DATE", "TEXT": "VARCHAR", "BLOB": ""}
    values = [v for v in VALUES[row.domain] if v is not None and v == v and (row.domain != INT or abs(v) < 2**63)]
    for affinity in row.fitting:
        assert affinity_of(words[affinity]) == affinity
        with sqlite3.connect(":memory:") as database:
            database.execute(f"CREATE TABLE f (x {words[affinity]})")
            database.executemany("INSERT INTO f VALUES (?)", [(each,) for each in values])
            assert [v for (v,) in database.execute("SELECT x FROM f ORDER BY rowid")] == values
            if affinity in row.exact:
                for each in values:
                    less = [v for (v,) in database.execute("SELECT x FROM f WHERE x < ? ORDER BY rowid", (each,))]
                    assert less == [v for v in values if v < each]
    assert set(row.exact) <= set(row.fitting)


def test_a_type_without_a_row_is_an_error():
    for domain in (ANY, Range(0, 3)):
        with pytest.raises(TypingError, match="no attribute has the type"):
            type_row(domain)
    assert type_row(FLOAT).names[0] == t.SPELLED[FLOAT] == "float"
