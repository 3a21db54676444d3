"""The values of aggregates.

The rule of this module: whole numbers are exact; a sum or an average of floats is the exact one, rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

from workbench.core.domain import FLOAT, Domain

SUMMED: Mapping[str, Callable[[int, int], Any]] = {
    "COUNT": lambda _, count: count,
    "SUM": lambda total, _: total,
    "AVG": lambda total, count: _rounded_fraction(Fraction(total, count)) if count else None,
}
"""Aggregates of whole numbers by their sum and how many they are."""


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
        return _rounded(lambda: math.fsum(values), lambda: sum(map(Fraction, values)))
    return sum(value for value in values if not math.isfinite(value))


def _mean(values: Sequence[float]) -> float | None:
    if not values:
        return None
    if all(map(math.isfinite, values)):
        return _rounded_fraction(Fraction(sum(map(Fraction, values))) / len(values))
    return _sum(values)


def _whole_mean(values: Sequence[int]) -> float | None:
    return _rounded_fraction(Fraction(sum(values), len(values))) if values else None


def _rounded(quick: Callable[[], float], exact: Callable[[], Fraction | int]) -> float:
    """The quick way gives up where partial sums are too large."""
    try:
        return quick()
    except OverflowError:
        return _rounded_fraction(Fraction(exact()))


def _rounded_fraction(exact: Fraction) -> float:
    try:
        return exact.numerator / exact.denominator
    except OverflowError:
        return math.inf if exact > 0 else -math.inf
