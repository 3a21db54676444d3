"""Column-based delayed processing: events are kept in columns until a trigger comes, and then looked at.

A column for each predicate and aggregate holds the events of its type that satisfy what their own attributes tell. When
the trigger comes, old events are deleted along the windows, and partial sequences grow column by column, from the
trigger backwards. They grow one at a time, depth first, which gives them in order and needs memory for one.

Beyond the paper: equations with what is bound before are an index of their column; a column is also shortened when it
has grown, so that memory is bounded by the windows where no trigger comes.

Source: Cugola and Margara, 4.2 (algorithm 2, figures 4 and 5), 4.3 and 5.2.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from workbench.tesla.engines.candidates import ExtendsMatch, count_extensions, extension, fact_extension, grow_sequences
from workbench.tesla.engines.columns import StepColumns
from workbench.tesla.engines.rule_plan import PartialMatch
from workbench.tesla.engines.runner import MatcherStart
from workbench.tesla.engines.saved import EventStore
from workbench.tesla.occurrence import Occurrence

FEW = 64
"""Columns are not looked through for less."""


class CDPMatcher:
    """The columns of one rule.

    Attributes
    ----------
    columns: of the steps that are about events, in the order of the rule, by the number of the step.
    """

    def __init__(self, start: MatcherStart) -> None:
        self.plan = start.plan
        self.columns = StepColumns()
        self.extends: list[ExtendsMatch] = []
        selecting: list[Any] = []
        for step in self.plan.steps[1:]:
            if step.fact:
                extend = fact_extension(step, start.facts)
            else:
                column = self.columns.begin(step, start.trex)
                rivals = [other.slot for other in selecting if other.type == step.type] if step.selects else []
                consumed = start.consumed.get(step.slot) if start.consumed is not None and step.selects else None
                extend = extension(step, column.find, step.fits, consumed, rivals, aggregate_of=column.aggregate_of)
            self.extends.append(extend if start.counted is None else count_extensions(extend, start.counted))
            selecting += [step] if step.selects else []
        self._anchors = {step.slot: self.columns[step.number] for step in selecting}
        self._until_look = FEW

    def matches(self, start: PartialMatch) -> Iterable[PartialMatch]:
        """The sequences that end with a trigger."""
        self.delete_old(start[0])
        return grow_sequences(self.extends, start)

    def add(self, event: Occurrence) -> None:
        """Put an event on top of the columns that it is for."""
        for column in self.columns.by_type.get(event.type, ()):
            column.add(event)
        self._until_look -= 1
        if self._until_look < 0:
            self.delete_old(event)
            self._until_look = FEW + self.columns.size

    def delete_old(self, now: Occurrence) -> None:
        """Delete what no trigger from now on can reach: what lies before the window of the oldest event it hangs on."""
        for column in self.columns.values():
            column.forget_behind([self._oldest(slot, now) for slot in column.step.anchors])

    def _oldest(self, slot: int, now: Occurrence) -> tuple[int, int]:
        """The least time and number that what is bound to a slot can have."""
        anchor = self._anchors.get(slot)
        if anchor is None or not len(anchor.column):
            return now.time, now.number
        return anchor.column.times[anchor.column.start], anchor.column.numbers[anchor.column.start]

    @property
    def oldest(self) -> float:
        """No event before this number is selected any more."""
        kept = (each.column for each in self._anchors.values())
        return min((column.numbers[column.start] for column in kept if len(column)), default=math.inf)

    # --- state ------------------------------------------------------------------------------------------

    def state(self, store: EventStore) -> Any:
        """The columns, as the numbers of their events."""
        return self.columns.state(store)

    def set_state(self, state: Any, store: EventStore) -> None:
        """The columns of another one."""
        self.columns.set_state(state, store)
