"""LHD: each answer has the hits that one like it had from its age on, for each row and each request that it stays.

Source: N. Beckmann, H. Chen and A. Cidon, LHD: Improving cache hit rate by maximizing hit density, NSDI 2018. An age is
how many requests ago an answer was asked for; answers are alike whose last two ages, added, have as many digits. What
goes is the worst of some drawn by lot and of those that came last. Some of the new ones are kept in any case, as far as
a hundredth of the rows goes: else nothing would be known of ages that no answer reaches.

The paper's constants are for millions of objects; here densities are computed anew more often, and ages are told in
steps that double where a hundredth of what happens lies beyond the last one.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Hashable, Sequence
from itertools import accumulate
from math import inf
from operator import add
from random import Random
from typing import Any

from workbench.tesla.caches.cache import CachedAnswer, KeyedCache
from workbench.tesla.caches.table import CachePolicy

AGES, CLASSES = 4096, 16
"""Ages, and kinds of answers, that are told apart."""
DRAWN, NEWEST = 16, 8
"""Answers that are looked at when one has to go."""
ANEW, KEPT = 8192, 0.9
"""Requests after which densities are computed anew, and how much what was counted before counts then."""
EXPLORED, EXPLORERS = 0.01, 32
"""The part of the rows for answers that are kept in any case, and one in how many new ones may be one."""
BEYOND = 0.01
"""The part of what happens that may lie at the last age."""
SEEN = 4096
"""Hits that are not written down yet; of more the oldest are lost."""


class AnswerClass:
    """What has happened to answers that are alike.

    Attributes
    ----------
    hits, gone: how many were asked for, and given up, at each age.
    densities: the hits to come for each request that one stays, at each age.
    """

    def __init__(self, number: int) -> None:
        self.hits, self.gone = [0.0] * AGES, [0.0] * AGES
        self.densities = [(number + 1) / (age + 1) for age in range(AGES)]

    def learn(self) -> None:
        """Compute the densities, and count less what has been counted."""
        ends = list(map(add, self.hits, self.gone))
        hits = accumulate(reversed(self.hits))
        lives = accumulate(accumulate(reversed(ends)))
        if any(ends):
            found = [hit / life if life else 0.0 for hit, life in zip(hits, lives, strict=True)]
            self.densities = found[::-1]
        self.hits = [KEPT * each for each in self.hits]
        self.gone = [KEPT * each for each in self.gone]

    def double(self) -> None:
        """Ages are told in steps that are twice as long."""
        self.hits, self.gone = _doubled(self.hits), _doubled(self.gone)


class HitDensityCache(KeyedCache):
    """Keeps what has the most hits to come for its room; a hit is only noted until an answer is stored."""

    def __init__(self, capacity: int) -> None:
        super().__init__(capacity)
        self._seen: deque[CachedAnswer] = deque(maxlen=SEEN)
        self.empty()

    def fetch(self, key: Hashable) -> Any:
        entry = self.entries.get(key)
        if entry is None:
            return None
        self._seen.append(entry)
        return entry.answer

    def keep(self, entry: CachedAnswer) -> None:
        while self._seen:
            self._asked(self._seen.popleft())
        self._pass()
        super().keep(entry)

    def kept(self, entry: CachedAnswer) -> None:
        entry.stamp, entry.ages, entry.hits, entry.place = self._now, (0, AGES), 0, len(self._places)
        self._places.append(entry)
        if self._draw.randrange(EXPLORERS) == 0 and entry.size <= self._explored:
            self._explored -= entry.size
            self._explorers.add(entry.key)
        else:
            self._newest.append(entry)

    def evict(self) -> None:
        entry = self._worst()
        self._class(entry).gone[self._age(entry)] += 1
        self._no_explorer(entry)
        if entry in self._newest:
            self._newest.remove(entry)
        last = self._places.pop()
        if last is not entry:
            self._places[entry.place], last.place = last, entry.place
        self.forget(entry)

    def _worst(self) -> CachedAnswer:
        """The one with the fewest hits to come for its room, of some."""
        places, now, step, draw, explorers = self._places, self._now, self._step, self._draw.random, self._explorers
        count = len(places)
        worst, least = places[0], inf
        for entry in (*self._newest, *[places[int(draw() * count)] for _ in range(DRAWN)]):
            age = (now - entry.stamp) // step
            worth = 0.0 if age >= AGES - 1 else self._class(entry).densities[age] + (entry.key in explorers)
            if worth < least * entry.size:
                worst, least = entry, worth / entry.size
        return worst

    def _age(self, entry: CachedAnswer) -> int:
        return min((self._now - entry.stamp) // self._step, AGES - 1)

    def _class(self, entry: CachedAnswer) -> AnswerClass:
        return self._classes[max(0, CLASSES - 1 - sum(entry.ages).bit_length())]

    def _asked(self, entry: CachedAnswer) -> None:
        self._pass()
        if self.entries.get(entry.key) is not entry:
            return
        age = self._age(entry)
        self._class(entry).hits[age] += 1
        entry.stamp, entry.ages = self._now, (age, entry.ages[0])
        self._no_explorer(entry)

    def _no_explorer(self, entry: CachedAnswer) -> None:
        if entry.key in self._explorers:
            self._explorers.remove(entry.key)
            self._explored += entry.size

    def _pass(self) -> None:
        """A request has come."""
        self._now += 1
        if self._now % ANEW:
            return
        ends = [sum(map(sum, (each.hits, each.gone))) for each in self._classes]
        last = sum(each.hits[-1] + each.gone[-1] for each in self._classes)
        if last > BEYOND * sum(ends):
            self._step *= 2
        for each in self._classes:
            if last > BEYOND * sum(ends):
                each.double()
            each.learn()

    def empty(self) -> None:
        super().empty()
        self._seen.clear()
        self._classes = [AnswerClass(number) for number in range(CLASSES)]
        self._places: list[CachedAnswer] = []
        self._newest: deque[CachedAnswer] = deque(maxlen=NEWEST)
        self._explorers: set[Hashable] = set()
        self._explored = max(1, int(EXPLORED * self.capacity))
        self._now, self._step, self._draw = 0, 1, Random(0)


def _doubled(counts: Sequence[float]) -> list[float]:
    return [*map(add, counts[::2], counts[1::2]), *[0.0] * (AGES // 2)]


ROW = CachePolicy("lhd", "those that had the fewest hits to come for their room", HitDensityCache, 41, sized=False)
