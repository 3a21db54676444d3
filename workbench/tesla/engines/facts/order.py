"""The order of facts: the one that is written, ties and all else as the rows stand.

Source: thesis, 3.3.2 (`order by`, ties by label).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from workbench.core.domain import sort_key
from workbench.tesla import tree as t


def sort_facts(part: t.Predicate | t.Aggregate, declared: t.Declaration, rows: Sequence[Any]) -> Sequence[Any]:
    """Rows in the order that is written, those that are equal in it as they stand."""
    found = list(rows)
    for each in reversed(part.ordering):
        at = declared.positions[each.name]
        found.sort(key=lambda row, at=at: sort_key(row[at]), reverse=each.descending)  # type: ignore[misc]
    return found
