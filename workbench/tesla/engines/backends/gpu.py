"""The engine `gpu`."""

from __future__ import annotations

from workbench.extensions import later
from workbench.tesla.engines.table import RuleEngineRow

ROW = RuleEngineRow(
    "gpu",
    "kernels over columns on NVIDIA GPUs (sections 5.3 to 5.5), and `compiled` for the rules that these do not take",
    later("workbench.executors.compiled.rules_gpu.engine", "gpu_rules"),
    rank=30,
)
