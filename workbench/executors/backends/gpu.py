"""The compiled executor on an NVIDIA GPU, or on the CPU where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.core.form import Form
from workbench.executors.table import KEY, NUMBA, PIPELINE, RULE_SET, BackendRow, Start
from workbench.extensions import later
from workbench.extras import NVIDIA, install_extra

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.keyed import Partition
    from workbench.executors.session import Session


def _make(pipeline: Program, start: Start) -> Backend:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.compiled.gpu.available import gpu_name

    if gpu_name():
        from workbench.executors.compiled.gpu.parallel import ParallelGpu

        return ParallelGpu(pipeline)
    executor = Compiled(pipeline, maps=False)
    start.report("running on the CPU, since no NVIDIA GPU was found")
    return executor


def _session(running: Compiled, start: Start) -> Session:
    from workbench.executors.compiled.execute.session import ColumnSession

    return ColumnSession(running, idle=start.options.steps)  # its threads are those of the GPU


def _open_keyed(pipeline: Program, start: Start, partition: Partition) -> Session:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.compiled.gpu.available import gpu_name
    from workbench.executors.compiled.keyed.session import KeyedColumnSession
    from workbench.executors.compiled.keyed.tables import make_compiled_keys

    # rows of many keys are mixed, each a step of another run: a GPU would wait for memory, not compute
    start.report("keys run on the CPU" if gpu_name() else "running on the CPU, since no NVIDIA GPU was found")
    return KeyedColumnSession(make_compiled_keys(Compiled(pipeline, maps=False)), partition)


def _missing() -> str:
    """Name the missing requirement; the driver is checked first, since the library is slow to load."""
    import ctypes
    import os

    try:
        ctypes.CDLL("nvcuda.dll" if os.name == "nt" else "libcuda.so.1")
    except OSError:
        return "no NVIDIA driver answers"
    missing_device: str = later("workbench.executors.compiled.gpu.available", "missing_device")()
    return missing_device


ROW = BackendRow(
    "gpu",
    "compiled code on an NVIDIA GPU, a thread for each trace or block, or on the CPU where there is no GPU; "
    "experimental: rules with a thread for each trigger, where triggers do not depend on each other",
    _make,
    _session,
    _open_keyed,
    kinds=(PIPELINE, RULE_SET),
    engine=later("workbench.executors.compiled.rules.cuda_device", "gpu_rules"),
    missing=_missing,
    form=Form.ARRAYS,
    options=(KEY,),
    needs=NUMBA,
    uses={
        "numba_cuda": install_extra("gpu"),
        "cupy": install_extra("gpu"),
        "nvidia-smi": NVIDIA,
    },
    compared="the kernel, where there is an NVIDIA GPU; without steps",
    rank=6,
)
