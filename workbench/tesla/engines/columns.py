"""Columns: the events that a predicate or aggregate of a rule may select, in order, and slices of them.

The rule of this module: constraints on an event alone are tested once, when it arrives. A column holds references to
shared events, forgets events before its window at its old end, and records the time from which it is complete.
For equations, events with the same key form a column of their own inside it. A window is a slice of a
column, which is in the order of all events. In compatibility with T-Rex it is an open interval of times, so that events
with equal times never match; windows by count, which T-Rex lacks, stay closed.

Source: Cugola and Margara, 4.2 and 5.2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from operator import attrgetter
from typing import Any, Generic, Protocol, TypeVar

from workbench.tesla import tree as t
from workbench.tesla.aggregate import StartsRunning
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.engines.saved_state import EventStore
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.windows import EventWindow


class PlacedInOrder(Protocol):
    """Anything with a time and a number in the order of events."""

    @property
    def time(self) -> int: ...

    @property
    def number(self) -> int: ...


PlacedT = TypeVar("PlacedT", bound=PlacedInOrder)
SMALL = 32
"""Minimum number of forgotten entries before a list is shortened."""


class EventColumn(Generic[PlacedT]):
    """Events in the order of their numbers, and thus of their times.

    Attributes
    ----------
    times, numbers, events: parallel lists; entries before `start` are forgotten.
    """

    __slots__ = ("events", "numbers", "start", "times")

    def __init__(self) -> None:
        self.times: list[int] = []
        self.numbers: list[int] = []
        self.events: list[PlacedT] = []
        self.start = 0

    def __len__(self) -> int:
        return len(self.events) - self.start

    def __iter__(self) -> Iterator[PlacedT]:
        return iter(self.events[self.start :])

    def add(self, event: PlacedT) -> None:
        """Append an event that is later than all others."""
        self.times.append(event.time)
        self.numbers.append(event.number)
        self.events.append(event)

    def forget(self, count: int) -> None:
        """Forget the oldest `count` events."""
        self.start += count
        if self.start > SMALL and 2 * self.start > len(self.events):
            for each in (self.times, self.numbers, self.events):
                del each[: self.start]
            self.start = 0

    def first_from(self, time: int) -> int:
        """Return the index of the first event at this time or later."""
        return bisect_left(self.times, time, self.start)

    def first_number(self, number: int) -> int:
        """Return the index of the first event with this number or a later one."""
        return bisect_left(self.numbers, number, self.start)


class AggregatedColumn(EventColumn[Occurrence]):
    """A column with a running aggregate of an attribute.

    Attributes
    ----------
    attribute: the index of the attribute among the values.
    running: the aggregate over any slice of `events`.
    """

    __slots__ = ("attribute", "running")

    def __init__(self, attribute: int, starts: StartsRunning) -> None:
        super().__init__()
        self.attribute, self.running = attribute, starts()

    def add(self, event: Occurrence) -> None:
        super().add(event)
        self.running.add(event.values[self.attribute])

    def forget(self, count: int) -> None:
        length = len(self.events)
        super().forget(count)
        if len(self.events) < length:
            self.running.forget(length - len(self.events))


class KeyedColumn(EventColumn[PlacedT]):
    """A column with nested columns by key.

    Attributes
    ----------
    of_key: the column of each key; a key without events has none.
    """

    __slots__ = ("_made", "keys", "of_key")

    def __init__(self, make_column: Callable[[], EventColumn[PlacedT]] = EventColumn) -> None:
        super().__init__()
        self._made = make_column
        self.keys: list[Any] = []
        self.of_key: dict[Any, EventColumn[PlacedT]] = {}

    def add_under(self, key: Any, event: PlacedT) -> None:
        """Append an event with a key; it is later than all others."""
        self.add(event)
        self.keys.append(key)
        column = self.of_key.get(key)
        if column is None:
            column = self.of_key[key] = self._made()
        column.add(event)

    def forget(self, count: int) -> None:
        for key in self.keys[self.start : self.start + count]:
            column = self.of_key[key]
            column.forget(1)
            if not len(column):
                del self.of_key[key]
        before = len(self.events)
        super().forget(count)
        del self.keys[: before - len(self.events)]


EMPTY: EventColumn[Any] = EventColumn()
"""Column for keys without events."""


# --- slices --------------------------------------------------------------------------------------------


FindsSlice = Callable[[EventColumn[Any], PartialMatch], tuple[int, int]]
"""A function from a column and a match to the indices of the first event in a window and of the first one after it."""


def make_slice_finder(step: RuleStep, trex: bool) -> FindsSlice:
    """Return a function that finds the slice of a step's window, given a match that has the anchors."""
    window = step.window
    assert window is not None
    if window.between:
        return _make_between("time" if trex else "number", *step.anchors)
    (anchor,) = step.anchors
    far, least = window.far, window.near
    if window.counts_events:
        return _make_within(anchor, far, max(1, least), "number")
    if trex:  # open on both sides; times are whole numbers
        return _make_within(anchor, None if far is None else far - 1, least + 1, "time")
    return _make_closed(anchor, window)


def _make_closed(anchor: int, window: EventWindow) -> FindsSlice:
    far, least = window.far, window.near

    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        event, start = match[anchor], column.start
        low = start if far is None else bisect_left(column.times, event.time - far, start)
        if anchor == 0:  # all stored events came before the trigger
            high = len(column.events)
        else:
            high = bisect_left(column.numbers, event.number, start)
        if least:
            high = min(high, bisect_right(column.times, event.time - least, start))
        return low, high

    return find


def _make_within(anchor: int, far: int | None, least: int, measure: str) -> FindsSlice:
    """Make the finder of a window by time or number that ends before its anchor, both ends included."""
    of_event, of_column = attrgetter(measure), attrgetter(f"{measure}s")

    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        at, keys, start = of_event(match[anchor]), of_column(column), column.start
        low = start if far is None else bisect_left(keys, at - far, start)
        return low, bisect_right(keys, at - least, start)

    return find


def _make_between(measure: str, one: int, two: int) -> FindsSlice:
    of_event, of_column = attrgetter(measure), attrgetter(f"{measure}s")

    def find(column: EventColumn[Any], match: PartialMatch) -> tuple[int, int]:
        keys, start = of_column(column), column.start
        low, high = sorted((of_event(match[one]), of_event(match[two])))
        return bisect_right(keys, low, start), bisect_left(keys, high, start)

    return find


# --- the columns of a rule -----------------------------------------------------------------------------


class Placewise(Protocol):
    """A sequence of events, read by index."""

    def __getitem__(self, at: int, /) -> Any: ...


class StepColumn:
    """The column of a predicate or aggregate.

    Attributes
    ----------
    since: the time from which on it is complete; None: from the beginning.
    place: the number in the order of events from which on it is complete.
    late: whether earlier events may still be needed, as the rule was added during the run.
    aggregate_of: computes the aggregate for a match; None if candidates have to be tested.
    """

    def __init__(self, step: RuleStep, trex: bool) -> None:
        assert step.window is not None
        self.step = step
        aggregated = make_aggregated_column(step)
        make_column: Callable[[], EventColumn[Occurrence]] = aggregated or EventColumn
        self._over_none = aggregated and aggregated().running.over(0, 0)
        self.aggregate_of = aggregated and self._aggregate_from_column
        self.column: EventColumn[Occurrence] = KeyedColumn(make_column) if step.is_keyed else make_column()
        self.since: int | None = None
        self.place = 0
        self.late = False
        self._slice = None if step.window.after else make_slice_finder(step, trex)

    def add(self, event: Occurrence) -> None:
        """Store an event, if it satisfies the constraints on it alone."""
        key = self.step.accepts(event)
        if key is None:
            return
        if isinstance(self.column, KeyedColumn):
            self.column.add_under(key, event)
        else:
            self.column.add(event)

    def of(self, match: PartialMatch) -> EventColumn[Occurrence]:
        """Return the events with the key of a match."""
        if isinstance(self.column, KeyedColumn):
            key = self.step.key(match)
            return EMPTY if key is None else self.column.of_key.get(key, EMPTY)
        return self.column

    def find(self, match: PartialMatch) -> tuple[Placewise, int, int]:
        """Find the events with the key of a match, and the range of those in the window."""
        column = self.of(match)
        assert self._slice is not None
        return column.events, *self._slice(column, match)

    def _aggregate_from_column(self, match: PartialMatch) -> Any:
        column = self.of(match)
        if column is EMPTY:
            return self._over_none
        assert self._slice is not None
        assert isinstance(column, AggregatedColumn)
        return column.running.over(*self._slice(column, match))

    def forget_behind(self, anchors: Iterable[tuple[int, int]]) -> None:
        """Forget events before the window.

        Parameters
        ----------
        anchors: the times and numbers of the oldest possible anchors of the window from now on.
        """
        window, column = self.step.window, self.column
        assert window is not None
        time, number = map(min, *anchors) if window.between else next(iter(anchors))
        if window.before and window.far is None:
            return
        if window.counts_events:
            count = column.first_number(number - (window.far or 0)) - column.start
            time = column.times[column.start + count - 1] + 1 if count else time
        else:
            time -= window.far or 0
            count = column.first_from(time) - column.start
        if count:
            self.place = column.numbers[column.start + count - 1] + 1
            column.forget(count)
            if self.since is None or time >= self.since:
                self.since, self.late = time, False


def make_aggregated_column(step: RuleStep) -> Callable[[], AggregatedColumn] | None:
    """Return a factory for the column of an aggregate; None unless only window and key restrict its events."""
    if not isinstance(step.part, t.Aggregate) or step.attribute is None or step.residual or not step.indexed:
        return None
    running = step.aggregate.running(step.values)
    return None if running is None else partial(AggregatedColumn, step.attribute, running)


class StepColumns(dict[int, StepColumn]):
    """The columns of a rule, by the number of the step, in the order of the rule.

    Attributes
    ----------
    by_type: the columns for each type of events.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_type: dict[str, list[StepColumn]] = {}

    def begin(self, step: RuleStep, trex: bool) -> StepColumn:
        """Add a column for a step, and return it."""
        column = self[step.number] = StepColumn(step, trex)
        self.by_type.setdefault(step.type, []).append(column)
        return column

    @property
    def size(self) -> int:
        """The total number of events in the columns, counted once for each column."""
        return sum(len(each.column) for each in self.values())

    def state(self, store: EventStore) -> list[Any]:
        """Return the contents, with events as numbers."""
        return [[store.numbers(each.column), each.since, each.place, each.late] for each in self.values()]

    def set_state(self, state: list[Any], store: EventStore) -> None:
        """Restore the contents from a saved state."""
        for column, (numbers, *since) in zip(self.values(), state, strict=True):
            for event in store.of(numbers):
                column.add(event)
            column.since, column.place, column.late = since
