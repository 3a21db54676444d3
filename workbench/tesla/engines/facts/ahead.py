"""Facts that are asked for before their events come, by threads of their own.

A slow query is then under way while the events before it are processed.

The rule of this module: nothing is told earlier, or otherwise. An answer counts if the database has not changed from
the time at which it was asked for to that of its event, nor since, where it took longer; else it is asked again, as if
nothing had been asked.

Source: thesis, conclusions (one delayed call stalls the engine).
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from math import inf
from queue import SimpleQueue
from threading import Event, Thread, local
from time import monotonic
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.tesla import tree as t
from workbench.tesla.engines.facts.database import FactDatabase, FactSettings
from workbench.tesla.occurrence import Occurrence

if TYPE_CHECKING:
    from workbench.tesla.engines.facts.query import FactAnswer, FactKey, FactQuery

WINDOW = 256
"""Events that are looked at before they come."""
MOST = 4 * WINDOW
"""Answers to a query that wait for their events."""


class EarlyAnswer:
    """What a thread is asking, or has been answered.

    Attributes
    ----------
    version: of the database when it was asked.
    uses: how many events will ask for it.
    told: when it was answered; until then it has not been.
    """

    def __init__(self, query: FactQuery, values: FactKey) -> None:
        self.query, self.values, self.version, self.uses = query, values, query.table.database.version, 1
        self.told = inf
        self._done, self._found = Event(), list[Any]()
        self._error: WorkbenchError | None = None

    def ask(self, database: FactDatabase) -> None:
        """Ask a connection of one's own."""
        try:
            self._found.append(self.query.asked(self.values, database))
        except WorkbenchError as error:
            self._error = error
        finally:
            database.settle()
            self.told = monotonic()
            self._done.set()

    def get(self) -> FactAnswer:
        """The answer, as soon as it is there."""
        self._done.wait()
        if self._error is not None:
            raise self._error
        found: FactAnswer = self._found[0]
        return found


class FactsAhead:
    """Threads that ask.

    Parameters
    ----------
    count: how many, each with connections of its own; none is in the way of the program's end.
    """

    def __init__(self, count: int, settings: FactSettings) -> None:
        self._settings, self._todo, self._own = settings, SimpleQueue[EarlyAnswer | None](), local()
        self._count = count
        for _ in range(count):
            Thread(target=self._work, daemon=True).start()

    def expect(self, query: FactQuery, values: FactKey) -> None:
        """An event that comes will ask this."""
        if query.table.database.in_memory or (query.cache is not None and (query.number, values) in query.cache):
            return
        early = query.early.get(values)
        if early is not None and early.version == query.table.database.version:
            early.uses += 1
            return
        if len(query.early) > MOST:  # a cache has told of them
            del query.early[next(iter(query.early))]
        query.early[values] = early = EarlyAnswer(query, values)
        self._todo.put(early)

    def close(self) -> None:
        """The threads end as soon as they have asked what they were to."""
        for _ in range(self._count):
            self._todo.put(None)

    def _work(self) -> None:
        while (early := self._todo.get()) is not None:
            early.ask(self._connected(early.query.table.database.path))
        for database in vars(self._own).values():
            database.close()

    def _connected(self, path: str) -> FactDatabase:
        mine: dict[str, FactDatabase] = vars(self._own)
        if path not in mine:
            mine[path] = FactDatabase(path, self._settings)
        return mine[path]


def looked_ahead(events: Iterable[Occurrence], expect: Callable[[Occurrence], object]) -> Iterator[Occurrence]:
    """The same events, each told some events before it comes."""
    waiting: deque[Occurrence] = deque()
    for event in events:
        expect(event)
        waiting.append(event)
        if len(waiting) > WINDOW:
            yield waiting.popleft()
    yield from waiting


def furthest(query: FactQuery) -> int:
    """The last slot of a partial match that a query looks at."""
    scope, slots = query.step.scope, [0]
    for leaf in (leaf for each in query.compared for leaf in t.within(each.bound)):
        if isinstance(leaf, t.BoundParameter):
            slots.append(scope.parameters[leaf.name])
        elif isinstance(leaf, t.OtherAttribute | t.TimeOf):
            slots.append(scope.events[leaf.of if isinstance(leaf, t.OtherAttribute) else leaf.name])
    return max(slots)
