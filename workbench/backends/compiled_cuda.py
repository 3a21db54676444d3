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

AHEAD = 8
"""About how many events a thread asks for before it waits for the first. One at a time, 100 000 threads would have less
under way than the memory can bring while it takes to answer."""

MOST_AHEAD = 24
"""The most: they are kept in registers."""


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


def kernel_source(system: System, phases: Sequence[Given], *, places: bool = False) -> str:
    """Source of `kernel(first, last, arrays..., bad)`, which makes these steps of every trace.

    The arrays are those of the loop with one more axis, the traces; `bad` says in which of them a hazard occurred.
    """
    arrays = parameters(system, phases[0], places=places)[2:]
    columns = ", ".join(f"{name}[:, trace]" for name in arrays)
    return (
        f"def kernel(first, last, {', '.join(arrays)}, bad):\n"
        "    trace = cuda.grid(1)\n"
        "    if trace < bad.shape[0]:\n"
        f"        bad[trace] = bad[trace] | run(first, last, {columns})\n"
    )


def rounds(phases: Sequence[Given], columns: int) -> int:
    """How often to write these phases out, so that enough of so many columns is read ahead; 0: it would be too much."""
    events = len(phases) * columns
    return 0 if events > MOST_AHEAD else max(1, AHEAD // max(1, events))


def kernel(
    system: System, phases: Sequence[Given], *, places: bool = False, watch: bool = True, ahead: bool = False
) -> Any:
    """The kernel, compiled when it is first launched; the options are those of `loop_source`."""
    source = loop_source(system, phases, places=places, watch=watch, ahead=ahead)
    return _kernel(source, kernel_source(system, phases, places=places))


def offset_kernel(source: str) -> Any:
    """`kernel(counts, offsets, values, bad)`: what `compiled_parallel.offset_source` says, for a column per thread."""
    return _kernel(
        source,
        "def kernel(counts, offsets, values, bad):\n"
        "    block = cuda.grid(1)\n"
        "    if block < bad.shape[0]:\n"
        "        bad[block] = bad[block] | run(0, counts[block], offsets[block], values[:, block])\n",
    )


def _kernel(source: str, launched: str) -> Any:
    run = cuda.jit(device=True)(executable(source, SCOPE))
    return cuda.jit(executable(launched, {"cuda": cuda, "run": run}, "kernel"))


def launch(function: Any, threads: int, *arguments: Any) -> None:
    """Run a kernel in so many threads."""
    function[(threads + THREADS - 1) // THREADS, THREADS](*arguments)


def sent(array: Any) -> Any:
    """An array on the device."""
    return cuda.to_device(np.ascontiguousarray(array))


def room(rows: int, columns: int, kind: Any) -> Any:
    """An array on the device, to be filled."""
    return cuda.device_array((rows, columns), kind)


@cuda.jit
def _spread(values, array):
    column = cuda.grid(1)
    if column < array.shape[1]:
        for row in range(array.shape[0]):
            array[row, column] = values[row]


class Group:
    """Some traces on the device, in a stream of their own, so that copies go on while others compute.

    Parameters
    ----------
    inputs: arrays with a row per step and a column per trace.
    state: the initial arrays of one trace, and whether what is in them matters.
    outputs: rows and type of each array for outputs.
    results: how many outputs there are.
    there: arrays on the device to be used for outputs; None where new ones are to be made.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        state: Sequence[tuple[Any, bool]],
        outputs: Sequence[tuple[int, Any]],
        results: int,
        there: Sequence[Any] | None = None,
    ) -> None:
        self.traces = inputs[0].shape[1] if inputs else 0
        self._stream = cuda.stream()
        self._inputs = [self._sent(array) for array in inputs]
        self._state = [self._initial(array, needed) for array, needed in state]
        if there is None:
            there = [cuda.device_array((rows, self.traces), kind, stream=self._stream) for rows, kind in outputs]
        self.outputs = list(there)
        self._counts = self._sent(np.zeros((results, self.traces), np.int64))
        self._bad = self._sent(np.zeros(self.traces, np.bool_))

    def _initial(self, array: Any, needed: bool) -> Any:
        """An array of the state for every trace; what is in it does not matter where it is not `needed`."""
        made = cuda.device_array((array.size, self.traces), array.dtype, stream=self._stream)
        if needed and array.size and self.traces:
            blocks = (self.traces + THREADS - 1) // THREADS
            _spread[blocks, THREADS, self._stream](self._sent(np.asarray(array)), made)
        return made

    def _sent(self, array: Any) -> Any:
        if is_there(array):
            return array
        return cuda.to_device(np.ascontiguousarray(array), stream=self._stream)

    def launch(self, function: Any, first: int, last: int, inputs: int) -> None:
        """Make these steps; the kernel has so many of the inputs (those that say what is present may be left out)."""
        if first < last and self.traces:
            whole, real, *memories = self._state
            blocks = (self.traces + THREADS - 1) // THREADS
            arrays = (whole, real, self._counts, *memories, *self._inputs[:inputs], *self.outputs)
            function[blocks, THREADS, self._stream](first, last, *arrays, self._bad)

    def fetched(self) -> tuple[list[Any], Any, Any]:
        """The outputs, how many events they have, and in which traces a hazard occurred; waits for the device."""
        arrays = [*self.outputs, self._counts, self._bad]
        *outputs, counts, bad = [array.copy_to_host(stream=self._stream) for array in arrays]
        self._stream.synchronize()
        return outputs, counts, bad

    def kept(self) -> tuple[list[Any], Any, Any]:
        """As `fetched`, but the outputs stay on the device."""
        counts = self._counts.copy_to_host(stream=self._stream)
        bad = self._bad.copy_to_host(stream=self._stream)
        self._stream.synchronize()
        return self.outputs, counts, bad
