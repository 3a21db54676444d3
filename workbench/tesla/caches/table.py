"""The table of cache policies, and the caching of a run.

The rule of this module: a policy is one file in `tesla/caches/policies`, or in the folder `cache_policies` of an
extension, with a `ROW`, and has the name of its file.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from workbench.errors import InputError, refuse_unknown
from workbench.extensions import files, rows

if TYPE_CHECKING:
    from workbench.tesla.caches.cache import FactCache

POLICIES = "workbench.tesla.caches.policies"
ROWS = 100_000
"""Default capacity of a cache, in rows."""


@dataclass(frozen=True)
class CachePolicy:
    """A policy of caches.

    Attributes
    ----------
    name, what: its name, and which answers it evicts, in a line.
    make: creates a cache of a capacity in rows.
    rank: its position in lists.
    """

    name: str
    what: str
    make: Callable[[int], FactCache]
    rank: int = 100


@functools.cache
def cache_policies() -> Mapping[str, CachePolicy]:
    """Return the policies by name, in the order of lists."""
    return rows(POLICIES)


def cache_policy_names() -> list[str]:
    """Return the names of the policies, without importing them."""
    return list(files(importlib.import_module(POLICIES).__path__))


def fact_cache(policy: str, capacity: int = ROWS) -> FactCache:
    """Create a cache of a capacity in rows; InputError if the policy does not exist."""
    refuse_unknown("policy of a cache", policy, cache_policies())
    return cache_policies()[policy].make(capacity)


@dataclass(frozen=True)
class FactCaching:
    """The caching of answers in a run.

    Attributes
    ----------
    policy: the name of the policy.
    rows: the capacity of a cache in rows.
    shared: whether all predicates share one cache; otherwise each query has its own.
    """

    policy: str
    rows: int = ROWS
    shared: bool = False

    def __post_init__(self) -> None:
        refuse_unknown("policy of a cache", self.policy, cache_policy_names())
        if self.rows < 1:
            raise InputError(f"a cache cannot have {self.rows} rows", hint="leave the cache out")

    def caches(self) -> Callable[[object], FactCache]:
        """Return a function from the queries of one run to their caches."""
        one = fact_cache(self.policy, self.rows)
        return lambda _: one if self.shared else fact_cache(self.policy, self.rows)
