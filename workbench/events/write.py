"""Write events in any format; `read` reads them back.

The rule of this module: a file appears under its name only when it is complete, and an error before its first row
writes nothing. Rows that were written before an error are kept in a file beside it; text of a log without an end is
appended to the file.
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
from workbench.events.reading_options import Reading
from workbench.events.table import PIPED, USUAL, FormatRow, format_row
from workbench.events.writers import RowWriter


def output_format(
    output: str | Path, log_format: str | None = None, read: str | Path = "-", *, wanted: str | None = None
) -> str:
    """Choose the format to write: the wanted one, else that of the output's name, or of the log.

    If a format that was not requested cannot be written, another one is chosen: CSV for a format that is only read,
    JSON lines for Parquet to a pipe, and for binary formats on a terminal.

    Parameters
    ----------
    log_format: the requested format of the log.
    read: a file of the log, which determines the format if none is given.
    """
    if wanted is not None:
        return wanted
    try:
        named = None if is_stream(output) else format_of(output, "--output-format")
    except InputError:
        if log_format is None:
            raise
        named = None
    row = format_row(named or log_format or format_of(read) or USUAL)
    if named is None and row.writer is None:
        return USUAL
    allowed = not is_stream(output) or row.text or (row.piped and not is_terminal(output))
    return row.name if allowed else PIPED


Stays = Callable[[str | Path], int]
"""Returns how many bytes of a file to keep: those that earlier runs have written."""
BAD_ROWS = Ports("bad rows", (), (Port("file", STR), Port("row", INT), Port("reason", STR), Port("text", STR)))


NO_FILES = ("error", "skip", "ignore", "drop", "warn")
"""Words that are hardly the name of a file of bad rows."""


@contextmanager
def keep_bad_rows(
    reading: Reading, reporter: Reporter, *, live: bool = False, stays: Stays | None = None
) -> Iterator[None]:
    """Write bad rows to the file of the option, if there is one, complete or not at all.

    Parameters
    ----------
    live, stays: as in `write_events`.
    """
    if reading.bad_rows in ("error", "skip"):
        yield
        return
    from difflib import get_close_matches

    if get_close_matches(reading.bad_rows.lower(), NO_FILES, cutoff=0.8) and not os.path.exists(reading.bad_rows):
        reporter.report(f"bad rows are written to a file named '{reading.bad_rows}'; 'skip' leaves them out")
    row = writable_format(reading.bad_rows, "--bad-rows")
    with write_events(reading.bad_rows, BAD_ROWS, format=row, live=live, stays=stays) as writer:

        def keep(row: BadRow) -> None:
            writer.write({name: [cell] for name, cell in zip(BAD_ROWS.outputs_by_name, row, strict=True) if cell != ""})
            writer.flush()  # the log may have no end

        reporter.keep = keep
        yield


def writable_format(path: str | Path, option: str, format: str | FormatRow | None = None) -> FormatRow:
    """Return the format of the file that an option names; InputError if it is only read, or there is no such folder."""
    name = "" if format or is_stream(path) else format_of(path, option)
    row = format if isinstance(format, FormatRow) else format_row(format or name or USUAL)
    if not row.piped and is_stream(path):
        raise InputError(f"{row.name} is written to a file", where=str(path), hint=f"{option} out{row.endings[0]}")
    if row.writer is None:
        raise InputError(f"{row.name} is only read", where=str(path), hint=f"{option} out.jsonl, for example")
    if not is_stream(path):
        try:
            os.stat(Path(os.path.realpath(path)).parent)
        except OSError as error:
            raise unwritten(error, path) from error
    return row


@contextmanager
def write_events(
    path: str | Path,
    program: Ported,
    *,
    format: str | FormatRow | None = None,
    live: bool = False,
    appearing: ExitStack | None = None,
    stays: Stays | None = None,
) -> Iterator[RowWriter]:
    """Give a writer into a file that appears, complete, when the block ends without an error.

    `-` (the standard output) and anything but an ordinary file (a pipe, a device) are written as events come.

    Parameters
    ----------
    format: overrides the format of the name; `USUAL` where neither is known.
    live: whether the log is being written while it is read.
    appearing: gives the file its name when this stack is closed (`files.destination`).
    stays: returns how many bytes of a file to keep; the file is of several runs, and is appended to under its own name.
    """
    row = writable_format(path, "--output", format)
    assert row.writer is not None
    if stays is not None and not is_stream(path):
        _cut(path, stays(path), row)
    appended, written = (live or stays is not None) and row.text and not is_stream(path), False
    with (
        destination(path, lambda: written, appended=appended, appearing=appearing) as stream,
        closing(row.writer(program, stream, file_name=str(path))) as writer,
    ):
        writer.live |= live and row.piped
        if appended and Path(path).stat().st_size:
            try:
                writer.resume(Path(path))
            except InputError as error:
                error.hint = error.hint or "name another file, or move this one away"
                raise
        initial_size = 0 if is_stream(path) else _size(stream)
        try:
            yield writer
            writer.end()
        except UnwrittenError:
            raise
        except BaseException:  # the rows before the error are complete
            with suppress(Exception):
                writer.settle()
            with suppress(Exception):
                written = not is_stream(path) and _size(stream) > initial_size
            raise
        written = not is_stream(path) and _size(stream) > initial_size


def _cut(path: str | Path, size: int, row: FormatRow) -> None:
    """Cut a file to `size` bytes; InputError if several runs cannot write it one after the other."""
    if not row.text or Path(path).suffix in COMPRESSIONS:
        hint = "name a .csv or .jsonl file, for example"
        raise InputError("what several runs write (--state) is text, and not compressed", where=str(path), hint=hint)
    try:
        if os.path.exists(path):
            os.truncate(path, size)
    except OSError as error:
        raise unwritten(error, path) from error


def _size(stream: IO[str]) -> int:
    """Return the number of bytes that have been written."""
    stream.flush()
    size: int = cast(Any, stream).buffer.tell()
    return size
