"""How often events come: at most so many of a type in any time slice of a length.

The rule of this module: a rate is an assumption about streams, which a model keeps in mind as the ages of the last
events that it counts; what breaks it does not come. Nothing here says what rules make of events.

Source: design of rules in the model: without an assumption on rates every column is unbounded, for the clock may stand
still.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from workbench.core.domain import Domain, Range, Value
from workbench.core.ops import ADD, EQ, restrict_to_range
from workbench.core.term import Term
from workbench.core.units import format_time

ANY_TYPE = ""
"""The name of the rate of all types that have none of their own."""


class RuleRate(NamedTuple):
    """At most `most` events in any time slice of length `time`, its end not counted.

    Attributes
    ----------
    most: at least 1.
    time: microseconds where it is written with a unit, else a bare number.
    united: whether it is.
    """

    most: int
    time: int
    united: bool

    def in_ticks(self, tick: int) -> EventRate:
        """The same where times are multiples of a tick."""
        return EventRate(self.most, math.ceil(self.time / tick))

    def __str__(self) -> str:
        return f"{self.most} in any {format_time(self.time) if self.united else self.time}"


class EventRate(NamedTuple):
    """The same in ticks."""

    most: int
    ticks: int

    def within(self, reach: int) -> int:
        """How many events at most are between 0 and `reach` ticks old."""
        return self.most * (reach // self.ticks + 1)

    def variables(self, name: str) -> list[tuple[str, Domain, Value]]:
        """Name, domain and initial value of what it keeps in mind: the ages of the last events, the newest first."""
        return [(f"{name}_{i}", Range(0, self.ticks), self.ticks) for i in range(1, self.most + 1)]

    def may_come(self, ages: Sequence[Any]) -> Term:
        """Whether one more event keeps it."""
        found: Term = EQ(ages[-1], self.ticks)
        return found

    def later(self, ages: Sequence[Any], elapsed: Any) -> list[Any]:
        """The ages when so many ticks have passed."""
        return [restrict_to_range(ADD(age, elapsed), Range(0, self.ticks)) for age in ages]
