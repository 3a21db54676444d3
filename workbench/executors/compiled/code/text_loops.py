"""The codes of short texts, and back: the compiled loops. Imports numba.

The rule of this module: the codes equal those of `text_number`. Eight letters are processed together, each in a byte of
a word: bit 6 of a byte marks a letter (not space, digits and the like), and bit 5 then a lower-case letter.
"""

# mypy: allow-untyped-defs
# numba infers the types.

from __future__ import annotations

import numba
import numpy as np

from workbench.executors.compiled.code.hashing_loops import part
from workbench.executors.compiled.code.text_number import BACK, BITS, HALF, LONG, LOW, SHORT, SIX
from workbench.executors.compiled.lower.tables import SCATTER

WORD = 8
"""Letters per word."""
ONES = 0x0101010101010101
HIGHS, SMALLS, FIVE, LAST = (
    np.uint64(0x80 * ONES),
    np.uint64(0x20 * ONES),
    np.uint64(0x1F * ONES),
    np.uint64(0x7F * ONES),
)
EVEN, ODD = np.uint64(0x003F003F003F003F), np.uint64(0x3F003F003F003F00)
PAIRS, OTHERS = np.uint64(0x00000FFF00000FFF), np.uint64(0x0FFF00000FFF0000)
FOURS = np.uint64(0xFFFFFF)
BYTE, ALL, ONE, TWO, FOUR = np.uint64(8), np.uint64((1 << 64) - 1), np.uint64(1), np.uint64(2), np.uint64(4)
TIMES, UNDO, BELOW, MIX = np.uint64(SCATTER), np.uint64(BACK), np.uint64(LOW), np.uint64(HALF)
SMALL = np.uint64(0x20)
UNDERSCORE = np.uint64(0x3F)


@numba.njit(nogil=True)
def number_short(begins, ends, letters, numbers, others):
    """Write the codes of short texts, and the indexes of the `others`; return the number of the latter."""
    count = 0
    for i in range(len(begins)):
        begin, size = np.int64(begins[i]), np.int64(ends[i]) - np.int64(begins[i])
        if size <= SHORT:
            low = part(letters, begin, begin + min(size, WORD))
            high = part(letters, begin + WORD, begin + size)
            mode, word = short_word(low, high, size)
            if mode != LONG:
                numbers[i] = np.int64(mode << BITS | mix_word(word)) if size else 0
                continue
        others[count] = i
        count += 1
    return count


@numba.njit(nogil=True)
def short_word(low, high, size):
    """Return the mode of a text of `size` letters, given in two words, and its word of six bits per letter."""
    there = SMALLS
    if size < WORD:
        there &= ~(ALL << (np.uint64(size) * BYTE))
    beyond = SMALLS & ~(ALL << (np.uint64(max(size - WORD, 0)) * BYTE))
    large, small, odd = cases(low, there)
    more_large, more_small, more_odd = cases(high, beyond)
    word = six_bits(low) | six_bits(high) << np.uint64(SIX * WORD) | ONE << np.uint64(SIX * size)
    mode = 1
    if odd | more_odd:
        mode = LONG
    elif not small | more_small:
        mode = 0
    elif large | more_large:
        mode = 2 if large == SMALL and not more_large else LONG
    return mode, word


@numba.njit(nogil=True)
def cases(word, there):
    """Return masks, by bit 5 of each byte, of upper-case letters, of lower-case ones, and of those of no short text."""
    beyond = (word >> ONE) & there
    last = (((word | SMALLS) ^ LAST) & LAST) + LAST  # bit 7 where one is not `_`, nor its lower-case counterpart
    last = ~(last >> TWO) & there
    odd = (word & HIGHS) | (~(word | (word >> ONE)) & there) | (last & word)
    return beyond & ~word & ~last, beyond & word, odd


@numba.njit(nogil=True)
def six_bits(word):
    """Compress letters to six bits each, their position in their half of the columns of ASCII."""
    word = (word & FIVE) | ((word >> ONE) & SMALLS)
    word = (word & EVEN) | ((word & ODD) >> TWO)
    word = (word & PAIRS) | ((word & OTHERS) >> FOUR)
    return (word & FOURS) | (((word >> np.uint64(32)) & FOURS) << np.uint64(24))


@numba.njit(nogil=True)
def mix_word(word):
    """Return an invertible hash of a word."""
    word = (word * TIMES) & BELOW
    return np.int64(word ^ (word >> MIX))


@numba.njit(nogil=True)
def short_letters(numbers, letters, sizes):
    """Write the letters of short texts, a row each, and their sizes; size 0 where a code is not of a short text."""
    for i in range(len(numbers)):
        number = np.uint64(numbers[i])
        mode, word = np.int64(number >> np.uint64(BITS)), number & BELOW
        word = ((word ^ (word >> MIX)) * UNDO) & BELOW
        size = 0
        if number and 0 <= mode < LONG:
            while word > ONE and size < SHORT:
                six = word & UNDERSCORE
                sign = six | SMALL if six < SMALL else six + SMALL
                small = mode == 1 or (mode == 2 and size > 0)
                letters[i, size] = sign | SMALL if small and sign > UNDERSCORE and six != UNDERSCORE else sign
                word >>= np.uint64(SIX)
                size += 1
        sizes[i] = size if word == ONE else 0
    return 0
