"""Arrays of compiled code, one for each scalar part of a memory; tables are hash tables with open addressing.

The rule of this module: each of the keys 0, 1, ... `DIRECT` - 1 has a row of its own. The row of another key is the
first one, from its hash on, that is its own or free; rows are never removed, but a growing table drops rows that are
equivalent to unused ones. Row 0 belongs to no key: a failed search writes there, and the block of steps is repeated
with a larger table. Searches are plain Python, which `code.kernels` compiles unchanged, with its own `at`, `scatter`,
`scatter_pair` and `read_link`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.ops import AND, EQ
from workbench.core.term import FALSE, Term
from workbench.ir.system import Memory, System

DIRECT = 64
"""Number of keys, from 0, with rows of their own in a table: they need no search."""

FIRST = 64
"""Initial number of rows for other keys of a table, and of entries of an endless array: a power of two."""

SCATTER = 0x9E3779B97F4A7C15
"""Multiplier of a key's hash, whose upper half gives the first row to probe, as a fraction of the table.

(Knuth, TAOCP 6.4: Fibonacci hashing. Successive keys are far apart.)
"""


LAST_SCATTER = 0xBF58476D1CE4E5B9
"""The last multiplier of the hash of a text, so that all of its bits depend on all letters (Steele)."""

ALL = (1 << 64) - 1
"""The bits of a word."""
FILLED = 2
"""Minimum ratio of slots to keys in a table that numbers keys."""

CROWDED, FAST, FULL = 0.6, 0.75, 1 / 32
"""Maximum load of a table between two blocks of steps; within a block, if possible; and the minimum load at which a
search for a row fails (`tries`)."""

AT_FIRST = 4096
"""Steps after which the fill rate of tables is known."""

PART = 1 << 16
"""Rows that are moved to a larger table at a time."""


def array_names(system: System) -> dict[Term, str]:
    """Return the names of the arrays of the memories in code, in order."""
    return {column: f"m{i}_{k}" for i, memory in enumerate(system.memories) for k, column in enumerate(memory.columns)}


def first_length(memory: Memory) -> int:
    """Return the initial length of a memory's arrays."""
    if memory.domain.endless:
        return FIRST
    return table_size(FIRST) if memory.domain.length is None else memory.domain.length


def table_size(rows: int) -> int:
    """Return the size of a table with `rows` rows (a power of two) for other keys; the first row has no key."""
    return 1 + DIRECT + rows


def full(memory: Memory) -> Term:
    """Return whether a step finds no row in a table for its writes."""
    last = memory.writes[-1] if memory.is_table and memory.writes else None
    return FALSE if last is None else AND(last.happens, EQ(last.position, 0))


def tries(capacity: int) -> int:
    """Return the number of rows probed for a key in a table with this capacity: a table that is nearly full is slow."""
    return min(capacity, max(FIRST, capacity >> 5))


def at(index: Any) -> Any:
    """Check an index; machine code, in which it is unsigned, would read beyond the array where it is negative."""
    if index < 0:
        raise IndexError(f"generated code has an index of {index}")
    return index


def scatter(key: Any) -> int:
    """Return the upper half of the hash of a key."""
    return (int(key) * SCATTER & ALL) >> 32


def scatter_pair(a: Any, b: Any) -> int:
    """Return the upper half of the hash of a pair of keys."""
    mixed = int(a) * SCATTER & ALL
    return ((mixed ^ mixed >> 32 ^ int(b) & ALL) * SCATTER & ALL) >> 32


def first_row(used: Any, key: Any) -> int:
    """Return the row that is probed first for a key without a row of its own."""
    return 1 + DIRECT + (scatter(key) * size(used) >> 32)


def first_row_of_pair(used: Any, a: Any, b: Any) -> int:
    """Return the row that is probed first for a pair of keys."""
    return 1 + DIRECT + (scatter_pair(a, b) * size(used) >> 32)


def next_row(used: Any, row: int) -> int:
    """Return the row that is probed after another one."""
    return 1 + DIRECT + (row - DIRECT & size(used) - 1)


def find(used: Any, keys: Any, key: Any) -> int:
    """Return the row of a key, or the free row for it; 0 where none is free nearby."""
    if 0 <= key < DIRECT:
        return int(key) + 1
    row = first_row(used, key)
    for _ in range(tries(size(used))):
        if not used[at(row)] or keys[at(row)] == key:
            return row
        row = next_row(used, row)
    return 0


def find_pair(used: Any, first: Any, second: Any, a: Any, b: Any) -> int:
    """Return the row of a pair of keys, as `find` does; no pair has a row of its own."""
    row = first_row_of_pair(used, a, b)
    for _ in range(tries(size(used))):
        if not used[at(row)] or (first[at(row)] == a and second[at(row)] == b):
            return row
        row = next_row(used, row)
    return 0


def find_entry(begins: Any, keys: Any, number: Any, key: Any) -> int:
    """Return the entry of a key among those of a map, which are sorted by key; 0 if there is none."""
    low, end = int(begins[at(number)]), int(begins[at(number + 1)])
    if 0 <= key < end - low and keys[at(low + int(key))] == key:  # keys are often 0, 1, 2, ...
        return low + int(key)
    high = end
    while low < high:
        middle = (low + high) >> 1
        if keys[at(middle)] < key:
            low = middle + 1
        else:
            high = middle
    return low if low < end and keys[at(low)] == key else 0


def order_rows(used: Any, keys: Any) -> list[int]:
    """Return the used rows, sorted by key."""
    return sorted((row for row in range(1, len(used)) if used[row]), key=keys.__getitem__)


def link_rows(used: Any, keys: Any) -> list[int]:
    """Link the used rows: those whose keys have the same home row are in one chain.

    The links are the heads of the chains, by home row, then each row's successor; 0 is none.
    """
    capacity = size(used)
    links = [0] * (capacity + len(used))
    for row in range(1, len(used)):
        if used[row]:
            home = first_row(used, keys[row]) - 1 - DIRECT
            links[capacity + row], links[home] = links[home], row
    return links


def read_link(links: Any, keys: Any, index: int) -> int:
    """Return a link of a table with these keys."""
    del keys
    link: int = links[index]
    return link


def first_linked(links: Any, keys: Any, key: Any) -> int:
    """Return a row with this key; 0 where there is none."""
    return next_of_key(links, keys, key, first_row(keys, key) - 1 - DIRECT)


def next_linked(links: Any, keys: Any, row: Any) -> int:
    """Return the next row with the key of this row; 0 after the last."""
    return next_of_key(links, keys, keys[at(row)], size(keys) + row)


def next_of_key(links: Any, keys: Any, key: Any, start: int) -> int:
    """Return the first row with this key in a chain, from a link on."""
    row = read_link(links, keys, start)
    while row and keys[at(row)] != key:
        row = read_link(links, keys, size(keys) + row)
    return row


def size(used: Any) -> int:
    """Return the number of rows for keys without rows of their own."""
    return len(used) - 1 - DIRECT


def measure_load(used: Any) -> float:
    """Return the load of a table."""
    import numpy as np

    return int(np.count_nonzero(used[1 + DIRECT :])) / size(used)


def enlarge_table(
    arrays: Sequence[Any],
    fresh: Sequence[Any],
    rows_at_least: int,
    words: int = 1,
    row_finder: Callable[[Sequence[Any], Any], Any] | None = None,
) -> list[Any]:
    """Return the arrays of a table, usage flags and keys first, with space for three times as many rows as are used.

    Parameters
    ----------
    fresh: the values after the keys in a row that is equivalent to an unused one; empty where no row is.
    rows_at_least: minimum number of rows.
    words: number of arrays for keys.
    row_finder: a faster `find_free_rows`, which also takes a table that is partly filled.
    """
    import numpy as np

    used, keys, rest = arrays[0], arrays[1 : 1 + words], arrays[1 + words :]
    live = np.full(len(used), not fresh)
    for array, value in zip(rest, fresh, strict=False):
        live |= array != value
    live &= used
    live[0] = False
    capacity, count = size(used), int(np.count_nonzero(live[1 + DIRECT :]))
    while capacity < max(3 * count, rows_at_least):
        capacity *= 2
    new_arrays = [np.zeros(1 + DIRECT + capacity, array.dtype) for array in arrays]
    part = PART if row_finder else len(used)  # new memory is slow, so little of it is used
    begins = [0, *range(1 + DIRECT, len(used), part)]
    for begin, end in zip(begins, [*begins[1:], len(used)], strict=True):
        rows = there = begin + np.flatnonzero(live[begin:end])
        if begin:
            row_keys = [key[rows].astype(np.int64, copy=False) for key in keys]
            there = 1 + DIRECT + (row_finder or find_free_rows)(row_keys, new_arrays[0][1 + DIRECT :])
        new_arrays[0][there] = True
        for array, new in zip(arrays[1:], new_arrays[1:], strict=True):
            new[there] = array[rows]
    return new_arrays


def find_free_rows(keys: Sequence[Any], usage: Any) -> Any:
    """Return free rows for these keys, int64, by linear probing from the home row of each; none is taken."""
    import numpy as np

    capacity = len(usage)
    words = [key.view(np.uint64) for key in keys]
    scattered = words[0] * np.uint64(SCATTER)
    for word in words[1:]:
        scattered = (scattered ^ scattered >> np.uint64(32) ^ word) * np.uint64(SCATTER)
    start = ((scattered >> np.uint64(32)) * np.uint64(capacity) >> np.uint64(32)).astype(np.int64)
    order = np.argsort(start)
    ahead = np.arange(len(start))
    inside = np.maximum.accumulate(start[order] - ahead) + ahead  # linear probing in the order of home rows
    beyond = int((inside >= capacity).sum())
    if beyond:  # those beyond the end wrap around, to the rows that are left free
        used: Any = np.zeros(capacity, np.bool_)
        used[inside[: len(inside) - beyond]] = True
        inside[len(inside) - beyond :] = np.flatnonzero(~used)[:beyond]
    rows: Any = np.empty(len(start), np.int64)
    rows[order] = inside
    return rows
