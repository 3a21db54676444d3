"""Arrow streams."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import IO, Any

from workbench.events.table import PYARROW, FormatRow
from workbench.events.typed import TypedReader, TypedWriter


class ArrowStreamReader(TypedReader):
    """A reader of the batches of a stream, as they come."""

    called = "a stream of Arrow"
    streamed = True

    def source(self, file: IO[bytes], file_name: str) -> tuple[Any, Callable[[Sequence[str]], Iterator[Any]]]:
        from pyarrow import ipc

        reader = ipc.open_stream(file)
        return reader.schema, lambda _: iter(reader)


class ArrowStreamWriter(TypedWriter):
    """A writer of a batch for each table."""

    called = "a stream of Arrow"

    def target(self, file: IO[bytes], schema: Any) -> Any:
        from pyarrow import ipc

        return ipc.new_stream(file, schema)


ROW = FormatRow(
    "arrows",
    "the same as a stream of Arrow, also through a pipe",
    (".arrows", ".ipc"),
    ArrowStreamReader,
    ArrowStreamWriter,
    lambda start: start.startswith(b"\xff\xff\xff\xff"),
    needs=PYARROW,
    row_bytes=6.25,
    rank=5,
)
