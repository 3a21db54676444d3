"""Convert between the buffers of Arrow columns and numpy arrays, without copies where none is needed.

The rule of this module: numbers are read from and put into the buffers of Arrow directly. Arrow's conversions import
pandas, which takes longer than a million rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa

from workbench.core.domain import INT, Domain, Enum
from workbench.events.columns import arrow_type, text_array
from workbench.events.text_column import StoredTexts, TextColumn
from workbench.events.values import dump_json

MANY = 1000
"""Minimum number of texts that are left in their buffers."""


def numbers_to_arrow(domain: Domain, array: Any, there: Any = None, *, quoted: bool = False) -> Any:
    """Return an Arrow array of the numbers of a domain; `there` is a mask of valid ones, None if all are.

    Parameters
    ----------
    quoted: whether texts are written as JSON.
    """
    names: Any = list(domain.labels) if isinstance(domain, Enum) else None
    if isinstance(array, TextColumn):
        array, names = array.numbers, array.texts
        if len(names) > len(array):  # the texts are those of the whole log
            used, array = np.unique(array, return_inverse=True)
            names = [names[number] for number in used.tolist()]
    if names is not None and quoted:
        names = [dump_json(name) for name in names]
    kind = arrow_type(domain) if names is None else pa.int64()
    data = pack_bits(array) if pa.types.is_boolean(kind) else np.ascontiguousarray(array)
    valid = None if there is None else pa.py_buffer(pack_bits(there))
    column = pa.Array.from_buffers(kind, len(array), [valid, pa.py_buffer(data)])
    return column if names is None else pa.DictionaryArray.from_arrays(column, text_array(names)).cast(pa.string())


def take_rows(column: Any, indices: Any) -> Any:
    """Return the entries of an Arrow array at these indices; the array itself if they are all in order."""
    if len(indices) == len(column) and (indices == np.arange(len(column))).all():
        return column
    return column.take(numbers_to_arrow(INT, indices))


def numbers_of(column: Any) -> Any:
    """Return the numbers in an Arrow array; the value of a null is arbitrary."""
    kind = np.float64 if pa.types.is_floating(column.type) else np.int64
    last = column.offset + len(column)
    return np.frombuffer(column.buffers()[1] or b"", kind, last)[column.offset :] if last else np.empty(0, kind)


def texts_of(column: Any) -> Sequence[Any]:
    """Return the texts in an Arrow array; many are decoded on access, with the empty text for null."""
    if len(column) < MANY:
        return column.to_pylist()  # type: ignore[no-any-return]
    _, offsets, letters = column.buffers()
    wide = pa.types.is_large_string(column.type)
    begins = np.frombuffer(offsets, np.int64 if wide else np.int32)[column.offset :][: len(column) + 1]
    return StoredTexts.adjoining(begins, np.frombuffer(letters or b"", np.uint8))


def bytes_column(rows: Any) -> Any:
    """Return an Arrow array of byte strings of equal length: the rows of a matrix of uint8."""
    count, width = rows.shape
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    data = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), data])


def big_endian(numbers: Any, width: int) -> Any:
    """Return the last bytes of whole numbers from 0 on, most significant first, so that they sort as the numbers do."""
    return np.ascontiguousarray(numbers).astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :]


def bits_of(column: Any, buffer: int) -> Any:
    """Return the bits in one of the buffers of an Arrow array, as bools."""
    octets = np.frombuffer(column.buffers()[buffer] or b"", np.uint8)
    bits = np.unpackbits(octets, count=column.offset + len(column), bitorder="little")
    return bits[column.offset :].view(np.bool_)


def pack_bits(flags: Any) -> Any:
    """Pack bools into bits."""
    return np.packbits(flags, bitorder="little")


def is_text_type(kind: Any) -> bool:
    """Whether an Arrow column of this type has texts, plain or with a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def one_piece(column: Any) -> Any:
    """Return a column as one array, not as a list of arrays."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
