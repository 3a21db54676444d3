"""All engines against each other."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow

ROW = EngineRow(
    "all",
    "every one that is installed, each checking the others",
    "everything",
    decider=later("workbench.verify.decide.deciders", "AllDecider"),
    asks=True,
    rank=1,
)
