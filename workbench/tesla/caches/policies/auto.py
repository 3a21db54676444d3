"""The policy that would have missed the fewest of the first requests: these are played through with each.

The rule of this module: it decides what is kept, and no answer. Where a cache is too large to be filled by some
thousand answers, a part of the keys stands for all, told by their hash values, with as small a part of the capacity.

Source: C. Waldspurger and others, Efficient MRC construction with SHARDS, FAST 2015 (a sample of keys of a fixed size).
"""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, FactCache, KeyedCache
from workbench.tesla.caches.table import CachePolicy, cache_policies

SAMPLE = 8192
"""Requests that are played through, at most."""
PARTS = 64
"""Of the keys, at most: where so small a part does not fill its cache twice, no answers have to go."""
FIRST = "sieve"
"""The policy until one is chosen: that with the cheapest hits."""


def missed(policy: str, capacity: int, requests: Iterable[tuple[Hashable, int]]) -> int:
    """How many of these requests, keys with the sizes of their answers, a new cache does not know."""
    cache, found = cache_policies()[policy].make(capacity), 0
    for key, size in requests:
        if cache.fetch(key) is None:
            found += 1
            cache.store(key, True, size)
    return found


class ChoosingCache(FactCache):
    """A cache that chooses its policy.

    Attributes
    ----------
    policy: by its name; that of the beginning, until one is chosen.
    misses: of the sample with each policy; empty where nothing was to be chosen.
    """

    def __init__(self, capacity: int) -> None:
        self.policy, self.misses = FIRST, dict[str, int]()
        self._cache = cache_policies()[FIRST].make(capacity)
        assert isinstance(self._cache, KeyedCache)
        self._known = self._cache.entries
        self._sample: list[Hashable] = []
        self._sizes: dict[Hashable, int] = {}
        self._part = 1
        super().__init__(capacity)

    def __contains__(self, key: Hashable) -> bool:
        return key in self._cache

    @property
    def rows(self) -> int:
        return self._cache.rows

    @rows.setter
    def rows(self, rows: int) -> None:
        """They are those of the cache behind."""

    @property
    def stored(self) -> int:
        return self._cache.stored

    @stored.setter
    def stored(self, stored: int) -> None:
        """They are those of the cache behind."""

    def answers(self) -> Collection[Any]:
        return self._cache.answers()

    def fetch(self, key: Hashable) -> Any:
        if self._part == 1 or hash(key) % self._part == 0:
            self._sample.append(key)
            if len(self._sample) >= SAMPLE:
                self._look()
        return self._cache.fetch(key)

    def store(self, key: Hashable, answer: Any, size: int, cost: float = 1.0) -> None:
        if hash(key) % self._part == 0:
            self._sizes[key] = size
        self._cache.store(key, answer, size, cost)

    def _look(self) -> None:
        """Choose, if the sample fills the cache, or go on with a smaller part of the keys."""
        with self.lock:
            if len(self._sample) < SAMPLE:  # another thread has been here
                return
            if sum(self._sizes.values()) * self._part >= 2 * self.capacity:
                self._choose()
            elif self._part == PARTS:
                self._settle(self._cache)
            else:
                self._part *= 2
                self._sample = [each for each in self._sample if hash(each) % self._part == 0]
                sizes = list(self._sizes.items())  # in one step: others store
                self._sizes = {key: size for key, size in sizes if hash(key) % self._part == 0}

    def _choose(self) -> None:
        sample = [(key, self._sizes[key]) for key in self._sample if key in self._sizes]
        names = [each.name for each in cache_policies().values() if each.sized]
        self.misses = {name: missed(name, max(1, self.capacity // self._part), sample) for name in names}
        self.policy = min(names, key=lambda name: self.misses[name])
        chosen = cache_policies()[self.policy].make(self.capacity)
        for entry in list(self._known.values()):
            chosen.store(entry.key, entry.answer, entry.size, entry.cost)
        self._settle(chosen)

    def _settle(self, cache: FactCache) -> None:
        """From here on this is the cache, and nothing in between."""
        self._cache = cache
        vars(self).update(fetch=cache.fetch, store=cache.store)
        self._sample, self._sizes, self._known = [], {}, {}

    def told(self) -> str:
        if not self.misses:
            return ""
        found = ", ".join(f"{name} {count:,}" for name, count in sorted(self.misses.items(), key=lambda each: each[1]))
        return f"cache '{self.policy}' chosen; misses in a sample of the requests: {found}"

    def clear(self) -> None:
        self._cache.clear()

    def keep(self, entry: CachedAnswer) -> None:
        self._cache.keep(entry)

    def empty(self) -> None:
        self._cache.empty()


ROW = CachePolicy("auto", "what would have missed the fewest of the first requests", ChoosingCache, 10, sized=False)
