"""The present cost of threads on this machine, measured on work that releases Python's lock.

A queue between two idle threads costs little. Where both work, a thread with an event ready waits for Python's lock,
and two threads on one free core gain nothing; so costs are measured with work (hashing) on both sides.
"""

from __future__ import annotations

import hashlib
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.prefetch import Ahead

LEAST, MAXIMUM = 1e-4, 4e-4
"""Minimum and maximum seconds of work per event with which costs are measured."""


@dataclass(frozen=True)
class Overhead:
    """The cost of threads on this machine.

    Attributes
    ----------
    task: seconds to start a task and wait for it.
    queue: seconds per event in a queue between two threads.
    cores: number of threads that run at the same time, if their work releases Python's lock.
    """

    task: float
    queue: float
    cores: float = math.inf


def overhead(threads: int = 1, seconds: float = LEAST, events: int = 30) -> Overhead:
    """Measure the cost of threads.

    Parameters
    ----------
    threads: number of threads besides the caller.
    seconds: work per event for which the costs are wanted.
    events: number of events to measure.
    """
    work, own = _work(min(MAXIMUM, max(LEAST, seconds)))
    each = range(events)
    with ThreadManager(threads) as manager:
        manager.start(int).wait_for()
        task = measure_seconds(lambda: [manager.start(int).wait_for() for _ in each]) / events
        idle = measure_seconds(lambda: list(Ahead(iter(range(10 * events)), manager))) / (10 * events)
        wide = measure_seconds(lambda: manager.run_all([lambda: list(map(work, each))] * (threads + 1))) / events
        cores = max(1.0, (threads + 1) * own / wide)
        both = measure_seconds(lambda: list(map(work, Ahead(map(work, each), manager)))) / events
    return Overhead(task, max(idle, both - 2 * own / min(2.0, cores)), cores)


def measure_seconds(work: Callable[[], object]) -> float:
    """Return the seconds that a call takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _work(seconds: float) -> tuple[Callable[[object], object], float]:
    """Return a function that takes about this many seconds, and its measured duration."""
    buffer = bytes(1 << 16)
    once = min(measure_seconds(partial(hashlib.sha256, buffer)) for _ in range(10))
    buffer = bytes(max(4096, int(len(buffer) * seconds / once)))

    def work(_: object) -> object:
        return hashlib.sha256(buffer)

    return work, min(measure_seconds(lambda: list(map(work, range(10)))) for _ in range(3)) / 10
