"""The buffers of Arrow columns as arrays of numpy, and columns made of arrays, without copies where none is needed.

The rule of this module: numbers are taken out of the buffers of Arrow and put there. Its own conversions import pandas,
which takes longer than a million rows.
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
"""From so many texts on they are left in their buffers."""


def numbers_to_arrow(domain: Domain, array: Any, there: Any = None, *, quoted: bool = False) -> Any:
    """An Arrow array of the numbers of a domain, which are there where `there` says, or everywhere.

    Parameters
    ----------
    quoted: whether texts are JSON.
    """
    names: Any = list(domain.labels) if isinstance(domain, Enum) else None
    if isinstance(array, TextColumn):
        array, names = array.numbers, array.texts
        if len(names) > len(array):  # those of the whole log
            used, array = np.unique(array, return_inverse=True)
            names = [names[number] for number in used.tolist()]
    if names is not None and quoted:
        names = [dump_json(name) for name in names]
    kind = arrow_type(domain) if names is None else pa.int64()
    data = pack_bits(array) if pa.types.is_boolean(kind) else np.ascontiguousarray(array)
    valid = None if there is None else pa.py_buffer(pack_bits(there))
    column = pa.Array.from_buffers(kind, len(array), [valid, pa.py_buffer(data)])
    return column if names is None else pa.DictionaryArray.from_arrays(column, text_array(names)).cast(pa.string())


def take_rows(column: Any, places: Any) -> Any:
    """The entries of an Arrow array in these places, an array of numbers; itself where these are all in order."""
    if len(places) == len(column) and (places == np.arange(len(column))).all():
        return column
    return column.take(numbers_to_arrow(INT, places))


def numbers_of(column: Any) -> Any:
    """The numbers in an Arrow array; where nothing is stands anything."""
    kind = np.float64 if pa.types.is_floating(column.type) else np.int64
    last = column.offset + len(column)
    return np.frombuffer(column.buffers()[1] or b"", kind, last)[column.offset :] if last else np.empty(0, kind)


def texts_of(column: Any) -> Sequence[Any]:
    """The texts in an Arrow array of them; many are not made before they are asked for, and are empty where null."""
    if len(column) < MANY:
        return column.to_pylist()  # type: ignore[no-any-return]
    _, offsets, letters = column.buffers()
    wide = pa.types.is_large_string(column.type)
    begins = np.frombuffer(offsets, np.int64 if wide else np.int32)[column.offset :][: len(column) + 1]
    return StoredTexts.adjoining(begins, np.frombuffer(letters or b"", np.uint8))


def bytes_column(rows: Any) -> Any:
    """An Arrow array of texts of bytes, all of one length: the rows of a matrix of uint8."""
    count, width = rows.shape
    ends = np.arange(count + 1, dtype=np.int32) * np.int32(width)
    data = pa.py_buffer(np.ascontiguousarray(rows))
    return pa.Array.from_buffers(pa.binary(), count, [None, pa.py_buffer(ends), data])


def big_endian(numbers: Any, width: int) -> Any:
    """Whole numbers from 0 on as a matrix of their last bytes, the greatest first, so that they sort as numbers do."""
    return np.ascontiguousarray(numbers).astype(">u8").view(np.uint8).reshape(-1, 8)[:, 8 - width :]


def bits_of(column: Any, buffer: int) -> Any:
    """The bits in one of the buffers of an Arrow array, as bools."""
    found = np.frombuffer(column.buffers()[buffer] or b"", np.uint8)
    bits = np.unpackbits(found, count=column.offset + len(column), bitorder="little")
    return bits[column.offset :].view(np.bool_)


def pack_bits(flags: Any) -> Any:
    """Bools as bits."""
    return np.packbits(flags, bitorder="little")


def is_text_type(kind: Any) -> bool:
    """Whether an Arrow column of this type has texts, each by itself or from a dictionary."""
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def one_piece(column: Any) -> Any:
    """A column that is an array, and no list of such."""
    return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
