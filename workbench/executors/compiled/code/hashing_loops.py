"""Tables that number keys as they come: the loops, which are compiled. Imports numba.

The rule of this module: two keys are one where they are equal, bit by bit; what they are scattered by decides nothing.
A slot of a table of whole numbers is the number of its key, counted from 1, and the key. A slot of a table of texts is
one word: the number in its lower half, in its upper half what says where the key belongs, so that a table grows without
a look at the keys. A large table lies in memory that is slow to answer: the slots of `AHEAD` keys are asked for before
the first of them is looked at.
"""

# mypy: allow-untyped-defs
# numba finds the types, and nothing here needs its runtime, which takes longer to load than a million keys.

from __future__ import annotations

import numba
import numpy as np

from workbench.executors.compiled.code.hashing import AHEAD
from workbench.executors.compiled.code.kernels import eight, soon
from workbench.executors.compiled.lower.tables import FILLED, LAST_SCATTER, SCATTER

WORD = 8
"""Letters in a word."""
ONE, BYTE, HALF, LOWER = np.uint64(1), np.uint64(8), np.uint64(32), np.uint64((1 << 32) - 1)
ODD, LAST = np.uint64(SCATTER), np.uint64(LAST_SCATTER)


@numba.njit(nogil=True)
def scattered(mixed, table):
    """The slot in which to look first for a key that is mixed to this."""
    mixed = (mixed ^ (mixed >> HALF)) * ODD
    return ((mixed >> HALF) * np.uint64(len(table))) >> HALF  # in a larger table keys keep their order, nearly


@numba.njit(nogil=True)
def slot_of(slots, table):
    """Where a key belongs in a table of texts, given what its slot holds in its upper half."""
    return ((slots >> HALF) * np.uint64(len(table))) >> HALF


@numba.njit(nogil=True)
def text_code(letters, begin, end):
    """The number that compiled code has for a text: see `code.step.text_code`."""
    mixed = np.uint64(end - begin) * LAST
    for place in range(begin, end, WORD):
        mixed = (mixed ^ part(letters, place, min(place + WORD, end))) * ODD
        mixed ^= mixed >> HALF
    mixed *= LAST
    return (mixed ^ (mixed >> np.uint64(29))) >> ONE


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
def number_texts(offsets, letters, first, codes, numbers, table, counts, starts, kept, known):
    """The same for texts, whose letters are kept; `starts` says where those of each key begin.

    `numbers` takes what compiled code has for each text, `known` for each key. Where it has one number for two keys
    they are left in `counts`, the later one counted from 1.
    """
    count, last = counts[0], np.uint64(len(table) - 1)
    for start in range(first, len(codes), AHEAD):
        stop = min(start + AHEAD, len(codes))
        if FILLED * (count + AHEAD) > len(table) or count + AHEAD + 1 > len(starts):
            return start
        for i in range(start, stop):
            code = text_code(letters, np.int64(offsets[i]), np.int64(offsets[i + 1]))
            numbers[i] = code
            soon(table, slot_of(code << ONE, table))
        for i in range(start, stop):
            key = (table[slot_of(np.uint64(numbers[i]) << ONE, table)] & LOWER) - ONE
            if key < np.uint64(count):
                soon(starts, key)
        for i in range(start, stop):
            key = (table[slot_of(np.uint64(numbers[i]) << ONE, table)] & LOWER) - ONE
            if key < np.uint64(count):
                soon(kept, starts[key])
        for i in range(start, stop):
            begin, end, code = np.int64(offsets[i]), np.int64(offsets[i + 1]), np.uint64(numbers[i])
            upper = (code << ONE) & ~LOWER
            slot = slot_of(upper, table)
            while table[slot]:
                if (table[slot] & ~LOWER) == upper:
                    key = (table[slot] & LOWER) - ONE
                    if same_text(starts, kept, key, letters, begin, end):
                        break
                    if known[key] == numbers[i]:
                        counts[1], counts[2] = key, count + 1
                slot = (slot + ONE) & last
            if not table[slot]:
                for k in range(end - begin):
                    kept[starts[count] + k] = letters[begin + k]
                known[count] = numbers[i]
                count += 1
                counts[0] = count
                starts[count] = starts[count - 1] + end - begin
                table[slot] = upper | np.uint64(count)
            codes[i] = (table[slot] & LOWER) - ONE
    return len(codes)


@numba.njit(nogil=True)
def look_numbers(given, codes, table, known):
    """The keys for which compiled code has these numbers; -1 where it is that of none."""
    last = np.uint64(len(table) - 1)
    for start in range(0, len(given), AHEAD):
        stop = min(start + AHEAD, len(given))
        for i in range(start, stop):
            soon(table, slot_of(np.uint64(given[i]) << ONE, table))
        for i in range(start, stop):
            upper = (np.uint64(given[i]) << ONE) & ~LOWER
            slot = slot_of(upper, table)
            while table[slot] and (table[slot] & ~LOWER) != upper:
                slot = (slot + ONE) & last
            codes[i] = slot
            if table[slot]:
                soon(known, (table[slot] & LOWER) - ONE)
        for i in range(start, stop):
            slot = np.uint64(codes[i])
            while table[slot] and known[(table[slot] & LOWER) - ONE] != given[i]:
                slot = (slot + ONE) & last
            codes[i] = np.int64(table[slot] & LOWER) - 1
    return 0


@numba.njit(nogil=True)
def put_keys(keys, more, taken, places):
    """`lower.tables.places_of`; `more` has the other halves of keys that are pairs, else nothing."""
    room = np.uint64(len(taken))
    for i in range(len(keys)):
        mixed = np.uint64(keys[i]) * ODD
        if len(more):
            mixed = (mixed ^ (mixed >> HALF) ^ np.uint64(more[i])) * ODD
        place = ((mixed >> HALF) * room) >> HALF
        while taken[place]:
            place = (place + ONE) & (room - ONE)
        taken[place] = True
        places[i] = place
    return 0


@numba.njit(nogil=True)
def part(letters, begin, end):
    """At most eight letters from a place on, as a word."""
    if begin >= end:
        return np.uint64(0)
    if begin + WORD <= len(letters):
        found = eight(letters, begin)
        rest = np.uint64(max(begin + WORD - end, 0)) * BYTE
        return (found << rest) >> rest
    found = np.uint64(0)
    for k in range(begin, end):
        found |= np.uint64(letters[k]) << (np.uint64(k - begin) * BYTE)
    return found


@numba.njit(nogil=True)
def same_text(starts, kept, key, letters, begin, end):
    """Whether a key that is kept has these letters."""
    there, after = starts[key], starts[key + ONE]
    same = after - there == end - begin
    k = begin
    while same and k < end:
        same = part(kept, there + k - begin, after) == part(letters, k, end)
        k += WORD
    return same


@numba.njit(nogil=True)
def fill(old, new):
    """Put all slots of a table into a larger one."""
    last = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i, 0]:
            slot = scattered(old[i, 1] * ODD, new)
            while new[slot, 0]:
                slot = (slot + ONE) & last
            new[slot, 0], new[slot, 1] = old[i, 0], old[i, 1]
    return 0


@numba.njit(nogil=True)
def fill_texts(old, new):
    """The same for a table of texts."""
    last = np.uint64(len(new) - 1)
    for i in range(len(old)):
        if old[i]:
            slot = slot_of(old[i], new)
            while new[slot]:
                slot = (slot + ONE) & last
            new[slot] = old[i]
    return 0
