"""The executable nuXmv."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow

ROW = EngineRow(
    "nuxmv",
    "the executable nuXmv, found in `WORKBENCH_NUXMV`, beside Python, or on the PATH",
    "everything",
    later("workbench.smv.engines.executable", "ExecutableEngine", "nuxmv"),
    shortest=("invar",),
    rank=6,
)
