"""Several engines in turn."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow

ROW = EngineRow(
    "auto",
    "one after the other, as below; the default",
    "everything",
    decider=later("workbench.verify.decide.deciders", "AutoDecider"),
    asks=True,
    rank=0,
)
