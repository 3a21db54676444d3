"""Exact sums of floats and exact averages, in a form that runs as plain Python and as machine code.

The rule of this module: a sum is a whole number of 2**-1074, in limbs of 32 bits, so that nothing is rounded before the
end. Words of a sum: the limbs, then how many infinities of each sign and values that are no numbers there are.
"""

# mypy: allow-untyped-defs, allow-untyped-calls
# The kinds of values are found by `code.llvm_values`.

from __future__ import annotations

INFINITE, NAN = float("inf"), float("nan")
"""NaN has the bits that it has everywhere in Python, for keys are compared by them; those of inf - inf are others."""


def no_sum(X, x):
    """Begin a sum at a place of `X`."""
    for i in range(72):
        X[x + i] = 0


def add_float(X, x, word):
    """Add the float with these bits."""
    power = (word >> 52) & 0x7FF
    part = word & 0xFFFFFFFFFFFFF
    if power == 0x7FF:
        if part != 0:
            X[x + 70] += 1
        elif word < 0:
            X[x + 69] += 1
        else:
            X[x + 68] += 1
        return
    if power > 0:
        part |= 0x10000000000000
        power -= 1
    at, shift = x + (power >> 5), power & 31
    low, high = (part & 0xFFFFFFFF) << shift, (part >> 32) << shift
    middle = (low >> 32) + (high & 0xFFFFFFFF)
    if word < 0:
        X[at] -= low & 0xFFFFFFFF
        X[at + 1] -= middle
        X[at + 2] -= high >> 32
    else:
        X[at] += low & 0xFFFFFFFF
        X[at + 1] += middle
        X[at + 2] += high >> 32


def total_of(X, XF, x, count):
    """The sum divided by a number, rounded once; what is at its place is used up."""
    if X[x + 70] > 0 or (X[x + 68] > 0 and X[x + 69] > 0):
        return NAN
    if X[x + 68] > 0:
        return INFINITE
    if X[x + 69] > 0:
        return -INFINITE
    negative = False
    while _carried(X, x):  # once at most
        negative = True
        for i in range(68):
            X[x + i] = -X[x + i]
    rest = 0
    if count > 1:
        for i in range(67, -1, -1):
            whole = (rest << 32) | X[x + i]
            X[x + i] = whole // count
            rest = whole % count
    top = 67
    while top >= 0 and X[x + top] == 0:
        top -= 1
    if top < 0 and rest == 0:
        return 0.0
    return _rounded(X, XF, x, top, rest, count, negative)


def _carried(X, x):
    """Make all limbs but the last one not negative and less than 2**32; whether the whole is negative."""
    carry = 0
    for i in range(67):
        whole = X[x + i] + carry
        X[x + i] = whole & 0xFFFFFFFF
        carry = whole >> 32
    X[x + 67] += carry
    return X[x + 67] < 0


def _rounded(X, XF, x, top, rest, count, negative):
    """The float nearest to a number that is not negative, in limbs, and `rest / count` of the last place more."""
    length = 0
    if top >= 0:
        word = X[x + top]
        while word > 0:
            length += 1
            word >>= 1
        length += 32 * top
    drop = max(length - 53, 0)  # bits below the last place of the float
    part = 0
    for i in range(max(top, 0), (drop >> 5) - 1, -1):
        if i == drop >> 5:
            part = (part << (32 - (drop & 31))) | (X[x + i] >> (drop & 31))
        else:
            part = (part << 32) | X[x + i]
    half, more = 0, rest > 0
    if drop > 0:
        half = (X[x + ((drop - 1) >> 5)] >> ((drop - 1) & 31)) & 1
        for i in range((drop - 1) >> 5):
            more = more or X[x + i] != 0
        more = more or X[x + ((drop - 1) >> 5)] & ((1 << ((drop - 1) & 31)) - 1) != 0
    elif rest > 0:
        half, more = (1 if 2 * rest >= count else 0), 2 * rest != count and rest > 0
    if half == 1 and (more or part & 1 == 1):
        part += 1
    # `part` has 53 bits at most, or is 2**53: the power is added, and a carry goes into it by itself
    bits = part if drop == 0 else part + (drop << 52)
    if bits >= 0x7FF0000000000000:
        bits = 0x7FF0000000000000
    X[x] = bits
    found = XF[x]
    return -found if negative else found


def average(total, count):
    """A whole number divided by another, positive one, rounded once."""
    size = -total if total < 0 else total
    if size <= 9007199254740992:
        return float(total) / float(count)
    whole, rest = size // count, size % count
    power, some = 0, False
    while whole < 0x40000000000000:  # 55 bits: two more than a float has
        rest *= 2
        whole = 2 * whole + (1 if rest >= count else 0)
        rest = rest - count if rest >= count else rest
        power += 1
    while whole >= 0x80000000000000:
        some = some or whole & 1 == 1
        whole >>= 1
        power -= 1
    if rest > 0 or some:
        whole |= 1  # what is below decides only which way a half goes
    found = float(whole)
    while power > 0:  # a power of a float may be rounded, these are exact
        found, power = found * 0.5, power - 1
    while power < 0:
        found, power = found * 2.0, power + 1
    return -found if total < 0 else found
