"""No cache: every answer is asked for (thesis, 4.6.1)."""

from __future__ import annotations

from workbench.tesla.caches.cache import KeyedCache
from workbench.tesla.caches.table import CachePolicy


class DummyCache(KeyedCache):
    """Keeps nothing."""

    def __init__(self, capacity: int) -> None:
        super().__init__(0)


ROW = CachePolicy("dummy", "nothing is kept", DummyCache, rank=90)
