"""GDSF where an answer costs what its query took (`gdsf`): saves time, where queries differ in it, and not queries."""

from __future__ import annotations

from workbench.tesla.caches.cache import CachedAnswer
from workbench.tesla.caches.policies.gds import GreedyDualCache
from workbench.tesla.caches.table import CachePolicy


class CostCache(GreedyDualCache):
    """Keeps what saves the most time for each row."""

    def worth(self, entry: CachedAnswer) -> float:
        return entry.hits * entry.cost / entry.size


ROW = CachePolicy("gdsf_cost", "large ones that are asked for seldom and answered fast", CostCache, rank=33)
