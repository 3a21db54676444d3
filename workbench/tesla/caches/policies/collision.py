"""A hash table without chains: an answer takes the place of the one that has its hash value (thesis, 4.6.1).

The thesis says nothing of sizes. Here there are as many places as rows; where a new answer needs more room than it has
found, the answers in the places behind its own go, too.
"""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class CollisionCache(FactCache):
    """Keeps the last answer of each hash value."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._places: list[CachedAnswer | None] = [None] * capacity

    def __contains__(self, key: Hashable) -> bool:
        entry = self._places[hash(key) % self.capacity]
        return entry is not None and entry.key == key

    def answers(self) -> Collection[Any]:
        return [entry.answer for entry in self._places if entry is not None]

    def fetch(self, key: Hashable) -> Any:
        entry = self._places[hash(key) % self.capacity]
        return None if entry is None or entry.key != key else entry.answer

    def keep(self, entry: CachedAnswer) -> None:
        at = own = hash(entry.key) % self.capacity
        self._free(own)
        while self.rows + entry.size > self.capacity:
            at = (at + 1) % self.capacity
            self._free(at)
        self._places[own] = entry
        self.rows += entry.size

    def _free(self, at: int) -> None:
        entry = self._places[at]
        if entry is not None:
            self._places[at] = None
            self.rows -= entry.size

    def empty(self) -> None:
        self._places = [None] * self.capacity


ROW = CachePolicy("collision", "the one in whose place a new one falls", CollisionCache, rank=80)
