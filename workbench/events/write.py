"""Writing events in any format; they read back with `read`.

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
from workbench.events.files import destination, format_of, is_stream, is_terminal
from workbench.events.reading import Reading, Tally
from workbench.events.rows import NumbersWriter, RowWriter
from workbench.events.table import format_row


def output_format(output: str | Path, given: str | None, read: str | Path) -> str:
    """The format to write: what the output's name tells, else what is `given`, else that of the input.

    Where a format cannot be written (Parquet to a pipe, what nobody can read to a terminal) it is JSON lines.
    """
    try:
        named = None if is_stream(output) else format_of(output)
    except InputError:
        if given is None:
            raise
        named = None
    row = format_row(named or given or format_of(read) or "csv")
    if named is None and row.writer is None:
        return "csv"
    allowed = not is_stream(output) or row.text or (row.piped and not is_terminal(output))
    return row.name if allowed else "jsonl"


BAD_ROWS = Ports("bad rows", (), (Port("file", STR), Port("row", INT), Port("reason", STR), Port("text", STR)))


@contextmanager
def kept_rows(reading: Reading, tally: Tally) -> Iterator[None]:
    """Where rows that cannot be read are to be kept, they are written to that file, complete or not at all."""
    if reading.bad_rows in ("error", "skip"):
        yield
        return
    streamed = is_stream(reading.bad_rows)
    with write_events(reading.bad_rows, BAD_ROWS) as writer:

        def keep(*cells: str | int) -> None:
            writer.write({name: [cell] for name, cell in zip(BAD_ROWS.shown, cells, strict=True) if cell != ""})
            if streamed:  # the log may have no end
                writer.flush()

        tally.keep = keep
        yield


@contextmanager
def write_events(
    path: str | Path, program: Ported, *, format: str | None = None, idle: bool = False, numbers: NumbersWriter = None
) -> Iterator[RowWriter]:
    """A writer into a file that appears, complete, when the block ends without an error.

    `-` (the standard output) and whatever is no ordinary file (a pipe, a device) are written as events come.

    Parameters
    ----------
    format: overrides what the name says; CSV where neither says anything.
    idle: whether a step without output takes a row too.
    numbers: see `RowWriter`.
    """
    row = format_row(format or output_format(path, None, "-"))
    if not row.piped and is_stream(path):
        raise InputError(f"{row.name} is written to a file", where=str(path), hint=f"--output out{row.endings[0]}")
    if row.writer is None:
        hint = "--output out.jsonl, for example"
        raise InputError(f"{row.name} is only read", where=str(path), hint=hint)
    with (
        destination(path) as stream, closing(row.writer(program, stream, idle=idle, shown=str(path))) as writer
    ):  # fmt: skip
        writer.numbers = numbers
        yield writer
        writer.end()
