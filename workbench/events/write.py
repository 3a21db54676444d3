"""Writing events as CSV, JSON lines and Parquet; they read back with `read`.

The rule of this module: a file appears under its name only when it is complete, and what fails before its first row
writes nothing.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from workbench.core.program import Ported
from workbench.errors import InputError
from workbench.events.csv import CsvWriter
from workbench.events.files import Format, destination, format_of, is_stream
from workbench.events.jsonl import JsonWriter
from workbench.events.parquet import ParquetWriter
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
