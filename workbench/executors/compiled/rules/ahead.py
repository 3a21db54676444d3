"""Memory in which coming events will be looked up, fetched while those before them are processed.

The rule of this module: it changes nothing and decides nothing. What is fetched and not needed costs a little time.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# numba finds the types.

from __future__ import annotations

from workbench.executors.compiled.rules.layout import (
    AHEAD,
    AHEAD_END,
    BASE,
    HEADS,
    HEADS_MASK,
    INPUT,
    MASK,
    TYPE,
    WIDTH,
)  # fmt: skip
from workbench.executors.compiled.rules.words import fetch, scattered, word_at

HEADS_AHEAD, ROWS_AHEAD = 16, 8
"""How many events ahead the beginnings of chains are fetched, and the rows to which these lead."""
SAMPLE = 64
"""Beginnings of chains that are looked at."""
LARGE = 1 << 13
"""Chains of a column with no more rows than this are at hand anyway."""


def head_of(n, y, place, A, T, K, L):
    """Where in `H` the chain begins in which an event is looked up, or which it joins: of the entry at `n` of `L`."""
    h = 0
    for m in range(n + 3, n + 3 + L[n + 2]):
        h = scattered(h, word_at(A[T[y, INPUT] + L[m], 0], place))
    return K[L[n], HEADS] + (h & K[L[n], HEADS_MASK])


def fetches(count, T, K, H, L):
    """Whether that pays for so many events: then something is too large to be at hand."""
    for y in range(len(T) if count > HEADS_AHEAD else 0):
        n = T[y, AHEAD]
        while n < T[y, AHEAD_END]:
            if K[L[n], HEADS_MASK] > LARGE and spread(L[n], K, H):
                return True
            n += 3 + L[n + 2]
    return False


def spread(k, K, H):
    """Whether there are many chains; a few are at hand however long they are."""
    step, oldest, used = (K[k, HEADS_MASK] + 1) // SAMPLE, H[2 * K[k, TYPE]], 0
    for i in range(SAMPLE):
        used += 1 if H[K[k, HEADS] + i * step] >= oldest else 0
    return 8 * used > SAMPLE


def fetch_ahead(i, last, types, places, A, T, K, H, W, L):
    """Fetch what the events some places behind this one need first."""
    if i + HEADS_AHEAD >= last:
        return
    y, place = types[i + HEADS_AHEAD] + 0, places[i + HEADS_AHEAD]
    n = T[y, AHEAD]
    while n < T[y, AHEAD_END]:
        fetch(H, head_of(n, y, place, A, T, K, L))
        n += 3 + L[n + 2]
    y, place = types[i + ROWS_AHEAD] + 0, places[i + ROWS_AHEAD]
    n = T[y, AHEAD]
    while n < T[y, AHEAD_END]:
        if L[n + 1] != 0:
            found, x = H[head_of(n, y, place, A, T, K, L)], K[L[n], TYPE]
            if found >= H[2 * x]:
                a = T[x, BASE] + (found & T[x, MASK]) * T[x, WIDTH]
                fetch(W, a)
                fetch(W, a + T[x, WIDTH] - 1)
        n += 3 + L[n + 2]
