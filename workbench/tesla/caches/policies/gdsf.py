"""GDSF: small and frequent answers have a higher priority (thesis, 4.6.2), if all cost the same.

Source: L. Cherkasova, Improving WWW proxies performance with Greedy-Dual-Size-Frequency caching policy, HP 1998: the
priority is frequency * cost / size + clock. The formula is missing in our text of the thesis.
"""

from functools import partial

from workbench.tesla.caches.policies.gds import GreedyDualCache
from workbench.tesla.caches.table import CachePolicy

_CACHE = partial(GreedyDualCache, worth=lambda entry: entry.hits / entry.size)
ROW = CachePolicy("gdsf", "large ones that are rarely requested", _CACHE, rank=32)
