"""Arrays of compiled code, one for each scalar part of a memory; tables are hash tables with open addressing in them.

The rule of this module: each of the keys 0, 1, ... `DIRECT` - 1 has a row of its own. The row of another is the first
one, from where its hash says, that is its own or that is not used; rows are never taken out, but a table that grows
leaves out those that stand for what a row not used does. Row 0 belongs to no key: what finds no row writes there, and
the block of steps is made again with a larger table.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.ops import AND, EQ
from workbench.core.term import FALSE, Term
from workbench.ir.system import Memory, System

DIRECT = 64
"""The keys from 0 to this one have rows of their own in a table: they need not be looked for."""

FIRST = 64
"""Rows of a table at first, for other keys, and entries of an endless array: a power of two."""

SCATTER = 0x9E3779B97F4A7C15
"""Multiplied with a key, its upper half says where to look first, as a part of the table.

(Knuth, TAOCP 6.4: Fibonacci hashing. Successive keys come to lie far apart.)
"""


LAST_SCATTER = 0xBF58476D1CE4E5B9
"""What the number of a text is multiplied with at last, so that all of its bits depend on all letters (Steele)."""

ALL = (1 << 64) - 1
"""The bits of a word."""
FILLED = 2
"""So many times as many slots as keys there are at least, in a table that numbers keys."""

CROWDED, FAST, FULL = 0.6, 0.75, 1 / 32
"""The part of a table's rows that may be used between two blocks of steps; within one, if possible; and so much at
least is where no row is found (`tries`)."""

AT_FIRST = 4096
"""Steps after which it is known how fast tables fill."""

PART = 1 << 16
"""Rows that are put into a larger table at a time."""


def array_names(system: System) -> dict[Term, str]:
    """What code calls the arrays of the memories, in their order."""
    return {column: f"m{i}_{k}" for i, memory in enumerate(system.memories) for k, column in enumerate(memory.columns)}


def first_length(memory: Memory) -> int:
    """The length of its arrays at first."""
    if memory.domain.endless:
        return FIRST
    return table_size(FIRST) if memory.domain.length is None else memory.domain.length


def table_size(rows: int) -> int:
    """The size of a table with so many rows, a power of two, for other keys; the first row belongs to no key."""
    return 1 + DIRECT + rows


def full(memory: Memory) -> Term:
    """Whether a step finds no row in a table for what it writes."""
    last = memory.writes[-1] if memory.is_table and memory.writes else None
    return FALSE if last is None else AND(last.happens, EQ(last.position, 0))


def tries(room: int) -> int:
    """How many rows of so many are looked at for a key: a table that is nearly full is slow."""
    return min(room, max(FIRST, room >> 5))


def find(used: Any, keys: Any, key: Any) -> int:
    """The row of a key, or the free one where it belongs; 0 where none is free nearby."""
    if 0 <= key < DIRECT:
        return int(key) + 1
    room = size(used)
    place = _place(key, room)
    for _ in range(tries(room)):
        row = place + 1 + DIRECT
        if not used[row] or keys[row] == key:
            return row
        place = place + 1 & room - 1
    return 0


def find_pair(used: Any, first: Any, second: Any, a: Any, b: Any) -> int:
    """The same where keys are pairs, none of which has a row of its own."""
    room = size(used)
    mixed = int(a) * SCATTER & ALL
    place = (((mixed ^ mixed >> 32 ^ int(b) & ALL) * SCATTER & ALL) >> 32) * room >> 32
    for _ in range(tries(room)):
        row = place + 1 + DIRECT
        if not used[row] or (first[row] == a and second[row] == b):
            return row
        place = place + 1 & room - 1
    return 0


def find_entry(begins: Any, keys: Any, number: Any, key: Any) -> int:
    """Where the entry of a key lies among those of a map, which lie by their keys; 0 for nowhere."""
    low, high = begins[number], begins[number + 1]
    if 0 <= key < high - low and keys[low + int(key)] == key:  # keys are often 0, 1, 2, ...
        return int(low + int(key))
    place = bisect_left(keys, key, low, high)
    return int(place) if place < high and keys[place] == key else 0


def order_rows(used: Any, keys: Any) -> list[int]:
    """The rows that are used, in the order of their keys."""
    return sorted((row for row in range(1, len(used)) if used[row]), key=keys.__getitem__)


def link_rows(used: Any, keys: Any) -> list[int]:
    """Links between the rows that are used: those whose keys have the same first place are in one chain.

    The first ones of the chains, by that place, then of each row the next one; 0 is none.
    """
    room = size(used)
    links = [0] * (room + len(used))
    for row in range(1, len(used)):
        if used[row]:
            place = _place(keys[row], room)
            links[room + row], links[place] = links[place], row
    return links


def first_linked(links: Any, keys: Any, key: Any) -> int:
    """A row of a key; 0 where there is none."""
    return _of_key(links, keys, key, _place(key, size(keys)))


def next_linked(links: Any, keys: Any, row: Any) -> int:
    """Another row of the key of this one, until there is none."""
    return _of_key(links, keys, keys[row], size(keys) + row)


def _of_key(links: Any, keys: Any, key: Any, place: int) -> int:
    row: int = links[place]
    while row and keys[row] != key:
        row = links[size(keys) + row]
    return row


def _place(key: Any, room: int) -> int:
    """Where to look first among the rows for keys that have none of their own."""
    return ((int(key) * SCATTER & ALL) >> 32) * room >> 32


def size(used: Any) -> int:
    """How many rows there are for keys that have none of their own."""
    return len(used) - 1 - DIRECT


def measure_load(used: Any) -> float:
    """Which part of the rows is used."""
    import numpy as np

    return int(np.count_nonzero(used[1 + DIRECT :])) / size(used)


def enlarge_table(
    arrays: Sequence[Any],
    fresh: Sequence[Any],
    rows_at_least: int,
    words: int = 1,
    places: Callable[[Sequence[Any], Any], Any] | None = None,
) -> list[Any]:
    """The arrays of a table, the flags of use and the keys first, with room for three times as many rows as it has.

    Parameters
    ----------
    fresh: what the arrays after the keys hold in a row that stands for one that is not used; none where no
        row does.
    rows_at_least: for how many rows there is room in any case.
    words: how many arrays keys have.
    places: a faster `places_of`, which goes on with a table in which some have their places.
    """
    import numpy as np

    used, keys, rest = arrays[0], arrays[1 : 1 + words], arrays[1 + words :]
    kept = np.full(len(used), not fresh)
    for array, value in zip(rest, fresh, strict=False):
        kept |= array != value
    kept &= used
    kept[0] = False
    room, count = size(used), int(np.count_nonzero(kept[1 + DIRECT :]))
    while room < max(3 * count, rows_at_least):
        room *= 2
    made = [np.zeros(1 + DIRECT + room, array.dtype) for array in arrays]
    part = PART if places else len(used)  # memory that is new is slow, so there is little of it
    begins = [0, *range(1 + DIRECT, len(used), part)]
    for begin, end in zip(begins, [*begins[1:], len(used)], strict=True):
        rows = there = begin + np.flatnonzero(kept[begin:end])
        if begin:
            given = [key[rows].astype(np.int64, copy=False) for key in keys]
            there = 1 + DIRECT + (places or places_of)(given, made[0][1 + DIRECT :])
        made[0][there] = True
        for array, new in zip(arrays[1:], made[1:], strict=True):
            new[there] = array[rows]
    return made


def places_of(keys: Sequence[Any], taken: Any) -> Any:
    """Where to put these keys, int64: each goes on from its first place to one that no other has; none is taken."""
    import numpy as np

    room = len(taken)
    words = [key.view(np.uint64) for key in keys]
    scattered = words[0] * np.uint64(SCATTER)
    for word in words[1:]:
        scattered = (scattered ^ scattered >> np.uint64(32) ^ word) * np.uint64(SCATTER)
    start = ((scattered >> np.uint64(32)) * np.uint64(room) >> np.uint64(32)).astype(np.int64)
    order = np.argsort(start)
    ahead = np.arange(len(start))
    inside = np.maximum.accumulate(start[order] - ahead) + ahead  # in the order of their first places, each after each
    beyond = int((inside >= room).sum())
    if beyond:  # those that find no place up to the end begin anew, where the others have left places free
        used: Any = np.zeros(room, np.bool_)
        used[inside[: len(inside) - beyond]] = True
        inside[len(inside) - beyond :] = np.flatnonzero(~used)[:beyond]
    places: Any = np.empty(len(start), np.int64)
    places[order] = inside
    return places
