"""nuXmv's IC3."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow

ROW = EngineRow(
    "ic3",
    "nuXmv's IC3",
    "invariants",
    later("workbench.smv.engines.sat", "SatEngine", "ic3"),
    complete=False,
    rank=8,
)
