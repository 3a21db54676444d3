"""The aggregate `SUM`."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from workbench.core.domain import FLOAT, Domain
from workbench.tesla.aggregate import AggregateRow, StartsRunning, of_numbers
from workbench.tesla.exact_sums import FloatSums, WholeSums, nearest, sum_of_floats


def _compute(domain: Domain | None) -> Callable[[Sequence[Any]], Any]:
    return sum_of_floats if domain == FLOAT else sum


def _running(domain: Domain | None) -> StartsRunning:
    if domain == FLOAT:
        return partial(FloatSums, lambda total, _, parts: nearest(total, parts))
    return partial(WholeSums, lambda total, _: total)


ROW = AggregateRow(
    "SUM", "their exact sum, that of floats rounded once",
    of_numbers, _compute, _running, nullable=False, rank=1,
)  # fmt: skip
