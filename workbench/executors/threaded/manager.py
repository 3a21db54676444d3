"""Thread managers, which grant threads up to a limit (Multiple Threads, section 4.1).

The rule of this module: a request for a thread never blocks. Where none is granted, the requesting thread does the
work; so a limit determines the concurrency, never the result, and 0 turns threading off.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, Generic, Self, TypeVar

from workbench.errors import PipelineError
from workbench.executors.pending import Done, Pending
from workbench.executors.threaded.primitives import Gates, Primitives, Thread
from workbench.interrupts import hold

T = TypeVar("T")


class ThreadTask(Generic[T]):
    """Work for a thread of a manager."""

    def __init__(self, work: Callable[[], T], primitives: Primitives) -> None:
        self._work = work
        self._over = primitives.Lock()
        self._over.acquire()

    def run(self) -> None:
        """Do the work; `finish` publishes the result."""
        self._done = Done(self._work, carries=BaseException)  # the waiting thread gets any error
        del self._work

    def finish(self) -> None:
        """Release the waiting threads."""
        self._over.release()

    @property
    def over(self) -> bool:
        """Whether the work is over."""
        return not self._over.locked()

    def wait_for(self) -> T:
        """Wait for the result, and return it or raise the error of the work."""
        with self._over:  # several threads may wait
            pass
        return self._done.wait_for()


class ThreadManager:
    """A source of threads, with a limit on those that work at the same time.

    Parts of a pipeline may have managers of their own. An idle thread waits for later work and does not count; all
    threads have ended when `close` returns. A manager that is not closed is closed when it is garbage collected.

    Parameters
    ----------
    limit: maximum number of threads that work concurrently, besides the callers; 0 grants none; None: no limit.
    primitives: threads and locks; the standard library's by default.
    """

    def __init__(self, limit: int | None = 0, *, primitives: Primitives = threading) -> None:
        self.primitives = primitives
        self._workers = _Workers(_check_limit(limit), primitives)
        self.grants = limit != 0
        """Whether it may grant a thread: not with a limit of 0, nor when closed. Read for every event."""
        self._finalizer = weakref.finalize(self, self._workers.end)

    @property
    def limit(self) -> int | None:
        """Maximum number of threads that work concurrently. May be changed at any time; applies to later requests."""
        return self._workers.limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        self._workers.change_limit(_check_limit(limit))
        self.grants = self._workers.limit != 0

    @property
    def working(self) -> int:
        """The number of working threads."""
        return self._workers.working

    @property
    def threads(self) -> int:
        """The number of threads, idle ones included."""
        return len(self._workers.threads)

    def try_start(self, work: Callable[[], T]) -> ThreadTask[T] | None:
        """Start work in a thread; return None, without any effect, where no thread is granted."""
        if self._workers.limit == 0:
            return None
        return self._workers.start(work)

    def start(self, work: Callable[[], T]) -> Pending[T]:
        """Start work in a thread if one is granted; otherwise do it at once."""
        return self.try_start(work) or Done(work)

    def run_all(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Run several functions concurrently, the first one in the caller; an error is raised once all are over."""
        others = [self.start(work) for work in works[1:]]
        try:
            first = works[0]()
        finally:
            other_results = [each.wait_for() for each in others]
        return [first, *other_results]

    def close(self) -> None:
        """Grant no more threads, wait for work in progress, and end all threads.

        A close from within the manager's own work does not wait: it would wait for itself.
        """
        self.grants = False
        self._workers.end()
        self._workers.join()
        self._finalizer.detach()  # a finalizer without work would only swallow a Ctrl-C

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Workers:
    """The threads of a manager; they do not refer to the manager, so that it can be garbage collected.

    Ctrl-C is raised in the thread that requests, never in these threads: once the request is recorded.
    """

    def __init__(self, limit: int | None, primitives: Primitives) -> None:
        self.limit = limit
        self.primitives = primitives
        self.threads: set[Thread] = set()
        """Running threads."""
        self._starting: set[Thread] = set()
        """Threads that are starting."""
        self._retired: list[Thread] = []
        """Threads that only wait for those that retired before them."""
        self._tasks: deque[ThreadTask[Any]] = deque()
        """Granted tasks that have not begun."""
        self._begun: set[ThreadTask[Any]] = set()
        self._ended = False
        self._lock = primitives.RLock()
        self._free = Gates(primitives)
        """Gates of threads without work."""
        self._closers = Gates(primitives)
        """Gates of callers that wait for the end of all threads."""

    @property
    def working(self) -> int:
        return len(self._tasks) + len(self._begun)

    @property
    def full(self) -> bool:
        return self.limit is not None and self.working >= self.limit

    def change_limit(self, limit: int | None) -> None:
        with hold(), self._lock:
            if not self._ended:
                self.limit = limit
                self._free.open()  # surplus threads end

    def start(self, work: Callable[[], T]) -> ThreadTask[T] | None:
        if self.full:  # usually full, which needs no lock to see
            return None
        task = ThreadTask(work, self.primitives)
        with hold():
            with self._lock:
                if self._ended or self.full:
                    return None
                self._tasks.append(task)
                if self._free.open_one():
                    return task
                thread = self.primitives.Thread(target=self._serve, name="workbench", daemon=True)
                self._starting.add(thread)
            try:
                thread.start()
            except RuntimeError:  # the system has no thread left
                return None if self._withdraw(task, thread) else task
        return task

    def _withdraw(self, task: ThreadTask[Any], thread: Thread) -> bool:
        """Withdraw a task; return False if it has begun already."""
        with self._lock:
            self._starting.discard(thread)
            self._closers.open()
            if task not in self._tasks:
                return False
            self._tasks.remove(task)
            return True

    def _serve(self) -> None:
        me = self.primitives.current_thread()
        with self._lock:
            self.threads.add(me)
            self._starting.discard(me)
        done: ThreadTask[Any] | None = None
        while True:
            with self._lock:
                gate = self._free.shut()  # first: later work opens it
                if done is not None:
                    self._begun.discard(done)  # before it is known to be over: then its thread can be granted again
                task = self._begin()
                retires = task is None and self._too_many()
                if task is not None or retires:
                    self._free.remove(gate)
                if retires:
                    over = self._retire(me)
            if done is not None:
                done.finish()
            if retires:
                break
            done = task
            if task is not None:
                task.run()
            else:
                gate.acquire()
                with self._lock:
                    self._free.remove(gate)
        for each in over:
            each.join()

    def _begin(self) -> ThreadTask[Any] | None:
        if not self._tasks:
            return None
        self._begun.add(self._tasks[0])
        return self._tasks.popleft()

    def _too_many(self) -> bool:
        return self._ended or (self.limit is not None and len(self.threads) > self.limit)

    def _retire(self, me: Thread) -> list[Thread]:
        """Retire a thread; return the threads that retired before it and have ended, or are about to."""
        self.threads.discard(me)
        over, self._retired = self._retired, [me]
        self._closers.open()
        return over

    def end(self) -> None:
        with hold(), self._lock:
            self._ended, self.limit = True, 0
            self._free.open()

    def join(self) -> None:
        """Wait for all threads, including those that are starting."""
        while True:
            with self._lock:
                if self.primitives.current_thread() in self.threads:
                    return  # this is work of the manager's own, which would wait for itself
                if not self.threads and not self._starting:
                    over = list(self._retired)
                    break
                gate = self._closers.shut()
            gate.acquire()
        for thread in over:
            thread.join()


def _check_limit(limit: int | None) -> int | None:
    whole = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and (not whole or limit < 0):
        raise PipelineError(
            f"a thread manager cannot have a limit of {limit!r}", hint="a whole number; 0: no threads; None: no limit"
        )
    return limit
