"""The aggregate `AVG`."""

from functools import partial

from workbench.core.domain import FLOAT, Domain
from workbench.tesla.aggregate import AggregateRow, StartsRunning, of_means
from workbench.tesla.exact_sums import FloatSums, WholeSums, mean, mean_over


def _running(domain: Domain | None) -> StartsRunning:
    return partial(FloatSums if domain == FLOAT else WholeSums, mean)


ROW = AggregateRow("AVG", "their exact mean, rounded once", of_means, mean_over, _running, rank=2)
