"""Translation of event numbers in a part of a run to those in the whole run.

The rule of this module: a part numbers its events and composites consecutively. An external event also has a number in
    the whole run, and its composites follow it, both in the part and in the whole. So it is enough to know the number
    of each event,
in both; and of each composite that a deadline causes.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

SHORT = 1 << 10
"""Size below which a piece is merged with the one before it, to limit the number of pieces."""


class NumberedPiece(NamedTuple):
    """Some successive events of a part.

    Attributes
    ----------
    starts: their numbers in the part.
    events: the number of preceding events from outside in the whole run, for each.
    numbers: their numbers in the whole run.
    last: the time of the last one.
    """

    starts: Any
    events: Any
    numbers: Any
    last: int


class PartNumbers:
    """The numbers of a part, of all events to which matches may still refer.

    Parameters
    ----------
    lookback: the maximum time between a composite and the events of its match; None: unbounded.
    """

    def __init__(self, lookback: int | None) -> None:
        self.lookback = lookback
        self.pieces: list[NumberedPiece] = []

    def add(self, piece: NumberedPiece) -> None:
        """Append the newest events, and drop those that later matches cannot refer to.

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
        """Return the numbers in the whole run for numbers in the part."""
        return self._look_up(numbers, lambda piece, at, behind: piece.numbers[at] + behind)

    def events_of(self, numbers: Any) -> Any:
        """Return the event from outside that each number is, or that caused it."""
        return self._look_up(numbers, lambda piece, at, _: piece.events[at])

    def _look_up(self, numbers: Any, field: Callable[[NumberedPiece, Any, Any], Any]) -> Any:
        begins = np.array([int(piece.starts[0]) for piece in self.pieces], np.int64)
        pieces, values = np.searchsorted(begins, numbers, "right") - 1, np.empty_like(numbers)
        for number in np.unique(pieces).tolist():
            indices, piece = np.flatnonzero(pieces == number), self.pieces[number]
            at = np.searchsorted(piece.starts, numbers[indices], "right") - 1
            values[indices] = field(piece, at, numbers[indices] - piece.starts[at])
        return values


def causes_of(composites: Any, first_number: int) -> Any:
    """Return the index of the event that caused each composite, given the composites' numbers; -1: an earlier one.

    Parameters
    ----------
    first_number: the number of the first event.
    """
    return composites - first_number - np.arange(len(composites)) - 1


def starts_of(causes: Any, first_number: int, events: int) -> Any:
    """Return the numbers of `events` successive events of a part, the first of which has the number `first_number`."""
    return first_number + np.arange(events) + np.bincount(causes + 1, minlength=events + 1).cumsum()[:events]
