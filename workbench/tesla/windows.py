"""Where a rule looks for events: the windows of its predicates and aggregates, and their durations.

The rule of this module: it is part of the tree (`tree`), which has it under the same names. A bound is a mistake only
where no log could make sense of it.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

from workbench.core.findings import Findings
from workbench.core.units import MICROSECONDS
from workbench.errors import LanguageError
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


# --- what bounds may be ---------------------------------------------------------------------------------


def check_pause(pause: Duration | None, findings: Findings) -> None:
    """A rule is silent for a time."""
    if pause is not None and pause.counts:
        what, hint = "a rule is silent for a time, not for a number of events", "write at most once in 10 min"
        findings.add(LanguageError(what, where=pause.where, hint=hint))


def check_bounds(window: EventWindow, findings: Findings) -> None:
    """Both bounds are of one kind, whole where they are counted, and in their order."""
    if isinstance(window, AfterWindow) and window.most.counts:
        what = "what is absent is told when a time has passed: no event need come that ends a count"
        hint = f"write a time: within 5 min after {window.of}"
        findings.add(LanguageError(what, where=window.most.where, hint=hint))
    if not isinstance(window, WithinWindow):
        return
    least, most = window.least, window.most
    if window.counted:
        _check_counts(least, most, findings)
    if least is None or most is None or least.counts != most.counts or bool(least.unit) != bool(most.unit):
        return
    if least.amount * MICROSECONDS.get(least.unit, 1) > most.amount * MICROSECONDS.get(most.unit, 1):
        what = f"no {'event' if most.counts else 'time'} is at least {least} and at most {most}"
        findings.add(LanguageError(what + " away" * most.counts, where=least.where, hint="write the smaller one first"))


def _check_counts(least: Duration | None, most: Duration | None, findings: Findings) -> None:
    for each in (least, most):
        if each is not None and not each.counts:
            what = f"{each} is a time, and the other end of this window a number of events"
            findings.add(LanguageError(what, where=each.where, hint="give both as times, or both as numbers of events"))
        elif each is not None and each.amount != int(each.amount):
            hint = f"write {int(each.amount)} or {int(each.amount) + 1} events"
            findings.add(LanguageError(f"{each}: the number of events is no whole number", where=each.where, hint=hint))
    if most is not None and most.counts and most.amount < 1:
        hint = "write within 1 event: that is the event right before"
        findings.add(LanguageError(f"nothing lies within {most}", where=most.where, hint=hint))
