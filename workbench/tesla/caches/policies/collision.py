"""A hash table without chains: an answer takes the place of the one that has its hash value (thesis, 4.6.1).

The thesis says nothing of sizes. Here there are as many places as rows; where a new answer needs more room than it has
found, the answers in the places behind its own go, too.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class CollisionCache(FactCache):
    """Keeps the last answer of each hash value, by which it is found."""

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


ROW = CachePolicy("collision", "the one in whose place a new one falls", CollisionCache, rank=80)
