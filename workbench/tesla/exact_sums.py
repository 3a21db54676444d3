"""Exact sums of numbers, rounded once, and prefix sums for columns.

The rule of this module: whole numbers are exact; a sum or an average of floats is the exact one, rounded once. The sum
over a slice is the difference of two prefix sums.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.domain import FLOAT, Domain

MORE_BITS = 64
"""Extra bits added to the resolution of sums when it must grow, so that this is rare."""


def nearest(number: int, parts: int = 1) -> float:
    """Return the float nearest to a fraction; infinity if it is out of range."""
    try:
        return number / parts
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def mean(total: int, count: int, parts: int = 1) -> float | None:
    """Return the average of `count` values, given their sum times `parts`; None if there are no values."""
    return nearest(total, count * parts) if count else None


def sum_of_floats(values: Sequence[float]) -> float:
    """Return the exact sum, rounded once."""
    if all(map(math.isfinite, values)):
        try:
            return math.fsum(values)
        except OverflowError:  # a partial sum overflows
            return nearest(*_exactly_added(values))
    return _of_endless(values)


def mean_over(domain: Domain | None) -> Callable[[Sequence[Any]], float | None]:
    """Return a function that computes the exact average of numbers of a type, rounded once; None for no values."""
    return _mean_of_floats if domain == FLOAT else lambda values: mean(sum(values), len(values))


def _mean_of_floats(values: Sequence[float]) -> float | None:
    if all(map(math.isfinite, values)):
        total, parts = _exactly_added(values)
        return mean(total, len(values), parts)
    return _of_endless(values)


def _exactly_added(values: Sequence[float]) -> tuple[int, int]:
    """Return the sum of finite floats as a fraction, whose denominator is a power of two."""
    ratios = [value.as_integer_ratio() for value in values]
    parts = max((each for _, each in ratios), default=1)
    return sum(whole * (parts // each) for whole, each in ratios), parts


def _of_endless(values: Sequence[float]) -> float:
    """Return the sum, and so the average, of values some of which are infinite or NaN."""
    return sum(value for value in values if not math.isfinite(value))


# --- over slices ----------------------------------------------------------------------------------------


class WholeSums:
    """Prefix sums of whole numbers, with the number of values.

    Parameters
    ----------
    finish: computes the aggregate from a sum and the number of its values.

    Attributes
    ----------
    before: for each value, the sum and the number of the non-null values before it.
    """

    __slots__ = ("before", "finish", "total")

    def __init__(self, finish: Callable[..., Any]) -> None:
        self.finish = finish
        self.before: list[tuple[int, ...]] = []
        self.total: tuple[int, ...] = 0, 0

    def add(self, value: Any) -> None:
        self.before.append(self.total)
        if value is not None:
            total, count = self.total
            self.total = total + value, count + 1

    def forget(self, count: int) -> None:
        del self.before[:count]

    def over(self, low: int, high: int) -> Any:
        if low >= high:
            return self.finish(0, 0)
        total, count = self.total if high == len(self.before) else self.before[high]
        return self.finish(total - self.before[low][0], count - self.before[low][1])


class EventCounts(WholeSums):
    """The number of values, of any type."""

    __slots__ = ()

    def __init__(self) -> None:
        super().__init__(lambda _, count: count)

    def add(self, value: Any) -> None:
        self.before.append(self.total)
        if value is not None:
            self.total = 0, self.total[1] + 1


class FloatSums(WholeSums):
    """Prefix sums of floats, as whole multiples of a power of two that is small enough for all of them.

    Parameters
    ----------
    finish: computes the aggregate from a sum, the number of its values, and the number of parts in one.

    Attributes
    ----------
    before: also the number of positive and of negative infinities; NaN counts as both.
    shift, parts: one has 2**shift parts.
    """

    __slots__ = ("parts", "shift")

    def __init__(self, finish: Callable[..., Any]) -> None:
        super().__init__(finish)
        self.total = 0, 0, 0, 0
        self.shift, self.parts = 0, 1

    def add(self, value: Any) -> None:
        self.before.append(self.total)
        if value is None:
            return
        total, count, above, below = self.total
        if math.isfinite(value):
            whole, parts = value.as_integer_ratio()
            more = self.shift - parts.bit_length() + 1
            if more < 0:
                self._refine(-more)
                total, more = self.total[0], self.shift - parts.bit_length() + 1
            self.total = total + (whole << more), count + 1, above, below
        else:
            self.total = total, count + 1, above + (value != -math.inf), below + (value != math.inf)

    def _refine(self, more: int) -> None:
        more += MORE_BITS
        self.shift += more
        self.parts = 1 << self.shift
        self.before = [(total << more, *others) for total, *others in self.before]
        self.total = self.total[0] << more, *self.total[1:]

    def over(self, low: int, high: int) -> Any:
        if low >= high:
            return self.finish(0, 0, 1)
        after = self.total if high == len(self.before) else self.before[high]
        total, count, above, below = map(int.__sub__, after, self.before[low])
        if above or below:
            return math.nan if above and below else math.inf if above else -math.inf
        return self.finish(total, count, self.parts)
