"""The slice of a column that lies in a window, found by binary search.

The rule of this module: a window is a slice of a column, for the column has the order of all events. Following T-Rex it
is an open interval of times, and what has equal times never meets; windows by count, which it has not, stay closed.

Source: Cugola and Margara, 5.2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable
from typing import Any

from workbench.tesla.engines.column import EventColumn
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.windows import EventWindow

FindsSlice = Callable[[EventColumn[Any], PartialMatch], tuple[int, int]]
"""Of a column, the places of the first event that lies in a window and of the first one behind it."""


def make_slice_finder(step: RuleStep, trex: bool) -> FindsSlice:
    """What finds the slice of a step's window, given a match with the events on which the window depends."""
    window = step.window
    assert window is not None
    if window.between:
        return _make_between_times(*step.anchors) if trex else _make_between(*step.anchors)
    (anchor,) = step.anchors
    if window.counted:
        return _make_counted(anchor, window)
    return _make_open(anchor, window) if trex else _make_closed(anchor, window)


def _make_closed(anchor: int, window: EventWindow) -> FindsSlice:
    most, least = window.far, window.near

    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        event, start = match[anchor], column.start
        low = start if most is None else bisect_left(column.times, event.time - most, start)
        if anchor == 0:  # all that is there came before the trigger
            high = len(column.events)
        else:
            high = bisect_left(column.numbers, event.number, start)
        if least:
            high = min(high, bisect_right(column.times, event.time - least, start))
        return low, high

    return find


def _make_counted(anchor: int, window: EventWindow) -> FindsSlice:
    most, least = window.far, max(1, window.near)

    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        number, start = match[anchor].number, column.start
        low = start if most is None else bisect_left(column.numbers, number - most, start)
        return low, bisect_right(column.numbers, number - least, start)

    return find


def _make_between(one: int, two: int) -> FindsSlice:
    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        low, high = sorted((match[one].number, match[two].number))
        return bisect_right(column.numbers, low, column.start), bisect_left(column.numbers, high, column.start)

    return find


def _make_open(anchor: int, window: EventWindow) -> FindsSlice:
    most, least = window.far, window.near

    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        time, start = match[anchor].time, column.start
        low = start if most is None else bisect_right(column.times, time - most, start)
        return low, bisect_left(column.times, time - least, start)

    return find


def _make_between_times(one: int, two: int) -> FindsSlice:
    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        low, high = sorted((match[one].time, match[two].time))
        return bisect_right(column.times, low, column.start), bisect_left(column.times, high, column.start)

    return find
