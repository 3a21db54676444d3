"""The aggregate `MEDIAN`.

Source: `percentile_cont(0.5)` of SQL:2003: for an even number of values, the mean of the two in the middle.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any

from workbench.core.domain import Domain
from workbench.tesla.aggregate import AggregateRow, of_means
from workbench.tesla.exact_sums import mean_over


def _compute(domain: Domain | None) -> Callable[[Sequence[Any]], Any]:
    mean = mean_over(domain)

    def median(values: Sequence[Any]) -> Any:
        if any(value != value for value in values):
            return math.nan
        return mean(sorted(values)[(len(values) - 1) // 2 : len(values) // 2 + 1])

    return median


ROW = AggregateRow("MEDIAN", "the middle one, or the exact mean of the two in the middle", of_means, _compute, rank=5)
