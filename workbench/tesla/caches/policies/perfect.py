"""A cache that keeps all answers, whatever the capacity (thesis, 4.6.1)."""

import sys

from workbench.tesla.caches.cache import FactCache
from workbench.tesla.caches.table import CachePolicy

ROW = CachePolicy("perfect", "everything is cached, whatever the capacity", lambda _: FactCache(sys.maxsize), rank=91)
