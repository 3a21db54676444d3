"""The loops of the compiled search: the only module that imports numba.

Rule: nothing here knows a pipeline, so numba compiles it once and keeps the result on disk.
"""

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
