"""The aggregate `COUNT`."""

from workbench.core.domain import INT
from workbench.tesla.aggregate import AggregateRow
from workbench.tesla.exact_sums import EventCounts

ROW = AggregateRow(
    "COUNT", "the number of events, facts or values",
    lambda _: INT, lambda _: len, lambda _: EventCounts, nullable=False, counts=True, rank=0,
)  # fmt: skip
