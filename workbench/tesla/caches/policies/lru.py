"""LRU-size: the least recently requested answers are evicted until there is capacity (thesis, 4.6.2)."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class LruCache(FactCache):
    """A cache that keeps the most recently requested answers."""

    entries: OrderedDict[Hashable, CachedAnswer]

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.entries = OrderedDict()

    def fetch(self, key: Hashable) -> Any:
        entry = self.entries.get(key)
        if entry is None:
            return None
        try:
            self.entries.move_to_end(key)
        except KeyError:  # another thread has just evicted it
            return entry.answer
        return entry.answer

    def evict(self) -> None:
        self.rows -= self.entries.popitem(last=False)[1].size


ROW = CachePolicy("lru", "the least recently requested", LruCache, rank=30)
