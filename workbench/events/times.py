"""Convert times of rows to and from columns of Arrow.

The rule of this module: a column has the times that `Clock.read` returns for its cells, or None: cells that are not
plainly times, or of different kinds, are left to readers of single rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from workbench.core.domain import BOOL, FLOAT, INT
from workbench.events import compute as pc
from workbench.events.buffers import is_text_type, numbers_of, numbers_to_arrow
from workbench.events.clock import FIRST, LAST, NUMBER, Clock
from workbench.events.columns import text_array
from workbench.events.date_formats import AUTO, UntimedError
from workbench.events.texts import constant, float_texts, join_texts

SHORTEST = 1 << 52
"""The bound below which a float of milliseconds or microseconds has the decimal as its shortest text."""
MILLIONTHS = 10**6


def times_in(column: Any, clock: Clock) -> Any:
    """Return the times in a column without nulls as an array of int64; None where rows must be read singly."""
    if not len(column):
        return np.empty(0, np.int64)
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if clock.format != AUTO and not pa.types.is_timestamp(column.type):
        return _one_by_one(column, clock)
    try:
        kind, times = _times(column, clock)
    except pa.ArrowInvalid:
        return _one_by_one(column, clock)
    if times is None or clock.dates not in (None, kind):
        return None
    if clock.dates is None:
        clock.begin(kind, int(times[0]))
    return times


def _times(column: Any, clock: Clock) -> tuple[str, Any]:
    """Return the kind of times, as in `Clock.dates`, and the times."""
    column_type = column.type
    if pa.types.is_integer(column_type):
        return "", _scale_numbers(numbers_of(column.cast(pa.int64())), clock.scale)
    if pa.types.is_floating(column_type):
        return "", _of_floats(numbers_of(column.cast(pa.float64())), clock.scale)
    if pa.types.is_timestamp(column_type):
        return "aware" if column_type.tz else "naive", _of_dates(column.cast(pa.timestamp("us", column_type.tz)))
    if not (pa.types.is_string(column_type) or pa.types.is_large_string(column_type)):
        return "", None
    column = column.cast(pa.string())
    if NUMBER.fullmatch(column[0].as_py().strip()):
        if bytes(join_texts(column)).translate(None, b"-0123456789"):  # Arrow also accepts hexadecimal numbers
            return "", _of_decimals(column.cast(pa.decimal128(38, 6)), clock.scale)
        return "", _scale_numbers(numbers_of(column.cast(pa.int64())), clock.scale)
    try:
        return "naive", _of_dates(column.cast(pa.timestamp("us")))
    except pa.ArrowInvalid:
        return "aware", _of_dates(column.cast(pa.timestamp("us", "UTC")))


def _one_by_one(column: Any, clock: Clock) -> Any:
    """Return the times in a column of texts in other forms than Arrow's; None if one is not a time of 64 bits."""
    if not is_text_type(column.type) or clock.year is not None:  # the rows before a date determine its year
        return None
    try:
        return np.fromiter(map(clock.read, column.to_pylist()), np.int64, len(column))
    except (UntimedError, OverflowError):
        return None


def _of_dates(column: Any) -> Any:
    times = numbers_of(column)
    return times if times.min() >= FIRST and times.max() <= LAST else None


def _scale_numbers(numbers: Any, scale: int) -> Any:
    """Multiply numbers by a scale; None if the products are too large."""
    limit = (2**63 - 1) // scale
    if scale == 1:
        return numbers
    return numbers * scale if -limit <= numbers.min() and numbers.max() <= limit else None


def _of_floats(numbers: Any, scale: int) -> Any:
    if scale not in (1, 1000, MILLIONTHS):
        return None
    with np.errstate(invalid="ignore", over="ignore"):
        times = np.rint(numbers * scale)
        exact = (np.abs(times) < SHORTEST) & (times / scale == numbers)
    return times.astype(np.int64) if exact.all() else None


def _of_decimals(column: Any, scale: int) -> Any:
    """Return the times of decimals with six digits after the point."""
    words = np.frombuffer(column.buffers()[1], np.int64).reshape(-1, 2)[column.offset :][: len(column)]
    millionths = words[:, 0]
    if (words[:, 1] != millionths >> 63).any():
        return None
    if scale >= MILLIONTHS:
        return _scale_numbers(millionths, scale // MILLIONTHS)
    step = MILLIONTHS // scale
    return None if (millionths % step).any() else millionths // step


def times_to_arrow(times: Any, clock: Clock) -> Any:
    """Return an Arrow column as `Clock.show` formats times: whole numbers, dates, or texts of numbers, some whole."""
    if clock.scale == 1 and not clock.dates:
        return numbers_to_arrow(INT, times)
    if clock.dates and (not len(times) or (times.min() >= FIRST and times.max() <= LAST)):
        return _dates(times, "Z" if clock.dates == "aware" else "")
    if not clock.dates and clock.scale in (1000, MILLIONTHS) and (np.abs(times) < SHORTEST).all():
        whole = numbers_to_arrow(BOOL, times % clock.scale == 0)
        numbers = numbers_to_arrow(INT, times // clock.scale).cast(pa.string())
        return pc.if_else(whole, numbers, float_texts(numbers_to_arrow(FLOAT, times / clock.scale)))
    return text_array(str(clock.show(each)) for each in times.tolist())


def _dates(times: Any, zone: str) -> Any:
    """Return texts as `datetime.isoformat` writes them: with microseconds where there are some."""
    seconds = numbers_to_arrow(INT, times // MILLIONTHS).cast(pa.timestamp("s")).cast(pa.string())
    micros = numbers_to_arrow(INT, times % MILLIONTHS).cast(pa.string())
    texts = pc.utf8_replace_slice(seconds, 10, 11, "T")
    finer = pc.binary_join_element_wise(texts, pc.utf8_lpad(micros, 6, "0"), constant("."))
    texts = pc.if_else(numbers_to_arrow(BOOL, times % MILLIONTHS != 0), finer, texts)
    return pc.binary_join_element_wise(texts, constant(zone), constant(""))
