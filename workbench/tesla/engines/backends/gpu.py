"""The engine `gpu`."""

from __future__ import annotations

import ctypes
import os

from workbench.extensions import later
from workbench.tesla.engines.table import RuleEngineRow


def _missing() -> str:
    """What there is not; the driver is looked for first, for the library takes a while to load."""
    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return "no NVIDIA driver answers"
    found: str = later("workbench.executors.compiled.rules_gpu.engine", "missing_device")()
    return found


ROW = RuleEngineRow(
    "gpu",
    "kernels over columns on NVIDIA GPUs (sections 5.3 to 5.5), and `compiled` for the rules that these do not take",
    later("workbench.executors.compiled.rules_gpu.engine", "gpu_rules"),
    rank=30,
    missing=_missing,
)
