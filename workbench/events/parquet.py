"""Parquet, read and written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO, Any

from workbench.events.batches import LARGE, BatchReader, BatchWriter


class ParquetReader(BatchReader):
    """The row groups of a file, some rows at a time."""

    called = "Parquet"

    def open(self, file: IO[bytes], shown: str) -> tuple[Any, Iterator[Any]]:
        from pyarrow import parquet

        opened = parquet.ParquetFile(file)
        names = [name for name in opened.schema_arrow.names if name in self.domains]
        return opened.schema_arrow, opened.iter_batches(batch_size=LARGE, columns=names)


class ParquetWriter(BatchWriter):
    """A row group for each batch."""

    called = "Parquet"

    def open(self, file: IO[bytes], schema: Any) -> Any:
        from pyarrow import parquet

        return parquet.ParquetWriter(file, schema)
