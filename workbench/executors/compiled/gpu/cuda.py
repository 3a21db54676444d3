"""Generated loops as kernels for NVIDIA GPUs: one thread per trace. Imports numba's CUDA target.

The rule of this module: arrays have a row per step and a column per trace, so that the threads of a warp, which run the
same step of neighbouring traces, access neighbouring words.
"""

# mypy: allow-untyped-defs

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numba import config, cuda

from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.kernels import DEVICE
from workbench.executors.compiled.code.loop import loop_code
from workbench.executors.compiled.code.passes import round_as_processors
from workbench.executors.compiled.code.placement import ColumnPerTrace
from workbench.executors.compiled.code.printer import executable, print_function
from workbench.executors.compiled.lower.input_tape import Taped
from workbench.executors.compiled.lower.system import Substitution
from workbench.ir.system import System

THREADS = 128
"""Threads per block."""

AHEAD = 8
"""Approximate number of events that a thread requests before it waits for the first. With one at a time, 100 000
threads would have too few requests in flight to use the memory's bandwidth."""

MAX_AHEAD = 24
"""The maximum: events read ahead occupy registers. A loop that reads more per iteration does not read ahead."""


def _min(a, b):
    return b if b < a else a


def _max(a, b):
    return b if b > a else a


def _multiply_rounded(a, b):
    return a * b if SIMULATED else cuda.libdevice.dmul_rn(a, b)


def _float_quotient(a, b):
    """Return `a // b` with the rounding of Python."""
    if SIMULATED:
        return a // b
    remainder = cuda.libdevice.fmod(a, b)
    quotient = (a - remainder) / b
    if remainder != 0.0 and (remainder < 0.0) != (b < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return cuda.libdevice.copysign(0.0, a / b)
    whole = cuda.libdevice.floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


def _float_remainder(a, b):
    """Return `a % b` with the rounding of Python."""
    if SIMULATED:
        return a % b
    remainder = cuda.libdevice.fmod(a, b)
    if remainder == 0.0:
        return cuda.libdevice.copysign(0.0, b)
    return remainder + b if (remainder < 0.0) != (b < 0.0) else remainder


SIMULATED = bool(config.ENABLE_CUDASIM)
"""Whether numba's simulator replaces a GPU (NUMBA_ENABLE_CUDASIM=1)."""

_OWN = {
    "min": _min,
    "max": _max,
    "rounded_product": _multiply_rounded,
    "float_quotient": _float_quotient,
    "float_remainder": _float_remainder,
}
SCOPE = {name: cuda.jit(device=True)(function) for name, function in (DEVICE | _OWN).items()}
"""The functions that generated code may call, on the device. (Numba 0.68 lacks Python's `min` and `max` there.)"""


def device_name() -> str:
    """Return the name of the GPU, or an empty string."""
    if SIMULATED:
        return "numba's CUDA simulator"
    if not cuda.is_available():
        return ""
    name = cuda.get_current_device().name
    return str(name.decode() if isinstance(name, bytes) else name)


def is_there(array: Any) -> bool:
    """Whether an array is on the device already: one of numba, or of CuPy, for example."""
    return hasattr(array, "__cuda_array_interface__") or hasattr(array, "copy_to_host")


def free_bytes() -> int:
    """Return the free memory of the GPU, in bytes."""
    return 1 << 30 if SIMULATED else int(cuda.current_context().get_memory_info().free)


def kernel(system: System, phases: Sequence[Substitution], *, ahead: bool = False, **options: Any) -> Any:
    """Build `kernel(first, last, arrays..., bad)`, which runs these steps of every trace; compiled at its first launch.

    The arrays are those of the loop with a further axis, the traces; `bad` marks those in which a hazard occurred.
    """
    return _compile(loop_code(system, phases, target="gpu", ahead=ahead, placement=ColumnPerTrace(), **options))


def kernels(tape: Taped, phases: Sequence[Substitution]) -> list[tuple[int, Any]]:
    """Return kernels for these steps, each with a number of which its step count must be a multiple.

    The first, if there are two, reads many events ahead; the second can run the rest.
    """
    sized_kernels = [(len(phases), kernel(tape.system, phases, pasts=tape.pasts))]
    reads = count_loads(loop_code(tape.system, phases, target="gpu", pasts=tape.pasts), "xp")
    if 0 < reads <= MAX_AHEAD:
        more = list(phases) * max(1, AHEAD // reads)
        sized_kernels.insert(0, (len(more), kernel(tape.system, more, pasts=tape.pasts, ahead=True)))
    return sized_kernels


def count_loads(function: ir.CodeFunction, kinds: str) -> int:
    """Return how many entries a loop reads per iteration from arrays whose names begin with one of these letters."""
    exprs = (expr for each in ir.within(function.body) for expr in ir.own_expressions(each))
    loads = (each for expr in exprs for each in ir.nodes(expr) if isinstance(each, ir.Load))
    return sum(load.array.name[0] in kinds for load in loads)


def offset_kernel(function: ir.CodeFunction) -> Any:
    """Build `kernel(counts, offsets, values, bad)`, which applies `offset_function` to a column per thread."""
    run = cuda.jit(device=True)(executable(print_function(round_as_processors(function)), SCOPE))

    def kernel(counts, offsets, values, bad):
        block = cuda.grid(1)
        if block < bad.shape[0]:
            bad[block] = bad[block] | run(0, counts[block], offsets[block], values[:, block])

    return cuda.jit(kernel)


def _compile(function: ir.CodeFunction) -> Any:
    return cuda.jit(executable(print_function(function), {**SCOPE, "cuda": cuda}, function.name))


def launch(function: Any, threads: int, *arguments: Any, stream: Any = 0) -> None:
    """Run a kernel in this many threads."""
    function[(threads + THREADS - 1) // THREADS, THREADS, stream](*arguments)


def send_array(array: Any) -> Any:
    """Copy an array to the device."""
    return cuda.to_device(np.ascontiguousarray(array))


def allocate(rows: int, columns: int, kind: Any) -> Any:
    """Allocate an uninitialized array on the device."""
    return cuda.device_array((rows, columns), kind)


@cuda.jit
def _spread(values, array):
    column = cuda.grid(1)
    if column < array.shape[1]:
        for row in range(array.shape[0]):
            array[row, column] = values[row]


class TraceGroup:
    """Some traces on the device, in a stream of their own, so that copies overlap with computation.

    Parameters
    ----------
    inputs: arrays with a row per step and a column per trace.
    state: the initial arrays of one trace, each with whether its contents matter.
    outputs: number of rows and type of each output array.
    results: number of outputs.
    there: device arrays to reuse for outputs; None to allocate new ones.
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
        self._inputs = [self._send(array) for array in inputs]
        self._state = [self._initial(array, needed) for array, needed in state]
        if there is None:
            there = [cuda.device_array((rows, self.traces), kind, stream=self._stream) for rows, kind in outputs]
        self.outputs = list(there)
        self._counts = self._send(np.zeros((results, self.traces), np.int64))
        self._bad = self._send(np.zeros(self.traces, np.bool_))

    def _initial(self, array: Any, needed: bool) -> Any:
        """Allocate an array of the state for every trace; it is initialized only where it is `needed`."""
        states = cuda.device_array((array.size, self.traces), array.dtype, stream=self._stream)
        if needed and array.size and self.traces:
            launch(_spread, self.traces, self._send(np.asarray(array)), states, stream=self._stream)
        return states

    def _send(self, array: Any) -> Any:
        if is_there(array):
            return array
        return cuda.to_device(np.ascontiguousarray(array), stream=self._stream)

    def launch(self, function: Any, first: int, last: int, inputs: int) -> None:
        """Run these steps; the kernel takes the first `inputs` inputs (presence columns may be left out)."""
        if first < last and self.traces:
            whole, real, *memories = self._state
            arrays = (whole, real, self._counts, *memories, *self._inputs[:inputs], *self.outputs)
            launch(function, self.traces, first, last, *arrays, self._bad, stream=self._stream)

    def fetch(self, *, keep: bool) -> tuple[list[Any], Any, Any]:
        """Return the outputs, their event counts, and the traces with a hazard; waits for the device.

        Parameters
        ----------
        keep: whether the outputs stay on the device.
        """
        arrays = [self._counts, self._bad, *(() if keep else self.outputs)]
        counts, bad, *outputs = [array.copy_to_host(stream=self._stream) for array in arrays]
        self._stream.synchronize()
        return self.outputs if keep else outputs, counts, bad
