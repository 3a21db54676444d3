"""Parquet, read and written."""

from __future__ import annotations

import io
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from workbench.errors import InputError
from workbench.events import typed
from workbench.events.parts import FilePart
from workbench.events.table import PYARROW, FormatRow
from workbench.events.typed import TypedReader, TypedWriter, arrow_errors, rows_at_once

BUFFER = 1 << 20
"""Number of bytes of a column that are read at a time."""
DICTIONARY = 1 << 17
"""Size in bytes of the dictionary of a column chunk above which it is abandoned."""
SAMPLED, SAMPLE = 8, 64
"""Number of row groups that are sampled to estimate the size of rows, and of rows in each sample."""
LARGEST, DENSEST = 1 << 28, 15_000
"""Size in bytes and compression ratio above which a row group is refused, since it consists of a few vast pages."""


class ParquetReader(TypedReader):
    """A reader of the row groups of a file, some rows at a time."""

    called = "Parquet"

    def source(self, file: IO[bytes], file_name: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        from pyarrow import parquet

        # pyarrow would keep what it reads ahead to the end
        parquet_file = parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER)
        packed = file.seek(0, io.SEEK_END)
        for number in range(parquet_file.metadata.num_row_groups):
            unpacked = parquet_file.metadata.row_group(number).total_byte_size
            if unpacked > LARGEST and unpacked > DENSEST * packed:
                what = f"row group {number} has {unpacked} bytes, and the file {packed}"
                raise InputError(f"this is refused: {what}", where=file_name, hint="write it with smaller row groups")
        groups = range(parquet_file.metadata.num_row_groups)[slice(*self.part.groups)]

        def read(names: Sequence[str]) -> Iterator[Any]:
            size = _rows_at_once(parquet_file, groups, names)
            return iter(parquet_file.iter_batches(size, groups, names, use_threads=False))

        return parquet_file.schema_arrow, read

    def parts(self, file: IO[bytes], file_name: str, size: int) -> Iterator[FilePart]:
        with arrow_errors(self.called, file_name):
            from pyarrow import parquet

            metadata = parquet.ParquetFile(file).metadata
        self.named(metadata.schema.to_arrow_schema().names, file_name)
        groups = [metadata.row_group(number) for number in range(metadata.num_row_groups)]
        packing = file.seek(0, io.SEEK_END) / max(1, sum(group.total_byte_size for group in groups))
        start = skipped = rows = 0
        packed = 0.0
        for number, group in enumerate(groups, 1):
            rows += group.num_rows
            packed += group.total_byte_size * packing
            if packed >= size or number == len(groups):
                yield FilePart(groups=(start, number), skipped=skipped)
                start, skipped, packed = number, rows, 0.0


def _rows_at_once(file: Any, groups: Sequence[int], names: Sequence[str]) -> int:
    """Return how many rows are read at a time: fewer if they are long in the first row groups, or all together.

    The metadata of a column chunk are used after some of it has been read: if they are damaged, pyarrow ends the
    process, whereas reading ends with an error.
    """
    count = typed.LARGE
    paths = (f"{file.schema.column(i).path}." for i in range(len(file.schema)))
    ours = [i for i, path in enumerate(paths) if any(path.startswith(f"{name}.") for name in names)]
    for number in groups[:SAMPLED]:
        group = file.metadata.row_group(number)
        for batch in itertools.islice(file.iter_batches(SAMPLE, [number], names, use_threads=False), 1):
            count = rows_at_once(count, batch.num_rows, batch.nbytes)  # texts may be in a dictionary, each once
            count = rows_at_once(count, group.num_rows, sum(group.column(i).total_uncompressed_size for i in ours))
    return count


class ParquetWriter(TypedWriter):
    """A writer of a row group for each batch."""

    called = "Parquet"

    def target(self, file: IO[bytes], schema: Any) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        numbers = [each.name for each in schema if pa.types.is_int64(each.type)]  # differences are smaller and faster
        return parquet.ParquetWriter(
            file, schema, use_dictionary=[name for name in schema.names if name not in numbers],
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED") or None, dictionary_pagesize_limit=DICTIONARY,
        )  # fmt: skip


ROW = FormatRow(
    "parquet",
    "typed columns; a null means no event",
    (".parquet",),
    ParquetReader,
    ParquetWriter,
    lambda start: start.startswith(b"PAR1"),
    piped=False,
    needs=PYARROW,
    row_bytes=8,
    spark="parquet",
    rank=3,
)
