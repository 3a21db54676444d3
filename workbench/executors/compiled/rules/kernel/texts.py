"""Texts whose letters matter: comparison and concatenation.

The rule of this module: a text is its code. Letters, and the codes of concatenations, are in hash tables that the host
fills: where an entry is missing, the event ends with a status that names it, and is processed again once it is filled.
Letters are bytes of UTF-8, whose order is that of texts.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.hash_tables import find_row
from workbench.executors.compiled.rules.records import NONE, KernelStatus


def compare_texts(history, scratch, state, one, other):
    """Compare two texts: negative where the first is less; the status names missing letters."""
    texts, letters = history.texts, history.letters
    if one == other:
        return 0
    scratch.key[0] = one
    first = find_row(texts, scratch.key, 1)
    scratch.key[0] = other
    second = find_row(texts, scratch.key, 1)
    if texts[first, 0] == NONE or texts[second, 0] == NONE:
        state.status, state.text = KernelStatus.MISSING_TEXT, one if texts[first, 0] == NONE else other
        return 0
    begin, start = texts[first, 1], texts[second, 1]
    size, more = texts[first, 2] - begin, texts[second, 2] - start
    for k in range(min(size, more)):
        x, y = letters[begin + k], letters[start + k]
        if x != y:
            return -1 if x < y else 1
    return -1 if size < more else int(size > more)


def join_texts(history, scratch, state, one, other):
    """Return the code of the concatenation of two texts; the status says where it is missing."""
    scratch.key[0], scratch.key[1] = one, other
    row = find_row(history.joins, scratch.key, 2)
    if history.joins[row, 0] == NONE:
        state.status, state.text, state.other_text = KernelStatus.MISSING_JOINED, one, other
        return 0
    return history.joins[row, 2]
