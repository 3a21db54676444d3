"""The aggregate `AVG`."""

from functools import partial

from workbench.core.domain import FLOAT
from workbench.tesla.aggregate import AggregateRow, of_means
from workbench.tesla.exact_sums import FloatSums, WholeSums, mean, mean_over

ROW = AggregateRow(
    "AVG", "the nearest float to their exact mean", of_means, mean_over,
    lambda domain: partial(FloatSums if domain == FLOAT else WholeSums, mean), rank=2,
)  # fmt: skip
