"""Columns: the events that a predicate or aggregate of a rule may select, in their order, and slices of them.

The rule of this module: an event is asked once, when it arrives, what it can tell alone. A column holds pointers to
events that are stored once, forgets what lies before its window from its old end, and says from when on it is complete.
Where equations tell which events fit, those with one key are a column of their own inside it. A window is a slice of a
column, for the column has the order of all events. Following T-Rex it is an open interval of times, and what has equal
times never meets; windows by count, which it has not, stay closed.

Source: Cugola and Margara, 4.2 and 5.2.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Generic, Protocol, TypeVar

from workbench.tesla import tree as t
from workbench.tesla.aggregate import StartsRunning
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.engines.saved import EventStore
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.windows import EventWindow


class PlacedInOrder(Protocol):
    """What has a place in the order of events."""

    @property
    def time(self) -> int: ...

    @property
    def number(self) -> int: ...


PlacedT = TypeVar("PlacedT", bound=PlacedInOrder)
SMALL = 32
"""A list is not made shorter for less."""


class EventColumn(Generic[PlacedT]):
    """Events in the order of their numbers, and so of their times.

    Attributes
    ----------
    times, numbers, events: side by side; what lies before `start` is forgotten.
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
        """Add an event that is later than all others."""
        self.times.append(event.time)
        self.numbers.append(event.number)
        self.events.append(event)

    def forget(self, count: int) -> None:
        """Forget the oldest ones."""
        self.start += count
        if self.start > SMALL and 2 * self.start > len(self.events):
            for each in (self.times, self.numbers, self.events):
                del each[: self.start]
            self.start = 0

    def first_from(self, time: int) -> int:
        """The place of the first event at this time or later."""
        return bisect_left(self.times, time, self.start)

    def first_number(self, number: int) -> int:
        """The place of the first event with this number or a later one."""
        return bisect_left(self.numbers, number, self.start)


class AggregatedColumn(EventColumn[Occurrence]):
    """A column that keeps an aggregate of an attribute.

    Attributes
    ----------
    attribute: its place among the values.
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
    """A column with the columns of each key inside it.

    Attributes
    ----------
    of_key: key to its column; a key without events has none.
    """

    __slots__ = ("_made", "keys", "of_key")

    def __init__(self, made: Callable[[], EventColumn[PlacedT]] = EventColumn) -> None:
        super().__init__()
        self._made = made
        self.keys: list[Any] = []
        self.of_key: dict[Any, EventColumn[PlacedT]] = {}

    def add_under(self, key: Any, event: PlacedT) -> None:
        """Add an event that is later than all others."""
        self.add(event)
        self.keys.append(key)
        found = self.of_key.get(key)
        if found is None:
            found = self.of_key[key] = self._made()
        found.add(event)

    def forget(self, count: int) -> None:
        for key in self.keys[self.start : self.start + count]:
            found = self.of_key[key]
            found.forget(1)
            if not len(found):
                del self.of_key[key]
        before = len(self.events)
        super().forget(count)
        del self.keys[: before - len(self.events)]


EMPTY: EventColumn[Any] = EventColumn()
"""The column of a key without events."""


# --- slices --------------------------------------------------------------------------------------------


FindsSlice = Callable[[EventColumn[Any], PartialMatch], tuple[int, int]]
"""Of a column, the places of the first event that lies in a window and of the first one behind it."""


def make_slice_finder(step: RuleStep, trex: bool) -> FindsSlice:
    """What finds the slice of a step's window, given a match with the events on which the window depends."""
    window = step.window
    assert window is not None
    if window.between:
        return _make_between_times(*step.anchors) if trex else _make_between(*step.anchors)
    (anchor,) = step.anchors
    if window.counts_events:
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


# --- the columns of a rule -----------------------------------------------------------------------------


class Placewise(Protocol):
    """Finds events by their places."""

    def __getitem__(self, at: int, /) -> Any: ...


class StepColumn:
    """The column of one predicate or aggregate.

    Attributes
    ----------
    since: from when on it has all that it accepts; None: from the beginning.
    place: from which place in the order on it has all that it accepts.
    late: whether earlier events may still be needed: the rule has joined others.
    aggregate_of: the aggregate for a match; None where candidates have to be tested.
    """

    def __init__(self, step: RuleStep, trex: bool) -> None:
        assert step.window is not None
        self.step = step
        aggregated = make_aggregated_column(step)
        made: Callable[[], EventColumn[Occurrence]] = aggregated or EventColumn
        self._over_none = aggregated and aggregated().running.over(0, 0)
        self.aggregate_of = aggregated and self._aggregate_from_column
        self.column: EventColumn[Occurrence] = KeyedColumn(made) if step.is_keyed else made()
        self.since: int | None = None
        self.place = 0
        self.late = False
        self._slice = None if step.window.after else make_slice_finder(step, trex)

    def add(self, event: Occurrence) -> None:
        """Keep an event, if it is one that the predicate may be about."""
        key = self.step.accepts(event)
        if key is None:
            return
        if isinstance(self.column, KeyedColumn):
            self.column.add_under(key, event)
        else:
            self.column.add(event)

    def of(self, match: PartialMatch) -> EventColumn[Occurrence]:
        """The events of a match's key."""
        if isinstance(self.column, KeyedColumn):
            key = self.step.key(match)
            return EMPTY if key is None else self.column.of_key.get(key, EMPTY)
        return self.column

    def find(self, match: PartialMatch) -> tuple[Placewise, int, int]:
        """The events of a match's key, and which of them lie in the window."""
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
        """Forget what lies before the window.

        Parameters
        ----------
        anchors: the times and numbers of the oldest events on which the window can hang from now on.
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
    """Makes the column of an aggregate, where only the window restricts the events of a key."""
    if not isinstance(step.part, t.Aggregate) or step.attribute is None or step.residual or not step.indexed:
        return None
    running = step.aggregate.running(step.values)
    return None if running is None else partial(AggregatedColumn, step.attribute, running)


class StepColumns(dict[int, StepColumn]):
    """The columns of a rule by the numbers of the steps, in the order of the rule.

    Attributes
    ----------
    by_type: those that are for events of a type.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_type: dict[str, list[StepColumn]] = {}

    def begin(self, step: RuleStep, trex: bool) -> StepColumn:
        """Keep a column for a step from now on."""
        column = self[step.number] = StepColumn(step, trex)
        self.by_type.setdefault(step.type, []).append(column)
        return column

    @property
    def size(self) -> int:
        """How many events they hold, one in several columns several times."""
        return sum(len(each.column) for each in self.values())

    def state(self, store: EventStore) -> list[Any]:
        """What they hold, events as their numbers."""
        return [[store.numbers(each.column), each.since, each.place, each.late] for each in self.values()]

    def set_state(self, state: list[Any], store: EventStore) -> None:
        """Hold what others held."""
        for column, (numbers, *since) in zip(self.values(), state, strict=True):
            for event in store.of(numbers):
                column.add(event)
            column.since, column.place, column.late = since
