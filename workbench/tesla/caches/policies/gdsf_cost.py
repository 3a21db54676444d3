"""GDSF with the duration of queries as cost (`gdsf`): if durations differ, it saves time rather than queries."""

from functools import partial

from workbench.tesla.caches.policies.gds import GreedyDualCache
from workbench.tesla.caches.table import CachePolicy

_CACHE = partial(GreedyDualCache, worth=lambda entry: entry.hits * entry.cost / entry.size)
ROW = CachePolicy("gdsf_cost", "large ones that are rarely requested and fast to query", _CACHE, rank=33)
