"""Rows of a log in their order: of several files, and of rows that may come late.

The rule of this module: successive rows are a piece, which is a block or a list, and is ordered as a whole. What a
block or a row is, those say who read it (`PieceForm`).
"""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right, insort
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Generic, Protocol, Self, TypeVar

from workbench.errors import InputError
from workbench.events.clock import Clock
from workbench.executors.snapshot import from_parts, to_parts

if TYPE_CHECKING:
    from workbench.core.domain import Value
    from workbench.core.program import Ports
    from workbench.events.writers import RowWriter
    from workbench.executors.table import Start
    from workbench.runner.state import RunState

SIZE = 1024
"""Rows of a list, at most."""


class TimedBlock(Protocol):
    """Successive rows, each with its time."""

    @property
    def times(self) -> Any:
        """An array."""

    def __len__(self) -> int: ...

    def part(self, first: int, last: int) -> Self:
        """The rows from one place to before another."""

    def take(self, order: Any) -> Self:
        """The rows at some indices, in the order of the indices."""


class TimedRow(Protocol):
    """A row with its time."""

    @property
    def time(self) -> int: ...


B = TypeVar("B", bound=TimedBlock)
R = TypeVar("R", bound=TimedRow)
P = TypeVar("P", bound="TimedBlock | list[Any]")
TIME = attrgetter("time")


@dataclass(frozen=True)
class PieceForm(Generic[B, R]):
    """How rows are taken out of blocks, and put into them.

    Attributes
    ----------
    singly: the rows of a block.
    together: rows as a block; None where they have no such form.
    joined: blocks as one, the rows of each after those of the one before.
    data, of_data: what a row is in a saved state, and the row of that.
    """

    singly: Callable[[B], list[R]]
    together: Callable[[Sequence[R]], B | None]
    joined: Callable[[Sequence[B]], B]
    data: Callable[[R], tuple[Any, ...]]
    of_data: Callable[..., R]

    def rows(self, piece: B | list[R]) -> list[R]:
        """The rows of a piece."""
        return piece if isinstance(piece, list) else self.singly(piece)

    def join(self, pieces: Sequence[B | list[R]]) -> B | list[R]:
        """Pieces as one, the rows of each after those of the one before; a block, if one of them is."""
        if not all(isinstance(piece, list) for piece in pieces):
            blocks = [self.together(piece) if isinstance(piece, list) else piece for piece in pieces]
            if len(found := [block for block in blocks if block is not None]) == len(blocks):
                return self.joined(found)
        return [row for piece in pieces for row in self.rows(piece)]

    def sorted(self, pieces: Sequence[B | list[R]]) -> B | list[R]:
        """The rows of pieces in the order of time, those of one time as they come."""
        some = [piece for piece in pieces if len(piece)] or pieces[:1]
        found = some[0] if len(some) == 1 else self.join(some)
        if isinstance(found, list):
            return sorted(found, key=TIME)
        return found.take(found.times.argsort(kind="stable"))


def part(piece: P, first: int, last: int) -> P:
    """The rows of a piece from one place to before another."""
    return piece[first:last] if isinstance(piece, list) else piece.part(first, last)  # type: ignore[return-value]


def _take(piece: P, places: Sequence[int]) -> P:
    """The rows of a piece in these places."""
    if isinstance(piece, list):
        return [piece[place] for place in places]  # type: ignore[return-value]
    import numpy as np

    return piece.take(np.array(places, np.int64))


def _count_before(piece: TimedBlock | list[Any], time: int, *, equal: bool = False) -> int:
    """How many rows of a piece in order are before a time, or up to it."""
    bisect = bisect_right if equal else bisect_left
    return bisect(piece, time, key=TIME) if isinstance(piece, list) else bisect(piece.times, time)


def _last_time(piece: TimedBlock | list[Any]) -> int:
    """The time of the last row of a piece in order."""
    return piece[-1].time if isinstance(piece, list) else int(piece.times[-1])


def merged(streams: Sequence[Iterator[B | list[R]]], form: PieceForm[B, R]) -> Iterator[B | list[R]]:
    """The rows of several streams, each in the order of time; those of one time in the order of the streams.

    Where a stream fails, the rows up to its last one have been given.
    """
    rest = [filter(len, each) for each in streams]
    heads = [next(each, None) for each in rest]
    while there := [(_last_time(head), i) for i, head in enumerate(heads) if head is not None]:
        last, first = min(there)
        parts = list[B | list[R]]()
        for i, head in enumerate(heads):
            if head is not None:
                cut = _count_before(head, last, equal=i <= first)
                parts.append(part(head, 0, cut))
                heads[i] = part(head, cut, len(head))
        yield form.sorted(parts)
        heads = [head if head is None or len(head) else next(rest[i], None) for i, head in enumerate(heads)]


def read_first(pieces: Iterator[B | list[R]]) -> Iterator[B | list[R]]:
    """The same, the first row read already."""
    first = next(filter(len, pieces), None)
    return itertools.chain([] if first is None else [first], pieces)


def first_rows(pieces: Iterator[B | list[R]], count: int) -> Iterator[B | list[R]]:
    """So many of the first rows."""
    for piece in pieces if count else ():
        yield part(piece, 0, count)
        count -= min(count, len(piece))
        if not count:
            return


class LateRows(Generic[R]):
    """What becomes of late rows: they are written to a file, or are an error.

    Parameters
    ----------
    ports: gives the columns of that file.
    shown: a row as it is written.
    name, noun: what messages call a row, and rows.
    state: what the run goes on from, which knows the late rows of earlier runs.
    """

    def __init__(
        self,
        start: Start,
        clock: Clock,
        ports: Callable[[], Ports],
        shown: Callable[[R], dict[str, Value]],
        name: Callable[[R], str],
        noun: str,
        state: RunState | None = None,
    ) -> None:
        self._state = state
        self._start, self._clock, self._ports, self._format_row = start, clock, ports, shown
        self._name, self._noun = name, noun
        self._count = 0
        self._writer: RowWriter | None = None

    def __call__(self, row: R, where: str = "") -> None:
        """Take a late row; `where` is the log that it is from."""
        if self._state is not None and not self._state.position.is_new_late(self._start.reporter.account):
            return
        path, time = self._start.options.late_output, self._clock.show(row.time)
        if path is None:
            what = f"{self._name(row)}, of {time}, came later than --late {self._clock.late}"
            raise InputError(what, where=where, hint="wait longer, or keep such rows: --late-output FILE")
        if self._writer is None:
            from workbench.events.write import write_events

            start = self._start
            self._writer = start.closing.enter_context(
                write_events(path, self._ports(), live=start.live, stays=start.stays)
            )
        self._count += 1
        self._start.reporter.account.late += 1
        self._writer.row(self._format_row(row))
        self._writer.flush()

    def notes(self) -> Iterator[str]:
        """How many there were."""
        if self._count:
            yield f"{self._count:,} {self._noun} came too late: they are in {self._start.options.late_output}"


class HoldBack(Generic[B, R]):
    """Puts the rows of one log into the order of time, those of one time as they come.

    The watermark is the greatest time that has been read, less the allowed lateness. A row below it is late; each
    other one waits until the watermark has passed it.

    Parameters
    ----------
    late: takes the late rows, which are left out; they follow what comes before them.
    ends: called at the end of the log; whether the rows that still wait are given away then.
    """

    def __init__(
        self,
        form: PieceForm[B, R],
        clock: Clock,
        late: Callable[[R], object],
        ends: Callable[[], bool] = lambda: True,
    ) -> None:
        self._ends = ends
        self._form, self._clock, self._late = form, clock, late
        self._newest: int | None = None
        self._waiting: B | list[R] = []

    def ordered(self, pieces: Iterator[B | list[R]]) -> Iterator[B | list[R]]:
        """The same rows in order."""
        for piece in filter(len, pieces):
            if late := self._find_late(piece):
                first, places = late[0], set(late)
                yield self._passed(part(piece, 0, first))
                for row in self._form.rows(_take(piece, late)):
                    self._late(row)
                piece = _take(piece, [place for place in range(first, len(piece)) if place not in places])
            yield self._passed(piece)
        if self._ends():
            yield self._waiting

    def save(self) -> Any:
        """The greatest time that has been read, and the rows that wait, as JSON data."""
        return [self._newest, to_parts(list(map(self._form.data, self._form.rows(self._waiting))))]

    def restore(self, saved: Any) -> int:
        """Begin with what `save` has given; how many rows wait."""
        self._newest, parts = saved
        self._waiting = [self._form.of_data(*each) for each in from_parts(parts)]
        return len(self._waiting)

    @cached_property
    def _lateness(self) -> int:
        """The allowed lateness; its unit is known when the first row has come."""
        return self._clock.duration(str(self._clock.late))

    def _find_late(self, piece: B | list[R]) -> list[int]:
        """Which of the next rows are below the watermark when they come."""
        if isinstance(piece, list):
            times = list(map(TIME, piece))
            marks = itertools.accumulate(times, max, initial=times[0] if self._newest is None else self._newest)
            return [i for i, (time, mark) in enumerate(zip(times, marks, strict=False)) if time < mark - self._lateness]
        import numpy as np

        newest = np.maximum.accumulate(piece.times if self._newest is None else np.maximum(piece.times, self._newest))
        return (piece.times < newest - self._lateness).nonzero()[0].tolist()  # type: ignore[no-any-return]

    def _passed(self, piece: B | list[R]) -> B | list[R]:
        """What the watermark passes when more rows have been read, none of them late; the others wait."""
        if len(piece):
            newest = max(map(TIME, piece)) if isinstance(piece, list) else int(piece.times.max())
            self._newest = newest if self._newest is None else max(self._newest, newest)
        if isinstance(self._waiting, list) and isinstance(piece, list):
            for row in piece:
                insort(self._waiting, row, key=TIME)
        else:
            self._waiting = self._form.sorted([self._waiting, piece])
        both = self._waiting
        cut = 0 if self._newest is None else _count_before(both, self._newest - self._lateness)
        passed = part(both, 0, cut)
        if isinstance(both, list):
            del both[:cut]
        else:
            self._waiting = part(both, cut, len(both))
        return passed
