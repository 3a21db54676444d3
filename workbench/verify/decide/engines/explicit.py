"""Our own search through the states."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow, Turn

ROW = EngineRow(
    "explicit",
    "our own search through the states, one by one; always there",
    "invariants, `liveness`, `AG EF`, `response` and other `GF`, `FG`; at most 65536 choices of inputs",
    decider=later("workbench.verify.decide.explicit.decider", "ExplicitDecider"),
    turn=Turn(0.25, 60.0),
    rank=2,
)
