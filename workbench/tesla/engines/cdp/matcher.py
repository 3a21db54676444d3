"""Column-based delayed processing: columns store events until a trigger comes, which then scans them.

A column for each predicate and aggregate holds the events of its type that satisfy the constraints on their own
attributes. When the trigger comes, events before the windows are deleted, and partial sequences grow column by column,
back from the trigger. They grow depth first, one at a time, in order and with memory for one.

Beyond the paper: equations with earlier events index their column; a column is also shortened after it has grown,
so that windows bound memory even if no trigger comes.

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
from workbench.tesla.engines.saved_state import EventStore
from workbench.tesla.occurrence import Occurrence

SWEEP_INTERVAL = 64
"""Minimum number of events after which old ones are deleted without a trigger."""


class CDPMatcher:
    """Matcher (`RuleMatcher`) that scans the columns of one rule.

    Attributes
    ----------
    columns: the columns of the steps on events, in the order of the rule, by the number of the step.
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
        self._until_look = SWEEP_INTERVAL

    def matches(self, start: PartialMatch) -> Iterable[PartialMatch]:
        self.delete_old(start[0])
        return grow_sequences(self.extends, start)

    def add(self, event: Occurrence) -> None:
        for column in self.columns.by_type.get(event.type, ()):
            column.add(event)
        self._until_look -= 1
        if self._until_look < 0:
            self.delete_old(event)
            self._until_look = SWEEP_INTERVAL + self.columns.size

    def delete_old(self, now: Occurrence) -> None:
        """Delete events that no later trigger can reach: those before the window of its oldest possible anchor."""
        for column in self.columns.values():
            column.forget_behind([self._oldest(slot, now) for slot in column.step.anchors])

    def _oldest(self, slot: int, now: Occurrence) -> tuple[int, int]:
        """Return the least time and number of an event that can be bound to a slot."""
        anchor = self._anchors.get(slot)
        if anchor is None or not len(anchor.column):
            return now.time, now.number
        return anchor.column.times[anchor.column.start], anchor.column.numbers[anchor.column.start]

    @property
    def oldest(self) -> float:
        columns = (each.column for each in self._anchors.values())
        return min((column.numbers[column.start] for column in columns if len(column)), default=math.inf)

    # --- state ------------------------------------------------------------------------------------------

    def state(self, store: EventStore) -> Any:
        return self.columns.state(store)

    def set_state(self, state: Any, store: EventStore) -> None:
        self.columns.set_state(state, store)
