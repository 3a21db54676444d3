"""W-TinyLFU: a new answer is kept only if it is asked for more often than what would have to go for it.

Source: G. Einziger and others, TinyLFU: a highly efficient cache admission policy, ACM Transactions on Storage 2017;
Lightweight robust size aware cache management, ACM Transactions on Storage 2022 (the victims of one candidate count
together). A window of a hundredth of the rows is for new answers, and holds the newest one whatever its size: else
nothing larger than it would ever be counted. Frequencies are counted exactly, also of answers that were given up, and
all halved after ten requests for each answer that is kept; the papers estimate them with a sketch.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable, Iterator
from itertools import chain
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, KeyedCache
from workbench.tesla.caches.table import CachePolicy

WINDOW, PROTECTED = 0.01, 0.8
"""The window as a part of all rows; those who were asked for again, as a part of the others."""
HALVED = 10
"""Requests for each answer that is kept, until frequencies are halved."""
REMEMBERED = 8
"""Answers given up for each one that is kept, whose frequency is known."""
SEEN = 4096
"""Hits that are not written down yet; of more the oldest are lost."""


class AnswerQueue(OrderedDict[Hashable, CachedAnswer]):
    """Answers, what was asked for last behind the others.

    Attributes
    ----------
    size: how many rows they have.
    """

    size = 0

    def add(self, entry: CachedAnswer) -> None:
        """At the end."""
        self[entry.key] = entry
        self.size += entry.size

    def drop(self, entry: CachedAnswer) -> None:
        """It is here no longer."""
        del self[entry.key]
        self.size -= entry.size

    def oldest(self) -> CachedAnswer:
        """The one that was not asked for the longest."""
        return next(iter(self.values()))


class TinyLfuCache(KeyedCache):
    """Keeps what is asked for often; a hit is only noted, and put in its place when an answer is stored."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._most_window = int(capacity * WINDOW)
        self._most_protected = int((capacity - self._most_window) * PROTECTED)
        self._seen: deque[CachedAnswer] = deque(maxlen=SEEN)
        self.empty()

    def fetch(self, key: Hashable) -> Any:
        entry = self.entries.get(key)
        if entry is None:
            return None
        entry.hits += 1
        self._seen.append(entry)
        return entry.answer

    def keep(self, entry: CachedAnswer) -> None:
        self._catch_up()
        self._requests += 1
        entry.hits = self._gone.pop(entry.key, 0) + 1
        window = max(self._most_window, entry.size)
        room = self.capacity - window
        while self._probation.size + self._protected.size > room:
            self._give_up(next(self._victims()))
        while self._window.size + entry.size > window:
            self._admit(self._window.oldest(), room)
        self._place[entry.key] = self._window
        self._window.add(entry)
        self.entries[entry.key] = entry
        self.rows += entry.size
        if self._requests > HALVED * len(self.entries) or len(self._gone) > REMEMBERED * len(self.entries):
            self._halve()

    def _admit(self, candidate: CachedAnswer, room: int) -> None:
        """From the window to the others, where it is worth more than those who have to go."""
        missing = self._probation.size + self._protected.size + candidate.size - room
        victims, worth = [], 0
        for victim in self._victims():
            if missing <= 0 or worth >= candidate.hits:
                break
            victims.append(victim)
            missing, worth = missing - victim.size, worth + victim.hits
        if missing > 0 or (victims and worth >= candidate.hits):
            self._give_up(candidate)
            return
        for victim in victims:
            self._give_up(victim)
        self._move(candidate, self._probation)

    def _move(self, entry: CachedAnswer, queue: AnswerQueue) -> None:
        self._place[entry.key].drop(entry)
        self._place[entry.key] = queue
        queue.add(entry)

    def _victims(self) -> Iterator[CachedAnswer]:
        """Those outside of the window in the order in which they go."""
        return chain(self._probation.values(), self._protected.values())

    def _catch_up(self) -> None:
        """Put what was asked for since in its place."""
        while self._seen:
            entry = self._seen.popleft()
            self._requests += 1
            if self.entries.get(entry.key) is not entry:
                continue
            queue = self._place[entry.key]
            if queue is not self._probation:
                queue.move_to_end(entry.key)
                continue
            self._move(entry, self._protected)
            while self._protected.size > self._most_protected:
                self._move(self._protected.oldest(), self._probation)

    def _halve(self) -> None:
        self._requests = 0
        for entry in self.entries.values():
            entry.hits //= 2
        for key, hits in list(self._gone.items()):
            if hits > 1:
                self._gone[key] = hits // 2
            else:
                del self._gone[key]

    def _give_up(self, entry: CachedAnswer) -> None:
        self._place.pop(entry.key).drop(entry)
        self._gone[entry.key] = entry.hits
        self.forget(entry)

    def empty(self) -> None:
        super().empty()
        self._seen.clear()
        self._window, self._probation, self._protected = AnswerQueue(), AnswerQueue(), AnswerQueue()
        self._place: dict[Hashable, AnswerQueue] = {}
        self._gone: dict[Hashable, int] = {}
        self._requests = 0


ROW = CachePolicy("tinylfu", "new ones, where others are asked for more often", TinyLfuCache, rank=40)
