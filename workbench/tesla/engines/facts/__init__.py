"""Facts that engines do not keep in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tesla.occurrence import Facts

if TYPE_CHECKING:
    from workbench.tesla.engines.facts.tables import FactTables


def fact_tables(facts: Facts) -> FactTables | None:
    """Return facts as tables, some of which may be in databases; None if all are rows in memory."""
    if type(facts) is dict or not facts:  # most rules have none, and need not import SQLite
        return None
    from workbench.tesla.engines.facts.tables import FactTables

    return facts if isinstance(facts, FactTables) else None


def changing_tables(facts: Facts) -> FactTables | None:
    """Return facts as tables if some are in databases that may change; None otherwise."""
    tables = fact_tables(facts)
    return tables if tables is not None and tables.changing else None
