"""Parquet, read and written."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from workbench.errors import InputError
from workbench.events.batches import LARGE, BatchReader, BatchWriter

BUFFER = 1 << 20
"""Bytes of a column that are read at a time."""
LARGEST, DENSEST = 1 << 28, 15_000
"""A row group of more bytes than this that are so many times fewer in the file lies in a few vast pages."""


class ParquetReader(BatchReader):
    """The row groups of a file, some rows at a time."""

    called = "Parquet"

    def source(self, file: IO[bytes], shown: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        from pyarrow import parquet

        # what pyarrow would read ahead it would keep to the end
        found = parquet.ParquetFile(file, pre_buffer=False, buffer_size=BUFFER)
        packed = file.seek(0, io.SEEK_END)
        for number in range(found.metadata.num_row_groups):
            unpacked = found.metadata.row_group(number).total_byte_size
            if unpacked > LARGEST and unpacked > DENSEST * packed:
                what = f"row group {number} has {unpacked} bytes, and the file {packed}"
                raise InputError(f"this is refused: {what}", where=shown, hint="write it with smaller row groups")
        return found.schema_arrow, lambda names: found.iter_batches(batch_size=LARGE, columns=names, use_threads=False)


class ParquetWriter(BatchWriter):
    """A row group for each batch."""

    called = "Parquet"

    def target(self, file: IO[bytes], schema: Any) -> Any:
        from pyarrow import parquet

        return parquet.ParquetWriter(file, schema)
