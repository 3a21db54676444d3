"""Tables that number keys as they come: the loops, which are compiled. Imports numba.

The rule of this module: two keys are one where they are equal, bit by bit; what they are scattered by decides nothing.
A slot of a table is the number of its key, counted from 1, and words that tell it from others: the whole number; or of
a text its length, or what a long one is scattered by, and its first letters. A large table lies in memory that is slow
to answer: the slots of `AHEAD` keys are asked for before the first of them is looked at.
"""

# mypy: allow-untyped-defs
# numba finds the types, and nothing here needs its runtime, which takes longer to load than a million keys.

from __future__ import annotations

import numba
import numpy as np

from workbench.executors.compiled.code.hashing import AHEAD
from workbench.executors.compiled.code.kernels import eight, soon
from workbench.executors.compiled.lower.tables import FILLED, LAST_SCATTER, SCATTER

HALF_SHORT = 8
"""Half the letters of a text that stand in its slot."""
ONE, BYTE, HALF, LONG, ODD = np.uint64(1), np.uint64(8), np.uint64(32), np.uint64(1 << 63), np.uint64(SCATTER)


@numba.njit(nogil=True)
def scattered(mixed, table):
    """The slot in which to look first for a key that is mixed to this."""
    mixed = (mixed ^ (mixed >> HALF)) * ODD
    return ((mixed >> HALF) * np.uint64(len(table))) >> HALF  # in a larger table keys keep their order, nearly


@numba.njit(nogil=True)
def mixed_text(size, a, b):
    """What a text is scattered by, given the words of its slot."""
    mixed = b * ODD
    mixed = (mixed ^ (mixed >> HALF) ^ size) * ODD
    return (mixed ^ (mixed >> HALF) ^ a) * ODD


@numba.njit(nogil=True)
def number_words(given, first, codes, table, counts):
    """Number whole numbers from the first one on; how many were numbered. `counts` has how many keys there are."""
    count, last = counts[0], np.uint64(len(table) - 1)
    for start in range(first, len(given), AHEAD):
        stop = min(start + AHEAD, len(given))
        if FILLED * (count + AHEAD) > len(table):
            return start
        for i in range(start, stop):
            slot = scattered(given[i] * ODD, table)
            soon(table, slot)
            codes[i] = slot
        for i in range(start, stop):
            word, slot = given[i], np.uint64(codes[i])
            while table[slot, 0] and table[slot, 1] != word:
                slot = (slot + ONE) & last
            if not table[slot, 0]:
                count += 1
                counts[0] = count
                table[slot, 0], table[slot, 1] = count, word
            codes[i] = table[slot, 0] - ONE
    return len(given)


@numba.njit(nogil=True)
def number_texts(offsets, letters, first, codes, words, table, counts, starts, kept):
    """The same for texts, whose letters are kept; `starts` says where those of each key begin.

    `words` has room for the words of `AHEAD` slots.
    """
    count, last = counts[0], np.uint64(len(table) - 1)
    for start in range(first, len(codes), AHEAD):
        stop = min(start + AHEAD, len(codes))
        if FILLED * (count + AHEAD) > len(table) or count + AHEAD + 1 > len(starts):
            return start
        for i in range(start, stop):
            begin, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
            size = np.uint64(end - begin)
            a, b = part(letters, begin, end), part(letters, begin + HALF_SHORT, end)
            for k in range(begin + 2 * HALF_SHORT, end):
                size = ((size ^ np.uint64(letters[k])) * ODD) | LONG
            slot = scattered(mixed_text(size, a, b), table)
            soon(table, slot)
            words[i - start, 0], words[i - start, 1], words[i - start, 2], words[i - start, 3] = slot, size, a, b
        for i in range(start, stop):
            begin, end = np.int64(offsets[i]), np.int64(offsets[i + 1])
            slot, size, a, b = words[i - start, 0], words[i - start, 1], words[i - start, 2], words[i - start, 3]
            while table[slot, 0]:
                same = table[slot, 1] == size and table[slot, 2] == a and table[slot, 3] == b
                if same and (size < LONG or same_text(starts, kept, table[slot, 0] - ONE, letters, begin, end)):
                    break
                slot = (slot + ONE) & last
            if not table[slot, 0]:
                for k in range(end - begin):
                    kept[starts[count] + k] = letters[begin + k]
                count += 1
                counts[0] = count
                starts[count] = starts[count - 1] + end - begin
                table[slot, 0], table[slot, 1], table[slot, 2], table[slot, 3] = count, size, a, b
            codes[i] = table[slot, 0] - ONE
    return len(codes)


@numba.njit(nogil=True)
def text_codes(starts, letters, first, codes):
    """The numbers that compiled code has for texts, from the one with this number on: see `code.step.text_code`."""
    for i in range(len(codes)):
        begin, end = np.int64(starts[first + i]), np.int64(starts[first + i + 1])
        mixed = np.uint64(end - begin) * np.uint64(LAST_SCATTER)
        for place in range(begin, end, 8):
            mixed = (mixed ^ part(letters, place, min(place + 8, end))) * ODD
            mixed ^= mixed >> HALF
        mixed *= np.uint64(LAST_SCATTER)
        codes[i] = np.int64((mixed ^ (mixed >> np.uint64(29))) >> ONE)
    return 0


@numba.njit(nogil=True)
def look_words(given, codes, table):
    """The numbers of whole numbers that have been numbered; -1 of others."""
    last = np.uint64(len(table) - 1)
    for i in range(len(given)):
        slot = scattered(given[i] * ODD, table)
        while table[slot, 0] and table[slot, 1] != given[i]:
            slot = (slot + ONE) & last
        codes[i] = np.int64(table[slot, 0]) - 1
    return 0


@numba.njit(nogil=True)
def part(letters, begin, end):
    """At most eight letters from a place on, as a word."""
    if begin >= end:
        return np.uint64(0)
    if begin + HALF_SHORT <= len(letters):
        found = eight(letters, begin)
        rest = np.uint64(max(begin + HALF_SHORT - end, 0)) * BYTE
        return (found << rest) >> rest
    found = np.uint64(0)
    for k in range(begin, end):
        found |= np.uint64(letters[k]) << (np.uint64(k - begin) * BYTE)
    return found


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
    last = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 0]:
            mixed = old[i, 1] * ODD if old.shape[1] == 2 else mixed_text(old[i, 1], old[i, 2], old[i, old.shape[1] - 1])
            slot = scattered(mixed, new)
            while new[slot, 0]:
                slot = (slot + ONE) & last
            for k in range(old.shape[1]):
                new[slot, k] = old[i, k]
    return 0
