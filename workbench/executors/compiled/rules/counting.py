"""Sums over events that come and become too old, by keys: runs as plain Python and as machine code.

The rule of this module: a sum is kept in several parts, one modulo 2**64 and the others modulo primes, so that it is
exact however large it is. All that is added is known when an event comes.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from typing import Any

from workbench.executors.compiled.rules.words import byte_at, scattered, word_at, wrapped

(
    TABLE, TABLE_MASK, GROUPS, GROUP_COUNT, GROUP_ROOM, GROUP_WIDTH, KEYS, SUMS, RING, RING_MASK, START, MIDDLE, END,
    LEAST, MOST, AGED, SEEN, COLUMN_WORDS,
) = range(18)  # fmt: skip
"""What `Q` says of the events of a predicate: where in `G` their groups are, one for each key, and the table that finds
them; of how many words a key is, and sums are, behind which stands when the group was last asked for; the ring of
events that become too old, from the oldest that counts to the first that is too young; ages, -1 for none; whether there
are any; how many events there were."""

KEY = 8
"""Where in the scratch a key is."""
GROW_GROUPS, GROW_EVENTS, REACHED_EVENT, WANTED_COLUMN = 1, 2, 0, 1
"""What a run ends with, where there is no room; and what `V` says."""

arrive: Any = None
"""Generated: what an event of a type does."""


def found_group(u, h, now, Q, G, X):
    """Where in `G` the sums of a key are, -1 where it has none; its words are in the scratch, its hash is `h`."""
    keys = Q[u, KEYS]
    slot = h & Q[u, TABLE_MASK]
    while G[Q[u, TABLE] + slot] >= 0:
        at = Q[u, GROUPS] + G[Q[u, TABLE] + slot] * Q[u, GROUP_WIDTH]
        same = True
        for i in range(keys):
            same = same and G[at + i] == X[KEY + i]
        if same:
            G[at + keys + Q[u, SUMS]] = now
            return at + keys
        slot = (slot + 1) & Q[u, TABLE_MASK]
    return -1


def made_group(u, h, now, Q, G, X):
    """The same; where no event had the key, there are sums of it from now on. There is room."""
    at = found_group(u, h, now, Q, G, X)
    if at >= 0:
        return at
    slot = h & Q[u, TABLE_MASK]
    while G[Q[u, TABLE] + slot] >= 0:
        slot = (slot + 1) & Q[u, TABLE_MASK]
    group = Q[u, GROUP_COUNT]
    Q[u, GROUP_COUNT] = group + 1
    G[Q[u, TABLE] + slot] = group
    at = Q[u, GROUPS] + group * Q[u, GROUP_WIDTH]
    for i in range(Q[u, KEYS]):
        G[at + i] = X[KEY + i]
    for i in range(Q[u, SUMS]):
        G[at + Q[u, KEYS] + i] = 0
    G[at + Q[u, KEYS] + Q[u, SUMS]] = now
    return at + Q[u, KEYS]


def hashed_key(count, X):
    """The hash of the key in the scratch."""
    h = 0
    for i in range(count):
        h = scattered(h, X[KEY + i])
    return h


def put_groups(u, Q, G, X):
    """Enter the groups into a table that is empty."""
    for group in range(Q[u, GROUP_COUNT]):
        at = Q[u, GROUPS] + group * Q[u, GROUP_WIDTH]
        for i in range(Q[u, KEYS]):
            X[KEY + i] = G[at + i]
        slot = hashed_key(Q[u, KEYS], X) & Q[u, TABLE_MASK]
        while G[Q[u, TABLE] + slot] >= 0:
            slot = (slot + 1) & Q[u, TABLE_MASK]
        G[Q[u, TABLE] + slot] = group


def added(at, word, part, modulus):
    """A sum and a summand."""
    return wrapped(at + word) if part == 0 else (at + word) % modulus


def slide(u, now, parts, P, Q, G):
    """Let events become old enough to count, and too old, by the time."""
    if Q[u, AGED] == 0:
        return
    ring, mask, sums = Q[u, RING], Q[u, RING_MASK], Q[u, SUMS]
    width = 2 + sums
    i, end, latest = Q[u, MIDDLE], Q[u, END], now - Q[u, LEAST]
    while i < end and G[ring + (i & mask) * width] <= latest:
        entry = ring + (i & mask) * width
        at = Q[u, GROUPS] + G[entry + 1] * Q[u, GROUP_WIDTH] + Q[u, KEYS]
        for n in range(sums):
            G[at + n] = added(G[at + n], G[entry + 2 + n], n % parts, P[n % parts])
        i += 1
    Q[u, MIDDLE] = i
    if Q[u, MOST] < 0:
        Q[u, START] = i
        return
    i, end, oldest = Q[u, START], Q[u, MIDDLE], now - Q[u, MOST]
    while i < end and G[ring + (i & mask) * width] < oldest:
        entry = ring + (i & mask) * width
        at = Q[u, GROUPS] + G[entry + 1] * Q[u, GROUP_WIDTH] + Q[u, KEYS]
        for n in range(sums):
            G[at + n] = added(G[at + n], -G[entry + 2 + n], n % parts, P[n % parts])
        i += 1
    Q[u, START] = i


def room_for(u, now, parts, P, Q, G, V):
    """See that there is room for one event more."""
    V[WANTED_COLUMN] = u
    if Q[u, GROUP_COUNT] >= Q[u, GROUP_ROOM]:
        return GROW_GROUPS
    if Q[u, AGED] != 0 and Q[u, END] - Q[u, START] > Q[u, RING_MASK]:
        slide(u, now, parts, P, Q, G)
        if 4 * (Q[u, END] - Q[u, START]) > 3 * (Q[u, RING_MASK] + 1):
            return GROW_EVENTS
    return 0


def begun_event(u, h, now, Q, G, X):
    """Where the weights of one event more are to be added (the words of its group), or written (those of the ring)."""
    at = made_group(u, h, now, Q, G, X)
    Q[u, SEEN] += 1
    if Q[u, AGED] == 0:
        return at
    entry = Q[u, RING] + (Q[u, END] & Q[u, RING_MASK]) * (2 + Q[u, SUMS])
    G[entry], G[entry + 1] = now, (at - Q[u, KEYS] - Q[u, GROUPS]) // Q[u, GROUP_WIDTH]
    Q[u, END] += 1
    return entry + 2


def load(m, n, place, A, W):
    """Write an attribute of the event at a place into its row; whether it is null, as a bit."""
    if A[m, 2] != 0 and byte_at(A[m, 2], place) != 0:
        W[3 + n] = 0
        return 1 << n
    W[3 + n] = byte_at(A[m, 0], place) if A[m, 1] != 0 else word_at(A[m, 0], place)
    return 0


def run(mode, first, last, types, times, places, A, P, Q, C, CF, W, F, G, X, XF, V):
    """Count what comes of events from one place to before another; what it ends with. mode 1: see `put_groups`."""
    if mode == 1:
        put_groups(first, Q, G, X)
        return 0
    code, i = 0, first
    while i < last and code == 0:
        code = arrive(types[i] + 0, times[i], places[i], A, P, Q, C, CF, W, F, G, X, XF, V)
        if code == 0:
            i += 1
    V[REACHED_EVENT] = i
    return code
