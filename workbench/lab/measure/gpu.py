"""Memory and time that a process tree uses on NVIDIA GPUs, queried from the driver by NVML (package nvidia-ml-py).

Its rule: an unknown value is None, never 0. Without a sign of a GPU, the package is not even imported.
Source: NVML API Reference Guide, `nvmlDeviceGetComputeRunningProcesses`, `nvmlDeviceGetProcessUtilization`.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Iterable
from functools import cache
from typing import Any

SIGNS = ("/dev/nvidiactl", "/proc/driver/nvidia/version", "/dev/dxg")
"""Files, at least one of which exists where NVIDIA's driver is installed."""
LONGEST_PERIOD = 1.0
"""Maximum seconds that one sample of utilisation covers: between 1/6 and 1; the driver does not report it."""
_FIRST_NAMESPACE = "pid:[4026531836]"  # the kernel's constant PROC_PID_INIT_INO


@cache
def nvml() -> Any:
    """Return the initialised module `pynvml`; None if there is no GPU, no driver, or no such module."""
    if not any(map(os.path.exists, SIGNS)):
        return None
    try:
        import pynvml
    except ImportError:
        return None
    try:
        pynvml.nvmlInit()
        return pynvml if pynvml.nvmlDeviceGetCount() else None
    except pynvml.NVMLError:
        return None


@cache
def devices() -> tuple[Any, ...]:
    """Return NVML's handles of the GPUs that we may use; none if `nvml` is None."""
    module, handles = nvml(), []
    for i in range(module.nvmlDeviceGetCount() if module else 0):
        with contextlib.suppress(module.NVMLError):  # not ours, or broken
            handles.append(module.nvmlDeviceGetHandleByIndex(i))
    return tuple(handles)


def describe_gpus() -> dict[str, str]:
    """Return the names of the GPUs and the version of the driver, as data about the machine; empty without GPUs."""
    module = nvml()
    if not devices():
        return {}
    try:
        names = ", ".join(module.nvmlDeviceGetName(device) for device in devices())
        return {"gpus": names, "gpu_driver": module.nvmlSystemGetDriverVersion()}
    except module.NVMLError as error:
        return {"gpus": f"{len(devices())}, unnamed: {error}"}


class GpuUse:
    """The use of all GPUs by a process tree from now on, estimated from regular samples."""

    def __init__(self) -> None:
        self._nvml, self._devices = nvml(), devices()
        self._begin = time.time_ns() // 1000  # NVML's time stamps are microseconds since 1970
        self._since = [self._begin] * len(self._devices)
        self._pids: set[int] = set()
        self._peak, self._seconds = 0.0, 0.0
        self._seen = self._sampled = False
        self._memory_known = self._time_known = True

    def look(self, pids: Iterable[int]) -> None:
        """Sample the use by these processes and those of earlier samples."""
        self._pids.update(pids)
        now = 0.0
        for i, device in enumerate(self._devices):
            now += self._memory(device)
            self._time(i, device)
        self._peak = max(self._peak, now)

    def _memory(self, device: Any) -> float:
        """Return the memory of a GPU that the processes hold, in MB."""
        try:
            processes = self._nvml.nvmlDeviceGetComputeRunningProcesses(device)
        except self._nvml.NVMLError:
            self._memory_known = False
            return 0.0
        own = [process.usedGpuMemory for process in processes if process.pid in self._pids]
        self._seen |= bool(own)
        self._memory_known &= None not in own
        return sum(used or 0 for used in own) / 2**20

    def _time(self, i: int, device: Any) -> None:
        """Add the new samples: each is a percentage of the time since the sample before."""
        since = self._since[i]
        try:
            samples = self._nvml.nvmlDeviceGetProcessUtilization(device, since)
        except self._nvml.NVMLError as error:
            # no sample yet (0: the module raises success, too); or more came during the query: they come next time
            known = (0, self._nvml.NVML_ERROR_NOT_FOUND, self._nvml.NVML_ERROR_INSUFFICIENT_SIZE)
            self._time_known &= error.value in known
            return
        for sample in samples:
            # some drivers pad the list with old samples and with more than 100 %
            if sample.pid in self._pids and sample.timeStamp > since and sample.smUtil <= 100:
                span = min((sample.timeStamp - since) / 1e6, LONGEST_PERIOD)
                self._seconds += sample.smUtil / 100 * span
                self._since[i] = max(self._since[i], sample.timeStamp)
                self._seen = self._sampled = True

    @property
    def peak_mb(self) -> float | None:
        """The peak memory that the processes held together, in MB; None if unknown."""
        return self._peak if self._memory_known and self._visible else None

    @property
    def seconds(self) -> float | None:
        """The seconds in which a GPU worked for the processes, summed over GPUs; None if unknown."""
        long_enough = time.time_ns() // 1000 - self._begin > LONGEST_PERIOD * 1e6
        is_known = self._sampled or long_enough or not self._seen
        return self._seconds if self._time_known and self._visible and is_known else None

    @property
    def _visible(self) -> bool:
        """Whether NVML and this process use the same process numbers; in a container they may differ."""
        return self._seen or _first_namespace()


@cache
def _first_namespace() -> bool:
    try:
        return os.readlink("/proc/self/ns/pid") == _FIRST_NAMESPACE
    except OSError:
        return False
