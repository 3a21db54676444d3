"""Exact sums of floats and integers, and quotients that are rounded once.

The rule of this module: a sum is a multiple of 2**-1074 in limbs of 32 bits, which may be negative, so that adding a
number touches a few of them and nothing is rounded before the end. After the limbs come counters of infinities of each
sign and of NaN. Results are the words of floats.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.records import LEAST_WORD

LIMBS = 68
"""Number of limbs, of 32 bits each: 2098 bits for the greatest float, and some bits for the number of addends."""
ABOVE, BELOW, NOT_A_NUMBER = LIMBS, LIMBS + 1, LIMBS + 2
"""Indexes of the counters of infinities and NaN."""
SUM_WORDS = LIMBS + 3
LIMB = 0xFFFFFFFF
INFINITE_DROP = 2046
"""A number with this many bits below the 53 of a float exceeds every float."""
INFINITE_WORD, NAN_WORD = 0x7FF0000000000000, 0x7FF8000000000000
UNIT, UNIT_SHIFT = 1074 >> 5, 1074 & 31
"""The limb and the bit of 1."""
MAX_DIVISOR = 1 << 31
"""The greatest number by which a sum can be divided."""


def clear_sum(limbs):
    """Start a sum."""
    for i in range(SUM_WORDS):
        limbs[i] = 0


def add_real(limbs, word):
    """Add the float with this word."""
    power, part = (word >> 52) & 0x7FF, word & 0xFFFFFFFFFFFFF
    if power == 0x7FF:
        limbs[NOT_A_NUMBER if part != 0 else BELOW if word < 0 else ABOVE] += 1
        return
    if power > 0:
        part |= 1 << 52
        power -= 1
    at, shift = power >> 5, power & 31
    low, high = (part & LIMB) << shift, (part >> 32) << shift
    sign = -1 if word < 0 else 1
    limbs[at] += sign * (low & LIMB)
    limbs[at + 1] += sign * ((low >> 32) + (high & LIMB))
    limbs[at + 2] += sign * (high >> 32)


def add_integer(limbs, number):
    """Add an integer."""
    limbs[UNIT] += (number & LIMB) << UNIT_SHIFT
    limbs[UNIT + 1] += (number >> 32) << UNIT_SHIFT


def sum_over(limbs, count):
    """Return the sum divided by a number, rounded once; destroys the limbs."""
    if limbs[NOT_A_NUMBER] > 0 or (limbs[ABOVE] > 0 and limbs[BELOW] > 0):
        return NAN_WORD
    if limbs[ABOVE] > 0:
        return INFINITE_WORD
    if limbs[BELOW] > 0:
        return INFINITE_WORD + LEAST_WORD
    negative = carry(limbs)
    if negative:
        for i in range(LIMBS):
            limbs[i] = -limbs[i]
        carry(limbs)
    rest = divide(limbs, count)
    top = LIMBS - 1
    while top >= 0 and limbs[top] == 0:
        top -= 1
    if top < 0 and rest == 0:
        return 0
    word = round_limbs(limbs, top, rest, count)
    return word + LEAST_WORD if negative else word


def carry(limbs):
    """Normalize all limbs but the last to 0 <= limb < 2**32; return whether the sum is negative."""
    over = 0
    for i in range(LIMBS - 1):
        whole = limbs[i] + over
        limbs[i] = whole & LIMB
        over = whole >> 32
    limbs[LIMBS - 1] += over
    return limbs[LIMBS - 1] < 0


def divide(limbs, count):
    """Divide a number that is not negative; return the remainder."""
    rest = 0
    if count > 1:
        for i in range(LIMBS - 1, -1, -1):
            whole = (rest << 32) | limbs[i]
            limbs[i] = whole // count
            rest = whole % count
    return rest


def round_limbs(limbs, top, rest, count):
    """Return the word of the float nearest to a positive number in limbs, plus `rest / count` of its last place."""
    drop = max(bits_of(limbs, top) - 53, 0)  # bits below the last place of the float
    if drop >= INFINITE_DROP:
        return INFINITE_WORD
    last, shift, part = drop >> 5, drop & 31, 0
    for i in range(max(top, 0), last - 1, -1):
        part = (part << (32 - shift)) | (limbs[i] >> shift) if i == last else (part << 32) | limbs[i]
    half, more = 0, rest > 0
    if drop > 0:
        below, bit = (drop - 1) >> 5, (drop - 1) & 31
        half = (limbs[below] >> bit) & 1
        more = more or limbs[below] & ((1 << bit) - 1) != 0
        for i in range(below):
            more = more or limbs[i] != 0
    elif rest > 0:
        half, more = int(2 * rest >= count), 2 * rest != count
    if half == 1 and (more or part & 1 == 1):
        part += 1
    # `part` has 53 bits at most, or is 2**53: the power is added, and absorbs a carry.
    return part if drop == 0 else part + (drop << 52)


def bits_of(limbs, top):
    """Return the bit length of a number whose last nonzero limb is at `top`."""
    if top < 0:
        return 0
    length, word = 32 * top, limbs[top]
    while word > 0:
        length += 1
        word >>= 1
    return length
