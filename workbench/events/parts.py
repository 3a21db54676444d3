"""Parts of the files of a log that workers of Spark read at the same time.

The rule of this module: each row lies in one part, and is numbered as in the whole file. Formats define where a file
can be cut (`RowReader.parts`): lines where a row certainly ends, Parquet between row groups. A file without certain
cuts, or a compressed one, is one part.
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterator
from typing import IO, NamedTuple


class FilePart(NamedTuple):
    """Successive rows of a file; by default, all of them.

    Attributes
    ----------
    start, stop: the range of its bytes.
    groups: the range of its row groups.
    skipped: the number of lines or rows before it, without those of the header.
    header: the bytes that are read before its own.
    """

    start: int = 0
    stop: int | None = None
    groups: tuple[int | None, int | None] = (None, None)
    skipped: int = 0
    header: bytes = b""


WHOLE = FilePart()


def parts_of_lines(
    file: IO[bytes], size: int, header: bytes, cut: Callable[[bytes], int | None]
) -> Iterator[FilePart]:  # fmt: skip
    """Yield the parts of a text, of at most `size` bytes each, except one without a certain cut.

    Parameters
    ----------
    header: the lines at the beginning that all parts need.
    cut: returns the number of bytes of a text, which begins with a row, that are whole rows.
    """
    start, lines, titles = 0, 0, header.count(b"\n")
    file.seek(0)
    while data := file.read(size):
        offset = 0 if start else len(header)
        length = cut(data[offset:]) if len(data) == size else None
        skipped, repeated = (lines - titles, header) if start else (0, b"")
        if not length:
            yield FilePart(start, None, skipped=skipped, header=repeated)
            return
        yield FilePart(start, start + offset + length, skipped=skipped, header=repeated)
        lines += data.count(b"\n", 0, offset + length)
        start += offset + length
        file.seek(start)


def part_stream(stream: io.BufferedReader, part: FilePart) -> io.BufferedReader:
    """Return the bytes of a part of a text, after its header."""
    if (part.start, part.stop) == (0, None):
        return stream
    return io.BufferedReader(_PartBytes(stream, part))


class _PartBytes(io.RawIOBase):
    def __init__(self, stream: io.BufferedReader, part: FilePart) -> None:
        stream.seek(part.start)
        self._stream, self._first = stream, part.header
        self._left = None if part.stop is None else part.stop - part.start

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size = len(buffer) if self._first or self._left is None else min(len(buffer), self._left)
        data = self._first[:size] or self._stream.read(size)
        if self._first:
            self._first = self._first[size:]
        elif self._left is not None:
            self._left -= len(data)
        buffer[: len(data)] = data
        return len(data)
