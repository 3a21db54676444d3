"""GDS(1): small answers have a higher priority, and priorities age (thesis, 4.6.2).

Source: P. Cao and S. Irani, Cost-aware WWW proxy caching algorithms, USENIX Symposium on Internet Technologies and
Systems 1997: the answer with the least priority is evicted, 1 / size + clock, where clock is the last evicted priority.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from heapq import heappop, heappush, heapreplace
from itertools import count
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class GreedyDualCache(FactCache):
    """A cache that keeps the answers with the highest priority; of equal ones, those requested later.

    A hit only raises a priority: the heap holds an earlier one, and an entry that is popped is pushed
    back if its priority has risen since.

    Parameters
    ----------
    worth: the priority of an answer above the clock.
    """

    def __init__(
        self, capacity: int, worth: Callable[[CachedAnswer], float] = lambda entry: 1 / entry.size
    ) -> None:  # fmt: skip
        super().__init__(capacity)
        self.worth, self.clock = worth, 0.0
        self._stamp = count().__next__
        self._heap: list[tuple[float, int, CachedAnswer]] = []

    def fetch(self, key: Hashable) -> Any:
        entry = self.entries.get(key)
        if entry is None:
            return None
        entry.hits += 1
        entry.since = self.clock
        entry.stamp = self._stamp()
        return entry.answer

    def keep(self, entry: CachedAnswer) -> None:
        """Store an answer as in listing 4.3 of the thesis: the new one may be evicted, too."""
        self.rows += entry.size
        self.entries[entry.key] = entry
        self.note_entry(entry)
        while self.rows > self.capacity:
            self.evict()

    def note_entry(self, entry: CachedAnswer) -> None:
        entry.hits, entry.since, entry.stamp = 1, self.clock, self._stamp()
        heappush(self._heap, (entry.since + self.worth(entry), entry.stamp, entry))

    def evict(self) -> None:
        while True:
            priority, stamp, entry = self._heap[0]
            if stamp == entry.stamp:
                break
            heapreplace(self._heap, (entry.since + self.worth(entry), entry.stamp, entry))
        heappop(self._heap)
        self.clock = priority
        self.forget(entry.key)

    def empty(self) -> None:
        super().empty()
        self._heap.clear()


ROW = CachePolicy("gds", "large ones, unless they were requested recently", GreedyDualCache, rank=31)
