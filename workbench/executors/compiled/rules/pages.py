"""Words in memory of which a part that is not used any more takes no room.

The rule of this module: words that have been given back are zero, and stay in their place. Only Linux takes pages back
so; elsewhere they become zero.
"""

from __future__ import annotations

import mmap
import sys
from contextlib import suppress
from typing import Any

import numpy as np

LARGE = 1 << 21
"""Bytes of a large page; arrays that are shorter are those of numpy."""


def zero_words(size: int) -> Any:
    """So many words that are zero, and take no room as long as nobody writes them."""
    if 8 * size < LARGE or sys.platform != "linux":
        return np.zeros(size, np.int64)
    pages = mmap.mmap(-1, 8 * size, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)  # by itself it would be shared, and stay
    with suppress(OSError):  # a system without large pages
        pages.madvise(mmap.MADV_HUGEPAGE)  # as numpy does
    return np.ndarray(size, np.int64, pages)


def give_back(words: Any, first: int, last: int) -> None:
    """Let the words from one place to before another be zero."""
    pages = words.base
    begin, end = -(-8 * first // mmap.PAGESIZE), 8 * last // mmap.PAGESIZE
    if begin >= end or not isinstance(pages, mmap.mmap):
        words[first:last] = 0
        return
    begin, end = begin * mmap.PAGESIZE, end * mmap.PAGESIZE
    pages.madvise(mmap.MADV_DONTNEED, begin, end - begin)
    words[first : begin // 8] = words[end // 8 : last] = 0


def free_large(words: Any, first: int, last: int) -> None:
    """Give back the large pages between two places, if there are any; nobody needs what is there."""
    first, last = -(-8 * first // LARGE) * (LARGE // 8), 8 * last // LARGE * (LARGE // 8)
    if first < last and isinstance(words.base, mmap.mmap):
        give_back(words, first, last)


def longer_words(words: Any, size: int) -> Any:
    """So many words, the first of which are these; what is zero takes no room there either."""
    longer = zero_words(size)
    for first in range(0, len(words), LARGE // 8):
        part = words[first : first + LARGE // 8]
        if part.any():
            longer[first : first + len(part)] = part
    return longer
