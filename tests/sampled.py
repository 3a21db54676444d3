"""Tests with many parameters, of which `make test` runs some: `@pytest.mark.sampled(12)`. `make test-all` runs all.

The rule of the choice: each value of each parameter comes as early as it can, so that twelve cases of a matrix of five
backends and four formats have all backends and all formats. Apart from that it is random, and always the same.
"""

import random
from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

import pytest

Pair = tuple[str, int]


def choose(cases: Sequence[frozenset[Pair]], count: int, seed: str) -> set[int]:
    """The places of so many cases, given of each its parameters and which of their values it has."""
    order = random.Random(seed).sample(range(len(cases)), len(cases))
    met: set[Pair] = set()
    for place in range(min(count, len(order))):
        best = max(range(place, len(order)), key=lambda each: len(cases[order[each]] - met))
        order.insert(place, order.pop(best))
        met |= cases[order[place]]
    return set(order[:count])


def sample(items: Iterable[pytest.Item]) -> None:
    """Mark as slow what is not chosen of a test that asks for a sample."""
    groups: defaultdict[str, list[Any]] = defaultdict(list)
    for item in items:
        if item.get_closest_marker("sampled"):
            groups[item.nodeid.partition("[")[0]].append(item)
    for name, group in groups.items():
        (count,) = group[0].get_closest_marker("sampled").args
        quick = [item for item in group if not item.get_closest_marker("slow")]
        chosen = choose([frozenset(item.callspec.indices.items()) for item in quick], count, name)
        for place, item in enumerate(quick):
            if place not in chosen:
                item.add_marker(pytest.mark.slow)
