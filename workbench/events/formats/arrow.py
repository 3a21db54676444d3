"""Arrow files, also called Feather."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from workbench.errors import InputError
from workbench.events.table import PYARROW, FormatRow
from workbench.events.typed import TypedReader, TypedWriter


class ArrowFileReader(TypedReader):
    """A reader of the batches of a file, one at a time."""

    called = "a file of Arrow"

    def source(self, file: IO[bytes], file_name: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        from pyarrow import ipc

        if file.read(4) == b"FEA1":
            hint = "read it with pyarrow.feather and write it again"
            raise InputError("this is Feather version 1, not an Arrow file", where=file_name, hint=hint)
        file.seek(0)
        reader = ipc.open_file(file)
        return reader.schema, lambda _: map(reader.get_batch, range(reader.num_record_batches))


class ArrowFileWriter(TypedWriter):
    """A writer of a batch for each table."""

    called = "a file of Arrow"

    def target(self, file: IO[bytes], schema: Any) -> Any:
        from pyarrow import ipc

        return ipc.new_file(file, schema)


ROW = FormatRow(
    "arrow",
    "as parquet, in a file of Arrow or Feather",
    (".arrow", ".feather"),
    ArrowFileReader,
    ArrowFileWriter,
    lambda start: start.startswith((b"ARROW1", b"FEA1")),
    piped=False,
    needs=PYARROW,
    rank=4,
)
