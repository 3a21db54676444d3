"""The engine `aip` of rules."""

from functools import partial
from operator import attrgetter

from workbench.executors.table import KEY, RULE_PROCESSES, RULE_SET, STATE, BackendRow
from workbench.extensions import later

ROW = BackendRow(
    "aip",
    "automata that advance with every event (algorithm 1 of Cugola and Margara)",
    kinds=(RULE_SET,),
    engine=partial(
        later("workbench.tesla.engines.publisher", "publishing_engine", "aip"),
        matcher=later("workbench.tesla.engines.aip.matcher", "AIPMatcher"),
    ),
    undivided=attrgetter("undivided"),
    options=(RULE_PROCESSES, KEY, STATE),
    rank=4,
)
