"""Memory in which coming events will be looked up, fetched while those before them are processed.

The rule of this module: it changes nothing and decides nothing. What is fetched and not needed costs a little time.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from workbench.executors.compiled.rules.layout import (
    AHEAD,
    AHEAD_END,
    BASE,
    FETCHED,
    HEADS,
    HEADS_MASK,
    INPUT,
    LINK,
    MASK,
    MOST_AHEAD,
    TYPE,
    WIDTH,
)  # fmt: skip
from workbench.executors.compiled.rules.words import fetch, scattered, word_at

HEADS_AHEAD, ROWS_AHEAD, NEXT_AHEAD = 16, 8, 4
"""How many events ahead the beginnings of chains are fetched, the rows to which these lead, and those behind them."""
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


def fetch_ahead(i, first, last, types, places, A, T, K, H, W, X, L):
    """Fetch what the events some places behind this one need first; `first` is where this began.

    What has been found stands in the scratch until the event comes: where the chain begins, then where its row is.
    """
    e = i + HEADS_AHEAD
    if e >= last:
        return
    y, place, found = types[e] + 0, places[e], FETCHED + (e & (HEADS_AHEAD - 1)) * MOST_AHEAD
    n, end = T[y, AHEAD], T[y, AHEAD_END]
    while n < end:
        head = head_of(n, y, place, A, T, K, L)
        fetch(H, head)
        X[found] = head
        n, found = n + 3 + L[n + 2], found + 1
    e = i + ROWS_AHEAD
    if e < first + HEADS_AHEAD:
        return
    y, found = types[e] + 0, FETCHED + (e & (HEADS_AHEAD - 1)) * MOST_AHEAD
    n, end = T[y, AHEAD], T[y, AHEAD_END]
    while n < end:
        if L[n + 1] != 0:
            X[found] = fetch_row(H[X[found]], K[L[n], TYPE], T, H, W)
        n, found = n + 3 + L[n + 2], found + 1
    e = i + NEXT_AHEAD
    if e < first + HEADS_AHEAD:
        return
    y, found = types[e] + 0, FETCHED + (e & (HEADS_AHEAD - 1)) * MOST_AHEAD
    n, end = T[y, AHEAD], T[y, AHEAD_END]
    while n < end:
        if L[n + 1] != 0 and X[found] >= 0:
            fetch_row(W[X[found] + K[L[n], LINK]], K[L[n], TYPE], T, H, W)
        n, found = n + 3 + L[n + 2], found + 1


def fetch_row(place, y, T, H, W):
    """Fetch a row of a type, if it is still there; where it is, else -1."""
    if place < H[2 * y]:
        return -1
    a = T[y, BASE] + (place & T[y, MASK]) * T[y, WIDTH]
    fetch(W, a)
    fetch(W, a + T[y, WIDTH] - 1)
    return a
