"""All answers are kept, whatever the capacity (thesis, 4.6.1)."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, FactCache
from workbench.tesla.caches.table import CachePolicy


class PerfectCache(FactCache):
    """Keeps everything."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._answers: dict[Hashable, Any] = {}

    def __contains__(self, key: Hashable) -> bool:
        return key in self._answers

    def answers(self) -> Collection[Any]:
        return list(self._answers.values())

    def fetch(self, key: Hashable) -> Any:
        return self._answers.get(key)

    def store(self, key: Hashable, answer: Any, size: int, cost: float = 1.0) -> None:
        with self.lock:
            if key not in self._answers:
                self.keep(CachedAnswer(key, answer, size, cost))
                self.stored += 1

    def keep(self, entry: CachedAnswer) -> None:
        self.rows += entry.size
        self._answers[entry.key] = entry.answer

    def empty(self) -> None:
        self._answers.clear()


ROW = CachePolicy("perfect", "everything is kept, whatever the capacity", PerfectCache, rank=91)
