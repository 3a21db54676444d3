"""The aggregate `SUM`."""

from functools import partial

from workbench.core.domain import FLOAT
from workbench.tesla.aggregate import AggregateRow, of_numbers
from workbench.tesla.exact_sums import FloatSums, WholeSums, nearest, sum_of_floats

_OF_WHOLE = partial(WholeSums, lambda total, _: total)
_OF_FLOATS = partial(FloatSums, lambda total, _, parts: nearest(total, parts))
ROW = AggregateRow(
    "SUM", "their exact sum; of floats, the nearest float to it", of_numbers,
    lambda domain: sum_of_floats if domain == FLOAT else sum,
    lambda domain: _OF_FLOATS if domain == FLOAT else _OF_WHOLE, nullable=False, rank=1,
)  # fmt: skip
