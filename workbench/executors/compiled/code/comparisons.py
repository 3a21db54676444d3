"""Exact comparisons of a whole number of 64 bits with a float: compiled with what calls them.

The rule of this module: it is Python on numbers, which each compiler takes as it is.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

FAR = 2.0**63
"""Where floats begin that no word holds."""


def int_same(number, x):
    """Whether a whole number is a float; never a NaN."""
    if -FAR <= x < FAR:
        return (int(x) == number) & (float(int(x)) == x)
    return False


def int_below(number, x):
    """Whether a whole number is less than a float."""
    if -FAR <= x < FAR:
        whole = int(x)  # towards 0
        return (number < whole) | ((number == whole) & (float(whole) < x))
    return x >= FAR


def int_above(number, x):
    """Whether a whole number is greater than a float."""
    if -FAR <= x < FAR:
        whole = int(x)
        return (number > whole) | ((number == whole) & (float(whole) > x))
    return x < -FAR
