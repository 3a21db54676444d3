"""Pre-emptive pulling: what will be asked for is computed before it is (Multiple Threads, section 4.3).

The rule of this module: no thread ever waits for room. The thread that fills a queue ends its work when the queue is
full and is asked for anew when half of it has been taken. So nothing has to be stopped, a reader that loses interest
leaves no thread behind, and where no thread is granted the reader computes what it asks for.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Generic, Self, TypeVar

from workbench.core.pending import Done
from workbench.errors import PipelineError
from workbench.threads.manager import Task, ThreadManager

T = TypeVar("T")

CAPACITY = 64
"""Events that a queue holds where nothing else is said."""


def check_room(capacity: int) -> int:
    """The capacity; PipelineError where no event would ever fit."""
    if type(capacity) is not int or capacity < 1:
        raise PipelineError(
            f"a queue of what is computed ahead has room for at least one event, not for {capacity!r}",
            hint=f"give it a whole number from 1 on, or leave it out: it is {CAPACITY} then",
        )
    return capacity


class Cancelled(PipelineError):
    """Somebody asked for an event of what has been closed, or connected anew since."""

    def __init__(self) -> None:
        super().__init__(
            "no event can be pulled: this has been closed", hint="call connect(x=iterable) to start afresh"
        )


class Prefetch(Generic[T]):
    """Pulls ahead of its reader, in a thread of the manager's when one is granted.

    Parameters
    ----------
    pulls: for each output, what gives its next event, or raises StopIteration at its end. They are called by one
        thread at a time, though not always by the same.
    manager: asked for the thread.
    capacity: most events that wait at each output.

    An error of a pull is given to the reader in its place; pulling goes on when the reader asks again.
    """

    def __init__(self, pulls: Mapping[str, Callable[[], T]], manager: ThreadManager, capacity: int = CAPACITY) -> None:
        self.manager = manager
        self.capacity = check_room(capacity)
        self._pulls = dict(pulls)
        self._queues: dict[str, deque[Done[T]]] = {name: deque() for name in pulls}
        self._open = dict.fromkeys(pulls, True)
        self._failed = False
        """An error is on its way to the reader: nothing is pulled until it has come there."""
        self._busy: object = None
        """Whoever is pulling; None: nobody is."""
        self._closed = False
        self._task: Task[None] | None = None
        self._changed = manager.primitives.Condition()

    def pull(self, name: str) -> T:
        """The next event of an output; StopIteration at its end, Cancelled when closed."""
        queue = self._queues[name]
        with self._changed:
            while not queue:
                if self._closed:
                    raise Cancelled
                if not self._open[name]:
                    raise StopIteration
                if self._busy is None and not self._begin():
                    break
                self._changed.wait()
            else:
                done = queue.popleft()
                self._failed = self._failed and done.failed is False
                self._refill()
                return done.wait_for()
        return self._pull_here(name)

    @property
    def off(self) -> bool:
        """Whether nothing has been pulled ahead and no thread would be granted: the reader may do without this."""
        if self.manager.grants or self._busy is not None or self._closed:
            return False
        return self._task is None or not any(self._queues.values())  # without a task nothing was ever put into one

    def start(self) -> None:
        """Begin before the first event is asked for."""
        with self._changed:
            self._refill()

    def waiting(self, name: str) -> int:
        """The number of events that wait at an output."""
        return len(self._queues[name])

    def close(self) -> None:
        """Give nothing more, and wait until nobody pulls: for the event that is being computed, if one is."""
        self.cancel()
        with self._changed:
            while self._busy is not None:
                self._changed.wait()
            task = self._task
        if task is not None:
            task.wait_for()

    def cancel(self) -> None:
        """Give nothing more, without waiting."""
        with self._changed:
            self._closed = True
            for queue in self._queues.values():
                queue.clear()
            self._changed.notify_all()

    # --- called with the lock ---

    def _refill(self) -> None:
        """Ask for a thread where an output has become half empty."""
        if self._busy is not None or self._failed or self._closed or not self.manager.grants:
            return
        half_empty = (len(self._queues[name]) * 2 <= self.capacity for name, is_open in self._open.items() if is_open)
        if any(half_empty) and not self._begin():
            self._busy = None

    def _begin(self) -> bool:
        """Ask for a thread that fills the queues; if none is granted, the reader may pull."""
        self._busy = turn = object()
        try:
            task = self.manager.try_start(partial(self._fill, turn))
        except BaseException:  # Ctrl-C: if the thread has begun nevertheless, it finds that its turn is over
            self._busy = None
            raise
        self._task = task or self._task
        return task is not None

    def _emptiest(self) -> str | None:
        """The output to pull for next; None where there is no room, no need, or threading has been turned off."""
        if self._closed or self._failed or not self.manager.grants:
            return None
        lengths = [(len(self._queues[name]), name) for name, is_open in self._open.items() if is_open]
        least = min(lengths, default=(self.capacity, ""))
        return least[1] if least[0] < self.capacity else None

    # --- without the lock ---

    def _fill(self, turn: object) -> None:
        """Pull until all queues are full, all outputs have ended, or something fails."""
        done: Done[T] | None = None
        name: str | None = None
        while True:
            with self._changed:
                if self._busy is not turn:
                    return
                if done is not None and name is not None:
                    self._keep(name, done)
                    self._changed.notify_all()
                name = self._emptiest()
                if name is None:
                    self._busy = None
                    self._changed.notify_all()
                    return
            done = Done(self._pulls[name], carries=BaseException)  # this is a thread: it goes to the reader

    def _keep(self, name: str, done: Done[T]) -> None:
        if done.ended:
            self._open[name] = False
        elif not self._closed:
            self._queues[name].append(done)
            self._failed = done.failed

    def _pull_here(self, name: str) -> T:
        """One event, computed by the reader."""
        try:
            return self._pulls[name]()
        except StopIteration:
            with self._changed:
                self._open[name] = False
            raise
        finally:
            with self._changed:
                self._busy = None
                self._changed.notify_all()


class Ahead(Generic[T]):
    """An iterator that is pulled ahead of its reader."""

    def __init__(self, events: Iterator[T], manager: ThreadManager, capacity: int = CAPACITY) -> None:
        self._prefetch: Prefetch[T] = Prefetch({"": events.__next__}, manager, capacity)

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> T:
        return self._prefetch.pull("")

    def close(self) -> None:
        """See `Prefetch.close`."""
        self._prefetch.close()

    def cancel(self) -> None:
        """See `Prefetch.cancel`."""
        self._prefetch.cancel()
