"""The memory of this process: its limit, and its peak."""

from __future__ import annotations

import contextlib
import resource
import sys


def limit_memory(memory_mb: int | None) -> None:
    """Limit the data of this process and of each that it starts; not the address space: mappings cost nothing."""
    hard = resource.getrlimit(resource.RLIMIT_DATA)[1]
    limit = hard if memory_mb is None else memory_mb << 20
    resource.setrlimit(resource.RLIMIT_DATA, (limit if hard == resource.RLIM_INFINITY else min(limit, hard), hard))


def forget_peak() -> None:
    """Start a new measurement of the peak resident memory (Linux; elsewhere it covers the whole life)."""
    with contextlib.suppress(OSError), open("/proc/self/clear_refs", "w") as file:
        file.write("5")


def read_peak_mb() -> float:
    """Return the peak resident memory since `forget_peak`, in megabytes."""
    try:
        with open("/proc/self/status") as file:
            return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024
    except (OSError, StopIteration):
        return largest_mb(resource.getrusage(resource.RUSAGE_SELF))


def largest_mb(usage: resource.struct_rusage) -> float:
    """Return the peak resident memory that the system reports of a process, in megabytes."""
    return usage.ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)  # macOS counts bytes
