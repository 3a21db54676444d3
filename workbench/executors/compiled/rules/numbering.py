"""What the numbers of events in a part of a run are in the whole run.

The rule of this module: a part numbers the events and composites that it has seen, one after the other. An event from
outside has a number in the whole, too, and behind it come the composites that it causes, in a part as in the whole. So
it is enough to know where each event begins, in both; and where each composite begins that a deadline causes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SHORT = 1 << 10
"""Entries of a piece that is joined with the one before it, so that there are not too many."""


class NumberedPiece(NamedTuple):
    """Some successive events of a part.

    Attributes
    ----------
    starts: their numbers in the part.
    events: how many events from outside come before each of them, in the whole.
    numbers: in the whole.
    last: the time of the last of them.
    """

    starts: Any
    events: Any
    numbers: Any
    last: int


class PartNumbers:
    """The numbers of a part, as far back as matches may name events.

    Parameters
    ----------
    lookback: how long before its composite the events of a match lie; None: nothing bounds it.
    """

    def __init__(self, lookback: int | None) -> None:
        self.lookback = lookback
        self.pieces: list[NumberedPiece] = []

    def add(self, piece: NumberedPiece) -> None:
        """Add the newest events, and forget those that no event from here on names.

        The numbers of the newest piece may be written later.
        """
        if self.lookback is not None and self.pieces:
            oldest = self.pieces[-1].last - self.lookback
            self.pieces = [each for each in self.pieces if each.last >= oldest]
        if len(self.pieces) > 1 and max(len(each.starts) for each in self.pieces[-2:]) < SHORT:
            before, last = self.pieces[-2:]
            starts, events, numbers = (np.concatenate(pair) for pair in zip(before[:3], last[:3], strict=True))
            self.pieces[-2:] = [NumberedPiece(starts, events, numbers, last.last)]
        if len(piece.starts):
            self.pieces.append(piece)

    def of_whole(self, numbers: Any) -> Any:
        """The numbers in the whole of numbers in the part."""
        return self._look_up(numbers, lambda piece, at, behind: piece.numbers[at] + behind)

    def events_of(self, numbers: Any) -> Any:
        """Which event from outside each number is of, or was caused by."""
        return self._look_up(numbers, lambda piece, at, _: piece.events[at])

    def _look_up(self, numbers: Any, field: Callable[[NumberedPiece, Any, Any], Any]) -> Any:
        begins = np.array([int(piece.starts[0]) for piece in self.pieces], np.int64)
        pieces, found = np.searchsorted(begins, numbers, "right") - 1, np.empty_like(numbers)
        for number in np.unique(pieces).tolist():
            mine, piece = np.flatnonzero(pieces == number), self.pieces[number]
            at = np.searchsorted(piece.starts, numbers[mine], "right") - 1
            found[mine] = field(piece, at, numbers[mine] - piece.starts[at])
        return found


def causes_of(composites: Any, begun: int) -> Any:
    """Which of some successive events of a part caused each composite, by the composites' numbers; -1: none of them.

    Parameters
    ----------
    begun: the number of the first event.
    """
    return composites - begun - np.arange(len(composites)) - 1


def starts_of(causes: Any, begun: int, events: int) -> Any:
    """The numbers of so many successive events of a part, of which the first has the number `begun`."""
    return begun + np.arange(events) + np.bincount(causes + 1, minlength=events + 1).cumsum()[:events]
