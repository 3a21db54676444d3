"""The engine `cdp` of rules."""

from functools import partial
from operator import attrgetter

from workbench.executors.table import KEY, PYTHON_SECONDS, RULE_PROCESSES, RULE_SET, STATE, BackendRow, RunSize
from workbench.extensions import later

RULES, PROCESSES = 4, 0.5
"""Typical maximum number of rules that an event concerns, and seconds to start worker processes."""


def _estimate(size: RunSize) -> float:
    return size.rows * min(RULES, size.rules) * PYTHON_SECONDS + (PROCESSES if size.threads > 1 else 0)


ROW = BackendRow(
    "cdp",
    "columns of events, scanned when a trigger comes (algorithm 2 of Cugola and Margara)",
    kinds=(RULE_SET,),
    engine=partial(
        later("workbench.tesla.engines.publisher", "publishing_engine", "cdp"),
        matcher=later("workbench.tesla.engines.cdp.matcher", "CDPMatcher"),
    ),
    estimate=_estimate,
    undivided=attrgetter("undivided"),
    options=(RULE_PROCESSES, KEY, STATE),
    rank=3,
)
