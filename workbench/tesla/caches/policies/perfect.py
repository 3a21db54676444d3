"""All answers are kept, whatever the capacity (thesis, 4.6.1)."""

from __future__ import annotations

import sys

from workbench.tesla.caches.cache import KeyedCache
from workbench.tesla.caches.table import CachePolicy


class PerfectCache(KeyedCache):
    """Keeps everything."""

    def __init__(self, capacity: int) -> None:
        super().__init__(sys.maxsize)


ROW = CachePolicy("perfect", "everything is kept, whatever the capacity", PerfectCache, rank=91)
