"""The columns of a rule: for each predicate or aggregate about events, those that it may be about.

The rule of this module: an event is asked once, when it arrives, what it can tell alone. A column forgets what lies
before its window, and says from when on it is complete.

Source: Cugola and Margara, 4.2 and 5.2.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any, Protocol

from workbench.tesla import tree as t
from workbench.tesla.engines.column import EMPTY, AggregatedColumn, EventColumn, KeyedColumn
from workbench.tesla.engines.rule_plan import PartialMatch, RuleStep
from workbench.tesla.engines.saved import EventStore
from workbench.tesla.engines.slices import make_slice_finder
from workbench.tesla.occurrence import Occurrence


class Placewise(Protocol):
    """Finds events by their places."""

    def __getitem__(self, at: int, /) -> Any: ...


class StepColumn:
    """The column of one predicate or aggregate.

    Attributes
    ----------
    since: from when on it has all that it accepts; None: from the beginning.
    place: from which place in the order on it has all that it accepts.
    late: whether earlier events may still be needed: the rule has joined others.
    aggregate_of: the aggregate for a match; None where candidates have to be tested.
    """

    def __init__(self, step: RuleStep, trex: bool) -> None:
        assert step.window is not None
        self.step = step
        aggregated = aggregated_column(step)
        made: Callable[[], EventColumn[Occurrence]] = aggregated or EventColumn
        self._over_none = aggregated and aggregated().running.over(0, 0)
        self.aggregate_of = aggregated and self._aggregate_from_column
        self.column: EventColumn[Occurrence] = KeyedColumn(made) if step.is_keyed else made()
        self.since: int | None = None
        self.place = 0
        self.late = False
        self._slice = None if step.window.after else make_slice_finder(step, trex)

    def add(self, event: Occurrence) -> None:
        """Keep an event, if it is one that the predicate may be about."""
        key = self.step.accepts(event)
        if key is None:
            return
        if isinstance(self.column, KeyedColumn):
            self.column.add_under(key, event)
        else:
            self.column.add(event)

    def of(self, match: PartialMatch) -> EventColumn[Occurrence]:
        """The events of a match's key."""
        if isinstance(self.column, KeyedColumn):
            key = self.step.key(match)
            return EMPTY if key is None else self.column.of_key.get(key, EMPTY)
        return self.column

    def find(self, match: PartialMatch) -> tuple[Placewise, int, int]:
        """The events of a match's key, and which of them lie in the window."""
        column = self.of(match)
        assert self._slice is not None
        return column.events, *self._slice(column, match)

    def _aggregate_from_column(self, match: PartialMatch) -> Any:
        column = self.of(match)
        if column is EMPTY:
            return self._over_none
        assert self._slice is not None
        assert isinstance(column, AggregatedColumn)
        return column.running.over(*self._slice(column, match))

    def forget_behind(self, anchors: Iterable[tuple[int, int]]) -> None:
        """Forget what lies before the window.

        Parameters
        ----------
        anchors: the times and numbers of the oldest events on which the window can hang from now on.
        """
        window, column = self.step.window, self.column
        assert window is not None
        time, number = map(min, *anchors) if window.between else next(iter(anchors))
        if window.before and window.far is None:
            return
        if window.counted:
            count = column.first_number(number - (window.far or 0)) - column.start
            time = column.times[column.start + count - 1] + 1 if count else time
        else:
            time -= window.far or 0
            count = column.first_from(time) - column.start
        if count:
            self.place = column.numbers[column.start + count - 1] + 1
            column.forget(count)
            if self.since is None or time >= self.since:
                self.since, self.late = time, False


def aggregated_column(step: RuleStep) -> Callable[[], AggregatedColumn] | None:
    """Makes the column of an aggregate, where only the window restricts the events of a key."""
    if not isinstance(step.part, t.Aggregate) or step.attribute is None or step.residual or not step.indexed:
        return None
    running = step.aggregate.running(step.values)
    return None if running is None else partial(AggregatedColumn, step.attribute, running)


class StepColumns(dict[int, StepColumn]):
    """The columns of a rule by the numbers of the steps, in the order of the rule.

    Attributes
    ----------
    by_type: those that are for events of a type.
    """

    def __init__(self) -> None:
        super().__init__()
        self.by_type: dict[str, list[StepColumn]] = {}

    def begin(self, step: RuleStep, trex: bool) -> StepColumn:
        """Keep a column for a step from now on."""
        column = self[step.number] = StepColumn(step, trex)
        self.by_type.setdefault(step.type, []).append(column)
        return column

    @property
    def size(self) -> int:
        """How many events they hold, one in several columns several times."""
        return sum(len(each.column) for each in self.values())

    def state(self, store: EventStore) -> list[Any]:
        """What they hold, events as their numbers."""
        return [[store.numbers(each.column), each.since, each.place, each.late] for each in self.values()]

    def set_state(self, state: list[Any], store: EventStore) -> None:
        """Hold what others held."""
        for column, (numbers, *since) in zip(self.values(), state, strict=True):
            for event in store.of(numbers):
                column.add(event)
            column.since, column.place, column.late = since
