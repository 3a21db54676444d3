"""Writing the numbers of events to columns of matches: runs as plain Python and as machine code.

The rule of this module: a column is told by its address, and has room for what is written. Numbers are those of the
order, and one more: what is 0 is no event.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

from workbench.executors.compiled.rules.layout import NUMBER
from workbench.executors.compiled.rules.words import put_word


def near_place(hint, word, value, low, high, base, mask, width, ring, ring_mask, W, H):
    """The same as `first_place`, which looks around a place first."""
    hint, step = min(max(hint, low), high), 1
    if hint < high and word_of(hint, word, base, mask, width, ring, ring_mask, W, H) < value:
        low = hint + 1
        while low + step < high and word_of(low + step, word, base, mask, width, ring, ring_mask, W, H) < value:
            low += step + 1
            step *= 2
        high = min(high, low + step)
    else:
        high = hint
        while high - step > low and word_of(high - step, word, base, mask, width, ring, ring_mask, W, H) >= value:
            high -= step
            step *= 2
        low = max(low, high - step)
    while low < high:
        middle = (low + high) >> 1
        if word_of(middle, word, base, mask, width, ring, ring_mask, W, H) < value:
            low = middle + 1
        else:
            high = middle
    return low


def word_of(place, word, base, mask, width, ring, ring_mask, W, H):
    """A word of the row at a place, of a type or of a ring."""
    i = place if ring < 0 else H[ring + (place & ring_mask)]
    return W[base + (i & mask) * width + word]


def fill_words(address, first, last, word):
    """The same word at some places."""
    for n in range(first, last):
        put_word(address, n, word)


def fill_numbers(address, first, last, place, base, mask, width, ring, ring_mask, W, H):
    """The numbers of events from a place on, of all of a type or in a ring, at some places."""
    place -= first
    for n in range(first, last):
        i = place + n if ring < 0 else H[ring + ((place + n) & ring_mask)]
        put_word(address, n, W[base + (i & mask) * width + NUMBER] + 1)
