"""Exact comparisons of a 64-bit integer with a float: compiled with their callers.

The rule of this module: it is Python on numbers, which each compiler takes unchanged.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

FAR = 2.0**63
"""The least float beyond 64-bit integers."""


def int_same(number, x):
    """Whether an integer equals a float; False for NaN."""
    if -FAR <= x < FAR:
        return (int(x) == number) & (float(int(x)) == x)
    return False


def int_below(number, x):
    """Whether an integer is less than a float."""
    if -FAR <= x < FAR:
        whole = int(x)  # towards 0
        return (number < whole) | ((number == whole) & (float(whole) < x))
    return x >= FAR


def int_above(number, x):
    """Whether an integer is greater than a float."""
    if -FAR <= x < FAR:
        whole = int(x)
        return (number > whole) | ((number == whole) & (float(whole) > x))
    return x < -FAR
