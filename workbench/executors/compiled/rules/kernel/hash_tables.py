"""Hash tables: of what is consumed, of rules that are silent, of letters, and of texts that are joined.

The rule of this module: a row is a key of some words, and what is known of it. Tables are open-addressed, at most half
full, and no row is removed; the first word of a row that is free is `NONE`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import NONE


def find_row(table, key, words):
    """The row of a key of so many words, or the free one where it belongs."""
    mixed, mask = 0, len(table) - 1
    for k in range(words):
        mixed = (mixed << 7) ^ (mixed >> 57) ^ key[k]
    row = (mixed ^ (mixed >> 7) ^ (mixed >> 19) ^ (mixed >> 41)) & mask
    while table[row, 0] != NONE and not has_key(table, row, key, words):
        row = (row + 1) & mask
    return row


def has_key(table, row, key, words):
    """Whether a row is that of a key."""
    for k in range(words):  # noqa: SIM110 - numba would allocate a generator
        if table[row, k] != key[k]:
            return False
    return True


def add_rows(table, more, words):
    """Add rows, none of whose keys is there, to a table that has room."""
    for i in range(len(more)):
        row = find_row(table, more[i], words)
        for k in range(table.shape[1]):
            table[row, k] = more[i, k]
