"""SIEVE: a queue in which requested answers stay in place, and a hand searches for unrequested ones.

Source: Y. Zhang and others, SIEVE is simpler than LRU, NSDI 2024. The hand moves from the oldest to the newest; answers
requested since its last visit are spared, and the first other one is evicted.
"""

from __future__ import annotations

from collections.abc import Hashable

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class SieveCache(FactCache):
    """A cache that keeps the answers requested since the hand's last visit."""

    _hand: CachedAnswer

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.empty()

    def note_entry(self, entry: CachedAnswer) -> None:
        ends = self._ends
        entry.older, entry.newer = ends.older, ends
        ends.older.newer = ends.older = entry

    def evict(self) -> None:
        at, ends = self._hand, self._ends
        while at is ends or at.hits:
            at.hits = 0
            at = at.newer
        at.older.newer, at.newer.older = at.newer, at.older
        self._hand = at.newer
        self.forget(at.key)

    def empty(self) -> None:
        super().empty()
        self._ends = self._hand = ends = CachedAnswer(_NOBODY, None, 0)
        ends.older = ends.newer = ends  # a ring: this entry follows the newest, and the oldest follows it


_NOBODY: Hashable = object()
ROW = CachePolicy("sieve", "the oldest that was not requested since the last sweep", SieveCache, rank=20)
