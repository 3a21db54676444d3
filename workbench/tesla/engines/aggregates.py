"""The values of aggregates.

The rule of this module: whole numbers are exact; a sum or an average of floats is the exact one, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

from workbench.core.domain import FLOAT, Domain


def aggregate(function: str, domain: Domain | None) -> Callable[[Sequence[Any]], Any]:
    """What computes it over values of a type, of which none is null."""
    floats = domain == FLOAT
    if function == "COUNT":
        return len
    if function == "SUM":
        return _sum if floats else sum
    if function == "AVG":
        return _mean if floats else _whole_mean
    return _extreme(min if function == "MIN" else max, floats)


def _extreme(chosen: Callable[[Sequence[Any]], Any], floats: bool) -> Callable[[Sequence[Any]], Any]:
    def of(values: Sequence[Any]) -> Any:
        if floats and any(map(math.isnan, values)):
            return math.nan
        return chosen(values) if values else None

    return of


def _sum(values: Sequence[float]) -> float:
    if all(map(math.isfinite, values)):
        try:
            return math.fsum(values)
        except OverflowError:  # partial sums are too large
            return nearest(*sum(map(Fraction, values)).as_integer_ratio())
    return sum(value for value in values if not math.isfinite(value))


def _mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    if all(map(math.isfinite, values)):
        return nearest(*(Fraction(sum(map(Fraction, values))) / len(values)).as_integer_ratio())
    return _sum(values)


def _whole_mean(values: Sequence[int]) -> float | None:
    return nearest(sum(values), len(values)) if values else None


def nearest(number: int, parts: int) -> float:
    """The float that is nearest to a fraction; what lies beyond all of them is infinite."""
    try:
        return number / parts
    except OverflowError:
        return math.inf if number > 0 else -math.inf
