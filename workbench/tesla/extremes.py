"""Minimum and maximum values: NaN if one of the values is NaN, the first of equal ones.

The rule of this module: null and NaN are represented by sentinels below or above all values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from workbench.core.domain import FLOAT, Domain
from workbench.tesla.aggregate import AggregateRow, of_ordered
from workbench.tesla.blocked_values import BlockedValues


class _Beyond:
    """A sentinel that is greater than every value, or less than every value."""

    def __init__(self, greater: bool) -> None:
        self.greater = greater

    def __lt__(self, _: object) -> bool:
        return not self.greater

    def __gt__(self, _: object) -> bool:
        return self.greater


_HIGH, _LOW = _Beyond(True), _Beyond(False)


class _Extremes(BlockedValues):
    """The minimum or maximum of values: null is never chosen, NaN always."""

    def __init__(self, choose: Callable[..., Any]) -> None:
        self.null, self.nan = (_HIGH, _LOW) if choose is min else (_LOW, _HIGH)
        super().__init__(choose, self.null, self._value)

    def add(self, value: Any) -> None:
        self.append(self.null if value is None else value if value == value else self.nan)

    def _value(self, extreme: Any) -> Any:
        return None if extreme is self.null else math.nan if extreme is self.nan else extreme


def extreme_row(name: str, doc: str, choose: Callable[..., Any], rank: int) -> AggregateRow:
    """Make the row of an aggregate that chooses one of the values by `choose` (`min` or `max`)."""

    def compute(domain: Domain | None) -> Callable[[Sequence[Any]], Any]:
        return _of_floats if domain == FLOAT else partial(choose, default=None)

    def _of_floats(values: Sequence[float]) -> float | None:
        extreme: float | None = math.nan if any(map(math.isnan, values)) else choose(values, default=None)
        return extreme

    running = partial(_Extremes, choose)
    return AggregateRow(name, doc, of_ordered, compute, lambda _: running, selects=True, rank=rank)
