"""Windows of predicates and aggregates, and their durations.

The rule of this module: it is part of the tree (`tree`), which exports the same names. A bound is a mistake only
if it makes no sense for any log.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property

from workbench.core.mistakes import Mistakes
from workbench.core.units import MICROSECONDS
from workbench.language.syntax import Placed

EVENTS = "events"
"""The unit of a window by count."""


@dataclass(frozen=True)
class Duration(Placed):
    """`5 min`, or `5` in the unit of the log's times (`unit` is empty); `5 events` is a distance in their order."""

    amount: Decimal
    unit: str = ""

    @property
    def counts(self) -> bool:
        """Whether it is a number of events rather than a time."""
        return self.unit == EVENTS

    def __str__(self) -> str:
        unit = "event" if self.counts and self.amount == 1 else self.unit
        return f"{self.amount:f} {unit}".rstrip()


@dataclass(frozen=True)
class EventWindow(Placed):
    """The window in which a rule selects events.

    `within 5 min from Smoke`, `within 2 .. 5 events from Smoke`, `within forever from Smoke`; `between Hot and Smoke`,
    strictly between the two in the order of events; `within 5 min after Start`, for `absent`.

    Attributes
    ----------
    names: the event before or after which the window lies, or the two events between which it lies.
    maximum, minimum: the greatest and the smallest distance; None: unbounded.
    """

    names: tuple[str, ...]
    maximum: Duration | None = None
    minimum: Duration | None = None
    after: bool = False

    @property
    def of(self) -> str:
        """The name of the first event on which it depends."""
        return self.names[0]

    @property
    def between(self) -> bool:
        """Whether it lies between two events."""
        return len(self.names) > 1

    @cached_property
    def before(self) -> bool:
        """Whether it lies before one event."""
        return not (self.between or self.after)

    @property
    def bounds(self) -> tuple[Duration, ...]:
        """Its bounds, the upper one first."""
        return tuple(each for each in (self.maximum, self.minimum) if each is not None)

    @cached_property
    def counts_events(self) -> bool:
        """Whether its bounds count events (of all types) rather than time."""
        return any(each.counts for each in self.bounds)

    @cached_property
    def far(self) -> int | None:
        """The maximum distance of an event, if bounds are whole numbers; None: unbounded."""
        return None if self.maximum is None else int(self.maximum.amount)

    @cached_property
    def near(self) -> int:
        """The minimum distance of an event, if bounds are whole numbers."""
        return 0 if self.minimum is None else int(self.minimum.amount)

    def __str__(self) -> str:
        if self.between:
            return f"between {' and '.join(self.names)}"
        least = f"{self.minimum} .. " if self.minimum is not None else ""
        return f"within {least}{self.maximum or 'forever'} {'after' if self.after else 'from'} {self.of}"


# --- checks of bounds -----------------------------------------------------------------------------------


def check_pause(pause: Duration | None, mistakes: Mistakes) -> None:
    """Report a pause that is a number of events."""
    if pause is not None and pause.counts:
        what, hint = "a rule is silent for a time, not for a number of events", "write at most once in 10 min"
        mistakes.report(what, pause.where, hint)


def check_bounds(window: EventWindow, mistakes: Mistakes) -> None:
    """Report bounds of two kinds, fractional numbers of events, and bounds in the wrong order."""
    least, upper = window.minimum, window.maximum
    if window.after and window.counts_events:
        what = "an absence is reported after a time: a number of events may never be reached"
        mistakes.report(what, window.bounds[0].where, f"write a time: within 5 min after {window.of}")
    elif window.counts_events:
        _check_counts(least, upper, mistakes)
    if least is None or upper is None or least.counts != upper.counts or bool(least.unit) != bool(upper.unit):
        return
    if least.amount * MICROSECONDS.get(least.unit, 1) > upper.amount * MICROSECONDS.get(upper.unit, 1):
        what = f"no {'event' if upper.counts else 'time'} is at least {least} and at most {upper}"
        mistakes.report(what + " away" * upper.counts, least.where, "write the smaller one first")


def _check_counts(least: Duration | None, upper: Duration | None, mistakes: Mistakes) -> None:
    for each in (least, upper):
        if each is not None and not each.counts:
            what = f"{each} is a time, but the other end of this window is a number of events"
            mistakes.report(what, each.where, "write two times, or two numbers of events")
        elif each is not None and each.amount != int(each.amount):
            hint = f"write {int(each.amount)} or {int(each.amount) + 1} events"
            mistakes.report(f"{each}: the number of events is not a whole number", each.where, hint)
    if upper is not None and upper.counts and upper.amount < 1:
        hint = "write within 1 event: that is the event right before"
        mistakes.report(f"nothing lies within {upper}", upper.where, hint)
