"""A sweep on this machine: parallel supervisors, and results stored as they come, without Java."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from functools import partial
from multiprocessing.connection import wait
from pathlib import Path

from workbench.interrupts import checkpoint
from workbench.lab.measure.client import Client
from workbench.lab.plan import Lab, Measurement, Origin, now
from workbench.lab.result import Result
from workbench.lab.store import ResultStore, new_name

FIRST_FLUSH, LONGEST_FLUSH = 1.0, 15.0
"""Seconds between two files of results, at first and in a long sweep. A `kill -9` loses the results of that time."""
MAX_UNSTORED = 2000
_GLANCE = 0.25


def sweep(
    lab: Lab, tasks: Sequence[Measurement], origin: Origin, jobs: int, stopped: Callable[[], bool] = lambda: False
) -> Generator[Result]:
    """Make the measurements and yield each result; results are stored however the sweep ends.

    Parameters
    ----------
    stopped: called regularly; true ends the sweep and drops the measurements in progress.

    Raises
    ------
    LabError: the results cannot be stored.
    SuiteError: the suite cannot be loaded.
    """
    keep = Keeper(lab.store)
    pool: list[SupervisorSlot] = []
    todo = iter(tasks)
    try:
        for _ in range(min(jobs, len(tasks))):
            pool.append(SupervisorSlot(lab.path, lab.files))
        for slot in pool:
            slot.begin(next(todo, None))
        while (busy := [slot for slot in pool if slot.task is not None]) and not stopped():
            for ready in wait([slot.client.fileno() for slot in busy], timeout=_GLANCE):
                slot = next(slot for slot in busy if slot.client.fileno() == ready)
                result = slot.end(origin)
                keep.add(result)
                slot.begin(next(todo, None))
                yield result
            keep.look()
            checkpoint()
    finally:
        try:
            keep.flush()
        finally:
            for slot in pool:
                slot.client.close()


class Keeper:
    """A buffer of results that are stored in files, at intervals from `FIRST_FLUSH` to `LONGEST_FLUSH`.

    Parameters
    ----------
    prefix: the prefix of the names of the files.
    """

    def __init__(self, store: ResultStore, prefix: str = "") -> None:
        self._store, self._prefix = store, prefix
        self._waiting: list[Result] = []
        self._name = prefix + new_name()
        self._last, self._flush_seconds = time.monotonic(), FIRST_FLUSH

    def add(self, result: Result) -> None:
        """Add a result to the buffer."""
        self._waiting.append(result)

    def look(self) -> None:
        """Store the buffered results if the last flush is long ago, or if `MAX_UNSTORED` results wait."""
        late = time.monotonic() - self._last > self._flush_seconds
        if self._waiting and (late or len(self._waiting) >= MAX_UNSTORED):
            self.flush()
            self._flush_seconds = min(2 * self._flush_seconds, LONGEST_FLUSH)

    def flush(self) -> None:
        """Store the buffered results."""
        waiting = list(self._waiting)
        # Ctrl-C may come during the write: then the next flush writes the file again, replacing what there is
        self._store.add(waiting, self._name)
        del self._waiting[: len(waiting)]
        self._name = self._prefix + new_name()
        self._last = time.monotonic()


class SupervisorSlot:
    """A supervisor and its current task; a lost supervisor is replaced.

    Parameters
    ----------
    suite, files: the file of the suite, and the folder of prerequisites.
    """

    def __init__(self, suite: Path, files: Path) -> None:
        self._start = partial(Client, suite, files)
        self.client = self._start()
        self.task: Measurement | None = None
        self._started = ""

    def begin(self, task: Measurement | None) -> None:
        """Give the supervisor a task, or none."""
        self.task, self._started = task, now()
        if task is not None:
            self.client.send(task.frame())

    def end(self, origin: Origin) -> Result:
        """Wait for the result of the task and return it."""
        assert self.task is not None
        measured = self.client.take()
        if self.client.lost:
            self.client = self._start()
        return origin.result(self.task, measured, self._started)
