"""The rules of one worker of a pool, and the sort keys of its composites.

The rule of this module: a worker knows its own composites and all external events, and numbers these. Only the pool
knows their numbers among all events.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from workbench.errors import WorkbenchError
from workbench.tesla.engines.engine import RuleCost
from workbench.tesla.engines.partial_run import PartialRun, SortKey, make_time_prefix
from workbench.tesla.engines.publisher import Publisher
from workbench.tesla.occurrence import Occurrence

PoolRequest = tuple[str, Any]
"""`("block", block)`, `("event", (type, time, values))`, `("clock", time)` or `("costs", None)`."""


class WorkerComposite(NamedTuple):
    """A composite and its sort key.

    Attributes
    ----------
    sort_key: its position among the composites of all workers.
    events: the number of external events before it.
    composite: its type, time and values, the worker's own numbers of its sources, and its rule.
    """

    sort_key: SortKey
    events: int
    composite: tuple[Any, ...]


class PoolAnswer(NamedTuple):
    """The answer of a worker: composites in their order, and the first failure with its sort key."""

    composites: Sequence[WorkerComposite] = ()
    failure: tuple[SortKey, WorkbenchError] | None = None
    costs: Sequence[RuleCost] = ()


class WorkerRules:
    """Some rules of a rule set, run on all events.

    Parameters
    ----------
    make: starts an engine of all rules; called in the worker's process.
    positions: those of the rules that this worker runs.
    """

    def __init__(self, make: Callable[[], Publisher], positions: Sequence[int]) -> None:
        self._make, self._asked = make, positions
        self._run: PartialRun | None = None
        self._events = 0
        self._last = b""
        """The upper bound for sort keys of composites caused by the last event."""

    def answer(self, request: PoolRequest) -> PoolAnswer:
        """Process a request, and return the answer."""
        what, payload = request
        if self._run is None:
            engine = self._make()
            engine.asked = set(self._asked)
            self._run = PartialRun(engine, by_rule=True)
        if what == "costs":
            costs = self._run.engine.profile()
            return PoolAnswer(costs=[costs[rule] for rule in self._asked] if costs else ())
        if what == "clock":
            return self._of_clock(self._run, payload)
        events = [Occurrence(*payload)] if what == "event" else payload.occurrences(self._run.engine.rules)
        return self._of_events(self._run, events)

    def _of_events(self, run: PartialRun, events: Iterable[Occurrence]) -> PoolAnswer:
        composites = list[WorkerComposite]()
        for event in events:
            sort_key = self._events.to_bytes(8)
            try:
                effects = run.process(event, sort_key)
            except WorkbenchError as error:
                return PoolAnswer(composites, (self._last, error))
            self._last = make_time_prefix(event.time) + b"\0" + sort_key + b"\xff"
            composites += (_composite(order, self._events + (each.time == event.time), each) for order, each in effects)
            self._events += 1
        return PoolAnswer(composites)

    def _of_clock(self, run: PartialRun, time: int) -> PoolAnswer:
        try:
            effects = run.advance(time)
        except WorkbenchError as error:
            return PoolAnswer(failure=(b"", error))
        return PoolAnswer([_composite(sort_key, self._events, each) for sort_key, each in effects])


def _composite(sort_key: SortKey, before: int, each: Occurrence) -> WorkerComposite:
    """Make a composite that comes after this number of external events."""
    return WorkerComposite(sort_key, before, (each.type, each.time, each.values, each.sources, each.rule))
