"""Parquet, read and written in batches.

The rule of this format: a column an input, a null is no event; a cell is what it is in JSON lines, typed. Written
columns are those of `columns`; what is read may also have structs, lists and maps for records, tuples and maps.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import IO, TYPE_CHECKING, Any, cast

from workbench.core.domain import BOOL, INT, Domain, Value
from workbench.core.fields import Map
from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.columns import arrow_type, as_json, to_column
from workbench.events.rows import LogBlock, RowReader, RowWriter
from workbench.events.values import Words, from_json, from_text, short

if TYPE_CHECKING:
    from workbench.events.arrays import EventArray

BATCH = 4096
"""Rows that are read, or kept to be written, at a time."""
LARGE = 1 << 18
"""Rows that are read at a time as columns."""


@contextmanager
def _readable(where: str) -> Iterator[None]:
    """What pyarrow cannot do, as an error of ours."""
    try:
        import pyarrow as pa
    except ImportError as error:
        hint = "install the extra 'lab': pip install 'workbench[lab]'; or use CSV or JSON lines"
        raise InputError("Parquet needs pyarrow, which is not installed", where=where, hint=hint) from error
    try:
        yield
    except pa.ArrowException as error:
        raise InputError(f"this cannot be read as Parquet: {error}", where=where) from error


class ParquetReader(RowReader):
    """Typed rows under the names of the file's columns; rows are counted from 1."""

    @staticmethod
    def key_domain(file: IO[bytes], name: str, shown: str) -> Domain:
        """What keys in this column are."""
        with _readable(shown):
            import pyarrow as pa
            from pyarrow import parquet

            schema = parquet.read_schema(file)
        kind = dict(zip(schema.names, schema.types, strict=True)).get(name, pa.string())
        if pa.types.is_boolean(kind):
            return BOOL
        return INT if pa.types.is_integer(kind) and kind != pa.uint64() else Words()

    def rows(self, lines: io.TextIOWrapper, shown: str) -> Iterator[tuple[int, Sequence[Any]]]:
        for first, columns in self._batches(lines, shown, BATCH):
            yield from self._numbered(first, columns)

    def blocks(self, lines: io.TextIOWrapper, shown: str) -> Iterator[LogBlock]:
        if not self.plain:
            yield from super().blocks(lines, shown)
            return
        for first, columns in self._batches(lines, shown, LARGE):
            yield LogBlock(
                lambda: self.located(self._numbered(first, columns), shown),  # noqa: B023 - read before the next ones are
                partial(self._arrays, columns),
            )

    def _arrays(self, columns: Mapping[int, Any]) -> dict[str, EventArray] | None:
        from workbench.events.arrays import given_array

        return self.arrays(lambda i, domain: given_array(domain, columns[i]))

    def _batches(self, lines: io.TextIOWrapper, shown: str, size: int) -> Iterator[tuple[int, dict[int, Any]]]:
        """The Arrow columns that are used, in successive rows, with the number of the first one."""
        file = cast(IO[bytes], lines.buffer)
        if not file.seekable():
            hint = "give the file, or write CSV or JSON lines"
            raise InputError("Parquet cannot be read from a pipe", where=shown, hint=hint)
        with _readable(shown):
            from pyarrow import parquet

            opened = parquet.ParquetFile(file)
        try:
            self.opened(opened.schema_arrow.names)
        except InputError as error:
            raise error.retold(where=shown) from error
        assert self.columns is not None
        used, first = {i: self.columns.names[i] for i in self.columns.used}, 1
        with _readable(shown):
            for batch in opened.iter_batches(batch_size=size, columns=list(used.values())):
                yield first, {i: batch.column(name) for i, name in used.items()}
                first += batch.num_rows

    def _numbered(self, first: int, columns: Mapping[int, Any]) -> Iterator[tuple[int, Sequence[Any]]]:
        assert self.columns is not None
        count = len(next(iter(columns.values()), ()))
        lists = [columns[i].to_pylist() if i in columns else [None] * count for i in range(len(self.columns.names))]
        return enumerate(zip(*lists, strict=True), first)

    def cell(self, cell: Any, domain: Domain) -> Value | None:
        return None if cell is None else from_cell(cell, domain)

    def shown(self, cell: Any) -> str:
        return short(repr(cell))


def from_cell(value: Any, domain: Domain) -> Value:
    """The value of a cell as an event; UnreadableError if it is none."""
    if isinstance(value, str) and as_json(domain):
        return from_text(value, domain)
    if isinstance(value, list) and isinstance(domain, Map):
        value = {str(key): item for key, item in value}
    return from_json(value, domain)


class ParquetWriter(RowWriter):
    """Rows in batches of columns."""

    def __init__(self, program: Ported, stream: IO[str], *, idle: bool = False, shown: str = "") -> None:
        super().__init__(program, stream, idle=idle, shown=shown)
        with _readable(shown):
            import pyarrow as pa
            from pyarrow import parquet

            self._schema = pa.schema([(name, arrow_type(domain)) for name, domain in self.domains.items()])
            self._writer = parquet.ParquetWriter(cast(io.TextIOWrapper, stream).buffer, self._schema)
        self._rows: list[Mapping[str, Value]] = []

    def row(self, events: Mapping[str, Value]) -> None:
        self._rows.append(events)
        if len(self._rows) == BATCH:
            self.end()

    def end(self) -> None:
        import pyarrow as pa

        columns = (
            to_column(domain, [row.get(name) for row in self._rows], f"output '{name}'")
            for name, domain in self.domains.items()
        )
        self._writer.write_batch(pa.record_batch(list(columns), schema=self._schema))
        self._rows = []

    def table(self, table: Any) -> None:
        if self._rows:
            self.end()
        self._writer.write_table(table)

    def close(self) -> None:
        self._writer.close()
