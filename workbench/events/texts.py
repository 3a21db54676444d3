"""Columns of Arrow as texts, written as Python writes their values one by one.

The rule of this module: texts that Arrow spells otherwise than Python does are Python's; where a text needs more than
to be put beside others, rows have to be written.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from workbench.events.values import dump_json

PLAIN = (1e-3, 1e9)
"""Floats between these have their digits, in which both agree, without an exponent."""
BLANK = r"^[\s\x0b\x1c-\x1f]*$"


def float_texts(column: Any) -> Any:
    """Floats as `repr` writes them."""
    least, most = PLAIN
    size = pc.abs(column)
    plain = pc.or_(pc.and_(pc.greater_equal(size, least), pc.less(size, most)), pc.equal(size, 0.0))
    texts = column.cast(pa.string())
    whole = pc.invert(pc.match_substring(texts, "."))
    texts = pc.if_else(whole, pc.binary_join_element_wise(texts, ".0", ""), texts)
    if pc.all(plain, min_count=0).as_py():
        return texts
    odd = pc.fill_null(pc.invert(plain), False)
    return pc.replace_with_mask(texts, odd, pa.array(map(repr, column.filter(odd).to_pylist()), pa.string()))


def cell_texts(column: Any, between: str) -> Any:
    """What a column shows in cells with something between them; None where some cell would need quotation marks."""
    if pa.types.is_floating(column.type):
        return float_texts(column)
    if pa.types.is_string(column.type):
        odd = pc.match_substring_regex(column, f'["\\r\\n{between}]|{BLANK}')
        return None if pc.any(odd).as_py() or pc.any(pc.utf8_is_space(column)).as_py() else column
    return column


def json_lines(table: Any) -> Any:
    """A line of JSON for each row; None where some are not plain."""
    pieces: list[Any] = []
    for name, column in zip(table.column_names, table.itercolumns(), strict=True):
        values = _json(column.combine_chunks())
        if values is None or column.null_count:
            return None
        pieces += [_constant(f"{', ' if pieces else '{'}{dump_json(name)}: "), values]
    return pc.binary_join_element_wise(*pieces, _constant("}\n"), _constant(""))


def _constant(text: str) -> Any:
    """A text for all rows; `pyarrow.scalar` imports pandas."""
    data = text.encode()
    places = (0).to_bytes(4, "little") + len(data).to_bytes(4, "little")
    return pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(places), pa.py_buffer(data)])[0]


def _json(column: Any) -> Any:
    if pa.types.is_floating(column.type):
        return float_texts(column) if pc.all(pc.is_finite(column)).as_py() else None
    if not pa.types.is_string(column.type):
        return column.cast(pa.string())
    if pc.any(pc.match_substring_regex(column, r'["\\\x00-\x1f]')).as_py():
        return None
    return pc.binary_join_element_wise('"', column, '"', "")


def written(texts: Any) -> memoryview:
    """All texts of a column without nulls, one after the other."""
    _, places, data = texts.buffers()
    first, last = memoryview(places).cast("i")[texts.offset], memoryview(places).cast("i")[texts.offset + len(texts)]
    return memoryview(data)[first:last]
