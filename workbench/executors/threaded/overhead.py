"""What threads cost on this machine, as it is now: measured on work that gives up Python's lock.

A queue between two idle threads costs little. Where both work, who has an event ready waits for Python's lock, and two
threads on one free core gain nothing; so all is measured with work on both sides. Hashing a large buffer is such work.
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

LEAST, MOST = 1e-4, 4e-4
"""Seconds of work for an event on which costs are measured: at least and at most."""


@dataclass(frozen=True)
class Overhead:
    """What threads cost here.

    Attributes
    ----------
    task: seconds to begin with a task and wait for it.
    queue: seconds for an event in a queue between two threads.
    cores: how many threads' work gets done at the same time, if it gives up Python's lock.
    """

    task: float
    queue: float
    cores: float = math.inf


def overhead(threads: int = 1, seconds: float = LEAST, events: int = 30) -> Overhead:
    """Measure what threads cost.

    Parameters
    ----------
    threads: beside the caller's.
    seconds: of work for each event: what the costs are wanted for.
    events: that are worked on.
    """
    work, own = _work(min(MOST, max(LEAST, seconds)))
    each = range(events)
    with ThreadManager(threads) as manager:
        manager.start(int).wait_for()
        task = measure_seconds(lambda: [manager.start(int).wait_for() for _ in each]) / events
        idle = measure_seconds(lambda: list(Ahead(iter(range(10 * events)), manager))) / (10 * events)
        wide = measure_seconds(lambda: _beside(manager, threads, lambda: list(map(work, each)))) / events
        cores = max(1.0, (threads + 1) * own / wide)
        both = measure_seconds(lambda: list(map(work, Ahead(map(work, each), manager)))) / events
    return Overhead(task, max(idle, both - 2 * own / min(2.0, cores)), cores)


def measure_seconds(work: Callable[[], object]) -> float:
    """The seconds that something takes."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def _work(seconds: float) -> tuple[Callable[[object], object], float]:
    """Something that takes about so long, and how long it takes."""
    buffer = bytes(1 << 16)
    once = min(measure_seconds(partial(hashlib.sha256, buffer)) for _ in range(10))
    buffer = bytes(max(4096, int(len(buffer) * seconds / once)))

    def work(_: object) -> object:
        return hashlib.sha256(buffer)

    return work, min(measure_seconds(lambda: list(map(work, range(10)))) for _ in range(3)) / 10


def _beside(manager: ThreadManager, threads: int, work: Callable[[], object]) -> None:
    """Do it in so many threads and here."""
    begun = [manager.start(work) for _ in range(threads)]
    work()
    for pending in begun:
        pending.wait_for()
