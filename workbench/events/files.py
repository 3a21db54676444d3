"""Files of events and others: which format a name tells, how they are opened, and how they are written.

The rule of this module: what is written appears under its name only when it is complete, and vanishes else.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any, NamedTuple, cast

from workbench.budget import work
from workbench.errors import InputError
from workbench.events.table import endings, format_rows


class Compression(NamedTuple):
    """A way to compress a file: what it begins with, and what its bytes are read and written through."""

    magic: bytes
    read: Callable[[io.BufferedReader], Callable[[Any], int]]
    """Given a stream, what fills a buffer with what has been compressed in it."""
    write: Callable[[IO[bytes]], Any]


PACKED = 1 << 17
"""Compressed bytes that are taken at a time, if so many are there."""


def _gunzip(stream: io.BufferedReader) -> Callable[[Any], int]:
    """What has come, as far as it goes: `gzip.GzipFile` would wait for the next 8 KB of a pipe."""
    import zlib

    member, full = zlib.decompressobj(31), False

    def fill(room: Any) -> int:
        nonlocal member, full
        while True:
            if member.eof:
                data = member.unused_data.lstrip(b"\0")
                while not data:  # zeros may stand between members, and behind the last one
                    packed = stream.read1(PACKED)
                    if not packed:
                        return 0
                    data = packed.lstrip(b"\0")
                member = zlib.decompressobj(31)
            else:
                data = member.unconsumed_tail
                if not data and not full:
                    data = stream.read1(PACKED)
                    if not data:
                        raise EOFError("it ends in the middle")
            found = member.decompress(data, len(room))
            full = len(found) == len(room)
            if found:
                room[: len(found)] = found
                return len(found)

    return fill


def _gzip(stream: IO[bytes]) -> Any:
    import gzip

    # no time stamp in the header: the same events make the same file
    return gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0)


def _unzstd(stream: io.BufferedReader) -> Callable[[Any], int]:
    pa = _arrow()
    found: Callable[[Any], int] = pa.CompressedInputStream(pa.PythonFile(_Others(stream), "r"), "zstd").readinto
    return found


def _zstd(stream: IO[bytes]) -> Any:
    pa = _arrow()
    return pa.CompressedOutputStream(pa.PythonFile(_Others(stream), "w"), "zstd")


def _arrow() -> Any:
    try:
        import pyarrow
    except ImportError as error:
        hint = "pip install 'workbench[lab]'; or use gzip"
        raise InputError("zstandard needs pyarrow, which is not installed", hint=hint) from error
    return pyarrow


COMPRESSIONS = {
    ".gz": Compression(b"\x1f\x8b", _gunzip, _gzip),
    ".zst": Compression(b"\x28\xb5\x2f\xfd", _unzstd, _zstd),
}
"""What names of compressed files end with."""


class Decompressed(io.RawIOBase):
    """The bytes that have been compressed.

    Attributes
    ----------
    source: the compressed ones.
    """

    def __init__(self, source: io.BufferedReader, how: Compression) -> None:
        self.source, self._read = source, how.read(source)

    def readable(self) -> bool:
        return True

    def readinto(self, room: Any) -> int:
        import zlib

        try:
            return self._read(room)
        except (EOFError, OSError, zlib.error) as error:
            raise DamagedError(str(error)) from error


class DamagedError(OSError):
    """Compressed data that cannot be read."""


class _Others(io.RawIOBase):
    """A stream for `pyarrow`, which closes what it is given."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        found: bytes = self._stream.read1(size)
        return found

    def write(self, data: Any) -> int:
        return int(self._stream.write(data))


# --- formats --------------------------------------------------------------------------------------------------


def ending(name: str | Path) -> str:
    """What tells the format at the end of a name, before `.gz` or `.zst`."""
    path = Path(name)
    return path.with_suffix("").suffix if path.suffix in COMPRESSIONS else path.suffix


def format_of(path: str | Path) -> str | None:
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
    hint = f"the formats are {', '.join(known)}; where the file has one of them, say so: --format csv"
    raise InputError(f"'{found}' is no format of events", where=str(path), hint=hint)


def sniffed(stream: io.BufferedReader) -> str:
    """What the first bytes tell: Arrow and Parquet have their names there, JSON lines a bracket; else it is CSV."""
    start = stream.peek(64).removeprefix(b"\xef\xbb\xbf")
    return next(row.name for row in reversed(list(format_rows().values())) if row.begins(start))


# --- reading --------------------------------------------------------------------------------------------------


@contextmanager
def opened(path: str | Path, stdin: IO[bytes] | None = None) -> Iterator[io.BufferedReader]:
    """The bytes of a file, or of the standard input for `-`, decompressed where they are compressed.

    Raises
    ------
    InputError: it cannot be read, or the compressed data are damaged.
    """
    with readable(shown_name(path)):
        if str(path) == "-":
            source = stdin or sys.stdin.buffer
            # no second buffer around the standard input: it would wait to be full before the first event
            yield decompressed(source if isinstance(source, io.BufferedReader) else io.BufferedReader(_raw(source)))
            return
        try:
            file = open(path, "rb")  # noqa: SIM115 - closed below
        except OSError as error:
            raise InputError(f"cannot read the events: {error.strerror}", where=str(path)) from error
        with file:
            yield decompressed(file)


def decompressed(stream: io.BufferedReader) -> io.BufferedReader:
    """What has been compressed in a stream, or itself, where nothing has been."""
    start = stream.peek(4)[:4]
    found = next((each for each in COMPRESSIONS.values() if start.startswith(each.magic)), None)
    return stream if found is None else io.BufferedReader(Decompressed(stream, found))


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
    hint = "convert the file: iconv -f latin1 -t utf-8, for example"
    return InputError(f"this is not UTF-8 text: {error}", where=where, hint=hint)


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
    mine = work()
    mine.unfinished.append(str(name))
    mine.tell()
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
    finally:
        mine.unfinished.remove(str(name))
        mine.tell()


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


def unwritten(error: OSError, path: str | Path = "") -> InputError:
    """The system's word that something cannot be written, as an error of ours."""
    return InputError(f"cannot write there: {error.strerror}", where=str(path or error.filename or "standard output"))


@contextmanager
def destination(path: str | Path) -> Iterator[IO[str]]:
    """Where text is written to (its `buffer` takes bytes): a file, compressed for `.gz` and `.zst`, or a stream.

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
        with (
            replacing(target) as name, io.BufferedWriter(_Written(name, path)) as file, _compressed(file, target) as raw
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
def _compressed(file: IO[bytes], target: Path) -> Iterator[IO[bytes]]:
    if target.suffix not in COMPRESSIONS:
        yield file
        return
    with COMPRESSIONS[target.suffix].write(file) as packed:
        yield cast(IO[bytes], packed)
