"""The engine `tables` of rules."""

from workbench.executors.table import KEY, NUMBA, RULE_SET, STATE, THREADS, BackendOption, BackendRow
from workbench.extensions import later

ROW = BackendRow(
    "tables",
    "experimental: rules as tables, which one kernel of machine code interprets",
    kinds=(RULE_SET,),
    engine=later("workbench.executors.compiled.rule_tables.threads", "table_rules"),
    options=(
        BackendOption("--threads", "number of threads: events by key or by time (default: 1)", THREADS),
        KEY,
        STATE,
    ),
    needs=NUMBA,
    rank=7,
)
