"""Facts that engines do not keep in memory, and the question whether there are such."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.tesla.occurrence import Facts

if TYPE_CHECKING:
    from workbench.tesla.engines.facts.tables import FactTables


def fact_tables(facts: Facts) -> FactTables | None:
    """The facts as tables, where some may be in databases; None: all are rows in memory."""
    if type(facts) is dict or not facts:  # most rules have none: they do not wait for SQLite
        return None
    from workbench.tesla.engines.facts.tables import FactTables

    return facts if isinstance(facts, FactTables) else None


def changing_tables(facts: Facts) -> FactTables | None:
    """The same where some are in databases that may change; None: none can."""
    tables = fact_tables(facts)
    return tables if tables is not None and tables.changing else None
