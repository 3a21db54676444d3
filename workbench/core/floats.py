"""Functions of floats by IEEE 754, with the same bits on every backend.

The rule of this module: they are total: an undefined result is NaN, and one beyond all floats is infinite. All but
the last three are compiled as they stand, so none of these calls another one; the last three call the C library, as
their compiled versions must.
"""

from __future__ import annotations

import math

WHOLE = 2.0**52
"""The bound from which every float is a whole number."""


def as_float(number: float) -> float:
    """Return the nearest float; numbers beyond all floats become infinite."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def divide(a: float, b: float) -> float:
    """Return `a / b`; division by zero is infinite with the sign of both, and 0 / 0 is NaN."""
    return a / b if b else a * math.copysign(math.inf, b)


def sqrt(x: float) -> float:
    """Return the square root; NaN for negative numbers."""
    return math.sqrt(x) if x >= 0 else math.nan


def round_even(x: float) -> float:
    """Return the nearest whole number as a float, the even one of two; NaN and infinities stay."""
    return math.copysign((abs(x) + WHOLE) - WHOLE, x) if abs(x) < WHOLE else x


def round_down(x: float) -> float:
    """Return the greatest whole number that is at most x, as a float."""
    near = math.copysign((abs(x) + WHOLE) - WHOLE, x) if abs(x) < WHOLE else x
    return near - 1.0 if near > x else near


def round_up(x: float) -> float:
    """Return the least whole number that is at least x, as a float, with the sign of x."""
    near = math.copysign((abs(x) + WHOLE) - WHOLE, x) if abs(x) < WHOLE else x
    return math.copysign(near + 1.0, x) if near < x else near


def exp(x: float) -> float:
    """Return the exponential function of x; infinite beyond the largest float."""
    try:
        return math.exp(x)
    except OverflowError:
        return math.inf


def log(x: float) -> float:
    """Return the natural logarithm; minus infinity for 0, NaN for negative numbers."""
    return math.log(x) if x > 0 else -math.inf if x == 0 else math.nan


def power(a: float, b: float) -> float:
    """Return `a` to the power of `b`, as C's `pow` (C99, annex F)."""
    try:
        return math.pow(a, b)
    except OverflowError:
        return -math.inf if a < 0 and b % 2 == 1 else math.inf
    except ValueError:  # zero to a negative power, or a negative number to the power of a fraction
        return divide(1.0, math.pow(a, -b)) if a == 0 else math.nan
