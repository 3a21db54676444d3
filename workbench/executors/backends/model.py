"""The model of a pipeline: its transition system, as model checkers read it."""

from workbench.core.form import Form
from workbench.executors.table import BackendRow

ROW = BackendRow(
    "model",
    "the transition system that checks use",
    form=Form.MODEL,
    compared="the transition system evaluated, and its text simulated by NuSMV; `int` is 0..N-1 on both sides (`-N`)",
    rank=8,
)
