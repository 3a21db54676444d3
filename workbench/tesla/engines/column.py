"""Columns: the events that a predicate may select, in their order.

The rule of this module: a column holds pointers to events that are stored once, and forgets from its old end. Where
equations tell which events fit, those with one key are a column of their own inside it.

Source: Cugola and Margara, 4.2 and 5.2.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from workbench.tesla.aggregate import StartsRunning
from workbench.tesla.occurrence import Occurrence


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
