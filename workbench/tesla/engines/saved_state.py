"""The state of an engine as data: each event once, and references to it by number.

The rule of this module: saved data are numbers, texts, truth values and null, as in JSON; reading executes
none of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.tesla.engines.rule_plan import PartialMatch
from workbench.tesla.occurrence import Occurrence


class EventStore:
    """The referenced events, by number."""

    def __init__(self, saved: Sequence[Sequence[Any]] = ()) -> None:
        occurrences = (Occurrence(t, time, tuple(v), n, tuple(s), rule) for t, time, v, n, s, rule in saved)
        self.events = {event.number: event for event in occurrences}

    def data(self) -> list[list[Any]]:
        """Return all events as data."""
        return [[e.type, e.time, e.values, e.number, e.sources, e.rule] for e in self.events.values()]

    def numbers(self, events: Iterable[Occurrence]) -> list[int]:
        """Store events, and return their numbers."""
        numbers = []
        for event in events:
            self.events.setdefault(event.number, event)
            numbers.append(event.number)
        return numbers

    def of(self, numbers: Iterable[int]) -> list[Occurrence]:
        """Return the events with these numbers."""
        return [self.events[number] for number in numbers]

    def pack(self, match: PartialMatch) -> list[Any]:
        """Convert a partial match to data: events as `{"event": number}`, rows as `{"row": values}`."""
        items: list[Any] = []
        for item in match:
            if isinstance(item, Occurrence):
                items.append({"event": self.numbers([item])[0]})
            else:
                items.append({"row": item} if isinstance(item, tuple | list) else item)
        return items

    def unpack(self, data: Sequence[Any]) -> PartialMatch:
        """Invert `pack`."""
        return tuple(self._unpack_item(item) for item in data)

    def _unpack_item(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        return self.events[item["event"]] if "event" in item else tuple(item["row"])
