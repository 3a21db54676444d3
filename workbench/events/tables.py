"""Columns of Arrow as steps: a row a step, a null where there is no event.

The rule of this module: columns are taken as a whole where each cell is plainly an event or none; else it is left to
whoever looks at the rows one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, cast

import pyarrow as pa

from workbench.core.domain import ANY, Domain, Reals, Texts, Value
from workbench.core.fields import Tuple
from workbench.events import compute as pc
from workbench.events.arrays import given_array
from workbench.events.buffers import MANY, texts_of
from workbench.events.column_map import ColumnMap, Columns
from workbench.events.columns import as_json, has_array
from workbench.events.text_column import StoredTexts
from workbench.events.values import Words, from_text, padding


def table_steps(
    columns: ColumnMap, column: Callable[[int], Any], *, nulls: bool, pads: bool = False
) -> Iterator[dict[str, Value]] | None:
    """The steps in columns; None where some cell may be no event.

    Parameters
    ----------
    column: gives that at a position.
    nulls: whether rows may go without some events.
    pads: whether an empty field of a record is 0, false or the empty text.
    """
    found = table_lists(columns, column, pads)
    if found is None:
        return None
    names, lists = list(found), list(found.values())
    if len(names) < len(columns.domains) or any(None in each for each in lists):
        return _some(names, lists) if nulls else None
    if len(names) == 1:
        return ({names[0]: value} for value in lists[0])
    if len(names) == 2:
        left, right = names
        return ({left: one, right: other} for one, other in zip(*lists, strict=True))
    return (dict(zip(names, row, strict=True)) for row in zip(*lists, strict=True))


def table_lists(columns: ColumnMap, column: Callable[[int], Any], pads: bool = False) -> dict[str, list[Value]] | None:
    """The events of each input, None where there is none; None as a whole where some cell may be no event."""
    return columns.each_input(lambda places, domain: _events(places, domain, column, pads))


def _some(names: Sequence[str], lists: Sequence[Sequence[Value]]) -> Iterator[dict[str, Value]]:
    for row in zip(*lists, strict=True):
        yield {name: value for name, value in zip(names, row, strict=True) if value is not None}


def _events(places: Columns, domain: Domain, column: Callable[[int], Any], pads: bool) -> list[Value] | None:
    """The events of an input, or the values of a field of one."""
    if isinstance(places, int):
        return _values(whole(column(places)), domain)
    assert places is not None
    assert isinstance(domain, Tuple)
    parts = [_events(each, field, column, pads) for each, field in zip(places, domain.fields, strict=True)]
    if pads:
        parts = _padded(parts, domain)
    lists = [part for part in parts if part is not None and None not in part]
    return list(zip(*lists, strict=True)) if len(lists) == len(parts) else None


def _padded(parts: Sequence[list[Value] | None], domain: Tuple) -> list[list[Value] | None]:
    """The same, where empty fields that have a value are it; not where all fields of some row are empty."""
    fill = [padding(field) for field in domain.fields]
    if any(part is not None and None not in part for part in parts):
        return [
            [zero if value is None else value for value in part] if part and None in part else part
            for part, zero in zip(parts, fill, strict=True)
        ]
    return list(parts)


def _values(column: Any, domain: Domain) -> list[Value] | None:
    """The cells as values of the domain; None where some are none, or are not plain."""
    if isinstance(domain, Words):
        found = given_array(domain, column)
        return None if found is None else cast("list[Value]", found.events.to_pylist())
    text = isinstance(domain, Texts) and _is_text(column.type)
    if not text and not (has_array(domain) and given_array(domain, column) is not None):
        return None
    if not pa.types.is_dictionary(column.type):
        return cast("list[Value]", column.to_pylist())
    known = column.dictionary.to_pylist()  # Arrow itself looks up one after the other
    return [None if place is None else known[place] for place in column.indices.to_pylist()]


def whole(column: Any) -> Any:
    """A column in one piece."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column


def _is_text(kind: Any) -> bool:
    return bool(pa.types.is_string(kind) or (pa.types.is_dictionary(kind) and pa.types.is_string(kind.value_type)))


def table_rows(table: Any, domains: Mapping[str, Domain]) -> Iterator[dict[str, Value]]:
    """What is in the rows of a table of outputs, the values of JSON texts among it."""
    lists = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        domain, values = domains[name], column.to_pylist()
        if as_json(domain) or is_texts_of_numbers(domain, column):
            held = domain if as_json(domain) else ANY
            known = {text: from_text(text, held) for text in set(values) - {None}}
            values = [known.get(text) for text in values]
        lists.append(values)
    return _some(table.column_names, lists)


def is_texts_of_numbers(domain: Domain, column: Any) -> bool:
    """Whether a column of floats has their texts, some of which are whole numbers."""
    return isinstance(domain, Reals) and pa.types.is_string(column.type)


ODD_FLOAT = r"^\s*([+-]?inf|nan)\s*$"
"""What cells are infinite or no number: Arrow also takes others for it."""


def odd_floats(table: Any) -> list[str]:
    """The columns in which something is infinite or no number."""
    floats = (name for name in table.column_names if pa.types.is_floating(table[name].type))
    return [name for name in floats if not pc.all(pc.is_finite(table[name]), min_count=0).as_py()]


def are_spelt(table: Any, texts: Any) -> bool:
    """Whether floats that are infinite or no numbers stand there as such, given the texts of their columns."""
    for name, column in zip(texts.column_names, texts.columns, strict=True):
        odd = column.filter(pc.invert(pc.is_finite(table[name])))
        if not pc.all(pc.match_substring_regex(odd, ODD_FLOAT), min_count=0).as_py():
            return False
    return True


def blank(table: Any) -> bool:
    """Whether some text is nothing but space, which is no event where cells are texts."""
    columns = [whole(column) for column in table.columns if _is_text(column.type)]
    told = [column.dictionary if pa.types.is_dictionary(column.type) else column for column in columns]
    return any(_some_blank(texts_of(column)) for column in told)


def _some_blank(texts: Sequence[str | None]) -> bool:
    some = texts.perhaps_blank() if isinstance(texts, StoredTexts) else texts
    return any(text is not None and not text.strip() for text in some)


def many_texts(column: Any) -> bool:
    """Whether the texts of a column of a dictionary occur less than four times on average."""
    column = whole(column)
    return len(column) >= MANY and 4 * len(column.dictionary) > len(column) - column.null_count
