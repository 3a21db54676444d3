"""Hash tables of consumed events, of silent rules, of letters, and of concatenated texts.

The rule of this module: a row is a key of some words, and its value. Tables are open-addressed, at most half full, and
no row is removed; the first word of a free row is `NONE`.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import NONE


def find_row(table, key, words):
    """Return the row of a key, whose length is `words`, or the free row for it."""
    mixed, mask = 0, len(table) - 1
    for k in range(words):
        mixed = (mixed << 7) ^ (mixed >> 57) ^ key[k]
    row = (mixed ^ (mixed >> 7) ^ (mixed >> 19) ^ (mixed >> 41)) & mask
    while table[row, 0] != NONE and not has_key(table, row, key, words):
        row = (row + 1) & mask
    return row


def has_key(table, row, key, words):
    """Whether a row has this key."""
    for k in range(words):  # noqa: SIM110 - numba would allocate a generator
        if table[row, k] != key[k]:
            return False
    return True


def add_rows(table, more, words):
    """Add rows with new keys to a table that has space."""
    for i in range(len(more)):
        row = find_row(table, more[i], words)
        for k in range(table.shape[1]):
            table[row, k] = more[i, k]
