"""Put the rows of a log in the order of time: rows of several files, and rows that may come late.

The rule of this module: blocks stay blocks, and are ordered as a whole; without blocks, single rows come in the same
order. The reader defines what a block and a row are (`PieceForm`).
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from workbench.core.readable import plural
from workbench.errors import InputError
from workbench.events.batch import batches
from workbench.events.clock import Clock
from workbench.events.write import writable_format, write_events
from workbench.executors.snapshot import from_parts, to_parts

if TYPE_CHECKING:
    from workbench.core.domain import Value
    from workbench.core.program import Ports
    from workbench.events.writers import RowWriter
    from workbench.executors.table import Start
    from workbench.runner.state import RunState

SIZE = 4096
"""Number of rows that are merged at a time, where there are no blocks."""


class TimedBlock(Protocol):
    """Successive rows in the form of columns, each with its time."""

    @property
    def times(self) -> Any:
        """The times of the rows, as an array."""

    def __len__(self) -> int: ...

    def part(self, first: int, last: int) -> Self:
        """Return the rows in the range from `first` to before `last`."""

    def take(self, order: Any) -> Self:
        """Return the rows at some indices, in the order of the indices."""


class TimedRow(Protocol):
    """A row with its time."""

    @property
    def time(self) -> int: ...


B = TypeVar("B", bound=TimedBlock)
R = TypeVar("R", bound=TimedRow)


@dataclass(frozen=True)
class PieceForm(Generic[B, R]):
    """The conversions between rows and blocks.

    Attributes
    ----------
    singly: returns the rows of a block.
    together: makes a block of rows; None where they have no such form.
    joined: concatenates blocks in their order.
    data, of_data: convert a row to its form in a saved state, and back.
    """

    singly: Callable[[B], Sequence[R]]
    together: Callable[[Sequence[R]], B | None]
    joined: Callable[[Sequence[B]], B]
    data: Callable[[R], tuple[Any, ...]]
    of_data: Callable[..., R]


def singly(pieces: Iterator[B | Iterator[R]], form: PieceForm[B, R]) -> Iterator[R]:
    """Yield the rows of pieces one by one."""
    for piece in pieces:
        yield from piece if isinstance(piece, Iterator) else form.singly(piece)


def merge_streams(streams: Sequence[Iterator[B | Iterator[R]]], form: PieceForm[B, R]) -> Iterator[B | Iterator[R]]:
    """Merge streams, each in the order of time; rows of equal time come in the order of the streams.

    If a stream fails, the rows up to its last one have been yielded.
    """
    rest = [_heads(each) for each in streams]
    heads = [next(each, None) for each in rest]
    while any(heads):
        last, first = min((head.last, i) for i, head in enumerate(heads) if head is not None)
        parts = [head.before(last, equal=i <= first) for i, head in enumerate(heads) if head is not None]
        yield _merge_parts(parts, form)
        heads = [head if head is None or len(head) else next(rest[i], None) for i, head in enumerate(heads)]


def read_first(pieces: Iterator[B | Iterator[R]]) -> Iterator[B | Iterator[R]]:
    """Read the first row ahead, and return the same pieces."""
    for piece in pieces:
        if not isinstance(piece, Iterator):
            if len(piece):
                return itertools.chain([piece], pieces)
            continue
        for row in piece:
            return itertools.chain([itertools.chain([row], piece)], pieces)
    return iter(())


class _Head(Generic[B, R]):
    """The part of a stream that has been read, but not yielded."""

    def __init__(self, rows: B | list[R]) -> None:
        self._rows, self._from = rows, 0
        self._times: Any = [row.time for row in rows] if isinstance(rows, list) else rows.times
        self.last = int(self._times[-1])

    def __len__(self) -> int:
        return len(self._times) - self._from

    def before(self, time: int, *, equal: bool) -> B | list[R]:
        """Remove and return the rows before a time, or up to and including it."""
        first = self._from
        self._from = (bisect_right if equal else bisect_left)(self._times, time, first)
        rows = self._rows
        return rows[first : self._from] if isinstance(rows, list) else rows.part(first, self._from)


def _heads(pieces: Iterator[B | Iterator[R]]) -> Iterator[_Head[B, R]]:
    for piece in pieces:
        if isinstance(piece, Iterator):
            yield from map(_Head, batches(piece, SIZE))
        elif len(piece):
            yield _Head(piece)


def _merge_parts(parts: Sequence[B | list[R]], form: PieceForm[B, R]) -> B | Iterator[R]:
    some = [part for part in parts if len(part)]
    blocks = [part for part in some if not isinstance(part, list)]
    if len(blocks) < len(some):
        lists = (part if isinstance(part, list) else form.singly(part) for part in some)
        return iter(heapq.merge(*lists, key=attrgetter("time")))
    if len(blocks) == 1:
        return blocks[0]
    block = form.joined(blocks)
    return block.take(block.times.argsort(kind="stable"))


def first_rows(pieces: Iterator[B | Iterator[R]], count: int) -> Iterator[B | Iterator[R]]:
    """Yield the first rows, at most `count`; of rows that come one by one no more are read."""
    for piece in pieces if count else ():
        if isinstance(piece, Iterator):
            counter = itertools.count()
            yield (row for row, _ in zip(itertools.islice(piece, count), counter, strict=False))
            count -= next(counter)
        else:
            part = piece.part(0, count)
            count -= len(part)
            yield part
        if not count:
            return


class LateRows(Generic[R]):
    """The handling of late rows: they are written to a file, or are an error.

    Parameters
    ----------
    ports: returns the columns of that file.
    format_row: converts a row to its form in the file.
    name, noun: the words for one row, and for rows in general, in messages.
    state: the saved state of the run, which counts the late rows of earlier runs.
    """

    def __init__(
        self,
        start: Start,
        clock: Clock,
        ports: Callable[[], Ports],
        format_row: Callable[[R], dict[str, Value]],
        name: Callable[[R], str],
        noun: str,
        state: RunState | None = None,
    ) -> None:
        self._state = state
        self._start, self._clock, self._ports, self._format_row = start, clock, ports, format_row
        self._name, self._noun = name, noun
        self._count = 0
        path = start.options.late_output
        self._format = None if path is None else writable_format(path, "--late-output")
        self._writer: RowWriter | None = None

    def __call__(self, row: R, number: int, where: str) -> None:
        """Handle a late row of the log `where`; its number counts the rows that could be read, from 1 on."""
        if self._state is not None and not self._state.position.is_new_late(self._start.reporter.account):
            return
        path, time = self._start.options.late_output, self._clock.show(row.time)
        if path is None:
            numbered = f" ({self._noun} {number:,})" if self._start.options.bad_rows == "error" else ""
            what = f"{self._name(row)} of {time}{numbered} came later than --late {self._clock.late} allows"
            raise InputError(
                what, where=where, hint="a greater --late waits for it; --late-output FILE saves such rows instead"
            )
        if self._writer is None:
            start = self._start
            self._writer = start.closing.enter_context(
                write_events(path, self._ports(), format=self._format, live=start.live, stays=start.stays)
            )
        self._count += 1
        self._start.reporter.account.late += 1
        self._writer.row(self._format_row(row))
        self._writer.flush()

    def notes(self) -> Iterator[str]:
        """Report the number of late rows."""
        if self._count:
            late = plural(f"{self._count:,}", self._noun)
            yield f"{late} came too late: see {self._start.options.late_output}"


class HoldBack(Generic[B, R]):
    """Puts the rows of one log into the order of time; rows of equal time keep their order.

    The watermark is the greatest time that has been read, less the allowed lateness. A row below it is late; each
    other one waits until the watermark has passed it.

    Parameters
    ----------
    late: takes the late rows, which are left out, and their numbers in the log.
    ends: called at the end of the log; returns whether the rows that still wait are then yielded.
    """

    def __init__(
        self,
        form: PieceForm[B, R],
        clock: Clock,
        late: Callable[[R, int], object],
        ends: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ends = ends
        self._form, self._clock, self._late = form, clock, late
        self._newest: int | None = None
        self._count = self._read = 0
        self._waiting: B | list[tuple[int, int, R]] = []

    def order_pieces(self, pieces: Iterator[B | Iterator[R]]) -> Iterator[B | Iterator[R]]:
        """Yield the rows in the order of time."""
        for piece in pieces:
            if isinstance(piece, Iterator):
                yield self._one_by_one(piece)
            elif len(piece):
                waiting = self._as_block(piece)
                yield from (
                    self._one_block(waiting, piece)
                    if waiting is not None
                    else [self._one_by_one(iter(self._form.singly(piece)))]
                )
        if not self._ends():
            return
        if isinstance(waits := self._waiting, list):
            yield (heapq.heappop(waits)[2] for _ in itertools.repeat(None, len(waits)))
        else:
            yield waits

    def save(self) -> Any:
        """Return the greatest time that has been read, and the waiting rows, as JSON data."""
        waits = self._waiting
        rows = [row for *_, row in sorted(waits)] if isinstance(waits, list) else self._form.singly(waits)
        return [self._newest, to_parts(list(map(self._form.data, rows)))]

    def restore(self, saved: Any) -> int:
        """Restore what `save` has returned, and return the number of waiting rows."""
        self._newest, parts = saved
        rows = [self._form.of_data(*each) for each in from_parts(parts)]
        self._waiting, self._count = [(row.time, i, row) for i, row in enumerate(rows, 1)], len(rows)
        return len(rows)

    @cached_property
    def _lateness(self) -> int:
        """The allowed lateness in the unit of times, which is known when the first row has come."""
        return self._clock.duration(str(self._clock.late))

    # --- blocks ---------------------------------------------------------------------------------------------

    def _one_block(self, waiting: B, block: B) -> Iterator[B]:
        """Yield waiting and new rows that the watermark passes; late rows are taken after the rows before them."""
        import numpy as np

        times = block.times
        newest = np.maximum.accumulate(times if self._newest is None else np.maximum(times, self._newest))
        late = (times < newest - self._lateness).nonzero()[0]
        if len(late):
            first = int(late[0])
            waiting = yield from self._pass_watermark(waiting, block.part(0, first))
            for row, at in zip(self._form.singly(block.take(late)), late.tolist(), strict=True):
                self._late(row, self._read + at + 1)
            block = block.take(np.setdiff1d(np.arange(first, len(block)), late))
        self._read += len(times)
        yield from self._pass_watermark(waiting, block)

    def _pass_watermark(self, waiting: B, block: B) -> Generator[B, None, B]:
        """Yield the rows that the watermark passes when a block has been read, and return those that still wait."""
        both = self._form.joined([waiting, block])
        both = both.take(both.times.argsort(kind="stable"))
        if len(block):
            newest = int(block.times.max())
            self._newest = newest if self._newest is None else max(self._newest, newest)
        cut = 0 if self._newest is None else bisect_left(both.times, self._newest - self._lateness)
        self._waiting = waits = both.part(cut, len(both))
        yield both.part(0, cut)
        return waits

    def _as_block(self, block: B) -> B | None:
        """Return the waiting rows as a block, to be put before this one; None where they have no such form."""
        if not isinstance(waits := self._waiting, list):
            return waits
        rows = [row for _, _, row in sorted(waits)]
        return self._form.together(rows) if rows else block.part(0, 0)

    # --- one by one -----------------------------------------------------------------------------------------

    def _one_by_one(self, rows: Iterator[R]) -> Iterator[R]:
        """Yield single rows in the order of time."""
        if not isinstance(waits := self._waiting, list):
            waiting = self._form.singly(waits)
            self._waiting = [(row.time, i - len(waiting), row) for i, row in enumerate(waiting)]
            self._count = 0
        heap = self._waiting
        assert isinstance(heap, list)
        for row in rows:
            self._read += 1
            if self._newest is not None and row.time < self._newest - self._lateness:
                self._late(row, self._read)
                continue
            self._newest = row.time if self._newest is None else max(self._newest, row.time)
            self._count += 1
            heapq.heappush(heap, (row.time, self._count, row))
            while heap[0][0] < self._newest - self._lateness:
                yield heapq.heappop(heap)[2]
