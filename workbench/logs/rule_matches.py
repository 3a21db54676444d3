"""Matches of rules as tables: what is written of them, and what Python gets."""

from __future__ import annotations

from typing import Any

from workbench.core.domain import INT, STR
from workbench.tesla.match_columns import RULE, MatchColumns


def match_table(matches: MatchColumns) -> Any:
    """An Arrow table: the rule, then the columns of `MatchColumns.shown`, null where a match has no such event."""
    import pyarrow as pa

    from workbench.events.buffers import shown_column
    from workbench.events.text_column import TextColumn

    columns = {RULE: shown_column(STR, TextColumn(matches.rules.astype("i8"), matches.names))}
    for name, column in matches.shown().items():
        there = column != 0
        columns[name] = shown_column(INT, column, None if there.all() else there)
    return pa.table(list(columns.values()), list(columns))
