"""Decode Arrow columns of a log to the arrays of compiled code.

The rule of this module: a column is decoded as a whole or left to readers of single rows; numbers are not copied.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.core.domain import INT, STR, Domain, Enum, Integer, Range, Reals, Texts
from workbench.core.fields import Record, Tuple
from workbench.events import compute as pc
from workbench.events.batch import EventArray
from workbench.events.buffers import bits_of, is_text_type, numbers_of, texts_of
from workbench.events.clock import Times
from workbench.events.columns import arrays_of, arrow_type, is_plain_type
from workbench.events.text_column import StoredTexts, TextColumn
from workbench.events.times import times_in
from workbench.events.values import CopiedCells, KeyTexts, UnreadableError, from_text


def decode_column(domain: Domain, column: Any, *, stored: bool = False) -> EventArray | None:
    """Decode an Arrow column for compiled code; None if some cell may be no event of the domain, or is not plain.

    Parameters
    ----------
    domain: one with `has_array`, or a tuple of such.
    column: of any type.
    stored: whether its floats were stored as numbers. Otherwise they were read from texts, and Arrow accepts more
        spellings of infinity and NaN than we do. Stored floats may be whole numbers, or of half the width.
    """
    if isinstance(domain, Tuple):
        read = _decode_structs if pa.types.is_struct(column.type) else _decode_json
        return read(domain, column, stored)
    if isinstance(domain, KeyTexts):
        column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if not _tells_apart(column.type):
            return None
        texts = column if pa.types.is_string(column.type) else column.cast(pa.string())
        return EventArray(texts, None if column.null_count == 0 else bits_of(column.is_valid(), 1))
    if isinstance(domain, Times):
        return _decode_times(domain, column)
    if isinstance(domain, CopiedCells):
        return _decode_cells(domain, column)
    labels: Sequence[Any] = []
    if named := isinstance(domain, Enum | Texts):
        if not is_text_type(column.type):
            return None
        column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
        labels, without, column = texts_of(column.dictionary), column.dictionary.null_count == 0, column.indices
        if not (set(labels) <= set(domain.labels) if isinstance(domain, Enum) else without):
            return None
    target_type = pa.int64() if named else arrow_type(domain)
    if (
        pa.types.is_integer(column.type)
        and pa.types.is_int64(target_type)
        and column.type not in (pa.uint64(), target_type)
    ):
        column = column.cast(target_type)
    if (
        stored
        and pa.types.is_float64(target_type)
        and (pa.types.is_integer(column.type) or pa.types.is_float32(column.type))
    ):
        try:
            column = column.cast(target_type)
        except pa.ArrowInvalid:  # some numbers are not floats
            return None
    if column.type != target_type:
        return None
    present = None if column.null_count == 0 else bits_of(column, 0)
    array = bits_of(column, 1) if pa.types.is_boolean(target_type) else numbers_of(column)
    if present is not None:
        array = np.where(present, array, array.dtype.type(0))  # the value of a null is arbitrary
    if isinstance(domain, Texts):
        return EventArray(TextColumn(array, labels or [""]), present)
    if isinstance(domain, Enum):
        array = np.array([domain.labels.index(label) for label in labels] or [0], np.int64)[array]
    if isinstance(domain, Reals):
        return EventArray(array, present) if stored or np.isfinite(array).all() else None
    if isinstance(domain, Integer | Range) and column.null_count < len(column):
        least, greatest = pc.min_max(column).values()
        if not (domain.lo <= least.as_py() and greatest.as_py() <= domain.hi):
            return None
    return EventArray(array, present)


def decode_nulls(domain: Domain, rows: int) -> EventArray:
    """Return the events of an input of which no row has one; the domain has `has_arrays`."""
    events = decode_column(domain, pa.nulls(rows, arrow_type(domain)))
    assert events is not None, "a null is plain in every type"
    return events


def decode_texts(column: Any) -> EventArray | None:
    """Decode a column of texts for compiled code without comparing them; a short column as `decode_column` does."""
    texts = texts_of(column)
    if not isinstance(texts, StoredTexts):
        return decode_column(STR, column)
    return EventArray(TextColumn.each(texts), None if column.null_count == 0 else bits_of(column.is_valid(), 1))


def _tells_apart(kind: Any) -> bool:
    """Whether values of this type are distinguished here exactly as they are in rows."""
    text = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    return bool(text or pa.types.is_boolean(kind) or pa.types.is_integer(kind))


def _decode_cells(domain: CopiedCells, column: Any) -> EventArray | None:
    """Return cells as they are; None where one may be refused, or differ in type from the others of its column."""
    column = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
    column = column.cast(pa.string()) if is_text_type(column.type) else column
    if column.type != domain.kind if domain.kind is not None else not is_plain_type(column.type):
        return None
    if pa.types.is_binary(column.type) or pa.types.is_duration(column.type):
        return None
    return EventArray(column, None if column.null_count == 0 else bits_of(column.is_valid(), 1))


def _decode_times(domain: Times, column: Any) -> EventArray | None:
    present = None if column.null_count == 0 else bits_of(column.is_valid(), 1)
    times = times_in(column if present is None else column.drop_null(), domain.clock)
    if times is None or present is None:
        return None if times is None else EventArray(times, None)
    spread: Any = np.zeros(len(present), np.int64)
    spread[present] = times
    return EventArray(spread, present)


def _decode_structs(domain: Tuple, column: Any, stored: bool) -> EventArray | None:
    """Decode the fields of a record from a column of structs, which may have more; None where some are missing."""
    names = [column.type.field(i).name for i in range(column.type.num_fields)]
    if not isinstance(domain, Record) or any(names.count(label) != 1 for label in domain.labels):
        return None
    present = None if column.null_count == 0 else bits_of(column.is_valid(), 1)
    inside = dict(zip(names, column.flatten(), strict=True))  # the fields are null where the struct is
    parts = []
    for label, field in zip(domain.labels, domain.fields, strict=True):
        part = decode_column(field, inside[label], stored=stored)
        if part is None or (part.present is not None and (present is None or not part.present[present].all())):
            return None
        parts.append(part.events)
    return EventArray(tuple(parts), present)


def _decode_json(domain: Tuple, column: Any, stored: bool) -> EventArray | None:
    """Decode the fields of tuples that are JSON text in cells; each text is read once."""
    del stored
    if not is_text_type(column.type):
        return None
    column = column if pa.types.is_dictionary(column.type) else column.dictionary_encode()
    numbers = decode_column(INT, column.indices)
    arrays = _of_texts(domain, column.dictionary)
    if arrays is None or numbers is None:
        return None
    return EventArray(tuple(array[numbers.events] for array in arrays), numbers.present)


def _of_texts(domain: Tuple, texts: Any) -> list[Any] | None:
    """Return an array for each scalar field of tuples that are JSON texts, with at least one entry."""
    try:
        known = [from_text(text, domain) for text in texts.to_pylist()]
    except (UnreadableError, AttributeError):
        return None
    return arrays_of(domain, known or [domain.default])
