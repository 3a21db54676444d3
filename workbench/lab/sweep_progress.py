"""The progress of a sweep, and an estimate of the remaining time."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence

from workbench.lab.plan import Measurement
from workbench.lab.result import Result


class Pace:
    """A counter of results that estimates the remaining time from the mean time of each experiment's points so far."""

    def __init__(self, tasks: Sequence[Measurement], jobs: int) -> None:
        self.total = len(tasks)
        self.statuses: Counter[str] = Counter()
        self.measured_seconds = 0.0
        """Total wall-clock seconds of the points themselves."""
        self._left = Counter(task.experiment for task in tasks)
        self._seen: Counter[str] = Counter()
        self._seconds: Counter[str] = Counter()
        self._jobs, self._begin = max(jobs, 1), time.monotonic()
        self._first = self._begin
        """The time at which the first point began, after the start of Spark."""

    def add(self, result: Result) -> None:
        """Count a result."""
        name, seconds = result.experiment, result.measured.wall_seconds
        if not self.done:
            self._first = time.monotonic() - seconds
        self.statuses[str(result.measured.status)] += 1
        self.measured_seconds += seconds
        self._left[name] -= 1
        self._seen[name] += 1
        self._seconds[name] += seconds  # type: ignore[assignment]  # a Counter of floats

    @property
    def done(self) -> int:
        """The number of results so far."""
        return sum(self.statuses.values())

    @property
    def elapsed_seconds(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begin

    def left(self) -> float | None:
        """Return the estimated remaining seconds; None before the first result."""
        if not self.done:
            return None
        mean = self.measured_seconds / self.done
        expected = sum(
            count * (self._seconds[name] / self._seen[name] if self._seen[name] else mean)
            for name, count in self._left.items()
        )
        own = (
            max((time.monotonic() - self._first) * self._jobs - self.measured_seconds, 0.0) / self.done
        )  # the overhead around each point
        return (expected + own * sum(self._left.values())) / self._jobs

    def line(self) -> str:
        """Return the progress in one line."""
        bad = ", ".join(f"{count} {status}" for status, count in sorted(self.statuses.items()) if status != "ok")
        left = self.left()
        parts = [f"{self.done} of {self.total}", bad, "" if left is None else f"about {span(left)} left"]
        return ", ".join(filter(None, parts))


def span(seconds: float) -> str:
    """Format a duration for people."""
    if seconds < 100:
        return f"{seconds:.0f} s"
    if seconds < 5400:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.1f} h"
