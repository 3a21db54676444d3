"""Trees of numbers with prefix minima and searches for the next number below a bound, each in O(log n).

The rule of this module: a tree of 2n entries has n numbers, n being a power of two, in its second half; each entry of
the first half, from 1 on, is the minimum of its subtree. It is a list, or an array in machine code, which uses the same
functions (`machine.set_loops`).
"""

from __future__ import annotations

from typing import Any


def set_least(tree: Any, at: int, value: int) -> None:
    """Set a number, and update the minima."""
    i = (len(tree) >> 1) + at
    tree[i] = value
    while i > 1:
        other = tree[i ^ 1]
        least = value if value < other else other
        i >>= 1
        if tree[i] == least:
            return
        tree[i] = value = least


def least_before(tree: Any, at: int, above: int) -> int:
    """Return the minimum of the numbers before this one, or `above`, a bound on all numbers, if there are none."""
    i, least = (len(tree) >> 1) + at, above
    while i > 1:
        if i & 1 and tree[i - 1] < least:
            least = tree[i - 1]
        i >>= 1
    return least


def next_below(tree: Any, at: int, bound: int) -> int:
    """Return the first index from this one on whose number is below the bound; n where there is none."""
    size = len(tree) >> 1
    if tree[1] >= bound:
        return size
    i = size + at
    while tree[i] >= bound:
        while i & 1:  # its siblings are done: go up
            i >>= 1
            if i <= 1:
                return size
        i += 1
    while i < size:
        i *= 2
        if tree[i] >= bound:
            i += 1
    return i - size
