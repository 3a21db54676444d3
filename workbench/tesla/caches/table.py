"""The table of the policies of caches, and how a run has its answers cached.

The rule of this module: a policy is one file in `tesla/caches/policies`, or in the folder `cache_policies` of an
extension, with a `ROW`, and is called like its file.
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
"""Of all answers of a predicate that are kept, where nobody says another number."""


@dataclass(frozen=True)
class CachePolicy:
    """One policy.

    Attributes
    ----------
    name, what: what it is called, and which answers it gives up, in a line.
    make: a cache of so many rows.
    rank: its place among the others.
    """

    name: str
    what: str
    make: Callable[[int], FactCache]
    rank: int = 100


@functools.cache
def cache_policies() -> Mapping[str, CachePolicy]:
    """The policies by name, in the order in which they are shown."""
    return rows(POLICIES)


def cache_policy_names() -> list[str]:
    """Their names, none of them imported."""
    return list(files(importlib.import_module(POLICIES).__path__))


def fact_cache(policy: str, capacity: int = ROWS) -> FactCache:
    """A cache of so many rows; InputError where there is no such policy."""
    refuse_unknown("policy of a cache", policy, cache_policies())
    return cache_policies()[policy].make(capacity)


@dataclass(frozen=True)
class FactCaching:
    """How a run has its answers cached.

    Attributes
    ----------
    policy: by its name.
    rows: of the answers that a cache keeps, at most.
    shared: whether all predicates have one cache, else each has its own; those that ask the same are one.
    """

    policy: str
    rows: int = ROWS
    shared: bool = False

    def __post_init__(self) -> None:
        refuse_unknown("policy of a cache", self.policy, cache_policy_names())
        if self.rows < 1:
            raise InputError(f"a cache cannot have {self.rows} rows", hint="leave the cache out")

    def caches(self) -> Callable[[object], FactCache]:
        """The cache of each query of one run."""
        one = fact_cache(self.policy, self.rows)
        return lambda _: one if self.shared else fact_cache(self.policy, self.rows)
