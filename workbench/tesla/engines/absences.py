"""Absences: matches of a rule that count unless something comes up to a deadline.

The rule of this module: the deadlines of a rule pass in the order of its triggers. While one is awaited, a column has
all events that may be what must not come; they are compared with the matches when the deadline passes.
"""

from __future__ import annotations

from bisect import bisect_right
from collections import deque
from dataclasses import dataclass

from workbench.tesla.engines.columns import EMPTY, StepColumn
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.engines.saved import EventStore
from workbench.tesla.occurrence import Occurrence


@dataclass(eq=False)
class DueAbsence:
    """Matches of one trigger that count unless something comes.

    Attributes
    ----------
    deadline: when it is decided.
    trigger: the event.
    matches: those that wait.
    chain: the rules that led to the trigger, the last one last.
    """

    deadline: int
    trigger: Occurrence
    matches: list[PartialMatch]
    chain: tuple[str, ...] = ()


class Absences:
    """What a rule waits for, and the events that may be what must not come.

    Parameters
    ----------
    step: the predicate about what must not come.

    Attributes
    ----------
    column: the events of its type since the first trigger that is awaited.
    """

    def __init__(self, step: RuleStep, trex: bool) -> None:
        self.column = StepColumn(step, trex)
        self._awaited: deque[DueAbsence] = deque()

    def wait(self, due: DueAbsence) -> None:
        """Await a deadline, which is not before those that are awaited."""
        self._awaited.append(due)

    def add(self, event: Occurrence) -> None:
        """Keep an event, if it is of the type and anything is awaited."""
        if self._awaited and event.type == self.column.step.type:
            self.column.add(event)

    @property
    def waiting(self) -> int:
        """How many matches wait for a deadline, and nothing has come to them so far."""
        return sum(len(self.find_unfilled(due)) for due in self._awaited)

    def take_unfilled(self, due: DueAbsence) -> list[PartialMatch]:
        """The matches of the first deadline to which nothing came; it is awaited no longer."""
        found = self.find_unfilled(due)
        self._awaited.popleft()
        events = self.column.column
        end = events.first_number(self._awaited[0].trigger.number) if self._awaited else len(events.events)
        events.forget(end - events.start)
        return found

    def find_unfilled(self, due: DueAbsence) -> list[PartialMatch]:
        """The matches to which nothing came so far."""
        return [match for match in due.matches if not self._has_come(match, due)]

    def _has_come(self, match: PartialMatch, due: DueAbsence) -> bool:
        column, fits = self.column.of(match), self.column.step.fits
        if column is EMPTY:
            return False
        low = column.first_number(due.trigger.number + 1)
        events = column.events[low : bisect_right(column.times, due.deadline, column.start)]
        return bool(events) if fits is None else any(fits(match, event) is not None for event in events)

    def state(self, store: EventStore) -> list[int]:
        """The column as the numbers of its events; what is awaited is not its own."""
        return store.numbers(self.column.column)

    def set_state(self, numbers: list[int], store: EventStore) -> None:
        """Keep what another one kept."""
        for event in store.of(numbers):
            self.column.add(event)
