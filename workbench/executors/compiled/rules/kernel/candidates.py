"""Rows that a scan stores for later, newest first.

The rule of this module: they form a stack, in which the candidates of each step follow those of earlier steps.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import KernelStatus


def store_candidate(scratch, state, slot):
    """Store a row; False if the array is full."""
    if state.candidates == len(scratch.candidates):
        state.status = KernelStatus.FULL_CANDIDATES
        return False
    scratch.candidates[state.candidates] = slot
    state.candidates += 1
    return True


def store_candidates(scratch, state, column, oldest, newest):
    """Store consecutive rows of a column; return whether there are any, and space for them."""
    begin, count = state.candidates, newest - oldest + 1
    if begin + count > len(scratch.candidates):
        state.status = KernelStatus.FULL_CANDIDATES
        return False
    start, mask = column.start, column.mask
    for k in range(count):
        scratch.candidates[begin + k] = start + ((newest - k) & mask)
    state.candidates = begin + count
    return count > 0


def sort_words(words, begin, end):
    """Sort a range of words in ascending order (heapsort)."""
    size = end - begin
    for root in range(size // 2 - 1, -1, -1):
        sift_down(words, begin, root, size)
    for last in range(size - 1, 0, -1):
        words[begin], words[begin + last] = words[begin + last], words[begin]
        sift_down(words, begin, 0, last)


def sift_down(words, begin, root, size):
    """Let the root of a heap sink until no word below it is greater."""
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and words[begin + child] < words[begin + child + 1]:
            child += 1
        if words[begin + root] >= words[begin + child]:
            return
        words[begin + root], words[begin + child] = words[begin + child], words[begin + root]
        root = child
