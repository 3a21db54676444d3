"""Where a rule looks for events: the windows of its predicates and aggregates, and their durations.

The rule of this module: it is part of the tree (`tree`), which has it under the same names.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from workbench.language.syntax import Placed

EVENTS = "events"
"""The unit of a window by count."""


@dataclass(frozen=True)
class Duration(Placed):
    """`5 min`, or `5` in the unit of the log's times (`unit` is empty); `5 events` is as many places in their order."""

    amount: Decimal
    unit: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is no time, but a number of events."""
        return self.unit == EVENTS

    def __str__(self) -> str:
        unit = "event" if self.counts and self.amount == 1 else self.unit
        return f"{self.amount:f} {unit}".rstrip()


@dataclass(frozen=True)
class WithinWindow(Placed):
    """`within 5 min from Smoke`, `within 2 .. 5 events from Smoke`, `within forever from Smoke`.

    Attributes
    ----------
    most: None is forever.
    """

    most: Duration | None
    of: str
    least: Duration | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the events on which it depends."""
        return (self.of,)

    @property
    def bounds(self) -> tuple[Duration, ...]:
        """Its bounds, the upper one first."""
        return tuple(each for each in (self.most, self.least) if each is not None)

    @property
    def counted(self) -> bool:
        """Whether events are counted, those of all types, and not times measured."""
        return any(each.counts for each in self.bounds)

    def __str__(self) -> str:
        least = f"{self.least} .. " if self.least is not None else ""
        return f"within {least}{self.most or 'forever'} from {self.of}"


@dataclass(frozen=True)
class BetweenWindow(Placed):
    """`between Hot and Smoke`: strictly between the two in the order of events."""

    one: str
    two: str

    bounds: ClassVar[tuple[Duration, ...]] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the events on which it depends."""
        return self.one, self.two

    def __str__(self) -> str:
        return f"between {self.one} and {self.two}"


@dataclass(frozen=True)
class AfterWindow(Placed):
    """`within 5 min after Start`, of what must not come."""

    most: Duration
    of: str

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the events on which it depends."""
        return (self.of,)

    @property
    def bounds(self) -> tuple[Duration, ...]:
        """The one bound that it has."""
        return (self.most,)

    def __str__(self) -> str:
        return f"within {self.most} after {self.of}"


EventWindow = WithinWindow | BetweenWindow | AfterWindow
