"""Monitoring of a child at work: its answers, its memory, its limits."""

from __future__ import annotations

import math
import os
import select
import time
from dataclasses import dataclass

from workbench.frames import Frame, take_frames
from workbench.interrupts import descendants
from workbench.lab.experiment import Limits
from workbench.lab.measure import gpu
from workbench.lab.measure.tree import cpu_with_ended, resident_mb

WARM_UP_SECONDS = 120.0
_FIRST_GLANCE, _GLANCE = 0.005, 0.1


@dataclass
class Child:
    """A child process with the descriptors of its pipes, the number of its tasks, and the peak memory of the first."""

    pid: int
    jobs: int
    answers: int
    experiment: str
    tasks: int = 0
    first_mb: float = 0.0


class CallerGone(Exception):
    """The exception for a caller that has gone and no longer waits for the measurement."""


class Watch:
    """A monitor that listens to a child at work, samples its memory, and reports the limit that it met.

    Parameters
    ----------
    caller: a descriptor that becomes readable when the caller is gone.
    """

    def __init__(self, child: Child, limits: Limits, caller: int | None) -> None:
        self.child, self.limits, self.caller = child, limits, caller
        self.begin, self.cpu_before, self.peak_mb = 0.0, 0.0, 0.0
        self.final: Frame | None = None
        self.gpu: gpu.GpuUse | None = None

    def listen(self) -> str:
        """Wait for the end of the task; return "" if it ended by itself, else the limit that was met."""
        buffer, glance = bytearray(), _FIRST_GLANCE
        deadline, limit = time.monotonic() + WARM_UP_SECONDS, "warm-up"
        poll = select.poll()
        poll.register(self.child.answers, select.POLLIN)
        if self.caller is not None:
            poll.register(self.caller, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return limit
            ready = [fd for fd, _ in poll.poll(min(left, glance) * 1000)]
            if not ready:
                glance = min(2 * glance, _GLANCE)
                if met := self._glance():
                    return met
            elif self.child.answers in ready:
                data = os.read(self.child.answers, 1 << 20)
                buffer += data
                for frame in take_frames(buffer):
                    if "begin" in frame:
                        self.begin, self.cpu_before = frame["begin"], frame["cpu"]
                        self.gpu = gpu.GpuUse() if gpu.devices() else None
                        deadline = math.inf if self.limits.seconds is None else self.begin + self.limits.seconds
                        limit = "seconds"
                    else:
                        self.final = frame
                if self.final or not data:
                    if self.gpu:  # a last sample, while processes that are kept or end slowly still exist
                        self.gpu.look([self.child.pid, *descendants(self.child.pid)])
                    return ""
            else:
                raise CallerGone

    def _glance(self) -> str:
        pids = [self.child.pid, *descendants(self.child.pid)]
        now = resident_mb(pids)
        self.peak_mb = max(self.peak_mb, now)
        if self.gpu:
            self.gpu.look(pids)
        if self.limits.memory_mb is not None and now > self.limits.memory_mb:
            return "memory"
        allowed = self.limits.cpu_seconds
        if allowed is not None and self.begin and cpu_with_ended(pids) - self.cpu_before > allowed:
            return "cpu_seconds"
        return ""
