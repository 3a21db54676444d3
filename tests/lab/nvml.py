"""A module that answers like `pynvml`, for machines without a GPU.

`folder` makes one for other processes: Python imports its `sitecustomize` when it starts.
"""
# ruff: noqa: N802  the names are NVML's

from pathlib import Path
from types import ModuleType, SimpleNamespace

MB = 1 << 20


class NVMLError(Exception):
    def __init__(self, value):
        super().__init__(value)
        self.value = value


class Fake(ModuleType):
    """Answers as nvidia-ml-py documents: what runs on each GPU now, and one sample per process newer than asked.

    `running` and `samples` have a list for each GPU; an error in place of a list is raised.
    """

    NVMLError = NVMLError
    NVML_ERROR_NOT_SUPPORTED, NVML_ERROR_NOT_FOUND, NVML_ERROR_INSUFFICIENT_SIZE = 3, 6, 7

    def __init__(self, count=1):
        super().__init__("pynvml")
        self.clock = SimpleNamespace(us=1_700_000_000_000_000)
        self.started, self.broken, self.forbidden = 0, False, ()
        self.running, self.samples = [[] for _ in range(count)], [[] for _ in range(count)]

    def nvmlInit(self):
        self.started += 1
        if self.broken:
            raise NVMLError(9)  # NVML_ERROR_DRIVER_NOT_LOADED

    def nvmlDeviceGetCount(self):
        return len(self.running)

    def nvmlDeviceGetHandleByIndex(self, i):
        if i in self.forbidden:
            raise NVMLError(4)  # NVML_ERROR_NO_PERMISSION
        return i

    def nvmlDeviceGetName(self, i):
        return f"NVIDIA Test {i}"

    def nvmlSystemGetDriverVersion(self):
        return "550.1"

    def nvmlDeviceGetComputeRunningProcesses(self, i):
        return _given(self.running[i])

    def nvmlDeviceGetProcessUtilization(self, i, last_seen):
        if not self.samples[i]:
            raise NVMLError(self.NVML_ERROR_NOT_FOUND)
        return _given(self.samples[i])


def _given(answer):
    if isinstance(answer, NVMLError):
        raise answer
    return answer


def holds(pid, mb):
    return SimpleNamespace(pid=pid, usedGpuMemory=None if mb is None else mb * MB, gpuInstanceId=None)


def worked(pid, stamp, percent):
    return SimpleNamespace(pid=pid, timeStamp=stamp, smUtil=percent, memUtil=0, encUtil=0, decUtil=0)


SITE = """
import os, sys
from tests.lab.nvml import Fake, holds, worked
from workbench.lab.measure import gpu
from workbench.interrupts import descendants

class Busy(Fake):
    def nvmlDeviceGetComputeRunningProcesses(self, i):
        return [holds(pid, 64) for pid in descendants(os.getpid())] if i == 0 else []

    def nvmlDeviceGetProcessUtilization(self, i, last_seen):
        # one sample, newer than anything: 40 % of a second, the longest time between two
        return [worked(pid, 1 << 62, 40) for pid in descendants(os.getpid())] if i == 0 else []

sys.modules["pynvml"], gpu.SIGNS = Busy(2), ("/",)
"""
"""Two GPUs, of which every process below this one uses 64 MB and 0.4 s of the first."""


def folder(place: Path) -> Path:
    """A folder for PYTHONPATH that gives a machine two GPUs."""
    place.mkdir()
    (place / "sitecustomize.py").write_text(SITE)
    return place
