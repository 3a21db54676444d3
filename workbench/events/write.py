"""Writing events in any format; they read back with `read`.

The rule of this module: a file appears under its name only when it is complete, and what fails before its first row
writes nothing. Rows that were written before an error stay, in a file beside it; where the log has no end, text is
written behind what there is.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from workbench.core.domain import INT, STR
from workbench.core.program import Port, Ported, Ports
from workbench.errors import InputError
from workbench.events.account import BadRow, Reporter
from workbench.events.files import UnwrittenError, destination, format_of, is_stream, is_terminal, unwritten
from workbench.events.packing import COMPRESSIONS
from workbench.events.reading import Reading
from workbench.events.table import PIPED, USUAL, FormatRow, format_row
from workbench.events.writers import RowWriter


def output_format(
    output: str | Path, given: str | None = None, read: str | Path = "-", *, wanted: str | None = None
) -> str:
    """The format to write: what is wanted, else what the output's name tells, or the log has.

    Where a format that is not wanted cannot be written, it is another one: CSV for a format that is only read, JSON
    lines for Parquet to a pipe, and on a terminal for what nobody can read.

    Parameters
    ----------
    given: the format that is said of the log.
    read: a file of the log, whose format counts where none is said.
    """
    if wanted is not None:
        return wanted
    try:
        named = None if is_stream(output) else format_of(output, "--output-format")
    except InputError:
        if given is None:
            raise
        named = None
    row = format_row(named or given or format_of(read) or USUAL)
    if named is None and row.writer is None:
        return USUAL
    allowed = not is_stream(output) or row.text or (row.piped and not is_terminal(output))
    return row.name if allowed else PIPED


Stays = Callable[[str | Path], int]
"""Gives how many bytes of a file stay: what earlier runs have written there."""
BAD_ROWS = Ports("bad rows", (), (Port("file", STR), Port("row", INT), Port("reason", STR), Port("text", STR)))


@contextmanager
def keep_bad_rows(
    reading: Reading, reporter: Reporter, *, live: bool = False, stays: Stays | None = None
) -> Iterator[None]:
    """Where rows that cannot be read are to be kept, they are written to that file, complete or not at all.

    Parameters
    ----------
    live, stays: as `write_events` has them.
    """
    if reading.bad_rows in ("error", "skip"):
        yield
        return
    with write_events(reading.bad_rows, BAD_ROWS, live=live, stays=stays) as writer:

        def keep(row: BadRow) -> None:
            writer.write({name: [cell] for name, cell in zip(BAD_ROWS.shown, row, strict=True) if cell != ""})
            writer.flush()  # the log may have no end

        reporter.keep = keep
        yield


@contextmanager
def write_events(
    path: str | Path,
    program: Ported,
    *,
    format: str | None = None,
    live: bool = False,
    appearing: ExitStack | None = None,
    stays: Stays | None = None,
) -> Iterator[RowWriter]:
    """A writer into a file that appears, complete, when the block ends without an error.

    `-` (the standard output) and whatever is no ordinary file (a pipe, a device) are written as events come.

    Parameters
    ----------
    format: overrides what the name says; `USUAL` where neither says anything.
    live: whether the log comes as somebody writes it.
    appearing: gives the file its name when this stack is closed (`files.destination`).
    stays: gives how many bytes of a file stay, behind which it is written under its own name: it is of several runs.
    """
    row = format_row(format or output_format(path))
    if not row.piped and is_stream(path):
        raise InputError(f"{row.name} is written to a file", where=str(path), hint=f"--output out{row.endings[0]}")
    if row.writer is None:
        hint = "--output out.jsonl, for example"
        raise InputError(f"{row.name} is only read", where=str(path), hint=hint)
    if stays is not None and not is_stream(path):
        _cut(path, stays(path), row)
    appended, written = (live or stays is not None) and row.text and not is_stream(path), False
    with (
        destination(path, lambda: written, appended=appended, appearing=appearing) as stream,
        closing(row.writer(program, stream, shown=str(path))) as writer,
    ):
        writer.live |= live and row.piped
        if appended and Path(path).stat().st_size:
            try:
                writer.resume(Path(path))
            except InputError as error:
                error.hint = error.hint or "name another file, or move this one away"
                raise
        begun = 0 if is_stream(path) else _size(stream)
        try:
            yield writer
            writer.end()
        except UnwrittenError:
            raise
        except BaseException:  # the rows before it are whole
            with suppress(Exception):
                writer.settle()
            with suppress(Exception):
                written = not is_stream(path) and _size(stream) > begun
            raise
        written = not is_stream(path) and _size(stream) > begun


def _cut(path: str | Path, size: int, row: FormatRow) -> None:
    """Leave so many bytes of a file; InputError where several runs cannot write it one after the other."""
    if not row.text or Path(path).suffix in COMPRESSIONS:
        hint = "name a .csv or .jsonl file, for example"
        raise InputError("what several runs write (--state) is text, and not compressed", where=str(path), hint=hint)
    try:
        if os.path.exists(path):
            os.truncate(path, size)
    except OSError as error:
        raise unwritten(error, path) from error


def _size(stream: IO[str]) -> int:
    """How much has been written there."""
    stream.flush()
    found: int = cast(Any, stream).buffer.tell()
    return found
