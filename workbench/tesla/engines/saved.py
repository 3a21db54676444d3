"""The state of an engine as data: events once, and everything else by their numbers.

The rule of this module: what is written is numbers, texts, truth values and null, as JSON has them; nothing in it is
executed when it is read.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from workbench.tesla.engines.rule_plan import PartialMatch
from workbench.tesla.occurrence import Occurrence


class EventStore:
    """Events by their numbers: those that something refers to."""

    def __init__(self, saved: Sequence[Sequence[Any]] = ()) -> None:
        made = (Occurrence(t, time, tuple(v), n, tuple(s), rule) for t, time, v, n, s, rule in saved)
        self.events = {event.number: event for event in made}

    def data(self) -> list[list[Any]]:
        """All of them."""
        return [[e.type, e.time, e.values, e.number, e.sources, e.rule] for e in self.events.values()]

    def numbers(self, events: Iterable[Occurrence]) -> list[int]:
        """The numbers of events, which are kept."""
        found = []
        for event in events:
            self.events.setdefault(event.number, event)
            found.append(event.number)
        return found

    def of(self, numbers: Iterable[int]) -> list[Occurrence]:
        """The events of numbers."""
        return [self.events[number] for number in numbers]

    def pack(self, match: PartialMatch) -> list[Any]:
        """A partial match: events as `{"event": number}`, rows as `{"row": values}`."""
        found: list[Any] = []
        for item in match:
            if isinstance(item, Occurrence):
                found.append({"event": self.numbers([item])[0]})
            else:
                found.append({"row": item} if isinstance(item, tuple | list) else item)
        return found

    def unpack(self, data: Sequence[Any]) -> PartialMatch:
        """The inverse of `packed`."""
        return tuple(self._unpack_item(item) for item in data)

    def _unpack_item(self, item: Any) -> Any:
        if not isinstance(item, dict):
            return item
        return self.events[item["event"]] if "event" in item else tuple(item["row"])
