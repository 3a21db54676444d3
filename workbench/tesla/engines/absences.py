"""Absences: matches of a rule that count unless a forbidden event comes before a deadline.

The rule of this module: the deadlines of a rule expire in the order of its triggers. While one is pending, a column
holds all events that may satisfy the `absent` predicate; they are compared with the matches when the deadline passes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass

from workbench.tesla.engines.columns import EMPTY, StepColumn
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.engines.saved_state import EventStore
from workbench.tesla.occurrence import Occurrence


@dataclass(eq=False)
class DueAbsence:
    """Matches of one trigger that wait for a deadline.

    Attributes
    ----------
    deadline: the time at which they are decided.
    trigger: the trigger.
    matches: the waiting matches.
    chain: the rules that led to the trigger, in order.
    """

    deadline: int
    trigger: Occurrence
    matches: list[PartialMatch]
    chain: tuple[str, ...] = ()


class Absences:
    """The pending deadlines of a rule, and the events that may satisfy its `absent` predicate.

    Parameters
    ----------
    step: the `absent` predicate.

    Attributes
    ----------
    column: the events of its type since the first trigger with a pending deadline.
    """

    def __init__(self, step: RuleStep, trex: bool) -> None:
        self.column = StepColumn(step, trex)
        self._awaited: deque[DueAbsence] = deque()

    def wait(self, due: DueAbsence) -> None:
        """Add a deadline, which is not before the pending ones."""
        self._awaited.append(due)

    def add(self, event: Occurrence) -> None:
        """Store an event, if it has the type of the predicate and a deadline is pending."""
        if self._awaited and event.type == self.column.step.type:
            self.column.add(event)

    @property
    def waiting(self) -> int:
        """The number of matches that wait for a deadline and have had no forbidden event so far."""
        return sum(len(self.find_unfilled(due)) for due in self._awaited)

    def take_unfilled(self, due: DueAbsence) -> list[PartialMatch]:
        """Remove the first deadline, and return its matches without a forbidden event."""
        matches = self.find_unfilled(due)
        self._awaited.popleft()
        events = self.column.column
        end = events.first_number(self._awaited[0].trigger.number) if self._awaited else len(events.events)
        events.forget(end - events.start)
        return matches

    def find_unfilled(self, due: DueAbsence) -> list[PartialMatch]:
        """Return the matches without a forbidden event so far."""
        return [match for match in due.matches if not self._has_come(match, due)]

    def _has_come(self, match: PartialMatch, due: DueAbsence) -> bool:
        column, fits = self.column.of(match), self.column.step.fits
        if column is EMPTY:
            return False
        low = column.first_number(due.trigger.number + 1)
        events = column.events[low : bisect_right(column.times, due.deadline, column.start)]
        return bool(events) if fits is None else any(fits(match, event) is not None for event in events)

    def state(self, store: EventStore) -> list[int]:
        """Return the column as the numbers of its events; the pending deadlines are saved elsewhere."""
        return store.numbers(self.column.column)

    def set_state(self, numbers: list[int], store: EventStore) -> None:
        """Restore the column from a saved state."""
        for event in store.of(numbers):
            self.column.add(event)
