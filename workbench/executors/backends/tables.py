"""The engine `tables` of rules."""

from workbench.executors.table import KEY, NUMBA, RULE_SET, STATE, BackendRow
from workbench.extensions import later

ROW = BackendRow(
    "tables",
    "experimental: rules as tables, which one kernel of machine code interprets; facts in databases not yet",
    kinds=(RULE_SET,),
    engine=later("workbench.executors.compiled.rule_tables.engine", "TableRules"),
    options=(KEY, STATE),
    needs=NUMBA,
    rank=7,
)
