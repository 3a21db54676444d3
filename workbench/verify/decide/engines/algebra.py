"""Our own proofs by algebra."""

from workbench.extensions import later
from workbench.verify.decide.table import EngineRow, Turn

ROW = EngineRow(
    "algebra",
    "equations between the numbers in a state, as polynomials; always there",
    "proves invariants and equivalences, whatever N is; refutes nothing",
    decider=later("workbench.verify.decide.algebra.decider", "AlgebraDecider"),
    complete=False,
    turn=Turn(0.25, 10.0),
    rank=3,
)
