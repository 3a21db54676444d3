"""Files of events and others: which format a name tells, how they are opened, and how they are written.

The rule of this module: what is written appears under its name only when it is complete, and vanishes else; but rows
stay beside it, and what comes of a log without an end is there at once.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, cast

from workbench.budget import work
from workbench.errors import InputError
from workbench.events.packing import COMPRESSIONS, DamagedError, Decompressed, PackedFile, decompress_stream
from workbench.events.table import endings, format_rows
from workbench.interrupts import half_written

BUFFER = 1 << 16
"""Bytes at the beginning of a file that can be inspected before it is read."""

# --- formats --------------------------------------------------------------------------------------------------


def ending(name: str | Path) -> str:
    """What tells the format at the end of a name, before `.gz` or `.zst`."""
    path = Path(name)
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


def format_of(path: str | Path, option: str = "--format") -> str | None:
    """The format that a file's name tells; None for a name without an ending, a device or a pipe.

    Raises
    ------
    InputError: the name has an ending, of a format that is none of ours.
    """
    name, found = Path(path), ending(path)
    known = endings()
    if found in known:
        return known[found]
    if not found or (name.exists() and not name.is_file()):
        return None
    from workbench.tesla.engines.facts.database import is_database

    hint = f"the formats are {', '.join(known)}; where the file has one of them, say so: {option} csv"
    if is_database(path) and option == "--format":
        hint = f"facts are read from a database, --facts {path}, and events from files; {hint}"
    raise InputError(f"'{found}' is no format of events", where=str(path), hint=hint)


def check_page_name(path: str | Path) -> None:
    """Raise InputError where the name of a page of HTML ends as that of another kind of file."""
    if Path(path).suffix.lower() not in ("", ".html", ".htm"):
        raise InputError("--html writes a page of HTML", where=str(path), hint="name it .html")


def sniff_format(stream: io.BufferedReader) -> str:
    """What the first bytes tell: Arrow and Parquet have their names there, JSON lines a bracket; else it is CSV."""
    start = stream.peek(64).removeprefix(b"\xef\xbb\xbf")
    return next(row.name for row in reversed(list(format_rows().values())) if row.begins(start))


# --- reading --------------------------------------------------------------------------------------------------


@contextmanager
def open_bytes(path: str | Path, stdin: IO[bytes] | None = None) -> Iterator[io.BufferedReader]:
    """The bytes of a file, or of the standard input for `-`, decompressed where they are compressed.

    Raises
    ------
    InputError: it cannot be read, or the compressed data are damaged.
    """
    with readable(display_name(path)):
        if str(path) == "-":
            source = stdin or sys.stdin.buffer
            # no second buffer around the standard input: it would wait to be full before the first event
            yield decompress_stream(
                source if isinstance(source, io.BufferedReader) else io.BufferedReader(_raw(source))
            )
            return
        try:
            file: io.BufferedReader = io.BufferedReader(_raw(io.FileIO(path)), BUFFER)
        except OSError as error:
            raise InputError(f"cannot read the events: {error.strerror}", where=str(path)) from error
        with file:
            yield decompress_stream(file)


@contextmanager
def sought(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """The same for a format that is not read from beginning to end: what is compressed, in a file of its own."""
    if not isinstance(getattr(stream, "raw", None), Decompressed):
        yield stream
        return
    import shutil
    import tempfile

    with tempfile.TemporaryFile() as file:
        shutil.copyfileobj(stream, file, 1 << 20)
        file.seek(0)
        yield file


@contextmanager
def readable(shown: str) -> Iterator[None]:
    """What bytes can have against being read, as an error of ours."""
    try:
        yield
    except DamagedError as error:
        raise InputError(f"the compressed file is damaged: {error}", where=shown) from error
    except UnicodeDecodeError as error:
        raise not_text(error, shown) from error
    except OSError as error:
        raise InputError(f"cannot read the events: {error.strerror or error}", where=shown) from error


def not_text(error: UnicodeDecodeError, where: str) -> InputError:
    """The error for bytes that are no characters."""
    hint = "name another --encoding: latin-1 or cp1252, for example"
    return InputError(f"this is not {error.encoding.upper()} text: {error}", where=where, hint=hint)


def display_name(path: str | Path) -> str:
    """What messages call a file that is read."""
    return "<stdin>" if str(path) == "-" else str(path)


def _raw(stream: IO[bytes]) -> io.RawIOBase:
    return cast(io.RawIOBase, stream)


# --- writing --------------------------------------------------------------------------------------------------


@contextmanager
def replacing(target: Path, stays: Callable[[], bool] | None = None) -> Iterator[Path]:
    """An empty file beside `target`, with its suffix, that takes its name at the end, or vanishes.

    Parameters
    ----------
    stays: whether it is of use when the end has not come: it stays then, under the name that the error notes.

    Raises
    ------
    InputError: it cannot be made there.
    """
    name = target.with_name(f".{os.urandom(4).hex()}.{target.name}")
    half_written[str(name)] = stays is not None
    work().tell()
    try:  # around the making, too: whenever this is interrupted, nothing is left behind
        try:
            name.touch(exist_ok=False)
        except OSError as error:
            raise unwritten(error, target) from error
        yield name
        os.replace(name, target)
    except BaseException as error:
        if stays is not None and stays():
            error.add_note(f"the output is not complete; its rows so far are in {name}")
        else:
            with suppress(OSError):
                name.unlink()
        raise
    finally:
        half_written.pop(str(name), None)
        work().tell()


def is_stream(path: str | Path) -> bool:
    """Whether this is the standard output (`-`), a pipe or a device, which are written as events come."""
    return str(path) == "-" or (os.path.exists(path) and not os.path.isfile(path))


def is_terminal(path: str | Path) -> bool:
    """Whether somebody looks at what is written there."""
    return str(path) == "-" and sys.stdout.isatty()


def write_atomically(path: str | Path, text: str) -> None:
    """Write a file that appears under its name only when it is complete; InputError if it cannot be written there."""
    target = Path(os.path.realpath(path))
    try:
        if is_stream(path) and not target.is_dir():  # a pipe, a device, which may have no name of its own
            Path(path).write_text(text, encoding="utf-8")
            return
        with replacing(target) as name:
            name.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritten(error, path) from error


class UnwrittenError(InputError):
    """Something cannot be written."""


def unwritten(error: OSError, path: str | Path = "") -> InputError:
    """The system's word that something cannot be written, as an error of ours."""
    return UnwrittenError(
        f"cannot write there: {error.strerror}", where=str(path or error.filename or "standard output")
    )


@contextmanager
def destination(
    path: str | Path,
    stays: Callable[[], bool] | None = None,
    *,
    appended: bool = False,
    appearing: ExitStack | None = None,
) -> Iterator[IO[str]]:
    """Where text is written to (its `buffer` takes bytes): a file, compressed for `.gz` and `.zst`, or a stream.

    Parameters
    ----------
    stays: as in `replacing`.
    appended: whether it is written behind what there is in the file, under its own name.
    appearing: gives the file its name when this stack is closed, after the file is complete; None: at once.

    Raises
    ------
    InputError: it cannot be written there.
    """
    target = Path(os.path.realpath(path))
    if str(path) == "-":
        if not is_terminal(path) and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")  # a log, whatever the terminal can show
        yield sys.stdout
        sys.stdout.flush()
    elif is_stream(path):
        device = io.BufferedWriter(_Written(Path(path), path))  # where /dev/stderr leads to may be no name
        with io.TextIOWrapper(device, "utf-8", newline="", line_buffering=device.isatty()) as stream:
            yield stream
    else:
        with ExitStack() as at_once:
            name = target if appended else (appearing or at_once).enter_context(replacing(target, stays))
            file = at_once.enter_context(_writable(name, path, "a" if appended else "w"))
            raw = at_once.enter_context(_open_compressed(file, target))
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            try:
                yield text
                text.flush()
            finally:
                with suppress(ValueError, OSError):
                    text.detach()


def _writable(name: Path, shown: str | Path, mode: str) -> io.BufferedWriter:
    try:
        return io.BufferedWriter(_Written(name, shown, mode))
    except OSError as error:
        raise unwritten(error, shown) from error


class _Written(io.FileIO):
    """A file that says which it is where it cannot be written; `shown` is what the user calls it."""

    def __init__(self, path: Path, shown: str | Path, mode: str = "w") -> None:
        super().__init__(path, mode)
        self._shown, self._failed = str(shown), False

    def write(self, data: Any) -> int:
        if self._failed:  # which has been told: what is still on its way, while all ends, goes nowhere
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except BrokenPipeError:  # whoever reads it has had enough
            raise
        except OSError as error:
            self._failed = True
            raise unwritten(error, self._shown) from error


@contextmanager
def _open_compressed(file: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    if target.suffix not in COMPRESSIONS:
        yield file
        return
    with PackedFile(file, COMPRESSIONS[target.suffix]) as packed:
        yield cast(IO[bytes], packed)
