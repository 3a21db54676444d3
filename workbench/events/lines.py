"""Read lines of a file or a pipe as they come, and find out which are whole rows.

The rule of this module: reading never waits for bytes that have not arrived. A block is what has arrived, up to a size;
an incomplete row belongs to the next block.
"""

from __future__ import annotations

import io
import select
from collections.abc import Iterable, Iterator
from typing import Any

from workbench.errors import InputError
from workbench.events.packing import DerivedBytes

SIZE = 1 << 21
"""Number of bytes of a block."""
MIN_COLUMN_BYTES = 1 << 14
"""Size of a block in bytes below which single rows are faster than columns."""
LONGEST = 1 << 27
"""Maximum number of bytes of a line."""
BOM = b"\xef\xbb\xbf"
QUOTE, LINE, RETURN = b'"\n\r'


def arriving(stream: io.BufferedReader) -> Iterator[tuple[bytes, bool]]:
    """Yield the bytes of a stream, in blocks from a file or as they arrive in a pipe, and whether they are the last.

    The last bytes are empty.
    """
    raw, file = getattr(stream, "raw", None), is_whole(stream)
    data = b"-"
    while data:
        parts, length = [], 0
        while data := stream.read(SIZE) if file else stream.read1(SIZE - length):
            parts.append(data)
            length += len(data)
            if length >= SIZE or file or not (isinstance(raw, io.FileIO) and select.select([raw], [], [], 0)[0]):
                break
        if parts:
            yield b"".join(parts) if len(parts) > 1 else parts[0], False
    yield b"", True


def is_whole(stream: io.BufferedReader) -> bool:
    """Whether all bytes of a stream are available: it is a file, not a pipe."""
    raw = getattr(stream, "raw", None)
    return is_whole(raw.source) if isinstance(raw, DerivedBytes) else stream.seekable()


def count_lines(data: bytes) -> int:
    """Return the number of lines; the last one may have no end."""
    if b"\r" in data:
        return len(data.splitlines())
    return data.count(b"\n") + (not data.endswith(b"\n"))


def number_lines(data: bytes, first: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text with their numbers, when `first` lines of the file precede it."""
    return enumerate(io.TextIOWrapper(io.BytesIO(data), "utf-8", newline=""), first + 1)


def whole_lines(stream: io.BufferedReader, file_name: str) -> Iterator[bytes]:
    """Yield the bytes of a stream in whole lines; InputError for a line that is too long."""
    rest, length = list[bytes](), 0
    for data, last in arriving(stream):
        cut = len(data) if last else data.rfind(b"\n") + 1
        if cut or last:
            if whole := b"".join([*rest, data[:cut]]):
                yield whole
            rest, length = [data[cut:]], len(data) - cut
        else:
            rest.append(data)
            length += len(data)
            _see_length(length, file_name)


class BegunRow:
    """The bytes of a row whose end has not arrived.

    Bytes after the start of a long row wait while none of them can end it, so that it is not rescanned for each. Where
    quotation marks are in doubt, they may wait longer than necessary, but not beyond the length of a line.
    """

    def __init__(self, file_name: str) -> None:
        self._shown = file_name
        self.keep(b"")

    def keep(self, rest: bytes) -> None:
        """Store bytes without a whole row; InputError if they are too long for a row."""
        _see_length(len(rest), self._shown)
        self._parts, self._length, self._long = [rest], len(rest), len(rest) >= SIZE
        self._odd = self._long and rest.count(b'"') % 2 > 0

    def append_bytes(self, data: bytes, *, last: bool) -> bytes | None:
        """Append bytes, and return all stored bytes; None if there is still no whole row in them."""
        self._parts.append(data)
        self._length += len(data)
        if last or not self._long or self._length > LONGEST + SIZE or self._may_end(data):
            return b"".join(self._parts)
        self._odd ^= data.count(b'"') % 2 > 0
        return None

    def _may_end(self, data: bytes) -> bool:
        """Whether the bytes contain the end of a line after an even number of quotation marks."""
        if b'"' not in data:
            return not self._odd and b"\n" in data
        import numpy as np

        text = np.frombuffer(data, np.uint8)
        before: Any = np.searchsorted(np.flatnonzero(text == QUOTE), np.flatnonzero(text == LINE))
        return bool(((before + self._odd) % 2 == 0).any())


def _see_length(length: int, file_name: str) -> None:
    if length > LONGEST + SIZE:
        raise InputError(
            f"a line is longer than {LONGEST >> 20} MB", where=file_name, hint="is it a file of this format?"
        )


def whole_rows(data: bytes, between: str, quote: str = '"') -> int | None:
    """Return the number of bytes of CSV text that are whole rows; None if the rows are in doubt.

    The rows are certain where each quotation mark opens a cell, closes it, or is one of two: an opening mark follows a
    delimiter, and a closing one precedes one. So the number of a mark decides which it is.
    """
    if not quote or quote.encode() not in data:
        cut = data.rfind(b"\n") + 1
        return None if _returns(data[:cut]) else cut
    if len(data) < MIN_COLUMN_BYTES:
        return None  # single rows are read faster
    import numpy as np

    text = np.frombuffer(b"\n" + data + b"\n", np.uint8)
    marks: Any = np.flatnonzero(text == ord(quote))
    opening, closing = marks[::2] - 1, marks[1::2] + 1
    ends = [LINE, ord(between), ord(quote)]
    if not (np.isin(text[opening], ends).all() and np.isin(text[closing], [*ends, RETURN]).all()):
        return None
    cut = data.rfind(b"\n") + 1
    if np.searchsorted(marks, cut) % 2:  # the cut is in a cell
        cuts: Any = np.flatnonzero(text[1:-1] == LINE) + 1
        cut = int(cuts[np.searchsorted(marks, cuts) % 2 == 0].max(initial=0))
    return None if _returns(data[:cut]) else cut


def _returns(data: bytes) -> bool:
    """Whether some lines end otherwise than others, as line ends in cells may."""
    return b"\0" in data or (b"\r" in data and data.replace(b"\r\n", b"").count(b"\r") > 0)


def count_rows(data: bytes, quote: str = '"') -> int:
    """Return the number of rows in CSV text that consists of whole rows (`whole_rows`)."""
    if not quote or quote.encode() not in data:
        return count_lines(data)
    import numpy as np

    text = np.frombuffer(data, np.uint8)
    quoted: Any = np.bitwise_xor.accumulate((text == ord(quote)).view(np.uint8))
    return int(((text == LINE) & (quoted == 0)).sum())


def is_text(data: bytes) -> bool:
    """Whether the bytes are text in UTF-8."""
    try:
        return data.isascii() or bool(data.decode())
    except UnicodeDecodeError:
        return False


def count_braced_lines(data: bytes) -> int | None:
    """Return the number of lines, if each is enclosed in braces; else None."""
    if not (data.startswith(b"{") and data.endswith(b"}\n")) or b"\r" in data:  # it also ends a line
        return None
    import numpy as np

    text = np.frombuffer(data, np.uint8)
    ends: Any = np.flatnonzero(text == LINE)
    within = (text[ends - 1] == ord("}")).all() and (text[ends[:-1] + 1] == ord("{")).all()
    return len(ends) if within else None


class RetainedRow(list[str]):
    """The cells of a row.

    Attributes
    ----------
    text: the row as it is in the file.
    """

    def __init__(self, cells: Iterable[str], text: str) -> None:
        super().__init__(cells)
        self.text = text


class OddLine(InputError):
    """The error for a line that is not a row; `text` is the line as it is in the file."""

    def __init__(self, what: str, text: str) -> None:
        super().__init__(what)
        self.text = text


class RetainedLines:
    """Lines that remember those of the last row: of a bad row, only the first is dropped.

    Attributes
    ----------
    number: the number of the last line that was taken.
    over: whether there are no more.
    """

    def __init__(self, lines: Iterable[str]) -> None:
        self._source, self._again, self._lines = iter(lines), list[str](), list[str]()
        self.number, self.over = 0, False

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        try:
            line = self._again.pop() if self._again else next(self._source)
        except StopIteration:
            self.over = True
            raise
        self._lines.append(line)
        self.number += 1
        return line

    def pop_lines(self) -> str:
        """Return the lines of a row, and forget them."""
        text, self._lines = "".join(self._lines), []
        return text.rstrip("\r\n")

    def first(self) -> str:
        """Return the first line of a row; the others are read again."""
        bad, *others = self._lines
        self._again += reversed(others)
        self.number -= len(others)
        self._lines, self.over = [], False
        return bad.rstrip("\r\n")
