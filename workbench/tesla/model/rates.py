"""Rates of events: a maximum number of events of a type in any time slice of some length.

The rule of this module: a rate is an assumption about streams, which a model records as the ages of the latest
events that it counts; events that break it do not come. Nothing here depends on rules.

Source: design of rules in the model: without an assumption on rates every column is unbounded, for the clock may stand
still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Range, Value
from workbench.core.ops import ADD, EQ, restrict_to_range
from workbench.core.units import format_time

ANY_TYPE = ""
"""The name of the rate of all types without their own."""


class RuleRate(NamedTuple):
    """At most `max_events` events in any time slice of length `time`, its end excluded.

    Attributes
    ----------
    max_events: at least 1.
    time: in microseconds if it has a unit, otherwise a bare number.
    united: whether it has a unit.
    """

    max_events: int
    time: int
    united: bool

    def in_ticks(self, tick: int) -> EventRate:
        """Return the rate in ticks, with times rounded up."""
        return EventRate(self.max_events, math.ceil(self.time / tick))

    def __str__(self) -> str:
        return f"{self.max_events} in any {format_time(self.time) if self.united else self.time}"


class EventRate(NamedTuple):
    """A rate in ticks: at most `max_events` events in any `ticks` ticks."""

    max_events: int
    ticks: int

    def within(self, duration: int) -> int:
        """Return the maximum number of events that are between 0 and `duration` ticks old."""
        return self.max_events * (duration // self.ticks + 1)

    def variables(self, name: str) -> list[tuple[str, Domain, Value]]:
        """Return name, domain and initial value of its state: the ages of the latest events, newest first."""
        return [(f"{name}_{i}", Range(0, self.ticks), self.ticks) for i in range(1, self.max_events + 1)]

    def may_come(self, ages: Sequence[Any]) -> Any:
        """Whether one more event keeps the rate."""
        return EQ(ages[-1], self.ticks)

    def later(self, ages: Sequence[Any], elapsed: Any) -> list[Any]:
        """Return the ages after some ticks."""
        return [restrict_to_range(ADD(age, elapsed), Range(0, self.ticks)) for age in ages]
