"""Pre-emptive pulling: results are computed before they are requested (Multiple Threads, section 4.3).

The rule of this module: no thread ever waits for space. The thread that fills a queue ends when the queue is full, and
is requested again when half of it has been taken. So no thread has to be stopped, an abandoned reader leaves no thread
behind, and where no thread is granted the reader computes on demand.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Generic, Self, TypeVar

from workbench.errors import PipelineError, check_count
from workbench.executors.pending import Done
from workbench.executors.threaded.manager import ThreadManager, ThreadTask
from workbench.executors.threaded.primitives import Gates
from workbench.interrupts import admit, hold

T = TypeVar("T")

CAPACITY = 64
"""Default capacity of a queue in events."""


def check_capacity(capacity: int) -> int:
    """Return the capacity; PipelineError where no event would ever fit."""
    check_count("the capacity of a queue of early results", capacity, least=1, hint=f"the default is {CAPACITY}")
    return capacity


class Cancelled(PipelineError):
    """A request for an event after the source has been closed or reconnected."""

    def __init__(self) -> None:
        super().__init__(
            "no event can be pulled: the source has been closed", hint="call connect(x=iterable) to start afresh"
        )


class Prefetch(Generic[T]):
    """A queue that pulls ahead of its reader, in a thread of the manager if one is granted.

    Parameters
    ----------
    pulls: for each output, a function that returns its next event, or raises StopIteration at its end. They are
        called by one thread at a time, though not always the same.
    manager: grants the thread.
    capacity: maximum number of events that wait at each output.

    An error of a pull is raised for the reader of that output in its place; nothing more is pulled for it until the
    reader has got the error. Pulling continues with the reader's next request.

    The pulling thread holds the turn. Ctrl-C reaches a reader only while it waits or computes, and when it is done.
    """

    def __init__(self, pulls: Mapping[str, Callable[[], T]], manager: ThreadManager, capacity: int = CAPACITY) -> None:
        self.manager = manager
        self.capacity = check_capacity(capacity)
        self._pulls = dict(pulls)
        self._queues: dict[str, deque[Done[T]]] = {name: deque() for name in pulls}
        self._open = dict.fromkeys(pulls, True)
        self._turn: object = None
        """The turn of the pulling thread; None: none pulls."""
        self._closed = False
        self._task: ThreadTask[None] | None = None
        self._lock = manager.primitives.RLock()
        self._changes = Gates(manager.primitives)
        """Gates of threads that wait for an event, or for the end of the turn."""

    def pull(self, name: str) -> T:
        """Return the next event of an output; StopIteration at its end, Cancelled when closed."""
        queue, turn = self._queues[name], object()
        done: Done[T] | None = None
        with hold():
            while done is None:
                with self._lock:
                    if queue:
                        done = queue.popleft()
                        self._refill()
                        continue
                    if self._closed:
                        raise Cancelled
                    if not self._open[name]:
                        raise StopIteration
                    if self._turn is None and not self._begin():
                        self._turn = turn
                        break
                    gate = self._changes.shut()
                with admit():
                    gate.acquire()
            try:
                if done is not None:
                    return done.wait_for()
                with admit():
                    return self._pulls[name]()
            except StopIteration:
                self._open[name] = False
                raise
            finally:
                if self._turn is turn:
                    self._give_back()

    @property
    def off(self) -> bool:
        """Whether nothing has been prefetched and no thread would be granted: the reader may bypass the prefetch."""
        if self.manager.grants or self._turn is not None or self._closed:
            return False
        return self._task is None or not any(self._queues.values())  # without a task the queues have always been empty

    def start(self) -> None:
        """Start before the first event is requested."""
        with hold(), self._lock:
            self._refill()

    def close(self) -> None:
        """Close, and wait until no thread pulls: for the event that is being computed, if any."""
        self.cancel()
        while True:
            with hold(), self._lock:
                if self._turn is None:
                    break
                gate = self._changes.shut()
            gate.acquire()
        if self._task is not None:
            self._task.wait_for()

    def cancel(self) -> None:
        """Close without waiting."""
        with hold(), self._lock:
            self._closed = True
            for queue in self._queues.values():
                queue.clear()
            self._changes.open()

    def _give_back(self) -> None:
        with self._lock:
            self._turn = None
            self._changes.open()

    # --- called with the lock ---

    def _refill(self) -> None:
        """Request a thread where an output is at least half empty."""
        if self._turn is not None or self._closed or not self.manager.grants:
            return
        if any(len(self._queues[name]) * 2 <= self.capacity for name in self._iterate_wanted()):
            self._begin()

    def _begin(self) -> bool:
        """Request a thread that fills the queues; if none is granted, the reader may pull."""
        self._turn = turn = object()
        task = self.manager.try_start(partial(self._fill, turn))
        if task is None:
            self._turn = None
            return False
        self._task = task
        return True

    def _iterate_wanted(self) -> Iterator[str]:
        """Yield the outputs for which events can be pulled."""
        for name, is_open in self._open.items():
            queue = self._queues[name]
            if is_open and not (queue and queue[-1].has_failed):
                yield name

    def _emptiest(self) -> str | None:
        """Return the output to pull next; None where there is no space, no need, or threading has been turned off."""
        if self._closed or not self.manager.grants:
            return None
        least = min(((len(self._queues[name]), name) for name in self._iterate_wanted()), default=(self.capacity, ""))
        return least[1] if least[0] < self.capacity else None

    # --- without the lock ---

    def _fill(self, turn: object) -> None:
        """Pull until all queues are full, or have ended or failed."""
        done: Done[T] | None = None
        name: str | None = None
        while True:
            with self._lock:
                if self._turn is not turn:
                    return
                if done is not None and name is not None:
                    self._keep(name, done)
                name = self._emptiest()
                if name is None:
                    self._turn = None
                self._changes.open()
            if name is None:
                return
            done = Done(self._pulls[name], carries=BaseException)  # in a thread: the reader gets the error

    def _keep(self, name: str, done: Done[T]) -> None:
        if done.has_ended:
            self._open[name] = False
        elif not self._closed:
            self._queues[name].append(done)


class Ahead(Prefetch[T]):
    """An iterator that is pulled ahead of its reader."""

    def __init__(self, events: Iterator[T], manager: ThreadManager, capacity: int = CAPACITY) -> None:
        super().__init__({"": events.__next__}, manager, capacity)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        return self.pull("")
