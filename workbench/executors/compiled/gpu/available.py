"""Whether there is a GPU, and what is missing otherwise."""

from __future__ import annotations

from importlib.util import find_spec


def gpu_name() -> str:
    """The name of the GPU, or an empty string."""
    if find_spec("numba") is None:
        return ""
    try:
        from workbench.executors.compiled.gpu import cuda
    except ImportError:  # numba without its CUDA target
        return ""

    return cuda.found()


def missing_device() -> str:
    """What a GPU needs that there is not; nothing where there is one."""
    if find_spec("numba") is None or find_spec("numba_cuda") is None:
        return "the package numba-cuda is not installed (pip install 'workbench[gpu]')"
    if not gpu_name():
        return "no driver answers, or it has no device"
    from workbench.executors.compiled.gpu import cuda

    return "numba's simulator stands for one, which has not all instructions" if cuda.SIMULATED else ""
