"""NuSMV in worker processes."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow

ROW = EngineRow(
    "pynusmv",
    "NuSMV 2.5.4 (BDDs) inside a worker process, milliseconds a check",
    "everything",
    later("workbench.smv.engines.embedded", "PynusmvEngine"),
    shortest=("invar", "AG"),
    rank=4,
)
