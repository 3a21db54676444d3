"""The instances of an automaton in one state.

The rule of this module: they form a column, in order of arrival, and are deleted at the old end when their windows have
passed. Instances with the same key, a value that the trigger must have, form a column of their own inside it.

Source: Cugola and Margara, 5.1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from workbench.tesla.engines.aip.automaton import Holdings
from workbench.tesla.engines.columns import EMPTY, EventColumn, KeyedColumn
from workbench.tesla.occurrence import Occurrence


class AutomatonInstance(NamedTuple):
    """An instance of an automaton: references to the events that led to its state.

    Attributes
    ----------
    time, number: those of the latest event.
    deadline: the last time at which it can be extended; None if no window bounds it.
    key: the value that the trigger must have; True if it is not known yet.
    last: the number of the last event that can extend it; None if no window by count bounds it.
    """

    time: int
    number: int
    holdings: Holdings
    deadline: int | None
    key: Any
    last: int | None

    def has_passed(self, now: Occurrence) -> bool:
        """Whether neither this event nor a later one can extend it."""
        late = self.deadline is not None and self.deadline < now.time
        return late or (self.last is not None and self.last < now.number)


class StateInstances(KeyedColumn[AutomatonInstance]):
    """The instances in one state.

    Attributes
    ----------
    indexed: whether instances are found by key; otherwise all are scanned.
    """

    __slots__ = ("indexed",)

    def __init__(self, indexed: bool = True) -> None:
        super().__init__()
        self.indexed = indexed

    def of(self, key: Any) -> EventColumn[AutomatonInstance]:
        """Return the instances with a key, among others if they are not indexed; all of them if it is None."""
        return self if key is None or not self.indexed else self.of_key.get(key, EMPTY)

    def in_turn(
        self, key: Any, *, oldest_first: bool = False, number: int | None = None
    ) -> Iterator[AutomatonInstance]:
        """Yield instances newest first, restricted to a key and to a latest event with this number, if given."""
        column = self.of(key)
        indices = range(column.start, len(column.events))
        if number is not None:
            indices = range(column.first_number(number), column.first_number(number + 1))
        instances = map(column.events.__getitem__, indices if oldest_first else reversed(indices))
        return instances if key is None or self.indexed else (each for each in instances if each.key == key)

    def delete_passed(self, now: Occurrence) -> None:
        """Delete expired instances at the old end."""
        count = 0
        while self.start + count < len(self.events) and self.events[self.start + count].has_passed(now):
            count += 1
        if count:
            self.forget(count)

    def sweep(self, now: Occurrence) -> None:
        """Delete all expired instances."""
        left = [each for each in self if not each.has_passed(now)]
        if len(left) < len(self):
            self.forget(len(self))
            for each in left:
                self.add_under(each.key, each)


class HeldEvents:
    """The events for one predicate in a column of instances, by the indices of the instances."""

    def __init__(self, instances: EventColumn[AutomatonInstance], bit: int) -> None:
        self._instances, self._bit = instances.events, bit

    def __getitem__(self, at: int) -> Any:
        return self._instances[at].holdings[self._bit]
