"""The compiled executor on an NVIDIA GPU, or on the CPU where there is none."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from workbench.executors.table import KEYED, NUMBA, BackendRow, Start

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend


def _make(pipeline: Program, start: Start) -> Backend:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.compiled.gpu.batch import gpu_name

    if gpu_name():
        from workbench.executors.compiled.gpu.parallel import ParallelGpu

        return ParallelGpu(pipeline)
    found = Compiled(pipeline, maps=False)
    start.say("runs on the CPU, since no NVIDIA GPU answers")
    return found


def _keyed(pipeline: Program, start: Start) -> Any:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.compiled.gpu.batch import gpu_name
    from workbench.executors.compiled.keyed.tables import compiled_keys

    # rows of many keys come as they come, each a step of another run: a GPU would wait for memory, not compute
    start.say("keys run on the CPU" if gpu_name() else "runs on the CPU, since no NVIDIA GPU answers")
    return compiled_keys(Compiled(pipeline, maps=False))


ROW = BackendRow(
    "gpu",
    "the same code on an NVIDIA GPU, a thread for each trace or block; on the CPU where none answers",
    _make,
    _keyed,
    like="numba",
    options=KEYED,
    needs=NUMBA,
    uses={
        "numba_cuda": "pip install 'workbench[gpu]'",
        "cupy": "pip install 'workbench[gpu]'",
        "nvidia-smi": "no NVIDIA driver answers; the CPU does all that the GPU would",
    },
    compared="the kernel, where there is an NVIDIA GPU; without steps",
    rank=4,
)
