"""Pieces of a file that several threads decode.

The rule of this module: a piece is what it is when one thread decodes all of them. A thread that would have to wait for
another one decodes what comes later meanwhile, up to `HELD` bytes of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from threading import Lock
from typing import Any, NamedTuple

HELD = 1 << 26
"""Bytes that are decoded before anybody asks for them, at most, but for the last piece of them."""

LARGEST = 1 << 25
"""Bytes that a piece has, about, where its rows are long."""


class BatchPiece(NamedTuple):
    """Successive rows of a file.

    Attributes
    ----------
    rows: how many there are.
    batches: decodes them: record batches, most often one; asked for once.
    ahead: decodes some that come later, if that is of use now; whether it was.
    """

    rows: int
    batches: Callable[[], Sequence[Any]]
    ahead: Callable[[], bool] = lambda: False


def pieces_of(batches: Iterator[Any], size: int) -> Iterator[BatchPiece]:
    """The pieces of record batches, each decoded when the one before it has been taken."""
    for batch in batches:
        batch.validate(full=True)
        rows = rows_in_piece(size, batch.num_rows, batch.nbytes)
        for start in range(0, batch.num_rows, rows):
            part = batch.slice(start, rows)
            yield BatchPiece(part.num_rows, partial(list, [part]))


def rows_in_piece(most: int, rows: int, size: int) -> int:
    """How many rows a piece has, at most so many, where some rows have so many bytes."""
    return max(1, min(most, LARGEST * rows // max(1, size)))


class RowSpan:
    """Successive rows that are decoded one after the other.

    Parameters
    ----------
    rows: how many there are.
    batches: decodes so many of them at a time; called once.
    """

    def __init__(self, rows: int, batches: Callable[[], Iterator[Any]]) -> None:
        self.rows, self._batches = rows, batches
        self.lock, self.over = Lock(), False
        self._begun: Iterator[Any] | None = None
        self._error: Exception | None = None
        self._found: dict[int, list[Any]] = {}
        self._next, self._more = 0, list[Any]()

    def decode(self, size: int) -> int:
        """Decode the next piece, of so many rows; the bytes of it. `over` where there was none, or it is damaged."""
        self._begun = self._begun or self._batches()
        found, missing = list[Any](), size
        try:
            while missing > 0 and (batch := self._more.pop() if self._more else next(self._begun, None)) is not None:
                batch.validate(full=True)  # that buffers are what they say, and texts are UTF-8
                found.append(batch.slice(0, missing))
                if batch.num_rows > missing:
                    self._more.append(batch.slice(missing))
                missing -= found[-1].num_rows
        except Exception as error:  # is told when it is this piece's turn
            self._error, self.over, self._begun = error, True, None
            return 0
        self._found[self._next] = found
        self._next += 1
        if self._next * size >= self.rows:
            self.over, self._begun = True, None
        return sum(batch.nbytes for batch in found)

    def has(self, number: int) -> bool:
        """Whether a piece is decoded, or never will be."""
        return number in self._found or self.over

    def taken(self, number: int) -> list[Any]:
        """A piece that is decoded; what has come between is raised."""
        if number in self._found:
            return self._found.pop(number)
        if self._error is not None:
            raise self._error
        return []


class RowSpans:
    """The pieces of spans, which any threads ask for.

    Parameters
    ----------
    size: the rows of a piece; the last one of a span may have fewer.
    """

    def __init__(self, spans: Sequence[RowSpan], size: int) -> None:
        self._spans, self._size = spans, size
        self._first = self._held = 0
        self._counting = Lock()

    def __iter__(self) -> Iterator[BatchPiece]:
        """The pieces in order; what was not asked for when there are no more is decoded then, as the file may go."""
        for at, span in enumerate(self._spans):
            self._first = at
            for number in range(-(-span.rows // self._size)):
                rows = min(self._size, span.rows - number * self._size)
                yield BatchPiece(rows, partial(self._piece, span, number), self.ahead)
        for span in self._spans:
            with span.lock:
                while not span.over:
                    self._decode(span)

    def ahead(self) -> bool:
        """Decode a piece that nobody has asked for; False where all are, or enough are held, or others decode."""
        if self._held >= HELD:
            return False
        for span in self._spans[self._first :]:
            if not span.over and span.lock.acquire(blocking=False):
                try:
                    if not span.over:
                        self._decode(span)
                        return True
                finally:
                    span.lock.release()
        return False

    def _piece(self, span: RowSpan, number: int) -> list[Any]:
        while not span.has(number):
            if span.lock.acquire(blocking=False):
                try:
                    if not span.has(number):
                        self._decode(span)
                finally:
                    span.lock.release()
            elif not self.ahead():
                with span.lock:  # until somebody else has decoded one
                    pass
        found = span.taken(number)
        self._count(-sum(batch.nbytes for batch in found))
        return found

    def _decode(self, span: RowSpan) -> None:
        self._count(span.decode(self._size))

    def _count(self, size: int) -> None:
        with self._counting:
            self._held += size
