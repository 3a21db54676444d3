"""Parquet, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from workbench.events.batches import LARGE, BatchReader, BatchWriter


class ParquetReader(BatchReader):
    """The row groups of a file, some rows at a time."""

    called = "Parquet"

    def source(self, file: IO[bytes], shown: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        from pyarrow import parquet

        found = parquet.ParquetFile(file)
        return found.schema_arrow, lambda names: found.iter_batches(batch_size=LARGE, columns=names, use_threads=False)


class ParquetWriter(BatchWriter):
    """A row group for each batch."""

    called = "Parquet"

    def target(self, file: IO[bytes], schema: Any) -> Any:
        from pyarrow import parquet

        return parquet.ParquetWriter(file, schema)
