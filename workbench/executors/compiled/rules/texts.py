"""The order of texts and texts put together, on their numbers: runs as plain Python and as machine code.

The rule of this module: what a number stands for is asked of Python, and what it says is kept in tables whose entries
may go at any time. A table of zeros is a right one: the number of the empty text is 0.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from workbench.executors.compiled.rules.layout import (
    ANSWERS,
    BEGIN_WORDS,
    BEGINS,
    BEGINS_MASK,
    JOIN,
    JOIN_WORDS,
    JOINED,
    JOINED_MASK,
    ORDER,
)  # fmt: skip
from workbench.executors.compiled.rules.words import answer, scattered


def text_order(one, other, H, V):
    """How a text stands to another: -1, 0 or 1; 2 where there is no answer."""
    if one == other:
        return 0
    first = V[BEGINS] + (one & V[BEGINS_MASK]) * BEGIN_WORDS
    second = V[BEGINS] + (other & V[BEGINS_MASK]) * BEGIN_WORDS
    if H[first] == one and H[second] == other:
        for i in range(1, BEGIN_WORDS):
            if H[first + i] != H[second + i]:
                return -1 if H[first + i] < H[second + i] else 1
    found = answer(V[ANSWERS], ORDER, one, other)
    return 2 if found == 0 else found - 2


def text_joined(one, other, H, V):
    """The number of a text and another behind it; -1 where there is no answer."""
    if one == 0:
        return other
    if other == 0:
        return one
    place = V[JOINED] + (scattered(one, other) & V[JOINED_MASK]) * JOIN_WORDS
    if H[place] == one and H[place + 1] == other:
        return H[place + 2]
    found = answer(V[ANSWERS], JOIN, one, other)
    if found == 0:
        return -1
    H[place], H[place + 1], H[place + 2] = one, other, found - 1
    return found - 1
