"""Files of events and others: the formats of their names, opening, and writing.

The rule of this module: a written file appears under its name only when it is complete, and is otherwise removed; but
rows are kept in a file beside it, and the output of a log without an end appears at once.
"""

from __future__ import annotations

import io
import os
import shlex
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
"""Number of bytes at the beginning of a file that can be inspected before it is read."""

FOREIGN = (".zip", ".bz2", ".xz", ".7z", ".tar", ".tgz", ".xls", ".xlsx", ".ods")
"""The endings of archives and spreadsheets, whose contents no format reads under another name."""

# --- formats --------------------------------------------------------------------------------------------------


def ending(name: str | Path) -> str:
    """Return the ending of a name that determines the format, before `.gz` or `.zst`."""
    path = Path(name)
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


def format_of(path: str | Path, option: str = "--format") -> str | None:
    """Return the format of a file's name; None for a name without an ending, a device or a pipe.

    Raises
    ------
    InputError: the ending is that of no format.
    """
    name, suffix = Path(path), ending(path)
    known = endings()
    if suffix in known:
        return known[suffix]
    if not suffix or (name.exists() and not name.is_file()):
        return None
    from workbench.events.patterns import PATTERN_OPTION
    from workbench.tesla.engines.facts.database import is_database

    example = f"if the file has one of them, name it: {option} csv"
    if option == "--format":
        example += f"; lines of text need {PATTERN_OPTION}"
    elif not option.endswith("-format"):
        example = f"for example {option} {name.with_suffix('.csv')}"
    hint = f"the formats are {', '.join(known)}; {example}"
    if is_database(path) and option == "--format":
        hint = f"a database has facts, --facts {path}; events are read from files; {hint}"
    if suffix in FOREIGN and option == "--format":
        hint = f"unpack it, or save its table as CSV; {hint}"
    raise InputError(f"'{suffix}' is not a format of events", where=str(path), hint=hint)


def check_page_name(path: str | Path) -> None:
    """Raise InputError if the name of an HTML page has another ending."""
    if Path(path).suffix.lower() not in ("", ".html", ".htm"):
        raise InputError("--html writes a page of HTML", where=str(path), hint="name it .html")


def sniff_format(stream: io.BufferedReader) -> str:
    """Return the format that the first bytes show: Arrow and Parquet have marks, JSON lines a bracket; else CSV."""
    start = stream.peek(64).removeprefix(b"\xef\xbb\xbf")
    return next(row.name for row in reversed(list(format_rows().values())) if row.begins(start))


# --- reading --------------------------------------------------------------------------------------------------


@contextmanager
def open_bytes(path: str | Path, stdin: IO[bytes] | None = None) -> Iterator[io.BufferedReader]:
    """Open a file, or the standard input for `-`, and decompress it if it is compressed.

    Raises
    ------
    InputError: the file cannot be read, or the compressed data are damaged.
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
            raise InputError(f"cannot be read: {error.strerror}", where=str(path)) from error
        with file:
            yield decompress_stream(file)


@contextmanager
def sought(stream: IO[bytes]) -> Iterator[IO[bytes]]:
    """Yield a stream with random access: compressed data are copied to a temporary file."""
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
def readable(file_name: str) -> Iterator[None]:
    """Convert the errors of reading bytes into `InputError`."""
    try:
        yield
    except DamagedError as error:
        raise InputError(f"the compressed file is damaged: {error}", where=file_name) from error
    except UnicodeDecodeError as error:
        raise not_text(error, file_name) from error
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", where=file_name) from error


def not_text(error: UnicodeDecodeError, where: str) -> InputError:
    """Return the error for bytes that are not text in an encoding."""
    hint = "name another --encoding: latin-1 or cp1252, for example"
    return InputError(f"this is not {error.encoding.upper()} text: {error}", where=where, hint=hint)


def display_name(path: str | Path) -> str:
    """Return the name of a file that is read, for messages."""
    return "<stdin>" if str(path) == "-" else str(path)


def _raw(stream: IO[bytes]) -> io.RawIOBase:
    return cast(io.RawIOBase, stream)


# --- writing --------------------------------------------------------------------------------------------------


@contextmanager
def replacing(target: Path, stays: Callable[[], bool] | None = None) -> Iterator[Path]:
    """Yield an empty file beside `target`, with its suffix, which takes its name at the end, or is removed.

    Parameters
    ----------
    stays: whether an incomplete file is useful: it is then kept, under the name that the error notes.

    Raises
    ------
    InputError: the file cannot be created there.
    """
    name = target.with_name(f".{os.urandom(4).hex()}.{target.name}")
    half_written[str(name)] = stays is not None
    work().report()
    try:  # includes the creation: an interrupt at any time leaves no file
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
        work().report()


def is_stream(path: str | Path) -> bool:
    """Whether this is the standard output (`-`), a pipe or a device, to which events are written as they come."""
    return str(path) == "-" or (os.path.exists(path) and not os.path.isfile(path))


def refuse_overwriting(option: str, path: str | Path, roles: dict[str, str]) -> None:
    """Raise InputError if the file of an option has another role, by real paths; otherwise add it to `roles`."""
    other = roles.setdefault(os.path.realpath(path), option)
    if other != option and not is_stream(path):
        raise InputError(f"{option} would overwrite {other}", where=str(path), hint="give it its own file")


def is_terminal(path: str | Path) -> bool:
    """Whether the output is written to a terminal."""
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
    """The error for an output that cannot be written."""


def unwritten(error: OSError, path: str | Path = "") -> InputError:
    """Convert an error of the system about writing into `InputError`."""
    folder = shlex.quote(os.path.dirname(os.path.realpath(path)))
    hint = f"create the folder: mkdir -p {folder}" if path and isinstance(error, FileNotFoundError) else ""
    where = str(path or error.filename or "standard output")
    return UnwrittenError(f"cannot write there: {error.strerror}", where=where, hint=hint)


@contextmanager
def destination(
    path: str | Path,
    stays: Callable[[], bool] | None = None,
    *,
    appended: bool = False,
    appearing: ExitStack | None = None,
) -> Iterator[IO[str]]:
    """Open a text output (its `buffer` takes bytes): a file, compressed for `.gz` and `.zst`, or a stream.

    Parameters
    ----------
    stays: as in `replacing`.
    appended: whether text is appended to the file, under its own name.
    appearing: this stack, when closed, gives the complete file its name; None: at once.

    Raises
    ------
    InputError: the output cannot be written there.
    """
    target = Path(os.path.realpath(path))
    if str(path) == "-":
        if not is_terminal(path) and hasattr(sys.stdout, "reconfigure"):
            sys.stdout.reconfigure(encoding="utf-8", errors="strict")  # a log, independent of the terminal's characters
        yield sys.stdout
        sys.stdout.flush()
    elif is_stream(path):
        device = _writable(Path(path), path, "w")  # /dev/stderr may lead to no name
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


def _writable(name: Path, user_path: str | Path, mode: str) -> io.BufferedWriter:
    try:
        return io.BufferedWriter(_Written(name, user_path, mode))
    except OSError as error:
        raise unwritten(error, user_path) from error


class _Written(io.FileIO):
    """A file whose errors name it; `user_path` is its name for the user."""

    def __init__(self, path: Path, user_path: str | Path, mode: str = "w") -> None:
        super().__init__(path, mode)
        self._shown, self._failed = str(user_path), False

    def write(self, data: Any) -> int:
        if self._failed:  # the error has been reported: data that is still being written is dropped
            return memoryview(data).nbytes
        try:
            return super().write(data)
        except BrokenPipeError:  # the reader has closed the pipe
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
