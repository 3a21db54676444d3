"""A GPU that is not there: its kernels are compiled for compute capability 9.0, and the CPU runs their PTX.

`install()` puts it in the place of numba's device, in this process; only then may `gpu.cuda` be imported.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from contextlib import nullcontext
from threading import Lock
from types import SimpleNamespace
from typing import Any

import numba
import numpy as np
from numba import cuda, types
from numba.cuda.cudadrv.devicearray import DeviceNDArray

from tests.executors.compiled.ptx import Kernel

CAPABILITY = (9, 0)
NAME = "PTX on the CPU"

compiled: list[Kernel] = []
"""All kernels that have been compiled."""
launched: list[Kernel] = []
"""All kernels that have been started."""
free = [1 << 30]
"""How many bytes are free."""
one_at_a_time = Lock()
"""Blocks of a kernel have one shared memory here."""


class OnDevice(np.ndarray):
    """An array that lies on the device."""

    def copy_to_host(self, *given: Any, **named: Any) -> Any:
        """The array in the computer's memory."""
        inspect.signature(DeviceNDArray.copy_to_host).bind(self, *given, **named)
        return np.array(self)

    def copy_to_device(self, array: Any, stream: Any = 0) -> None:
        """Fill it with the entries of another one."""
        inspect.signature(DeviceNDArray.copy_to_device).bind(self, array, stream=stream)
        self[...] = array


class _Launched:
    """A kernel, compiled for the types of the arguments it is given."""

    def __init__(self, function: Callable[..., None]) -> None:
        self._function = function
        self._kernels: dict[Any, Kernel] = {}

    def __getitem__(self, shape: tuple[Any, ...]) -> Callable[..., None]:
        return lambda *arguments: self._launch(int(shape[0]), int(shape[1]), arguments)

    def _launch(self, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
        with one_at_a_time:
            self._run(blocks, threads, arguments)

    def _run(self, blocks: int, threads: int, arguments: tuple[Any, ...]) -> None:
        kinds = tuple(map(_kind, arguments))
        if kinds not in self._kernels:
            text, _ = cuda.compile_ptx(self._function, kinds, cc=CAPABILITY)
            self._kernels[kinds] = Kernel(text)
            compiled.append(self._kernels[kinds])
        launched.append(self._kernels[kinds])
        self._kernels[kinds](blocks, threads, arguments)


def _kind(argument: Any) -> Any:
    """The type of an argument: a number, an array, or a named tuple of arrays."""
    if isinstance(argument, tuple):
        return types.NamedTuple(tuple(map(_kind, argument)), type(argument))
    return types.int64 if isinstance(argument, int) else numba.typeof(argument.view(np.ndarray))


def _as(original: Any, other: Any) -> Callable[..., Any]:
    """A function in the place of another, which takes what that would take."""

    def called(*given: Any, **named: Any) -> Any:
        inspect.signature(original).bind(*given, **named)
        return other(*given, **named)

    return called


def install() -> None:
    """Make numba's CUDA target use it."""
    from numba.cuda import dispatcher

    jit = cuda.jit
    device = SimpleNamespace(compute_capability=CAPABILITY, name=NAME)
    replaced: dict[str, Any] = {
        "jit": lambda function=None, **options: jit(**options) if options else _Launched(function),
        "is_available": lambda: True,
        "get_current_device": lambda: device,
        "current_context": lambda: SimpleNamespace(get_memory_info=lambda: SimpleNamespace(free=free[0])),
        "stream": lambda: SimpleNamespace(synchronize=lambda: None),
        "event": lambda: SimpleNamespace(record=lambda stream: None, wait=lambda stream: None),
        "pinned_array": lambda shape, kind: np.full(shape, 77).astype(kind),
        "mapped_array": lambda shape, kind, **_: np.full(shape, 77).astype(kind).view(OnDevice),
        "to_device": lambda array, **_: np.array(array).view(OnDevice),
        "device_array": lambda shape, kind, **_: np.full(shape, 77).astype(kind).view(OnDevice),
    }
    for name, value in replaced.items():
        setattr(cuda, name, _as(getattr(cuda, name), value))
    cuda.gpus = [nullcontext(), nullcontext()]
    dispatcher.get_current_device = lambda: device
