"""Tables that number keys as they come: the loops, which are compiled. Imports numba.

The rule of this module: two keys are one where they are equal, bit by bit; what they are scattered by decides nothing.
A slot of a table is the number of its key, counted from 1, and words that tell it from others: the whole number; or of
a text its length, or what a long one is scattered by, and its first letters.
"""

# mypy: allow-untyped-defs
# numba finds the types.

from __future__ import annotations

import numba
import numpy as np

from workbench.executors.compiled.lower.tables import FILLED, SCATTER

SHORT = 16
"""Letters of a text that stand in its slot."""
ONE, BYTE, HALF, LONG, ODD = np.uint64(1), np.uint64(8), np.uint64(32), np.uint64(1 << 63), np.uint64(SCATTER)


@numba.njit(nogil=True)
def scattered(words, table):
    """The slot in which to look for a key first, given the words of its slot."""
    mixed = words[len(words) - 1] * ODD
    for k in range(1, len(words) - 1):
        mixed = (mixed ^ (mixed >> HALF) ^ words[k]) * ODD
    mixed = (mixed ^ (mixed >> HALF)) * ODD
    return ((mixed >> HALF) * np.uint64(len(table))) >> HALF  # in a larger table keys keep their order, nearly


@numba.njit(nogil=True)
def number_words(given, first, codes, table, counts):
    """Number whole numbers from the first one on; how many were numbered. `counts` has how many keys there are."""
    count = counts[0]
    for i in range(first, len(given)):
        word = given[i]
        slot = scattered((ONE, word), table)
        while table[slot, 0] and table[slot, 1] != word:
            slot = (slot + ONE) & np.uint64(len(table) - 1)
        if not table[slot, 0]:
            if FILLED * count >= len(table):
                return i
            count += 1
            counts[0] = count
            table[slot, 0], table[slot, 1] = count, word
        codes[i] = table[slot, 0] - ONE
    return len(given)


@numba.njit(nogil=True)
def number_texts(offsets, letters, first, codes, table, counts, starts, kept):
    """The same for texts, whose letters are kept; `starts` says where those of each key begin."""
    count = counts[0]
    for i in range(first, len(codes)):
        begin, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
        size, a, b = np.uint64(end - begin), np.uint64(0), np.uint64(0)
        for k in range(begin, min(end, begin + SHORT // 2)):
            a = (a << BYTE) | np.uint64(letters[k])
        for k in range(begin + SHORT // 2, min(end, begin + SHORT)):
            b = (b << BYTE) | np.uint64(letters[k])
        for k in range(begin + SHORT, end):
            size = ((size ^ np.uint64(letters[k])) * ODD) | LONG
        slot = scattered((ONE, size, a, b), table)
        while table[slot, 0]:
            same = table[slot, 1] == size and table[slot, 2] == a and table[slot, 3] == b
            if same and (size < LONG or same_text(starts, kept, table[slot, 0] - ONE, letters, begin, end)):
                break
            slot = (slot + ONE) & np.uint64(len(table) - 1)
        if not table[slot, 0]:
            if FILLED * count >= len(table) or count + 2 > len(starts):
                return i
            for k in range(end - begin):
                kept[starts[count] + k] = letters[begin + k]
            count += 1
            counts[0] = count
            starts[count] = starts[count - 1] + end - begin
            table[slot, 0], table[slot, 1], table[slot, 2], table[slot, 3] = count, size, a, b
        codes[i] = table[slot, 0] - ONE
    return len(codes)


@numba.njit(nogil=True)
def same_text(starts, kept, key, letters, begin, end):
    """Whether a key that is kept has these letters."""
    there = starts[key]
    same = starts[key + ONE] - there == end - begin
    k = begin
    while same and k < end:
        same = kept[there + k - begin] == letters[k]
        k += 1
    return same


@numba.njit(nogil=True)
def fill(old, new):
    """Put all slots of a table into a larger one."""
    for i in range(len(old)):
        if old[i, 0]:
            slot = scattered(old[i], new)
            while new[slot, 0]:
                slot = (slot + ONE) & np.uint64(len(new) - 1)
            new[slot] = old[i]
    return 0
