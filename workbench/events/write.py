"""Writing events as CSV, JSON lines and Parquet; they read back with `read`.

The rule of this module: a file appears under its name only when it is complete, and what fails before its first row
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from workbench.core.domain import INT, STR
from workbench.core.program import Port, Ported, Ports
from workbench.errors import InputError
from workbench.events.csv import CsvWriter
from workbench.events.files import Format, destination, format_of, is_stream
from workbench.events.jsonl import JsonWriter
from workbench.events.parquet import ParquetWriter
from workbench.events.reading import Reading, Tally
from workbench.events.rows import RowWriter

WRITERS: dict[Format, type[RowWriter]] = {"csv": CsvWriter, "jsonl": JsonWriter, "parquet": ParquetWriter}


def output_format(output: str | Path, given: Format | None, read: str | Path) -> Format:
    """The format to write: what the output's name tells, else what is `given`, else that of the input.

    To what is no file, Parquet cannot be written: there it is JSON lines.
    """
    try:
        named = None if is_stream(output) else format_of(output)
    except InputError:
        if given is None:
            raise
        named = None
    found = named or given or format_of(read) or "csv"
    return "jsonl" if found == "parquet" and is_stream(output) else found


BAD_ROWS = Ports("bad rows", (), (Port("file", STR), Port("row", INT), Port("reason", STR), Port("text", STR)))


@contextmanager
def kept_rows(reading: Reading, tally: Tally) -> Iterator[None]:
    """Where rows that cannot be read are to be kept, they are written to that file, complete or not at all."""
    if reading.bad_rows in ("error", "skip"):
        yield
        return
    with write_events(reading.bad_rows, BAD_ROWS) as writer:

        def keep(*cells: str | int) -> None:
            writer.write({name: [cell] for name, cell in zip(BAD_ROWS.shown, cells, strict=True) if cell != ""})

        tally.keep = keep
        yield


@contextmanager
def write_events(
    path: str | Path, program: Ported, *, format: Format | None = None, idle: bool = False
) -> Iterator[RowWriter]:
    """A writer into a file that appears, complete, when the block ends without an error.

    `-` (the standard output) and whatever is no ordinary file (a pipe, a device) are written as events come.

    Parameters
    ----------
    format: overrides what the name says; CSV where neither says anything.
    idle: whether a step without output takes a row too.
    """
    chosen = format or output_format(path, None, "-")
    if chosen == "parquet" and is_stream(path):
        raise InputError("Parquet is written to a file", where=str(path), hint="--output out.parquet")
    with (
        destination(path) as stream, closing(WRITERS[chosen](program, stream, idle=idle, shown=str(path))) as writer
    ):  # fmt: skip
        yield writer
        writer.end()
