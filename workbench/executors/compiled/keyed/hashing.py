"""Tables that number keys as they come, by machine code: whole numbers, and texts. Imports numba.

The rule of this module: two keys are one where they are equal, bit by bit; what they are scattered by decides nothing.
A slot of a table is the number of its key, counted from 1, and words that tell it from others: the whole number; or of
a text its length, or what a long one is scattered by, and its first letters.
"""

# mypy: allow-untyped-defs
# numba finds the types.

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from workbench.executors.compiled.lower.tables import SCATTER

FIRST = 1 << 12
"""Slots of a table at first: a power of two."""
FILLED = 2
"""So many times as many slots as keys there are at least."""
SHORT = 16
"""Letters of a text that stand in its slot."""
ONE, BYTE, HALF, LONG, ODD = np.uint64(1), np.uint64(8), np.uint64(32), np.uint64(1 << 63), np.uint64(SCATTER)


@numba.njit(nogil=True, cache=True)
def scattered(words, table):
    """The slot in which to look for a key first, given the words of its slot."""
    mixed = words[len(words) - 1] * ODD
    for k in range(1, len(words) - 1):
        mixed = (mixed ^ (mixed >> HALF) ^ words[k]) * ODD
    mixed = (mixed ^ (mixed >> HALF)) * ODD
    return ((mixed >> HALF) * np.uint64(len(table))) >> HALF  # in a larger table keys keep their order, nearly


@numba.njit(nogil=True, cache=True)
def number_words(given, first, codes, table, count):
    """Number whole numbers from the first one on; how many were numbered, and how many keys there are then."""
    for i in range(first, len(given)):
        word = given[i]
        slot = scattered((ONE, word), table)
        while table[slot, 0] and table[slot, 1] != word:
            slot = (slot + ONE) & np.uint64(len(table) - 1)
        if not table[slot, 0]:
            if FILLED * count >= len(table):
                return i, count
            count += 1
            table[slot, 0], table[slot, 1] = count, word
        codes[i] = table[slot, 0] - ONE
    return len(given), count


@numba.njit(nogil=True, cache=True)
def number_texts(offsets, letters, first, codes, table, count, starts, kept):
    """The same for texts, whose letters are kept; `starts` says where those of each key begin."""
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
                return i, count
            for k in range(end - begin):
                kept[starts[count] + k] = letters[begin + k]
            count += 1
            starts[count] = starts[count - 1] + end - begin
            table[slot, 0], table[slot, 1], table[slot, 2], table[slot, 3] = count, size, a, b
        codes[i] = table[slot, 0] - ONE
    return len(codes), count


@numba.njit(nogil=True, cache=True)
def same_text(starts, kept, key, letters, begin, end):
    """Whether a key that is kept has these letters."""
    there = starts[key]
    same = starts[key + ONE] - there == end - begin
    k = begin
    while same and k < end:
        same = kept[there + k - begin] == letters[k]
        k += 1
    return same


@numba.njit(nogil=True, cache=True)
def fill(old, new):
    """Put all slots of a table into a larger one."""
    for i in range(len(old)):
        if old[i, 0]:
            slot = scattered(old[i], new)
            while new[slot, 0]:
                slot = (slot + ONE) & np.uint64(len(new) - 1)
            new[slot] = old[i]


class WordTable:
    """Numbers whole numbers of 64 bits."""

    width = 2
    """Words of a slot."""

    def __init__(self) -> None:
        self.table: Any = np.zeros((FIRST, self.width), np.uint64)
        self.count = 0
        """How many keys there are."""

    def codes(self, given: Any) -> Any:
        """The number of each key in an array, from 0 in the order in which they first come."""
        codes: Any = np.empty(len(given), np.int64)
        done = 0
        while True:
            done, self.count = number_words(given.view(np.uint64), done, codes, self.table, self.count)
            if done == len(codes):
                return codes
            self._grow()

    def _grow(self) -> None:
        if FILLED * self.count >= len(self.table):
            larger: Any = np.zeros((2 * len(self.table), self.width), np.uint64)
            fill(self.table, larger)
            self.table = larger

    def keys(self) -> Any:
        """The keys, by their numbers."""
        used = self.table[self.table[:, 0] > 0]
        found: Any = np.empty(self.count, np.int64)
        found[used[:, 0].astype(np.int64) - 1] = used[:, 1].view(np.int64)
        return found


class TextTable(WordTable):
    """Numbers texts, given as where each begins, and the letters (bytes) of all."""

    width = 4

    def __init__(self) -> None:
        super().__init__()
        self.starts: Any = np.zeros(FIRST, np.int64)
        self.letters: Any = np.zeros(FIRST, np.uint8)

    def codes(self, given: Any) -> Any:
        offsets, letters = given
        codes: Any = np.empty(len(offsets) - 1, np.int64)
        done = 0
        while True:
            used = int(self.starts[self.count])
            self.letters = _longer(self.letters, used, used + int(offsets[-1]) - int(offsets[done]))
            done, self.count = number_texts(
                offsets, letters, done, codes, self.table, self.count, self.starts, self.letters
            )
            if done == len(codes):
                return codes
            self._grow()
            self.starts = _longer(self.starts, self.count + 1, self.count + 2)

    def keys(self) -> Any:
        """Where each begins, and the letters."""
        return self.starts[: self.count + 1], self.letters[: self.starts[self.count]]


def _longer(array: Any, used: int, size: int) -> Any:
    """An array with room for so many entries."""
    if size <= len(array):
        return array
    made = np.empty(max(size, 2 * len(array)), array.dtype)
    made[:used] = array[:used]
    return made
