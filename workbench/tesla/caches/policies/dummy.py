"""No cache: every answer is asked for (thesis, 4.6.1)."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from workbench.tesla.caches.cache import FactCache
from workbench.tesla.caches.table import CachePolicy


class DummyCache(FactCache):
    """Keeps nothing."""

    def __contains__(self, key: Hashable) -> bool:
        return False

    def answers(self) -> Collection[Any]:
        return ()

    def fetch(self, key: Hashable) -> None:
        return None

    def store(self, key: Hashable, answer: Any, size: int, cost: float = 1.0) -> None:
        pass

    def empty(self) -> None:
        pass


ROW = CachePolicy("dummy", "nothing is kept", DummyCache, rank=90)
