"""NuSMV with a SAT solver."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow, Turn

ROW = EngineRow(
    "bmc",
    "NuSMV with a SAT solver: bounded search, and induction",
    "invariants and LTL, when a short run or a short proof exists",
    later("workbench.smv.engines.sat", "SatEngine", "bmc"),
    complete=False,
    turn=Turn(0.25, 60.0),
    shortest=("invar",),
    rank=7,
)
