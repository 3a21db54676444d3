"""GDSF with the duration of queries as cost (`gdsf`): saves time if durations differ, rather than queries."""

from functools import partial

from workbench.tesla.caches.policies.gds import GreedyDualCache
from workbench.tesla.caches.table import CachePolicy

_CACHE = partial(GreedyDualCache, worth=lambda entry: entry.hits * entry.cost / entry.size)
ROW = CachePolicy("gdsf_cost", "large ones that are requested seldom and answered fast", _CACHE, rank=33)
