"""The descendants of a process, read from /proc (Linux): their memory and their CPU time."""

from __future__ import annotations

import contextlib
import os
import resource
from collections.abc import Iterable

from workbench import budget
from workbench.interrupts import descendants

_TICK = os.sysconf("SC_CLK_TCK")


def resident_mb(pids: Iterable[int]) -> float:
    """Return the resident memory of processes, in MB; shared pages count once for each."""
    return sum(map(budget.resident_mb, pids))


def cpu_of(pids: list[int]) -> float:
    """Return the CPU seconds that the living threads of processes have used."""
    nanoseconds = 0
    for pid in pids:
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/task/{thread}/schedstat") as file:
                    nanoseconds += int(file.read().split()[0])
    return nanoseconds / 1e9


def own_cpu() -> float:
    """Return the CPU seconds of this process and its descendants, both living ones and ended ones that were waited for.

    For the children that living descendants have waited for, the kernel reports only ticks of 10 ms.
    """
    own, ended = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    below = descendants(os.getpid())
    seconds = own.ru_utime + own.ru_stime + ended.ru_utime + ended.ru_stime
    return seconds + cpu_of(below) + sum(_ticks(pid, 2) for pid in below) / _TICK


def cpu_with_ended(pids: list[int]) -> float:
    """Return the CPU seconds of processes and of their ended children, in the kernel's ticks (10 ms)."""
    return sum(_ticks(pid, 0) for pid in pids) / _TICK


def _ticks(pid: int, first: int) -> int:
    """Return the user and system ticks of a process and its ended children (`first` 0), or of only those (2)."""
    with contextlib.suppress(OSError, IndexError), open(f"/proc/{pid}/stat") as file:
        return sum(map(int, file.read().rpartition(")")[2].split()[11 + first : 15]))
    return 0
