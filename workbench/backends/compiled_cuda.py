"""Generated loops as kernels for NVIDIA GPUs: one trace a thread. Imports numba's CUDA target.

Rule: arrays have a row per step and a column per trace, so that the threads of a warp, which make the same step of
neighbouring traces, read and write neighbouring words.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import config, cuda

from workbench.backends import compiled_kernels
from workbench.backends.compiled_loop import Given, executable, loop_source, parameters
from workbench.ir.system import System

THREADS = 128
"""Threads of a block."""


def _min(a, b):
    return b if b < a else a


def _max(a, b):
    return b if b > a else a


SCOPE = {name: cuda.jit(device=True)(function) for name, function in compiled_kernels.DEVICE.items()}
SCOPE |= {"min": cuda.jit(device=True)(_min), "max": cuda.jit(device=True)(_max)}
"""What generated code calls, on the device. (For Python's own `min` and `max` numba 0.68 has no code there.)"""


def simulated() -> bool:
    """Whether numba's simulator takes the place of a GPU (NUMBA_ENABLE_CUDASIM=1)."""
    return bool(config.ENABLE_CUDASIM)


def found() -> str:
    """The name of the GPU, or an empty string."""
    if simulated():
        return "numba's CUDA simulator"
    if not cuda.is_available():
        return ""
    name = cuda.get_current_device().name
    return str(name.decode() if isinstance(name, bytes) else name)


def is_there(array: Any) -> bool:
    """Whether an array is on the device already: numba's, or that of CuPy, for one."""
    return hasattr(array, "__cuda_array_interface__") or hasattr(array, "copy_to_host")


def free_bytes() -> int:
    """How much memory of the GPU is free."""
    return 1 << 30 if simulated() else int(cuda.current_context().get_memory_info().free)


def kernel_source(system: System, phases: Sequence[Given]) -> str:
    """Source of `kernel(first, last, arrays..., bad)`, which makes these steps of every trace.

    The arrays are those of the loop with one more axis, the traces; `bad` says in which of them a hazard occurred.
    """
    arrays = parameters(system, phases[0], places=False)[2:]
    columns = ", ".join(f"{name}[:, trace]" for name in arrays)
    return (
        f"def kernel(first, last, {', '.join(arrays)}, bad):\n"
        "    trace = cuda.grid(1)\n"
        "    if trace < bad.shape[0]:\n"
        f"        bad[trace] = bad[trace] | run(first, last, {columns})\n"
    )


def kernel(system: System, phases: Sequence[Given]) -> Any:
    """The kernel, compiled when it is first launched."""
    run = cuda.jit(device=True)(executable(loop_source(system, phases), SCOPE))
    return cuda.jit(executable(kernel_source(system, phases), {"cuda": cuda, "run": run}, "kernel"))


class Group:
    """Some traces on the device, in a stream of their own, so that copies go on while others compute.

    Parameters
    ----------
    inputs: arrays with a row per step and a column per trace.
    state: the initial arrays of one trace, and whether what is in them matters.
    outputs: rows and type of each array for outputs.
    results: how many outputs there are.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        state: Sequence[tuple[Any, bool]],
        outputs: Sequence[tuple[int, Any]],
        results: int,
    ) -> None:
        self.traces = inputs[0].shape[1] if inputs else 0
        self._stream = cuda.stream()
        self._inputs = [self._sent(array) for array in inputs]
        self._state = [self._initial(array, needed) for array, needed in state]
        self._outputs = [cuda.device_array((rows, self.traces), kind, stream=self._stream) for rows, kind in outputs]
        self._counts = self._sent(np.zeros((results, self.traces), np.int64))
        self._bad = self._sent(np.zeros(self.traces, np.bool_))

    def _initial(self, array: Any, needed: bool) -> Any:
        """An array of the state for every trace; what is in it does not matter where it is not `needed`."""
        if not needed:
            return cuda.device_array((array.size, self.traces), array.dtype, stream=self._stream)
        return self._sent(np.repeat(np.asarray(array)[:, None], self.traces, axis=1))

    def _sent(self, array: Any) -> Any:
        if is_there(array):
            return array
        return cuda.to_device(np.ascontiguousarray(array), stream=self._stream)

    def launch(self, function: Any, first: int, last: int, inputs: int) -> None:
        """Make these steps; the kernel has so many of the inputs (those that say what is present may be left out)."""
        if first < last and self.traces:
            whole, real, *memories = self._state
            blocks = (self.traces + THREADS - 1) // THREADS
            arrays = (whole, real, self._counts, *memories, *self._inputs[:inputs], *self._outputs)
            function[blocks, THREADS, self._stream](first, last, *arrays, self._bad)

    def fetched(self) -> tuple[list[Any], Any, Any]:
        """The outputs, how many events they have, and in which traces a hazard occurred; waits for the device."""
        arrays = [*self._outputs, self._counts, self._bad]
        *outputs, counts, bad = [array.copy_to_host(stream=self._stream) for array in arrays]
        self._stream.synchronize()
        return outputs, counts, bad

    def kept(self) -> tuple[list[Any], Any, Any]:
        """As `fetched`, but the outputs stay on the device."""
        counts = self._counts.copy_to_host(stream=self._stream)
        bad = self._bad.copy_to_host(stream=self._stream)
        self._stream.synchronize()
        return self._outputs, counts, bad
