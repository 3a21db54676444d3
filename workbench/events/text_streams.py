"""Convert the bytes of texts for readers: to UTF-8, and without the lines that are not rows.

The rule of this module: dropped lines are remembered, so that messages number lines as the file has them.
"""

from __future__ import annotations

import codecs
import io
from bisect import bisect_left
from typing import Any

from workbench.events.packing import DerivedBytes

PIECE = 1 << 16
"""Number of bytes that are read at a time."""
_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


class DroppedLines:
    """The lines of a file that are not rows."""

    def __init__(self) -> None:
        self._at: list[int] = []

    def add(self, lines_before: int) -> None:
        """Note a dropped line after `lines_before` retained lines."""
        self._at.append(lines_before)

    def number(self, line: int) -> int:
        """Return the number in the file of a retained line, given its number among the retained lines."""
        return line + bisect_left(self._at, line)


class TextBytes(DerivedBytes):
    """A stream that is derived piece by piece from another one."""

    def __init__(self, source: io.BufferedReader) -> None:
        super().__init__(source)
        self._ready, self._over = memoryview(b""), False

    def convert(self, data: bytes, last: bool) -> bytes:
        """Convert some bytes."""
        raise NotImplementedError

    def readinto(self, buffer: Any) -> int:
        while not self._ready and not self._over:
            data = self.source.read1(PIECE)
            self._over = not data
            self._ready = memoryview(self.convert(data, self._over))
        size = min(len(buffer), len(self._ready))
        buffer[:size], self._ready = self._ready[:size], self._ready[size:]
        return size


class Recoded(TextBytes):
    """A text converted to UTF-8."""

    def __init__(self, source: io.BufferedReader, encoding: str) -> None:
        super().__init__(source)
        self._decode = codecs.getincrementaldecoder(encoding)().decode

    def convert(self, data: bytes, last: bool) -> bytes:
        return self._decode(data, last).encode()


class FilteredLines(TextBytes):
    """A text without its first lines, and without comments.

    Parameters
    ----------
    skip: the number of lines to drop at the beginning.
    comment: the beginning of lines to drop; empty: none.
    dropped: notes the dropped lines.
    """

    def __init__(self, source: io.BufferedReader, skip: int, comment: str, dropped: DroppedLines) -> None:
        super().__init__(source)
        self._skip, self._comment, self._dropped = skip, comment.encode(), dropped
        self._kept, self._rest = 0, b""

    def convert(self, data: bytes, last: bool) -> bytes:
        data = self._rest + data
        cut = len(data) if last else data.rfind(b"\n") + 1
        lines, self._rest = data[:cut], data[cut:]
        comments = self._comment and (lines.startswith(self._comment) or b"\n" + self._comment in lines)
        if not self._skip and not comments:
            self._kept += lines.count(b"\n")
            return lines
        return b"".join(line for line in lines.splitlines(keepends=True) if self._is_retained(line))

    def _is_retained(self, line: bytes) -> bool:
        if self._skip:
            self._skip -= 1
        elif not self._comment or not line.startswith(self._comment):
            self._kept += 1
            return True
        self._dropped.add(self._kept)
        return False


def find_marked_encoding(stream: io.BufferedReader) -> str:
    """Return the encoding that the first bytes of a text mark; empty if they mark none."""
    return "utf-16" if stream.peek(2)[:2] in _MARKS else ""


def text_stream(
    stream: io.BufferedReader, encoding: str, skip: int, comment: str, dropped: DroppedLines
) -> io.BufferedReader:
    """Return a text in UTF-8, without the lines that are not rows."""
    if encoding:
        stream = io.BufferedReader(Recoded(stream, encoding))
    return io.BufferedReader(FilteredLines(stream, skip, comment, dropped)) if skip or comment else stream
