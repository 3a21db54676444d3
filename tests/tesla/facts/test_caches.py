"""Policies of caches, held to slow ones that are written down as the papers say it, and to a simulator of others."""

import random
import sys
from threading import Thread

import pytest

from workbench.errors import InputError
from workbench.tesla.caches.table import FactCaching, cache_policies, cache_policy_names, fact_cache

ROOM = 30


def requests(count, seed, keys=60, most=7):
    """Keys, some of them much more often than others, and their sizes and costs, which stay the same."""
    draw = random.Random(seed)
    sizes = [draw.randint(1, most) for _ in range(keys)]
    costs = [draw.choice((1.0, 2.0, 8.0)) for _ in range(keys)]
    for _ in range(count):
        key = min(int(draw.expovariate(6 / keys)), keys - 1) if draw.random() < 0.8 else draw.randrange(keys)
        yield key, sizes[key], costs[key]


def rows(kept):
    return sum(size for _, size in kept)


# --- slow policies: lists that are searched; each is told of all requests, and tells what it keeps then ---------------


def slow_lru(trace):
    kept = []
    for key, size, _ in trace:
        kept = [each for each in kept if each[0] != key] + [(key, size)]
        while rows(kept) > ROOM:
            del kept[0]
        yield {key for key, _ in kept}


def slow_greedy_dual(worth):
    def policy(trace):
        kept, clock = {}, 0.0
        for now, (key, size, cost) in enumerate(trace):
            times = kept[key][3] + 1 if key in kept else 1
            kept[key] = (clock + worth(times, cost, size), now, size, times)
            while sum(size for _, _, size, _ in kept.values()) > ROOM:
                least = min(kept, key=lambda key: kept[key])
                clock = kept.pop(least)[0]
            yield set(kept)

    return policy


def slow_sieve(trace):
    kept, asked, hand = [], set(), 0  # the oldest first; the place of the hand
    for key, size, _ in trace:
        if key in dict(kept):
            asked.add(key)
        else:
            while rows(kept) + size > ROOM:
                if kept[hand][0] in asked:
                    asked.remove(kept[hand][0])
                    hand += 1
                else:
                    del kept[hand]
                hand = hand if hand < len(kept) else 0  # behind the newest comes the oldest
            kept.append((key, size))
        yield {key for key, _ in kept}


def slow_collision(trace):
    places = {}
    for key, size, _ in trace:
        own = hash(key) % ROOM
        if places.get(own, (None,))[0] != key:
            for place in range(own, own + ROOM):
                if place == own or rows(places.values()) + size > ROOM:
                    places.pop(place % ROOM, None)
            places[own] = (key, size)
        yield {key for key, _ in places.values()}


SLOW = {
    "lru": slow_lru,
    "sieve": slow_sieve,
    "collision": slow_collision,
    "gds": slow_greedy_dual(lambda times, cost, size: 1 / size),
    "gdsf": slow_greedy_dual(lambda times, cost, size: times / size),
    "gdsf_cost": slow_greedy_dual(lambda times, cost, size: times * cost / size),
}


@pytest.mark.parametrize("name", SLOW)
def test_it_keeps_what_the_paper_says(name):
    for seed in range(3):
        trace = list(requests(400, seed))
        cache = fact_cache(name, ROOM)
        for (key, size, cost), kept in zip(trace, SLOW[name](trace), strict=True):
            if cache.fetch(key) is None:
                cache.store(key, [key], size, cost)
            assert {key for key in range(60) if key in cache} == kept


# --- all of them ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", cache_policies())
def test_capacity_answers_and_clearing(name):
    cache, sizes = fact_cache(name, ROOM), {}
    for key, size, _ in requests(600, 7, most=ROOM + 5):
        known = key in cache
        sizes[key] = size
        found = cache.fetch(key)
        assert found == ([key] if known else None)
        if found is None:
            cache.store(key, [key], size)
        assert cache.rows == sum(size for each, size in sizes.items() if each in cache)
        if name != "perfect":
            assert cache.rows <= ROOM
            assert not (key in cache and size > ROOM)
    assert (cache.rows > 0) == (cache.size > 0) == (name != "dummy")
    assert len(cache.answers()) == sum(key in cache for key in sizes)
    assert (cache.stored > len(cache.answers())) == (name not in ("dummy", "perfect"))
    cache.clear()
    assert cache.rows == 0
    assert not any(key in cache for key in sizes)
    cache.store(1, [1], 3)
    assert cache.fetch(1) == (None if name == "dummy" else [1])


@pytest.mark.parametrize("name", cache_policies())
def test_threads_that_ask_at_once(name):
    cache, wrong = fact_cache(name, ROOM), []

    def ask(seed):
        for key, size, _ in requests(300, seed):
            found = cache.fetch(key)
            if found is None:
                cache.store(key, [key], size)
            elif found != [key]:
                wrong.append(found)

    threads = [Thread(target=ask, args=(seed,)) for seed in range(4)]
    often = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for each in threads:
            each.start()
        for each in threads:
            each.join()
    finally:
        sys.setswitchinterval(often)
    assert not wrong
    sizes = {key: size for seed in range(4) for key, size, _ in requests(300, seed)}
    assert name == "perfect" or cache.rows <= ROOM
    assert {key for key in sizes if key in cache} == {key for key in sizes if cache.fetch(key) is not None}


def test_what_there_is_not():
    assert set(cache_policy_names()) == set(cache_policies())
    with pytest.raises(InputError, match="no policy of a cache 'lfu'"):
        FactCaching("lfu")
    with pytest.raises(InputError, match="cannot have 0 rows"):
        FactCaching("lru", 0)
    shared, own = FactCaching("lru", 9, shared=True).caches(), FactCaching("lru", 9).caches()
    assert shared(1) is shared(2)
    assert own(1) is not own(2)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["lru", "gdsf", "sieve"])
def test_a_simulator_has_the_same_hits(name):
    """The reference simulator libcachesim, which is a package of its own, on a million requests."""
    libcachesim = pytest.importorskip("libcachesim")
    draw = random.Random(11)
    theirs = {"lru": libcachesim.LRU, "gdsf": libcachesim.GDSF, "sieve": libcachesim.Sieve}
    cache, other, request = fact_cache(name, 2000), theirs[name](cache_size=2000), libcachesim.Request()
    hits, others = 0, 0
    for _ in range(1_000_000):
        size = draw.randint(1, 19)
        key = round(draw.gauss(0, 30)) * 20 + 10_000 + size
        request.obj_id, request.obj_size = key, size
        others += other.get(request)
        if cache.fetch(key) is None:
            cache.store(key, key, size)
        else:
            hits += 1
    # Priorities of gdsf are a million times as large there, and rounded.
    assert abs(hits - others) <= {"gdsf": 1000}.get(name, 0)
