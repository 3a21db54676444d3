"""The loops of the compiled search: the only module that imports numba.

Rule: nothing here knows a pipeline, so numba compiles it once and keeps the result on disk.
"""

# mypy: allow-untyped-defs
# numba finds the types: words are int64, numbers of states int32, all arrays contiguous.

from __future__ import annotations

from typing import Any

import numba
import numpy as np

MIX = np.uint64(0x9E3779B97F4A7C15)
"""2**64 / the golden ratio: multiplying by it spreads neighbouring words (Knuth, TAOCP 3, section 6.4)."""

AHEAD = 64
"""Slots that are looked at together, so that the processor waits for memory once and not for each."""


def compiled(source: str) -> Any:
    """The function `expand` of a generated source, as machine code."""
    scope: dict[str, Any] = {}
    exec(compile(source, "<step>", "exec"), scope)
    words = numba.int64[::1]
    signature = numba.void(words, numba.int64, numba.int64[:, ::1], words, words)
    return numba.njit(signature, nogil=True, error_model="numpy")(scope["expand"])


@numba.njit(cache=True, nogil=True)
def absorb(after, flags, many, moves, first, table, shift, states, parents, size, wanted, hits):
    """Take in the `many` successors of the states from number `first` on; the new number of states.

    It is followed by a number without a meaning, which is there so that looking ahead is not optimised away.

    `table` is a hash set with linear probing. It holds words relative to the initial state, which itself is
    always known, so that 0 can mark what is empty. `hits` gets, per label still wanted, the first step at
    which it is true: the number of the state and of the move.
    """
    initial = states[0]
    mask = np.int64(table.size - 1)
    fetched = np.int64(0)
    for k in range(many):
        if k % AHEAD == 0:
            for ahead in range(k, min(k + AHEAD, many)):
                fetched |= table[np.int64((np.uint64(after[ahead] ^ initial) * MIX) >> shift)]
        flag = flags[k] & wanted
        if flag:
            for bit in range(hits.shape[0]):
                if flag >> bit & 1:
                    hits[bit, 0] = first + k // moves
                    hits[bit, 1] = k % moves
            wanted &= ~flag
        key = after[k] ^ initial
        if key == 0:
            continue
        slot = np.int64((np.uint64(key) * MIX) >> shift)
        while table[slot] != key:
            if table[slot] == 0:
                table[slot] = key
                states[size] = after[k]
                parents[size] = first + k // moves
                size += 1
                break
            slot = (slot + 1) & mask
    return size, fetched


@numba.njit(cache=True, nogil=True)
def refill(table, shift, old):
    """Put the words of an old table into a new, larger one.

    A slot is the upper bits of a product, so the old table is in the order of the new one, and both are passed
    through once from start to end.
    """
    mask = np.int64(table.size - 1)
    for i in range(old.size):
        key = old[i]
        if key != 0:
            slot = np.int64((np.uint64(key) * MIX) >> shift)
            while table[slot] != 0:
                slot = (slot + 1) & mask
            table[slot] = key


@numba.njit(cache=True, nogil=True)
def number(table, shift, numbers, states, size):
    """Write the number of each state beside its word in the table."""
    initial = states[0]
    mask = np.int64(table.size - 1)
    for i in range(1, size):
        key = states[i] ^ initial
        slot = np.int64((np.uint64(key) * MIX) >> shift)
        while table[slot] != key:
            slot = (slot + 1) & mask
        numbers[slot] = i


@numba.njit(cache=True, nogil=True)
def join(after, flags, many, moves, first, table, shift, numbers, initial, target, good, sources, ends, size):
    """Gather the edges of the states from number `first` on that are not good yet; the new number of edges.

    A state is good at once when some move has the label `target`. The others get an edge for every successor.
    """
    mask = np.int64(table.size - 1)
    for j in range(many // moves):
        for k in range(j * moves, (j + 1) * moves):
            if flags[k] & target:
                good[first + j] = True
        if good[first + j]:
            continue
        for k in range(j * moves, (j + 1) * moves):
            if k > j * moves and after[k] == after[k - 1]:
                continue
            key = after[k] ^ initial
            end = 0
            if key != 0:
                slot = np.int64((np.uint64(key) * MIX) >> shift)
                while table[slot] != key:
                    slot = (slot + 1) & mask
                end = numbers[slot]
            sources[size] = first + j
            ends[size] = end
            size += 1
    return size


@numba.njit(cache=True, nogil=True)
def spread(good, sources, ends, size):
    """Make good every state from which an edge leads to a good one, until there is none left."""
    starts = np.zeros(good.size + 1, np.int64)
    for e in range(size):
        starts[ends[e] + 1] += 1
    for i in range(good.size):
        starts[i + 1] += starts[i]
    into = np.empty(size, np.int32)
    place = starts[:-1].copy()
    for e in range(size):
        into[place[ends[e]]] = sources[e]
        place[ends[e]] += 1
    todo = np.empty(good.size, np.int32)
    many = 0
    for i in range(good.size):
        if good[i]:
            todo[many] = i
            many += 1
    next_one = 0
    while next_one < many:
        i = todo[next_one]
        next_one += 1
        for e in range(starts[i], starts[i + 1]):
            if not good[into[e]]:
                good[into[e]] = True
                todo[many] = into[e]
                many += 1


@numba.njit(cache=True, nogil=True)
def first_bad(after, flags, many, table, shift, numbers, initial, harmless, good):
    """The first of these steps that has no harmless label and leads to a state that is not good; -1: none."""
    mask = np.int64(table.size - 1)
    for k in range(many):
        if flags[k] & harmless:
            continue
        key = after[k] ^ initial
        end = 0
        if key != 0:
            slot = np.int64((np.uint64(key) * MIX) >> shift)
            while table[slot] != key:
                slot = (slot + 1) & mask
            end = numbers[slot]
        if not good[end]:
            return k
    return -1
