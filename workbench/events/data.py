"""Read logs that are Python data: tables and frames, arrays and lists by name, and rows.

The rule of this module: the columns and cells of data follow the same rules as those of files, and numbers are not
copied. Rows are counted from 1, as in a file.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import IO, Any

from workbench.core.domain import ANY, FLOAT, INT, Anything, Bool, Domain, Enum, Integer, Integers, Range, Reals, Value
from workbench.core.fields import join_parts
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.batch import Columns, EventArray
from workbench.events.clock import Times
from workbench.events.columns import arrays_of, text_array
from workbench.events.decoding import enough
from workbench.events.formats.jsonl import JsonReader
from workbench.events.reading_options import Reading
from workbench.events.rows import InputEvents, LogBlock, RowReader
from workbench.events.typed import LARGE, TypedReader
from workbench.events.values import CopiedCells, KeyTexts, from_json, is_encodable, short

SIZE = 4096
"""Number of array entries that are converted to Python values at a time."""


class TableReader(TypedReader):
    """A reader of Arrow record batches, which keep their sizes.

    Parameters
    ----------
    schema: the columns.
    batches: each is read before the next one is requested; a pandas frame is a `FrameBatch`.
    """

    called = "a table"

    def __init__(
        self, program: Ported, reading: Reading, reporter: Reporter, schema: Any, batches: Iterator[Any]
    ) -> None:
        super().__init__(program, reading, reporter)
        self._given = schema, batches
        self.set_columns(schema.names)

    def source(self, file: IO[bytes], file_name: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        schema, batches = self._given
        return schema, lambda _: batches

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        assert self.columns is not None
        first, used = 1, self.columns.used_columns
        for batch in self._given[1]:
            columns = {i: _read_column(batch, i, domain) for i, domain in used.items()}
            steps = partial(self._parts, first, batch.num_rows, columns, file_name)
            yield LogBlock(steps, partial(self._arrays, columns), rows=batch.num_rows)
            first += batch.num_rows

    def _parts(self, first: int, count: int, columns: Mapping[int, Any], file_name: str) -> Iterator[InputEvents]:
        for start in range(0, count, LARGE):
            some = {i: column.slice(start, LARGE) for i, column in columns.items()}
            yield from self._steps(first + start, some, file_name)

    def _arrays(self, columns: Mapping[int, Any]) -> Columns | None:
        return None if any(isinstance(each, MixedCells) for each in columns.values()) else super()._arrays(columns)


class MixedCells(list[Any]):
    """The cells of a column without a common type, with the methods of an Arrow column."""

    def slice(self, start: int, size: int) -> MixedCells:
        return MixedCells(self[start : start + size])

    def to_pylist(self) -> list[Any]:
        return self


class FrameBatch:
    """A pandas frame, with the methods of an Arrow batch and its schema; a column is converted when it is read."""

    def __init__(self, frame: Any) -> None:
        self._frame, self.names, self.num_rows = frame, list(map(str, frame.columns)), len(frame)

    def column(self, index: int) -> Any:
        import pyarrow as pa

        cells = self._frame.iloc[:, index]
        try:
            column = pa.array(cells, from_pandas=True)
            return column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        except (pa.ArrowException, OverflowError, UnicodeError):
            cells = cells.astype(object)
            return MixedCells(event(cell, ANY) for cell in cells.where(cells.notna(), None))

    field = column

    def to_pylist(self) -> list[dict[str, Any]]:
        columns = (self.column(i).to_pylist() for i in range(len(self.names)))
        return [dict(zip(self.names, row, strict=True)) for row in zip(*columns, strict=True)]


def _read_column(batch: Any, index: int, domain: Domain) -> Any:
    """Return a column of a batch; pandas has floats for whole numbers with gaps, which inputs of whole numbers take."""
    import pyarrow as pa

    column = batch.column(index)
    gaps = isinstance(batch, FrameBatch) and not isinstance(column, MixedCells) and column.null_count
    if gaps and isinstance(domain, Integers | Integer | Range) and pa.types.is_floating(column.type):
        with suppress(pa.ArrowInvalid):  # a fraction
            return column.cast(pa.int64())
    return column


class RowsReader(JsonReader):
    """A reader of mappings; an event is a Python value, also of numpy, or its JSON form."""

    def __init__(
        self, program: Ported, reading: Reading, reporter: Reporter, data: Iterable[Mapping[str, Value]]
    ) -> None:
        super().__init__(program, reading, reporter)
        self._data = data

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        yield LogBlock(lambda: self._steps(file_name))

    def _steps(self, file_name: str) -> Iterator[InputEvents]:
        yield from self.located(enumerate(self._data, 1), file_name)
        if not enough(self.reading, self.account):
            self.end()

    def cells(self, row: Any) -> Sequence[Any]:
        if not isinstance(row, Mapping):
            hint = "pass columns by input name, {'x': [1, 2]}, or rows such as {'x': 1}, or the path of a file"
            raise InputError(f"expected a mapping from inputs to events, not {short(repr(row))}", hint=hint)
        return self.cells_of(dict(row), "")

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        return event(cell, domain)

    def format_cell(self, cell: Any) -> str:
        return short(repr(cell))


class ArraysReader(RowReader):
    """A reader of arrays or lists of events, by name.

    Parameters
    ----------
    data: all of one length. None in a list means no event, and so is a masked entry of an array.
    """

    def __init__(self, program: Ported, reading: Reading, reporter: Reporter, data: Mapping[str, Any]) -> None:
        super().__init__(program, reading, reporter)
        self.set_columns(list(data))
        assert self.columns is not None
        used, names = self.columns.used_columns, self.columns.names
        self._given = {i: _sequence(data[names[i]], names[i]) for i in used}
        lengths = {names[i]: len(cells) for i, cells in self._given.items()}
        if len(set(lengths.values())) > 1:
            details = ", ".join(f"'{name}' has {length}" for name, length in lengths.items())
            raise InputError(f"the columns have different numbers of rows: {details}", hint="None means no event")
        self._length = next(iter(lengths.values()), 0)

    def rows(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[tuple[int, Sequence[Any]]]:
        assert self.columns is not None
        absent: list[Any] = [None]
        for start in range(0, self._length, SIZE):
            size = min(SIZE, self._length - start)
            cells = {i: _values(each[start : start + size]) for i, each in self._given.items()}
            lists = (cells.get(i, absent * size) for i in range(len(self.columns.names)))
            yield from enumerate(zip(*lists, strict=True), start + 1)

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        steps = partial(self._steps, lines, file_name)
        yield LogBlock(steps, self._arrays if self.plain else lambda: None, rows=self._length)

    def _steps(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[InputEvents]:
        return self.located(self.rows(lines, file_name), file_name)

    def _arrays(self) -> Columns | None:
        return self.arrays(lambda i, domain: _array(self._given[i], domain))

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        return event(cell, domain)

    def format_cell(self, cell: Any) -> str:
        return short(repr(cell))


def event(cell: Any, domain: Domain) -> Value | None:
    """Convert a Python value to an event: a value of the domain, or its JSON form; None for no event."""
    if type(cell).__module__ == "numpy":
        cell = cell.item()
    if cell is None or isinstance(domain, Anything):
        return cell
    return from_json(cell, domain)


def _sequence(cells: Any, name: str) -> Any:
    """Return an array, or a sequence of Python values."""
    sequence = cells if isinstance(cells, Sequence) else cells.to_numpy() if hasattr(cells, "to_numpy") else cells
    if isinstance(sequence, str) or getattr(sequence, "ndim", 1) != 1 or not hasattr(sequence, "__getitem__"):
        shape = f"an array of {sequence.ndim} dimensions" if hasattr(sequence, "ndim") else short(repr(sequence))
        raise InputError(f"column '{name}' is {shape}", hint="pass an array of one dimension, or a list")
    return sequence


def _values(cells: Any) -> Sequence[Any]:
    """Return the Python values of an array or a list; times stay times, though numpy converts fine ones to numbers."""
    if getattr(getattr(cells, "dtype", None), "kind", "") in ("m", "M"):
        cells = cells.astype(f"{cells.dtype.kind}8[us]")
    return list(cells.tolist() if hasattr(cells, "tolist") else cells)


def _array(cells: Any, domain: Domain) -> EventArray | None:
    """Return the events of a domain with arrays in the form of compiled code; None where rows must be read singly."""
    import numpy as np

    from workbench.events.input_columns import decode_column

    present = None
    if isinstance(cells, np.ma.MaskedArray):
        present, cells = ~np.ma.getmaskarray(cells), cells.filled(cells.dtype.type())
    if isinstance(domain, CopiedCells):
        values = _values(cells)
        is_text = set(map(type, values)) <= {str, type(None)} and is_encodable("".join(filter(None, values)))
        return decode_column(domain, text_array(values)) if is_text and present is None else None
    if isinstance(domain, KeyTexts | Times):
        column = None if present is not None else _column(cells)
        return None if column is None else decode_column(domain, column)
    if not isinstance(cells, np.ndarray) or cells.dtype.kind in "OU":
        values = _values(cells)
        if None in values:
            present = np.array([value is not None for value in values])
            values = [domain.default if value is None else value for value in values]
        arrays = arrays_of(domain, values)
        return None if arrays is None else EventArray(join_parts(domain, iter(arrays)), present)
    kinds, dtype = {Bool: ("b", np.bool_), Reals: ("fiu", np.float64)}.get(type(domain), ("iu", np.int64))
    if isinstance(domain, Enum) or cells.dtype.kind not in kinds or cells.dtype == np.uint64:
        return None
    if isinstance(domain, Integer | Range) and len(cells) and not domain.lo <= cells.min() <= cells.max() <= domain.hi:
        return None
    return EventArray(np.ascontiguousarray(cells, dtype), present)


def _column(cells: Any) -> Any:
    """Convert an array or a list to a column of Arrow, for keys and times; None where rows must be read singly."""
    import numpy as np

    from workbench.events.buffers import numbers_to_arrow

    if not isinstance(cells, np.ndarray) or cells.dtype.kind in "OU":
        values = _values(cells)
        kinds = set(map(type, values))
        if kinds <= {str, type(None)}:
            return text_array(values) if is_encodable("".join(filter(None, values))) else None
        if len(kinds) > 1 or not kinds <= {int, float}:
            return None
        try:
            cells = np.array(values, np.float64 if float in kinds else np.int64)
        except OverflowError:
            return None
    if cells.dtype in ("M8[s]", "M8[ms]", "M8[us]"):
        return numbers_to_arrow(INT, cells.astype("M8[us]").view(np.int64)).cast("timestamp[us]")
    if cells.dtype.kind not in "iuf" or cells.dtype == np.uint64:
        return None
    return (
        numbers_to_arrow(FLOAT, cells.astype("f8"))
        if cells.dtype.kind == "f"
        else numbers_to_arrow(INT, cells.astype("i8"))
    )
