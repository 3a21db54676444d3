"""The engine `compiled`."""

from __future__ import annotations

from workbench.extensions import later
from workbench.tesla.engines.table import RuleEngineRow

ROW = RuleEngineRow(
    "compiled",
    "machine code over columns, with indexes that rules share",
    later("workbench.executors.compiled.rules.threads", "compiled_rules"),
    rank=20,
    threads=True,
)
