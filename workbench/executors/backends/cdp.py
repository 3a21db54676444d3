"""The engine `cdp` of rules."""

from functools import partial

from workbench.executors.table import KEY, RULE_PROCESSES, RULE_SET, STATE, BackendRow
from workbench.extensions import later

ROW = BackendRow(
    "cdp",
    "columns of events, scanned when a trigger comes (algorithm 2 of Cugola and Margara)",
    kinds=(RULE_SET,),
    engine=partial(
        later("workbench.tesla.engines.publisher", "publishing_engine", "cdp"),
        matcher=later("workbench.tesla.engines.cdp.matcher", "CDPMatcher"),
    ),
    options=(RULE_PROCESSES, KEY, STATE),
    rank=3,
)
