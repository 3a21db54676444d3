"""Limits and measurements of a whole process tree by Linux control groups (v2), if this user may create them.

A group is created below the one named in WORKBENCH_CGROUP, or below our own; either must delegate the memory controller
(`cgroup.subtree_control`). `systemd-run --user --scope -p Delegate=yes` starts a scope that can do so. If anything
fails, there is no group, and rlimits set the limits instead.
"""

from __future__ import annotations

import contextlib
import itertools
import os
import time
from pathlib import Path

MOUNT = Path("/sys/fs/cgroup")
VARIABLE = "WORKBENCH_CGROUP"
_numbers = itertools.count(1)


def base() -> Path | None:
    """Return the group below which groups with memory limits can be created; None if there is none."""
    named = os.environ.get(VARIABLE)
    candidates = [Path(named)] if named else [MOUNT / own for own in _own_groups()]
    for folder in candidates:
        with contextlib.suppress(OSError):
            if "memory" in (folder / "cgroup.subtree_control").read_text().split() and os.access(folder, os.W_OK):
                return folder
    return None


def _own_groups() -> list[str]:
    with contextlib.suppress(OSError):
        lines = Path("/proc/self/cgroup").read_text().splitlines()
        return [line[3:].lstrip("/") for line in lines if line.startswith("0::")]
    return []


class ControlGroup:
    """A control group for one process tree.

    Raises
    ------
    OSError: the group cannot be created or used.
    """

    def __init__(self, below: Path) -> None:
        self.folder = below / f"workbench-{os.getpid()}-{next(_numbers)}"
        self.folder.mkdir()

    def limit(self, memory_mb: int | None) -> None:
        """Set the memory limit, and forbid swap."""
        (self.folder / "memory.max").write_text("max" if memory_mb is None else str(memory_mb << 20))
        with contextlib.suppress(OSError):  # a machine without swap has no such file
            (self.folder / "memory.swap.max").write_text("0")

    def add(self, pid: int) -> None:
        """Move a process into the group; its future children start there."""
        (self.folder / "cgroup.procs").write_text(str(pid))

    @property
    def peak_mb(self) -> float:
        """The peak memory of the group, in MB; 0 on kernels before 5.19, which do not report it."""
        with contextlib.suppress(OSError):
            return int((self.folder / "memory.peak").read_text()) / 2**20
        return 0.0

    @property
    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the group for lack of memory."""
        with contextlib.suppress(OSError):
            lines = (self.folder / "memory.events").read_text().splitlines()
            return any(int(line.split()[1]) > 0 for line in lines if line.startswith("oom_kill "))
        return False

    def remove(self) -> None:
        """Kill the remaining processes of the group, and remove it."""
        with contextlib.suppress(OSError):
            (self.folder / "cgroup.kill").write_text("1")
        for _ in range(50):
            with contextlib.suppress(OSError):
                self.folder.rmdir()
                return
            time.sleep(0.01)  # killed processes take a moment to leave
