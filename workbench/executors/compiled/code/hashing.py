"""Hash tables that number integers or texts in order of arrival, by machine code."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from workbench.executors.compiled.code.machine import MachineLoop
from workbench.executors.compiled.code.objects import code_of
from workbench.executors.compiled.code.text_number import BITS, LONG
from workbench.executors.compiled.lower.tables import FILLED

FIRST = 1 << 12
"""Initial number of slots of a table: a power of two."""
AHEAD = 64
"""Number of keys that are prefetched at a time, for each of which there must be space."""
FILLED_TEXTS = 1.5
"""Minimum ratio of slots to keys in a table that numbers texts."""
LARGE = 1 << 22
"""Minimum size in bytes of arrays that are resized in place, not copied."""
LINE = 64
"""Bytes of a cache line."""


class InputTexts(NamedTuple):
    """Texts: their start and end offsets, and the letters of all."""

    begins: Any
    ends: Any
    letters: Any


class TextArrays(NamedTuple):
    """A table of texts: its slots, counters, the entries of keys, and the letters of these."""

    table: Any
    counts: Any
    entries: Any
    letters: Any


@cache
def hashing_loop(name: str) -> MachineLoop:
    """Return a function of `hashing_loops` as machine code."""
    return MachineLoop(code_of("workbench.executors.compiled.code.hashing_loops", name))


class WordTable:
    """A numbering of 64-bit integers."""

    filled: float = FILLED
    slot = 2
    """Words per slot."""

    def __init__(self) -> None:
        self.table: Any = _slots(FIRST, self.slot)
        self._counts: Any = np.zeros(3, np.int64)

    @property
    def count(self) -> int:
        """The number of keys."""
        return int(self._counts[0])

    def codes(self, keys: Any) -> Any:
        """Return the number of each key in an array, from 0 in order of arrival."""
        codes: Any = np.empty(len(keys), np.int64)
        done = 0
        while True:
            done = hashing_loop("number_words")(keys.view(np.uint64), done, codes, self.table, self._counts)
            if done == len(codes):
                return codes
            self._grow()

    def _grow(self) -> None:
        if self.filled * (self.count + AHEAD) > len(self.table):
            larger: Any = _slots(2 * len(self.table), self.slot)
            hashing_loop("fill")(self.table, larger)
            self.table = larger

    def keys(self) -> Any:
        """Return the keys, in the order of their numbers."""
        used = self.table[self.table[:, 0] > 0]
        keys: Any = np.empty(self.count, np.int64)
        keys[used[:, 0].astype(np.int64) - 1] = used[:, 1].view(np.int64)
        return keys


class TextTable(WordTable):
    """A numbering of texts, which are given by start offsets, end offsets and letters (bytes)."""

    filled, slot = FILLED_TEXTS, 1

    def __init__(self) -> None:
        super().__init__()
        self.entries: Any = np.zeros((FIRST, 3), np.uint64)
        self.letters: Any = np.zeros(FIRST, np.uint8)

    def codes(self, keys: Any) -> Any:
        return self.both(keys)[0]

    def both(self, keys: Any) -> tuple[Any, Any]:
        """Return the number of each key, and its code unless it is short (`code.text_number`)."""
        begins, ends, _ = keys
        codes: Any = np.empty(len(begins), np.int64)
        numbers, done = np.empty_like(codes), 0
        while True:
            used = int(self.entries[self.count, 2])
            letters_left = int(ends[done:].sum() - begins[done:].sum())
            lengthen(self.__dict__, "letters", used, used + letters_left)
            table = TextArrays(self.table, self._counts, self.entries, self.letters)
            done = hashing_loop("number_texts")(InputTexts(*keys), done, codes, numbers, table)
            if done == len(codes):
                return codes, numbers
            self._grow()
            lengthen(self.__dict__, "entries", self.count + 1, self.count + AHEAD + 1)

    @property
    def alike(self) -> tuple[int, int] | None:
        """Two keys with the same code in compiled code, or None."""
        one, other = self._counts[1:].tolist()
        return (one, other - 1) if other else None

    def find_keys(self, numbers: Any) -> Any:
        """Return the keys with these codes; -1 where there is none."""
        numbers = np.ascontiguousarray(numbers, np.int64)
        keys: Any = np.empty(len(numbers), np.int64)
        hashing_loop("look_numbers")(numbers, keys, self.table, self.entries)
        return keys

    def keys(self) -> Any:
        """Return the offsets of all texts, and the letters."""
        starts = self.entries[: self.count + 1, 2].view(np.int64)
        return starts, self.letters[: starts[-1]]

    @property
    def numbers(self) -> Any:
        """The codes of the keys, in the order of their numbers."""
        return (self.entries[: self.count, 0] >> np.uint64(64 - BITS) | np.uint64(LONG << BITS)).view(np.int64)


def find_free_rows(keys: Sequence[Any], usage: Any) -> Any:
    """Find free rows as `lower.tables.find_free_rows`; keys that have rows keep them."""
    rows: Any = np.empty(len(keys[0]), np.int64)
    hashing_loop("put_keys")(keys[0], keys[1] if len(keys) > 1 else rows[:0], usage, rows)
    return rows


def _slots(count: int, width: int) -> Any:
    """Allocate empty slots, none of which crosses a cache line.

    Raises
    ------
    MemoryError: half a word cannot number this many slots.
    """
    if count > 1 << 32:
        raise MemoryError(f"a table of {count:,} slots of {8 * width} bytes")
    size = 8 * count * width
    buffer: Any = np.empty(size + LINE, np.uint8)  # numpy uses huge pages for np.empty, not for np.zeros
    buffer.fill(0)
    begin = -buffer.__array_interface__["data"][0] % LINE
    return buffer[begin : begin + size].view(np.uint64).reshape(count, width)


def lengthen(arrays: dict[str, Any], name: str, used: int, size: int) -> None:
    """Enlarge an array of a dictionary to at least `size` entries, and keep the used ones.

    A large array is resized in place by the system, since new memory is slow. So it grows by a quarter only.
    """
    if size <= len(arrays[name]):
        return
    array = arrays.pop(name)  # no other references may remain
    try:
        if array.nbytes >= LARGE:
            with suppress(ValueError):  # another reference exists
                array.resize((max(size, len(array) + len(array) // 4), *array.shape[1:]))
                return
        larger: Any = np.empty((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
        larger[:used] = array[:used]
        array = larger
    finally:
        arrays[name] = array
