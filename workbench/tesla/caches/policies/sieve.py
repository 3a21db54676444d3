"""SIEVE: a queue in which what is asked for stays in its place, and a hand looks for what was not.

Source: Y. Zhang and others, SIEVE is simpler than LRU, NSDI 2024. The hand goes from the oldest to the newest; what was
asked for since it came by last is spared, and the first that was not goes.
"""

from __future__ import annotations

from collections.abc import Hashable

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class SieveCache(FactCache):
    """Keeps what was asked for since the hand came by."""

    _hand: CachedAnswer

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self.empty()

    def mark_kept(self, entry: CachedAnswer) -> None:
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
        ends.older = ends.newer = ends  # a ring: behind the newest comes this one, and then the oldest


_NOBODY: Hashable = object()
ROW = CachePolicy("sieve", "the oldest that was not requested since the last sweep", SieveCache, rank=20)
