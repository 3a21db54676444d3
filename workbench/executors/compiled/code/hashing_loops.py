"""Hash tables that number keys in order of arrival: the compiled loops. Imports numba.

The rule of this module: two keys are one if they are equal, bit by bit, whatever their hashes. A slot of a table of
integers has the number of its key, counted from 1, and the key. A slot of a table of texts has half of the hash of its
key, and the number of the key, so that the table grows without access to the keys. Each text has an entry: its hash,
its first eight letters, and the offset of its letters; the next entry has the end offset. Texts of up to 16 letters are
determined by their entries, so that only longer ones are compared by letters. Large tables have slow memory accesses:
the slots of `AHEAD` keys are prefetched before the first of them is read, and so are the entries to which these slots
lead.
"""

# mypy: allow-untyped-defs
# numba infers the types, and nothing here needs its runtime, which takes longer to load than a million keys.

from __future__ import annotations

import numba
import numpy as np

from workbench.executors.compiled.code.hashing import AHEAD, FILLED_TEXTS
from workbench.executors.compiled.code.kernels import eight, soon
from workbench.executors.compiled.code.text_number import BITS, LONG
from workbench.executors.compiled.lower.tables import FILLED, LAST_SCATTER, SCATTER

WORD = 8
"""Letters per word."""
ONE, BYTE, HALF, LOWER = np.uint64(1), np.uint64(8), np.uint64(32), np.uint64((1 << 32) - 1)
ODD, LAST = np.uint64(SCATTER), np.uint64(LAST_SCATTER)
DROPPED, IS_LONG = np.uint64(64 - BITS), np.uint64(LONG << BITS)
"""Bits of a text's hash that its code lacks, and the bits that replace them."""


@numba.njit(nogil=True)
def slot_of(mixed, table):
    """Return the home slot of a key with this hash."""
    mixed = (mixed ^ (mixed >> HALF)) * ODD
    return ((mixed >> HALF) * np.uint64(len(table))) >> HALF  # in a larger table keys keep their order, nearly


@numba.njit(nogil=True)
def first_slot(mixed, table):
    """Return the home slot of a text: from the upper half of its hash, which is also in its slot."""
    return ((mixed >> HALF) * np.uint64(len(table))) >> HALF


@numba.njit(nogil=True)
def mix_text(letters, begin, end):
    """Return the hash of a text, from which its code is derived: see `code.text_number.text_code`."""
    mixed = np.uint64(end - begin) * LAST
    for offset in range(begin, end, WORD):
        mixed = (mixed ^ part(letters, offset, min(offset + WORD, end))) * ODD
        mixed ^= mixed >> HALF
    mixed *= LAST
    return mixed ^ (mixed >> np.uint64(29))


@numba.njit(nogil=True)
def number_words(words, first, codes, table, counts):
    """Number integers from index `first` on; return the index where it stopped. `counts` has the number of keys."""
    count, last = counts[0], np.uint64(len(table) - 1)
    for start in range(first, len(words), AHEAD):
        stop = min(start + AHEAD, len(words))
        if FILLED * (count + AHEAD) > len(table):
            return start
        for i in range(start, stop):
            slot = slot_of(words[i] * ODD, table)
            soon(table, slot)
            codes[i] = slot
        for i in range(start, stop):
            word, slot = words[i], np.uint64(codes[i])
            while table[slot, 0] and table[slot, 1] != word:
                slot = (slot + ONE) & last
            if not table[slot, 0]:
                count += 1
                counts[0] = count
                table[slot, 0], table[slot, 1] = count, word
            codes[i] = table[slot, 0] - ONE
    return len(words)


@numba.njit(nogil=True)
def number_texts(keys, first, codes, numbers, texts):
    """Number texts as `number_words` numbers integers, and store their letters.

    `numbers` gets the code of each text. If two keys have the same code they are written to `counts`, the later one
    counted from 1.
    """
    begins, ends, letters = keys
    table, counts, entries, key_letters = texts
    count, last = counts[0], np.uint64(len(table) - 1)
    for start in range(first, len(codes), AHEAD):
        stop = min(start + AHEAD, len(codes))
        if FILLED_TEXTS * (count + AHEAD) > len(table) or count + AHEAD + 1 > len(entries):
            return start
        for i in range(start, stop):
            mixed = mix_text(letters, np.int64(begins[i]), np.int64(ends[i]))
            numbers[i] = np.int64(mixed)
            soon(table, first_slot(mixed, table))
        for i in range(start, stop):
            entry_soon(np.uint64(numbers[i]), table, entries)
        for i in range(start, stop):
            begin, end, mixed = np.int64(begins[i]), np.int64(ends[i]), np.uint64(numbers[i])
            a = part(letters, begin, min(begin + WORD, end))
            slot = first_slot(mixed, table)
            while table[slot, 0]:
                if table[slot, 0] & ~LOWER == mixed & ~LOWER:
                    key = np.int64(table[slot, 0] & LOWER) - 1
                    if entries[key, 0] >> DROPPED == mixed >> DROPPED:
                        there = np.int64(entries[key, 2])
                        same = entries[key, 0] == mixed and entries[key, 1] == a
                        same = same and np.int64(entries[key + 1, 2]) - there == end - begin
                        if same and (end - begin <= 2 * WORD or same_text(key_letters, there, letters, begin, end)):
                            break
                        counts[1], counts[2] = key, count + 1
                slot = (slot + ONE) & last
            if not table[slot, 0]:
                there = np.int64(entries[count, 2])
                for k in range(end - begin):
                    key_letters[there + k] = letters[begin + k]
                entries[count, 0], entries[count, 1] = mixed, a
                count += 1
                counts[0] = count
                entries[count, 2] = there + end - begin
                table[slot, 0] = mixed & ~LOWER | np.uint64(count)
            codes[i] = np.int64(table[slot, 0] & LOWER) - 1
            numbers[i] = mixed >> DROPPED | IS_LONG
    return len(codes)


@numba.njit(nogil=True)
def entry_soon(mixed, table, entries):
    """Prefetch the entry to which the home slot of such a text leads."""
    word = table[first_slot(mixed, table), 0]
    if word and word & ~LOWER == mixed & ~LOWER:
        soon(entries, (word & LOWER) - ONE)


@numba.njit(nogil=True)
def look_numbers(numbers, codes, table, entries):
    """Write the keys that have these codes; -1 where there is none."""
    last = np.uint64(len(table) - 1)
    for start in range(0, len(numbers), AHEAD):
        stop = min(start + AHEAD, len(numbers))
        for i in range(start, stop):
            soon(table, first_slot(np.uint64(numbers[i]) << DROPPED, table))
        for i in range(start, stop):
            entry_soon(np.uint64(numbers[i]) << DROPPED, table, entries)
        for i in range(start, stop):
            number = np.uint64(numbers[i])
            slot = first_slot(number << DROPPED, table)
            codes[i] = -1
            while table[slot, 0]:
                if table[slot, 0] & ~LOWER == (number << DROPPED) & ~LOWER:
                    key = np.int64(table[slot, 0] & LOWER) - 1
                    if entries[key, 0] >> DROPPED | IS_LONG == number:
                        codes[i] = key
                        break
                slot = (slot + ONE) & last
    return 0


@numba.njit(nogil=True)
def put_keys(keys, more, usage, rows):
    """Find rows as `lower.tables.find_free_rows`; `more` has the second parts of keys that are pairs, or is empty."""
    capacity = np.uint64(len(usage))
    for i in range(len(keys)):
        mixed = np.uint64(keys[i]) * ODD
        if len(more):
            mixed = (mixed ^ (mixed >> HALF) ^ np.uint64(more[i])) * ODD
        slot = ((mixed >> HALF) * capacity) >> HALF
        while usage[slot]:
            slot = (slot + ONE) & (capacity - ONE)
        usage[slot] = True
        rows[i] = slot
    return 0


@numba.njit(nogil=True)
def part(letters, begin, end):
    """Return up to eight letters from an offset on, as a word."""
    if begin >= end:
        return np.uint64(0)
    if begin + WORD <= len(letters):
        word = eight(letters, begin)
        rest = np.uint64(max(begin + WORD - end, 0)) * BYTE
        return (word << rest) >> rest
    word = np.uint64(0)
    for k in range(begin, end):
        word |= np.uint64(letters[k]) << (np.uint64(k - begin) * BYTE)
    return word


@numba.njit(nogil=True)
def same_text(key_letters, there, letters, begin, end):
    """Whether a stored key of the same length has these letters."""
    same, k = True, begin
    while same and k < end:
        same = part(key_letters, there + k - begin, there + end - begin) == part(letters, k, end)
        k += WORD
    return same


@numba.njit(nogil=True)
def fill(old, new):
    """Move all slots of a table, of integers or of texts, to a larger one."""
    last, has_words = np.uint64(len(new) - 1), old.shape[1] == 2
    for i in range(len(old)):
        if old[i, 0]:
            slot = slot_of(old[i, 1] * ODD, new) if has_words else first_slot(old[i, 0], new)
            while new[slot, 0]:
                slot = (slot + ONE) & last
            for k in range(old.shape[1]):
                new[slot, k] = old[i, k]
    return 0
