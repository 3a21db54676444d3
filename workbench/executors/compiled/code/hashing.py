"""Tables that number keys as they come, by machine code: whole numbers, and texts."""

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
"""Slots of a table at first: a power of two."""
AHEAD = 64
"""Keys whose slots are asked for at a time, for each of which there has to be room."""
FILLED_TEXTS = 1.5
"""So many times as many slots as keys there are at least, in a table that numbers texts."""
LARGE = 1 << 22
"""Bytes of an array that is not copied when it grows."""
LINE = 64
"""Bytes that memory gives at a time."""


class GivenTexts(NamedTuple):
    """Texts: where each begins, where it ends, and the letters of all."""

    begins: Any
    ends: Any
    letters: Any


class TextArrays(NamedTuple):
    """A table of texts: its slots, what is counted, the entries of keys, and the letters of these."""

    table: Any
    counts: Any
    entries: Any
    letters: Any


@cache
def hashing_loop(name: str) -> MachineLoop:
    """One of the functions of `hashing_loops`."""
    return MachineLoop(code_of("workbench.executors.compiled.code.hashing_loops", name))


class WordTable:
    """Numbers whole numbers of 64 bits."""

    filled: float = FILLED
    fill = "fill"
    """What puts the slots of a table into a larger one."""
    slot = 2
    """Words of a slot."""

    def __init__(self) -> None:
        self.table: Any = _slots(FIRST, self.slot)
        self._counts: Any = np.zeros(3, np.int64)

    @property
    def count(self) -> int:
        """How many keys there are."""
        return int(self._counts[0])

    def codes(self, given: Any) -> Any:
        """The number of each key in an array, from 0 in the order in which they first come."""
        codes: Any = np.empty(len(given), np.int64)
        done = 0
        while True:
            done = hashing_loop("number_words")(given.view(np.uint64), done, codes, self.table, self._counts)
            if done == len(codes):
                return codes
            self._grow()

    def _grow(self) -> None:
        if self.filled * (self.count + AHEAD) > len(self.table):
            larger: Any = _slots(2 * len(self.table), self.slot)
            hashing_loop(self.fill)(self.table, larger)
            self.table = larger

    def keys(self) -> Any:
        """The keys, by their numbers."""
        used = self.table[self.table[:, 0] > 0]
        found: Any = np.empty(self.count, np.int64)
        found[used[:, 0].astype(np.int64) - 1] = used[:, 1].view(np.int64)
        return found


class TextTable(WordTable):
    """Numbers texts, given as where each begins, where it ends, and the letters (bytes) of all."""

    filled, fill, slot = FILLED_TEXTS, "fill_texts", 1

    def __init__(self) -> None:
        super().__init__()
        self.entries: Any = np.zeros((FIRST, 3), np.uint64)
        self.letters: Any = np.zeros(FIRST, np.uint8)

    def codes(self, given: Any) -> Any:
        return self.both(given)[0]

    def both(self, given: Any) -> tuple[Any, Any]:
        """The number of each key, and what compiled code has for it if it is not short (`code.text_number`)."""
        begins, ends, _ = given
        codes: Any = np.empty(len(begins), np.int64)
        numbers, done = np.empty_like(codes), 0
        while True:
            used = int(self.entries[self.count, 2])
            letters_left = int(ends[done:].sum() - begins[done:].sum())
            lengthen(self.__dict__, "letters", used, used + letters_left)
            table = TextArrays(self.table, self._counts, self.entries, self.letters)
            done = hashing_loop("number_texts")(GivenTexts(*given), done, codes, numbers, table)
            if done == len(codes):
                return codes, numbers
            self._grow()
            lengthen(self.__dict__, "entries", self.count + 1, self.count + AHEAD + 1)

    @property
    def alike(self) -> tuple[int, int] | None:
        """Two keys for which compiled code has one number, if there are any."""
        one, other = self._counts[1:].tolist()
        return (one, other - 1) if other else None

    def places(self, numbers: Any) -> Any:
        """The keys for which compiled code has these numbers; -1 where it has it for none."""
        numbers = np.ascontiguousarray(numbers, np.int64)
        found: Any = np.empty(len(numbers), np.int64)
        hashing_loop("look_numbers")(numbers, found, self.table, self.entries)
        return found

    def keys(self) -> Any:
        """Where each begins, and the letters."""
        starts = self.entries[: self.count + 1, 2].view(np.int64)
        return starts, self.letters[: starts[-1]]

    @property
    def numbers(self) -> Any:
        """What compiled code has for each key, by their numbers."""
        return (self.entries[: self.count, 0] >> np.uint64(64 - BITS) | np.uint64(LONG << BITS)).view(np.int64)


def places_of(keys: Sequence[Any], taken: Any) -> Any:
    """`lower.tables.places_of`; where some are taken already, these are put beside them."""
    found: Any = np.empty(len(keys[0]), np.int64)
    hashing_loop("put_keys")(keys[0], keys[1] if len(keys) > 1 else found[:0], taken, found)
    return found


def _slots(count: int, width: int) -> Any:
    """Empty slots, none of which lies in two lines of memory.

    Raises
    ------
    MemoryError: they are more than half a word can number.
    """
    if count > 1 << 32:
        raise MemoryError(f"a table of {count:,} slots of {8 * width} bytes")
    size = 8 * count * width
    room: Any = np.empty(size + LINE, np.uint8)  # for which numpy asks for large pages, as it does not for zeros
    room.fill(0)
    begin = -room.__array_interface__["data"][0] % LINE
    return room[begin : begin + size].view(np.uint64).reshape(count, width)


def lengthen(arrays: dict[str, Any], name: str, used: int, size: int) -> None:
    """Give one of some arrays room for so many entries; what is used of it stays.

    A large one is moved by the system, page by page: memory that is new takes it long to give. So it grows little.
    """
    if size <= len(arrays[name]):
        return
    array = arrays.pop(name)  # nobody else may look at it
    try:
        if array.nbytes >= LARGE:
            with suppress(ValueError):  # somebody does
                array.resize((max(size, len(array) + len(array) // 4), *array.shape[1:]))
                return
        made: Any = np.empty((max(size, 2 * len(array)), *array.shape[1:]), array.dtype)
        made[:used] = array[:used]
        array = made
    finally:
        arrays[name] = array
