"""Read and write formats of typed columns in batches of Arrow.

The rule of these formats: a column for each input; a null means no event, a cell is typed as in JSON lines. Written
columns are those of `columns`; columns to read may also have structs, lists and maps for records, tuples and maps.
"""

from __future__ import annotations

import contextlib
import io
import json
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, time, timedelta
from decimal import Decimal
from functools import partial
from typing import IO, Any, ClassVar, cast

from workbench.core.domain import BOOL, FLOAT, INT, Domain, Value
from workbench.core.fields import Map
from workbench.core.program import Ported
from workbench.errors import DomainError, InputError
from workbench.events.batch import Columns, column_steps
from workbench.events.column_map import has_columns
from workbench.events.columns import arrays_of, arrow_type, as_json, rows_to_columns, to_column
from workbench.events.files import sought
from workbench.events.rows import InputEvents, LogBlock, RowReader
from workbench.events.values import (
    CopiedCells,
    KeyTexts,
    Unheld,
    UnreadableError,
    date_text,
    decimal_to_number,
    from_json,
    from_text,
    short,
)
from workbench.events.writers import RowWriter
from workbench.extras import install_extra
from workbench.interrupts import hold

BATCH = 4096
"""Number of rows that are converted, or buffered to be written, at a time."""
ODD = (date, time, timedelta, bytes)
"""The types of Arrow cells that no event has."""
LARGE = 1 << 18
"""Maximum number of rows that are read at a time."""
LARGEST = 1 << 25
"""The approximate size in bytes of rows that are read at a time, where they are long."""
BatchColumns = Mapping[int, Any]
"""Arrow columns of successive rows by their positions."""


@contextmanager
def arrow_errors(name: str, where: str) -> Iterator[None]:
    """Convert the errors of pyarrow about a format into `InputError`."""
    try:
        import pyarrow as pa
    except ImportError as error:
        hint = f"install the extra 'lab': {install_extra('lab')}; or use CSV or JSON lines"
        raise InputError(f"{name} needs pyarrow, which is not installed", where=where, hint=hint) from error
    try:
        yield
    except (pa.ArrowException, OSError, OverflowError, UnicodeDecodeError, MemoryError) as error:
        if isinstance(error, OSError) and error.errno:
            raise
        text = str(error).strip() or type(error).__name__
        raise InputError(f"this cannot be read as {name}: {text}", where=where) from error


class TypedReader(RowReader):
    """A reader of typed rows under the names of columns; rows are counted from 1."""

    called: ClassVar[str]
    """The name of the format in messages."""
    streamed: ClassVar[bool] = False
    """Whether it is read from its beginning to its end."""
    typed = True

    @abstractmethod
    def source(self, file: IO[bytes], file_name: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        """Return the schema of a file, and a function that reads its record batches with the given columns."""

    def cell_domain(self, file: IO[bytes], name: str, file_name: str) -> Domain:
        with self._sought(file) as stream, arrow_errors(self.called, file_name):
            schema, _ = self.source(stream, file_name)
        return column_domain(schema, name)

    def rows(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[tuple[int, Sequence[Any]]]:
        for first, columns, _ in self._batches(lines, file_name):
            yield from self._number_rows(first, columns)

    def blocks(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[LogBlock]:
        for first, columns, count in self._batches(lines, file_name):
            yield LogBlock(partial(self._steps, first, columns, file_name), partial(self._arrays, columns), count)

    def _steps(self, first: int, columns: Mapping[int, Any], file_name: str) -> Iterator[InputEvents]:
        arrays = self._arrays(columns) if self.flat else None
        if arrays is None:
            return self.located(self._number_rows(first, columns), file_name)
        return column_steps(arrays, self.domains)

    def _arrays(self, columns: Mapping[int, Any]) -> Columns | None:
        if not self.plain:
            return None
        from workbench.events.input_columns import decode_column

        return self.arrays(lambda i, domain: decode_column(domain, columns[i], stored=True))

    def _batches(self, lines: io.TextIOWrapper, file_name: str) -> Iterator[tuple[int, BatchColumns, int]]:
        """Yield successive rows: the number of the first one, their columns, and their number."""
        with self._sought(cast(IO[bytes], lines.buffer)) as file:
            if not (self.streamed or file.seekable()):
                hint = "name the file, or use CSV, JSON lines or a stream of Arrow"
                raise InputError(f"{self.called} cannot be read from a pipe", where=file_name, hint=hint)
            yield from self._take_batches(file, file_name)

    def _sought(self, file: IO[bytes]) -> contextlib.AbstractContextManager[IO[bytes]]:
        """Yield the file with random access, if the format needs it."""
        return contextlib.nullcontext(file) if self.streamed else sought(file)

    def _take_batches(self, file: IO[bytes], file_name: str) -> Iterator[tuple[int, BatchColumns, int]]:
        with arrow_errors(self.called, file_name):
            schema, read = self.source(file, file_name)
        self.named(schema.names, file_name)
        assert self.columns is not None
        used = {i: self.columns.names[i] for i in self.columns.used_columns}
        first = 1 + self.part.skipped
        with arrow_errors(self.called, file_name):
            from pyarrow import default_memory_pool

            for batch in read(list(used.values())):
                batch.validate(full=True)  # checks that buffers are consistent, and texts are UTF-8
                size = rows_at_once(LARGE, batch.num_rows, batch.nbytes)
                for start in range(0, batch.num_rows, size):
                    part = batch.slice(start, size)
                    yield first, {i: part.column(name) for i, name in used.items()}, part.num_rows
                    first += part.num_rows
                if batch.nbytes > LARGEST // 4:
                    del batch, part
                    default_memory_pool().release_unused()  # otherwise long rows stay in memory several times

    def named(self, names: Sequence[str], file_name: str) -> None:
        """Set the columns as `set_columns` does, with the file in the error."""
        try:
            self.set_columns(names, file_name)
        except InputError as error:
            raise error.retold(where=file_name) from error

    def sample(
        self, lines: io.TextIOWrapper, file_name: str, count: int
    ) -> tuple[dict[str, str], dict[str, list[Any]]]:
        with self._sought(cast(IO[bytes], lines.buffer)) as file, arrow_errors(self.called, file_name):
            schema, read = self.source(file, file_name)
            batch = next(iter(read(schema.names)), None)
            kinds = {field.name: str(field.type) for field in schema}
            if batch is None:
                return kinds, {name: [] for name in schema.names}
            batch.validate(full=True)
            return kinds, {name: cells_of(batch.column(name).slice(0, count)) for name in kinds}

    def _number_rows(self, first: int, columns: Mapping[int, Any]) -> Iterator[tuple[int, Sequence[Any]]]:
        assert self.columns is not None
        count = len(next(iter(columns.values()), ()))
        for start in range(0, count, BATCH):
            nothing = [None] * min(BATCH, count - start)
            cells = (
                cells_of(columns[i].slice(start, BATCH)) if i in columns else nothing
                for i in range(len(self.columns.names))
            )  # fmt: skip
            yield from enumerate(zip(*cells, strict=True), first + start)

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        return None if cell is None else from_cell(cell, domain)

    def format_cell(self, cell: Any) -> str:
        return short(str(cell) if isinstance(cell, (*ODD, Decimal, Unheld)) else repr(cell))

    def text(self, number: int, row: Sequence[Any]) -> str:
        assert self.columns is not None
        return json.dumps({self.columns.names[i]: row[i] for i in sorted(self.columns.used_columns)}, default=str)


def column_domain(schema: Any, name: str) -> Domain:
    """Return the domain of the cells in a column of Arrow, for copying them."""
    import pyarrow as pa

    from workbench.events.buffers import is_text_type

    column = schema.field(schema.names.index(name)) if name in schema.names else None
    kind = getattr(column, "type", pa.string())  # mixed cells have no type
    kind = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_boolean(kind):
        return BOOL
    if pa.types.is_floating(kind):
        return FLOAT
    if pa.types.is_integer(kind) and kind != pa.uint64():
        return INT
    return CopiedCells(None if is_text_type(kind) else kind)


def rows_at_once(max_rows: int, rows: int, size: int) -> int:
    """Return how many rows are read at a time, at most `max_rows`, if `rows` rows have `size` bytes."""
    return max(1, min(max_rows, LARGEST * rows // max(1, size))) if rows else max_rows


def cells_of(column: Any) -> list[Any]:
    """Return the cells of an Arrow column as Python values; dates and times out of Python's range are `Unheld`."""
    try:
        return cast("list[Any]", column.to_pylist())
    except OverflowError:
        return list(map(_cell_of, column))


def _cell_of(scalar: Any) -> Any:
    try:
        return scalar.as_py()
    except OverflowError:
        return Unheld(f"{scalar.type} {getattr(scalar, 'value', '')}".strip(), "a date of the years 1 to 9999")


def from_cell(value: Any, domain: Domain) -> Value:
    """Convert the value of a cell to an event; UnreadableError if it is none.

    A decimal is read as any other number. Times of day, dates and bytes are refused, except that times may be instants;
    for `KeyTexts` dates and times of day are texts of ISO 8601.
    """
    if isinstance(domain, CopiedCells) and not isinstance(value, bytes | timedelta | Unheld):
        return value
    if isinstance(domain, KeyTexts) and isinstance(value, date | time):
        value = date_text(value)
    if isinstance(value, str) and as_json(domain):
        return from_text(value, domain)
    if isinstance(value, list) and isinstance(domain, Map):
        value = {str(key): item for key, item in value}
    if isinstance(value, Decimal):
        value = decimal_to_number(value)
    try:
        return from_json(value, domain)
    except UnreadableError as error:
        if isinstance(value, ODD) and not error.hint:
            raise UnreadableError(str(error), "cast the column to numbers or texts") from error
        raise


class TypedWriter(RowWriter):
    """A writer of rows in batches of columns."""

    called: ClassVar[str]

    def __init__(self, program: Ported, stream: IO[str], *, file_name: str = "") -> None:
        super().__init__(program, stream, file_name=file_name)
        with arrow_errors(self.called, file_name):
            import pyarrow as pa

            self._schema = pa.schema([(name, arrow_type(domain)) for name, domain in self.domains.items()])
            self._writer = self.target(cast(IO[bytes], cast(io.TextIOWrapper, stream).buffer), self._schema)
        self._rows: list[Mapping[str, Value]] = []

    @abstractmethod
    def target(self, file: IO[bytes], schema: Any) -> Any:
        """Return a writer with `write_table` and `close`."""

    def write(self, outputs: Mapping[str, Sequence[Value]]) -> None:
        name, values = next(iter(outputs.items()), ("", ()))
        if len(self.domains) > 1 or len(values) < BATCH:
            super().write(outputs)
            return
        import pyarrow as pa

        from workbench.events.output_columns import events_to_arrow

        domain = self.domains[name]
        arrays = arrays_of(domain, values) if has_columns(domain) else None  # Arrow would import pandas for this
        column = to_column(domain, values, f"output '{name}'") if arrays is None else events_to_arrow(domain, arrays)
        self.table(pa.table([column], schema=self._schema))

    def row(self, events: Mapping[str, Value]) -> None:
        self._rows.append(events)
        if len(self._rows) == BATCH:
            self.end()

    def settle(self) -> None:
        self.end()

    def end(self) -> None:
        with hold():  # a file that ends in the middle of a batch cannot be read
            rows, self._rows = self._rows, []
            if rows:
                self._put(rows)

    def _put(self, rows: Sequence[Mapping[str, Value]]) -> None:
        """Write rows; if one does not fit its column, write only those before it."""
        import pyarrow as pa

        try:
            columns = rows_to_columns(rows, self.domains, "output")
        except DomainError:
            for half in (rows[: len(rows) // 2], rows[len(rows) // 2 :]) if len(rows) > 1 else ():
                self._put(half)
            raise
        self._writer.write_table(pa.table(columns, schema=self._schema))

    def ready(self, table: Any) -> Callable[[], object]:
        cast_table = table if table.schema == self._schema else table.cast(self._schema)

        def put() -> None:
            with hold():
                self.end()
                self._writer.write_table(cast_table)

        return put

    def close(self) -> None:
        with hold():
            self._writer.close()
