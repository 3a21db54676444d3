"""No cache: every answer is asked for (thesis, 4.6.1)."""

from __future__ import annotations

from collections.abc import Hashable

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class DummyCache(FactCache):
    """Keeps nothing."""

    def __contains__(self, key: Hashable) -> bool:
        return False

    def fetch(self, key: Hashable) -> None:
        return None

    def keep(self, entry: CachedAnswer) -> None:
        pass

    def empty(self) -> None:
        pass


ROW = CachePolicy("dummy", "nothing is kept", DummyCache, rank=90, sized=False)
