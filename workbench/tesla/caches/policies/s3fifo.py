"""S3-FIFO: what is asked for once goes soon, through a small queue; the others live in a large one.

Source: J. Yang and others, FIFO queues are all you need for cache eviction, SOSP 2023. Until the cache is full for the
first time what does not fit into the small queue goes into the large one, as in the reference simulator libCacheSim.
An answer larger than the small queue is kept there, too, alone, which libCacheSim refuses.
"""

from __future__ import annotations

from collections import OrderedDict, deque
from collections.abc import Hashable

from workbench.tesla.caches.cache import CachedAnswer, KeyedCache
from workbench.tesla.caches.table import CachePolicy

SMALL, GHOSTS = 0.1, 0.9
"""Parts of the capacity: of the small queue, and of the answers that were given up whose keys are remembered."""
OFTEN, MOST = 2, 3
"""Hits that take an answer from the small queue into the large one, and rounds that it survives there at most."""


class FifoCache(KeyedCache):
    """Keeps what was asked for more than once."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._most_small, self._most_ghosts = int(capacity * SMALL), int(capacity * GHOSTS)
        self.empty()

    def keep(self, entry: CachedAnswer) -> None:
        size = self._ghosts.pop(entry.key, 0)
        self._ghost_rows -= size
        self._known = bool(size)
        super().keep(entry)

    def kept(self, entry: CachedAnswer) -> None:
        if self._known or (not self._full and self._small_rows >= self._most_small):
            self._large.append(entry)
        else:
            self._small.append(entry)
            self._small_rows += entry.size

    def evict(self) -> None:
        self._full = True
        if not self._small or self.rows - self._small_rows > self.capacity - self._most_small:
            self._evict_large()
        else:
            self._evict_small()

    def _evict_small(self) -> None:
        while self._small:
            entry = self._small.popleft()
            self._small_rows -= entry.size
            if entry.hits < OFTEN:
                self.forget(entry)
                self._haunt(entry)
                return
            entry.hits = 0
            self._large.append(entry)

    def _evict_large(self) -> None:
        while (entry := self._large.popleft()).hits:
            entry.hits = min(entry.hits, MOST) - 1
            self._large.append(entry)
        self.forget(entry)

    def _haunt(self, entry: CachedAnswer) -> None:
        if entry.size > self._most_ghosts:
            return
        while self._ghost_rows + entry.size > self._most_ghosts:
            self._ghost_rows -= self._ghosts.popitem(last=False)[1]
        self._ghosts[entry.key] = entry.size
        self._ghost_rows += entry.size

    def empty(self) -> None:
        super().empty()
        self._small, self._large = deque[CachedAnswer](), deque[CachedAnswer]()
        self._ghosts: OrderedDict[Hashable, int] = OrderedDict()
        self._small_rows = self._ghost_rows = 0
        self._full = self._known = False


ROW = CachePolicy("s3fifo", "those that are asked for once, and soon", FifoCache, rank=21)
