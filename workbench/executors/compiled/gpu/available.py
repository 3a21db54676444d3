"""The detection of a GPU, and of what is missing."""

from __future__ import annotations

from importlib.util import find_spec

from workbench.errors import Refused
from workbench.executors.compiled.code.objects import LIBM
from workbench.executors.compiled.lower.system import terms_of
from workbench.extras import install_extra
from workbench.ir.system import System


def gpu_name() -> str:
    """Return the name of the GPU, or an empty string."""
    if find_spec("numba") is None:
        return ""
    try:
        from workbench.executors.compiled.gpu import cuda
    except ImportError:  # numba without its CUDA target
        return ""

    return cuda.device_name()


def libm_refusal(system: System) -> Refused | None:
    """Return why a GPU does not run this system, or None: its functions round differently from the C library."""
    for term in terms_of(system):
        if term.op is not None and term.op.by_table and term.op.symbol in LIBM:
            what = f"'{term.op}' on a GPU differs in the last bit from all other backends: it is refused"
            return Refused(what, hint="run it on the CPU, with --backend compiled")
    return None


def missing_device() -> str:
    """Return the missing requirement for a GPU; empty where there is one."""
    if find_spec("numba") is None or find_spec("numba_cuda") is None:
        return f"the package numba-cuda is not installed ({install_extra('gpu')})"
    if not gpu_name():
        return "no driver answers, or it has no device"
    from workbench.executors.compiled.gpu import cuda

    return "numba's simulator replaces it, which lacks some instructions" if cuda.SIMULATED else ""
