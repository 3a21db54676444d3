"""Columns of Arrow as texts, formatted as Python formats their values one by one.

The rule of this module: where Arrow and Python format a value differently, Python's text is used; where texts cannot
simply be joined, rows have to be written one by one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

import pyarrow as pa

from workbench.core.domain import Domain
from workbench.core.fields import Record, Tuple
from workbench.events import compute as pc
from workbench.events.columns import is_plain_type, text_array
from workbench.events.values import dump_json

PLAIN = (1e-3, 1e9)
"""The range of floats that Arrow and Python format alike, without an exponent."""
BLANK = r"^[\s\x0b\x1c-\x1f]*$"


def float_texts(column: Any) -> Any:
    """Format floats as `repr` does."""
    least, limit = PLAIN
    size = pc.abs(column)
    plain = pc.or_(pc.and_(pc.greater_equal(size, least), pc.less(size, limit)), pc.equal(size, 0.0))
    texts = column.cast(pa.string())
    whole = pc.invert(pc.match_substring(texts, "."))
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if pc.all(plain, min_count=0).as_py():
        return texts
    odd = pc.fill_null(pc.invert(plain), False)
    return pc.replace_with_mask(texts, odd, text_array(map(repr, column.filter(odd).to_pylist())))


def cell_texts(column: Any, between: str, decimal: str = ".") -> Any:
    """Format the cells of a column with a decimal mark, quoted where a delimiter requires it.

    None where some cell must be written singly.
    """
    if not is_plain_type(column.type):
        return None
    if pa.types.is_floating(column.type):
        texts = float_texts(column)
        return texts if decimal == "." else pc.replace_substring(texts, ".", decimal)
    if not pa.types.is_string(column.type):
        return column
    letters = Letters(column)
    if letters.spaced and (
        pc.any(pc.match_substring_regex(column, rf"\r|{BLANK}")).as_py() or pc.any(pc.utf8_is_space(column)).as_py()
    ):
        return None
    if not letters.holds('"', "\n", between):
        return column
    special = pc.match_substring_regex(column, f'["\\n{re.escape(between)}]')
    quoted = pc.binary_join_element_wise(MARK, pc.replace_substring(column, '"', '""'), MARK, constant(""))
    return pc.if_else(special, quoted, column)


class Letters:
    """All bytes of a column of texts: scanning them together is faster than scanning each text."""

    def __init__(self, column: Any) -> None:
        import numpy as np

        self._bytes = bytes(join_texts(column))
        least = np.frombuffer(self._bytes, np.uint8).min(initial=255)
        self.controls = bool(least < ord(" "))
        """Whether the texts contain a control character of ASCII."""
        shortest = pc.min_max(pc.binary_length(column))["min"].as_py()
        self.spaced = bool(least <= ord(" ")) or shortest == 0 or not self._bytes.isascii()
        """Whether a text may be blank."""

    def holds(self, *letters: str) -> bool:
        """Whether the texts contain one of these."""
        return any(each.encode() in self._bytes for each in letters)


def is_quoted(texts: Any, column: Any) -> bool:
    """Whether some of the cells of a column have been quoted."""
    return pa.types.is_string(column.type) and texts is not column


def line_texts(columns: Sequence[Any], between: str) -> Any:
    """Join such cells to a line for each row; a null is an empty cell."""
    texts = [column.cast(pa.string()) for column in columns]
    cells = pc.binary_join_element_wise(*texts, constant(between), null_handling="replace", null_replacement="")
    return pc.binary_join_element_wise(cells, constant("\n"), constant(""))


def json_lines(table: Any, ready: Collection[str] = ()) -> Any:
    """Return a line of JSON for each row; None where some are not plain.

    Parameters
    ----------
    ready: the columns that have JSON texts already.
    """
    items: list[Any] = []
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        values = column.combine_chunks()
        values = values if name in ready else _json(values)
        if values is None:
            return None
        items += [[constant(f"{dump_json(name)}: "), values]]
    last = [constant("}\n"), constant("")]
    if not any(column.null_count for column in table.columns):
        between = [piece for item in items for piece in (constant(", "), *item)][1:]
        return pc.binary_join_element_wise(constant("{"), *between, *last)
    some = (pc.binary_join_element_wise(constant(", "), *item, constant("")) for item in items)
    inside = pc.binary_join_element_wise(*some, constant(""), null_handling="replace", null_replacement="")
    return pc.binary_join_element_wise(constant("{"), pc.utf8_slice_codeunits(inside, len(", ")), *last)


def constant(text: str) -> Any:
    """Return an Arrow scalar of a text; `pyarrow.scalar` would import pandas."""
    data = text.encode()
    offsets = (0).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(offsets), pa.py_buffer(data)])[0]


def _json(column: Any) -> Any:
    """Format the cells as JSON; None if some text needs an escape, or a cell must be written singly."""
    if not is_plain_type(column.type):
        return None
    if pa.types.is_floating(column.type):
        return pc.if_else(pc.is_finite(column), float_texts(column), constant("null"))
    if not pa.types.is_string(column.type):
        return column.cast(pa.string())
    letters = Letters(column)
    if letters.controls or letters.holds('"', "\\"):
        return None
    return pc.binary_join_element_wise(MARK, column, MARK, constant(""))


def holds_text(column: Any, text: str) -> bool:
    """Whether some text of a column contains this text."""
    return bool(pc.any(pc.match_substring(column, text)).as_py())


MARK = constant('"')


def join_texts(texts: Any) -> memoryview:
    """Return the bytes of all texts of a column, joined."""
    _, offsets, data = texts.buffers()
    first, last = memoryview(offsets).cast("i")[texts.offset], memoryview(offsets).cast("i")[texts.offset + len(texts)]
    return memoryview(data or b"")[first:last]


def tuple_texts(domain: Tuple, fields: Iterator[Any]) -> Any:
    """Format tuples as JSON; null where the fields are.

    Parameters
    ----------
    fields: a column for each scalar in the tuple, in their order; texts are JSON already.
    """
    pieces: list[Any] = []
    for piece in _tuple_pieces(domain, fields):
        if isinstance(piece, str) and pieces and isinstance(pieces[-1], str):
            pieces[-1] += piece
        else:
            pieces.append(piece)
    return pc.binary_join_element_wise(*(constant(p) if isinstance(p, str) else p for p in pieces), constant(""))


def _tuple_pieces(domain: Domain, fields: Iterator[Any]) -> Iterator[Any]:
    if not isinstance(domain, Tuple):
        yield _json_numbers(next(fields))  # texts are JSON already
        return
    names = [f"{dump_json(label)}: " for label in domain.labels] if isinstance(domain, Record) else None
    yield "{" if names else "["
    for i, field in enumerate(domain.fields):
        yield (", " if i else "") + (names[i] if names else "")
        yield from _tuple_pieces(field, fields)
    yield "}" if names else "]"


def _json_numbers(column: Any) -> Any:
    """Format numbers and truth values as JSON; texts stay as they are."""
    if not pa.types.is_floating(column.type):
        return column.cast(pa.string())
    texts, odd = float_texts(column), pc.invert(pc.is_finite(column))
    if not pc.any(odd).as_py():
        return texts
    odd = pc.fill_null(odd, False)
    return pc.replace_with_mask(texts, odd, text_array(map(dump_json, column.filter(odd).to_pylist())))
