"""Files of events and others: which format a name tells, how they are opened, and how they are written.

The rule of this module: what is written appears under its name only when it is complete, and vanishes else.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, cast

from workbench.errors import InputError

Format = Literal["csv", "jsonl", "parquet"]

FORMATS: dict[str, Format] = {
    ".csv": "csv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
}
GZIP_MAGIC = b"\x1f\x8b"
PARQUET_MAGIC = b"PAR1"


# --- formats --------------------------------------------------------------------------------------------------


def ending(name: str | Path) -> str:
    """What tells the format at the end of a name, before `.gz`."""
    return Path(str(name).removesuffix(".gz")).suffix


def format_of(path: str | Path) -> Format | None:
    """The format that a file's name tells; None for a name without an ending, a device or a pipe.

    Raises
    ------
    InputError: the name has an ending, of a format that is none of ours.
    """
    name, found = Path(path), ending(path)
    if found in FORMATS:
        return FORMATS[found]
    if not found or (name.exists() and not name.is_file()):
        return None
    hint = f"the formats are {', '.join(FORMATS)}; where the file has one of them, say so: --format csv"
    raise InputError(f"'{found}' is no format of events", where=str(path), hint=hint)


def sniffed(stream: io.BufferedReader) -> Format:
    """Parquet has its name in front; JSON lines start with a brace, a bracket or a quote; everything else is CSV."""
    if stream.peek(4)[:4] == PARQUET_MAGIC:
        return "parquet"
    start = stream.peek(64).removeprefix(b"\xef\xbb\xbf").lstrip()
    return "jsonl" if start[:1] in (b"{", b"[", b'"') else "csv"


# --- reading --------------------------------------------------------------------------------------------------


@contextmanager
def opened(path: str | Path, stdin: IO[bytes] | None = None) -> Iterator[io.BufferedReader]:
    """The bytes of a file, or of the standard input for `-`, decompressed if they are gzip's.

    Raises
    ------
    InputError: it cannot be read, or the compressed data are damaged.
    """

    def unzipped(stream: io.BufferedReader) -> io.BufferedReader:
        if stream.peek(2)[:2] == GZIP_MAGIC:
            import gzip

            return io.BufferedReader(_raw(cast(IO[bytes], gzip.GzipFile(fileobj=stream))))
        return stream

    with readable(shown_name(path)):
        if str(path) == "-":
            source = stdin or sys.stdin.buffer
            # no second buffer around the standard input: it would wait to be full before the first event
            yield unzipped(source if isinstance(source, io.BufferedReader) else io.BufferedReader(_raw(source)))
            return
        try:
            file = open(path, "rb")  # noqa: SIM115 - closed below
        except OSError as error:
            raise InputError(f"cannot read the events: {error.strerror}", where=str(path)) from error
        with file:
            yield unzipped(file)


@contextmanager
def readable(shown: str) -> Iterator[None]:
    """What bytes can have against being read, as an error of ours."""
    import gzip

    try:
        yield
    except (EOFError, gzip.BadGzipFile) as error:
        raise InputError(f"the compressed file is damaged: {error}", where=shown) from error
    except UnicodeDecodeError as error:
        raise InputError(f"this is not UTF-8 text: {error}", where=shown) from error


def shown_name(path: str | Path) -> str:
    """What messages call a file that is read."""
    return "<stdin>" if str(path) == "-" else str(path)


def _raw(stream: IO[bytes]) -> io.RawIOBase:
    return cast(io.RawIOBase, stream)


# --- writing --------------------------------------------------------------------------------------------------


@contextmanager
def replacing(target: Path) -> Iterator[Path]:
    """An empty file beside `target`, with its suffix, that takes its name at the end, or vanishes.

    Raises
    ------
    InputError: it cannot be made there.
    """
    name = target.with_name(f".{target.stem}.{os.urandom(4).hex()}{target.suffix}")
    try:  # around the making, too: whenever this is interrupted, nothing is left behind
        try:
            name.touch(exist_ok=False)
        except OSError as error:
            raise unwritten(error, target) from error
        yield name
        os.replace(name, target)
    except BaseException:
        with suppress(OSError):
            name.unlink()
        raise


def is_stream(path: str | Path) -> bool:
    """Whether this is the standard output (`-`), a pipe or a device, which are written as events come."""
    return str(path) == "-" or (os.path.exists(path) and not os.path.isfile(path))


def write_atomically(path: str | Path, text: str) -> None:
    """Write a file that appears under its name only when it is complete.

    Raises
    ------
    InputError: it cannot be written there.
    """
    target = Path(os.path.realpath(path))
    try:
        if target.exists() and not target.is_file() and not target.is_dir():  # a pipe, a device
            target.write_text(text, encoding="utf-8")
            return
        with replacing(target) as name:
            name.write_text(text, encoding="utf-8")
    except OSError as error:
        raise unwritten(error, path) from error


def unwritten(error: OSError, path: str | Path = "") -> InputError:
    """The system's word that something cannot be written, as an error of ours."""
    return InputError(f"cannot write there: {error.strerror}", where=str(path or error.filename or "standard output"))


@contextmanager
def destination(path: str | Path) -> Iterator[IO[str]]:
    """Where text is written to (its `buffer` takes bytes): a file, compressed for `.gz`, or a stream.

    Raises
    ------
    InputError: it cannot be written there.
    """
    target = Path(os.path.realpath(path))
    if str(path) == "-":
        yield sys.stdout
        sys.stdout.flush()
    elif is_stream(path):
        device = io.BufferedWriter(_Written(target, path))
        with io.TextIOWrapper(device, "utf-8", newline="", line_buffering=device.isatty()) as stream:
            yield stream
    else:
        with (
            replacing(target) as name, io.BufferedWriter(_Written(name, path)) as file, _zipped(file, target) as raw
        ):  # fmt: skip
            text = io.TextIOWrapper(raw, encoding="utf-8", newline="")
            try:
                yield text
                text.flush()
            finally:
                with suppress(ValueError, OSError):
                    text.detach()


class _Written(io.FileIO):
    """A file that says which it is where it cannot be written; `shown` is what the user calls it."""

    def __init__(self, path: Path, shown: str | Path) -> None:
        super().__init__(path, "w")
        self._shown = str(shown)

    def write(self, data: Any) -> int:
        try:
            return super().write(data)
        except BrokenPipeError:  # whoever reads it has had enough
            raise
        except OSError as error:
            raise unwritten(error, self._shown) from error


@contextmanager
def _zipped(file: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    if target.suffix != ".gz":
        yield file
        return
    import gzip

    # no time stamp in the header: the same events make the same file
    with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as zipped:
        yield cast(IO[bytes], zipped)
