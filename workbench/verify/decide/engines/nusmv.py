"""The executable NuSMV."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow

ROW = EngineRow(
    "nusmv",
    "the executable NuSMV, found in `WORKBENCH_NUSMV`, beside Python, or on the PATH",
    "everything",
    later("workbench.smv.engines.executable", "ExecutableEngine", "nusmv"),
    shortest=("invar",),
    rank=5,
)
