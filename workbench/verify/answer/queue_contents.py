"""What waits in a queue, step by step, without a copy for every step: a queue is a part of what has come to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import islice
from typing import overload

from workbench.core.domain import Value


class Waiting(Sequence[Value]):
    """The events that wait in a queue at one moment, oldest first; equal to a tuple of them.

    Parameters
    ----------
    line: all that came to the queue, of which these are the events from `start` on, up to `stop`.
    """

    __slots__ = ("_line", "_start", "_stop")

    def __init__(self, line: list[Value], start: int = 0, stop: int | None = None) -> None:
        self._line, self._start, self._stop = line, start, len(line) if stop is None else stop

    def followed_by(self, events: Iterable[Value]) -> Waiting:
        """These events and then others. What came to the queue is shared with the moment before."""
        if self._stop != len(self._line):  # an event found no room
            return Waiting([*self, *events])
        self._line.extend(events)
        return Waiting(self._line, self._start)

    def ends_as(self, line: Sequence[Value]) -> bool:
        """Whether a line has as many events, and the same ones at both ends."""
        return len(line) == len(self) and (not line or (line[0] == self[0] and line[-1] == self[-1]))

    def __len__(self) -> int:
        return self._stop - self._start

    @overload
    def __getitem__(self, place: int) -> Value: ...

    @overload
    def __getitem__(self, place: slice) -> Waiting: ...

    def __getitem__(self, place: int | slice) -> Value | Waiting:
        if isinstance(place, slice):
            start, stop, step = place.indices(len(self))
            assert step == 1, "a queue is looked at in its order"
            return Waiting(self._line, self._start + start, self._start + max(start, stop))
        return self._line[range(self._start, self._stop)[place]]

    def __iter__(self):  # type: ignore[no-untyped-def]
        return islice(self._line, self._start, self._stop)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Waiting | tuple):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))
