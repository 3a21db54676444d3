"""The conditions of a measurement: the machine, its load, versions, and the state of the code."""

from __future__ import annotations

import contextlib
import os
import platform
import subprocess
import time
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import workbench
from workbench.budget import cores
from workbench.lab.measure.gpu import describe_gpus

PACKAGES = ("pynusmv", "numba", "numpy", "networkx", "lark", "hypothesis", "pyspark", "pyarrow", "duckdb")
STEAL_LIMIT = 0.02
"""Share of the time taken for other guests above which a timing is unreliable."""
_WINDOW = 1.0


@cache
def machine() -> dict[str, Any]:
    """Return the description of the machine, as data."""
    return {
        **describe_gpus(),
        "host": platform.node(),
        "system": f"{platform.system()} {platform.release()}",
        "processor": _processor(),
        "cores": cores(),
        "memory_mb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**20),
    }


def _processor() -> str:
    with contextlib.suppress(OSError), open("/proc/cpuinfo") as file:
        for line in file:
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


@cache
def versions() -> dict[str, str]:
    """Return the versions of Python, workbench, and the packages that a result may depend on."""
    by_package = {"python": platform.python_version(), "workbench": workbench.__version__}
    for package in PACKAGES:
        with contextlib.suppress(PackageNotFoundError):
            by_package[package] = version(package)
    return by_package


def commit(folder: Path) -> str:
    """Return the commit of a working tree, with `+changes` if files differ from it; empty outside of one."""
    try:
        head = _git(folder, "rev-parse", "HEAD")
        return head + ("+changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")
    except (OSError, subprocess.SubprocessError):
        return ""


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=True, timeout=20).stdout.strip()


class MachineLoad:
    """The load of the machine, and the time that its host takes for other guests."""

    def __init__(self) -> None:
        self._before = self._now = self._count_ticks()

    def look(self) -> tuple[float, float, bool]:
        """Return the load average of the last minute, the share of stolen time, and whether timings are reliable."""
        load, steal = os.getloadavg()[0], self._steal()
        # every core may work for us; the lab itself adds half a process
        return load, steal, load <= cores() + 0.5 and steal <= STEAL_LIMIT

    def _steal(self) -> float:
        now = self._count_ticks()
        if now[0] - self._now[0] > _WINDOW:
            self._before, self._now = self._now, now
        all_of_it = now[1] - self._before[1]
        return (now[2] - self._before[2]) / all_of_it if all_of_it else 0.0

    @staticmethod
    def _count_ticks() -> tuple[float, int, int]:
        """Return the time, the total ticks of all processors, and the stolen ticks."""
        with contextlib.suppress(OSError, ValueError), open("/proc/stat") as file:
            ticks = [int(word) for word in file.readline().split()[1:9]]
            return time.monotonic(), sum(ticks), ticks[7]
        return time.monotonic(), 0, 0
