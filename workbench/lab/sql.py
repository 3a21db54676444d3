"""Pieces of SQL in the dialect that DuckDB and Spark (with `CONFIGURATION`) share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from workbench.lab.region import Scalar

CONFIGURATION = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.ansi.doubleQuotedIdentifiers": "true",
    "spark.sql.parser.escapedStringLiterals": "true",
}
"""Spark settings for names in double quotes and plain backslashes."""


def name(text: str) -> str:
    """Quote the name of a column or a view."""
    return '"' + text.replace('"', '""') + '"'


def literal(value: Scalar) -> str:
    """Return a constant as SQL."""
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, float):
        return f"CAST('{value!r}' AS DOUBLE)"  # a plain 0.1 would be a decimal number
    if isinstance(value, int):
        return repr(value)
    return "'" + value.replace("'", "''") + "'"


def condition(choices: Mapping[str, Scalar | Iterable[Scalar]]) -> str:
    """Return the condition that columns have one of the given values; TRUE without columns."""
    parts = []
    for column, choice in choices.items():
        values = [choice] if isinstance(choice, Scalar) else list(choice)
        parts.append(f"{name(column)} IN ({', '.join(map(literal, values))})")
    return " AND ".join(parts) or "TRUE"
