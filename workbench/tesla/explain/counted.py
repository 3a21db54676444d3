"""Find the composites whose aggregates have counted an event.

The rule of this module: the engine's record has the events of matches only, so the formulas decide, for the window of
each composite's match, whether the event is in it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from workbench.tesla import tree as t
from workbench.tesla.explain.order import TriggerOutcome
from workbench.tesla.explain.rule_view import RuleView, RunRecord
from workbench.tesla.explain.why import path
from workbench.tesla.formulas import TREX
from workbench.tesla.lookback import Lookback, lookbacks
from workbench.tesla.occurrence import Occurrence


class EventCount(NamedTuple):
    """An aggregate that has counted an event for a composite.

    Attributes
    ----------
    composite: the number of the composite.
    rule: the name of the rule.
    text: the aggregate, as it was written.
    """

    composite: int
    rule: str
    text: str


def list_counts(record: RunRecord, number: int) -> tuple[EventCount, ...]:
    """Return the aggregates that have counted an event, in the order of their composites.

    Parameters
    ----------
    number: the number of the event in the order.

    Raises
    ------
    EngineGap: the formulas do not emit such a composite.
    """
    event, counts = record.order.event(number), list[EventCount]()
    for index, rule in enumerate(record.rules.rules):
        indices = {i for i, each in enumerate(rule.parts) if isinstance(each, t.Aggregate) and each.type == event.type}
        far = lookbacks(rule, record.compat == TREX) if indices else {}
        for outcome in _list_near(record.order.outcomes(index), event, [far[each] for each in indices], record):
            counts += _list_counts_of(RuleView(record, index, outcome.trigger), indices, event)
    return tuple(sorted(counts, key=lambda each: each.composite))


def _list_near(
    outcomes: Sequence[TriggerOutcome], event: Occurrence, far: Sequence[Lookback], record: RunRecord
) -> Iterator[TriggerOutcome]:
    """Yield the decisions about triggers after an event that are near enough for one of these lookbacks."""
    for outcome in outcomes:
        ago = int(record.order.times[outcome.trigger]) - event.time
        if outcome.trigger > event.number and any(each.time is None or ago <= each.time for each in far):
            yield outcome


def _list_counts_of(view: RuleView, indices: set[int], event: Occurrence) -> Iterator[EventCount]:
    """Yield the aggregates in these places that have counted an event for a trigger."""
    for composite, match in zip(view.composites, view.emitting_matches(), strict=True):
        for index, before, _ in path(view, match):
            if index in indices and view.counts(index, before, event):
                yield EventCount(composite, view.rule.name, str(view.text(index)))
