"""A hash table without chains: an answer replaces the one with the same hash value (thesis, 4.6.1).

The thesis does not mention sizes. Here there are as many slots as rows; if a new answer needs more capacity, the
answers in the slots after its own are evicted, too.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class CollisionCache(FactCache):
    """A cache that keeps the latest answer for each hash value."""

    def __contains__(self, key: Hashable) -> bool:
        entry = self.entries.get(hash(key) % self.capacity)
        return entry is not None and entry.key == key

    def fetch(self, key: Hashable) -> Any:
        entry = self.entries.get(hash(key) % self.capacity)
        return None if entry is None or entry.key != key else entry.answer

    def keep(self, entry: CachedAnswer) -> None:
        at = own = hash(entry.key) % self.capacity
        while own in self.entries or self.rows + entry.size > self.capacity:
            if at in self.entries:
                self.forget(at)
            at = (at + 1) % self.capacity
        self.entries[own] = entry
        self.rows += entry.size


ROW = CachePolicy("collision", "the one in the slot of the new one", CollisionCache, rank=80)
