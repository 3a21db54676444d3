"""The lab: suites of experiments, measured, swept, and reported with links from every number to its measurements.

A suite is one file in `experiments/`; `docs/reference/lab.md` is its guide.
"""

from workbench.lab.claim import NoData, fails, ok, warns
from workbench.lab.experiment import Limits, Output
from workbench.lab.region import Region
from workbench.lab.suite import Suite
from workbench.lab.table import Beside, deviation, maximum, mean, median, minimum, number, only, spread, total

__all__ = [
    "Beside",
    "Limits",
    "NoData",
    "Output",
    "Region",
    "Suite",
    "deviation",
    "fails",
    "maximum",
    "mean",
    "median",
    "minimum",
    "number",
    "ok",
    "only",
    "spread",
    "total",
    "warns",
]
