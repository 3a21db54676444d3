"""Tables of Arrow as events: a column an input, a row a step, a null where there is none.

The rule of this module: a table is taken as a whole where each cell is plainly an event or none; else it is left to
whoever looks at its rows one by one.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, cast

import pyarrow as pa

from workbench.core.domain import Domain, Texts, Value
from workbench.events.arrays import EventArray, given_array


def given_arrays(table: Any, domains: Mapping[str, Domain]) -> dict[str, EventArray] | None:
    """The columns as compiled code takes them; None where some cell may be no event."""
    found = {name: given_array(domain, _chunk(table[name])) for name, domain in domains.items()}
    return None if None in found.values() else cast("dict[str, EventArray]", found)


def table_steps(table: Any, domains: Mapping[str, Domain]) -> Iterator[dict[str, Value]] | None:
    """The rows as steps; None where some cell may be no event."""
    columns = []
    for name, domain in domains.items():
        column = _chunk(table[name])
        if given_array(domain, column) is None and not (isinstance(domain, Texts) and _is_text(column.type)):
            return None
        columns.append(_values(column))
    names = list(domains)
    if any(table[name].null_count for name in names):
        return (
            {name: value for name, value in zip(names, row, strict=True) if value is not None}
            for row in zip(*columns, strict=True)
        )
    if len(names) == 1:
        return ({names[0]: value} for value in columns[0])
    if len(names) == 2:
        left, right = names
        return ({left: one, right: other} for one, other in zip(*columns, strict=True))
    return (dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True))


def _chunk(column: Any) -> Any:
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or (pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)))


def _values(column: Any) -> list[Value]:
    """The cells as Python values; Arrow itself looks up one after the other."""
    if not pa.types.is_dictionary(column.type):
        return cast("list[Value]", column.to_pylist())
    known = column.dictionary.to_pylist()
    return [None if place is None else known[place] for place in column.indices.to_pylist()]


def blank(table: Any) -> bool:
    """Whether some text is nothing but space, which is no event where cells are texts."""
    texts = (_chunk(column).dictionary for column in table.columns if pa.types.is_dictionary(column.type))
    return any(not text.strip() for each in texts for text in each.to_pylist())
