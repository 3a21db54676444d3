"""Parquet, read and written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from workbench.events import batches
from workbench.events.batches import BatchReader, BatchWriter


class ParquetReader(BatchReader):
    """The row groups of a file, some rows at a time."""

    called = "Parquet"

    def source(self, file: IO[bytes], shown: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        from pyarrow import parquet

        found = parquet.ParquetFile(file)
        return found.schema_arrow, lambda names: found.iter_batches(
            batch_size=batches.LARGE, columns=names, use_threads=False
        )


class ParquetWriter(BatchWriter):
    """A row group for each batch."""

    called = "Parquet"

    def target(self, file: IO[bytes], schema: Any) -> Any:
        import pyarrow as pa
        from pyarrow import parquet

        numbers = [each.name for each in schema if pa.types.is_int64(each.type)]  # smaller as differences, and sooner
        return parquet.ParquetWriter(
            file, schema, use_dictionary=[name for name in schema.names if name not in numbers],
            column_encoding=dict.fromkeys(numbers, "DELTA_BINARY_PACKED") or None,
        )  # fmt: skip
