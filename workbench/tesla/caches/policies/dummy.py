"""No cache: every answer is queried (thesis, 4.6.1)."""

from workbench.tesla.caches.cache import FactCache
from workbench.tesla.caches.table import CachePolicy

ROW = CachePolicy("dummy", "nothing is cached", lambda _: FactCache(0), rank=90)
