"""Thread managers: they grant a thread, or do not (Multiple Threads, section 4.1).

The rule of this module: asking for a thread never blocks. Where none is granted, the work is done by the thread that
asked; so a limit decides how much runs at the same time, never what is computed, and 0 turns threading off.
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
    """Work that a thread of a manager does."""

    def __init__(self, work: Callable[[], T], primitives: Primitives) -> None:
        self._work = work
        self._over = primitives.Lock()
        self._over.acquire()

    def run(self) -> None:
        """Do the work; `finish` makes it known."""
        self._done = Done(self._work, carries=BaseException)  # whoever waits gets the error, whatever it is
        del self._work

    def finish(self) -> None:
        """Let go whoever waits."""
        self._over.release()

    @property
    def over(self) -> bool:
        """Whether nobody has to wait any more."""
        return not self._over.locked()

    def wait_for(self) -> T:
        """The result, when it is there; the error of the work is raised here."""
        with self._over:  # others may be waiting, too
            pass
        return self._done.wait_for()


class ThreadManager:
    """Grants threads, up to a limit of those that work at the same time.

    Parts of a pipeline may have managers of their own. A thread that has done its work is kept for the next work and
    counts for nothing meanwhile; all threads have ended when `close` returns. A manager that is not closed is closed
    when it is no longer used.

    Parameters
    ----------
    limit: most threads that work at the same time, beside the callers'; 0 grants none; None: no limit.
    primitives: threads and conditions; the standard library's.
    """

    def __init__(self, limit: int | None = 0, *, primitives: Primitives = threading) -> None:
        self.primitives = primitives
        self._workers = _Workers(_check_limit(limit), primitives)
        self.grants = limit != 0
        """Whether it would ever grant a thread now: not with a limit of 0, nor when closed. Asked for every event."""
        self._finalizer = weakref.finalize(self, self._workers.end)

    @property
    def limit(self) -> int | None:
        """Most threads that work at the same time. It may be changed at any time, and holds for what is asked next."""
        return self._workers.limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        self._workers.change_limit(_check_limit(limit))
        self.grants = self._workers.limit != 0

    @property
    def working(self) -> int:
        """The number of threads at work."""
        return self._workers.working

    @property
    def threads(self) -> int:
        """The number of threads there are, idle ones included."""
        return len(self._workers.threads)

    def try_start(self, work: Callable[[], T]) -> ThreadTask[T] | None:
        """The work, begun in a thread; None where no thread is granted, and then nothing has been done."""
        if self._workers.limit == 0:
            return None
        return self._workers.start(work)

    def start(self, work: Callable[[], T]) -> Pending[T]:
        """The work, begun in a thread if one is granted, else done here and now."""
        return self.try_start(work) or Done(work)

    def run_all(self, works: Sequence[Callable[[], T]]) -> list[T]:
        """Do several works at the same time, the first one here; an error is raised once all are over."""
        others = [self.start(work) for work in works[1:]]
        try:
            first = works[0]()
        finally:
            found = [each.wait_for() for each in others]
        return [first, *found]

    def close(self) -> None:
        """Grant no thread any more, wait for what is being done, and end all threads.

        Work of the manager's own that closes it does not wait: it would wait for itself.
        """
        self.grants = False
        self._workers.end()
        self._workers.join()
        self._finalizer.detach()  # nothing is left to do: it would only swallow a Ctrl-C that comes meanwhile

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class _Workers:
    """The threads of a manager; they do not know the manager, so that it can be found unused.

    Ctrl-C comes to who asks for a thread, never to the threads: when what is asked for is written down.
    """

    def __init__(self, limit: int | None, primitives: Primitives) -> None:
        self.limit = limit
        self.primitives = primitives
        self.threads: set[Thread] = set()
        """Those that have begun and not ended."""
        self._starting: set[Thread] = set()
        """Those that will begin."""
        self._retired: list[Thread] = []
        """Those that do nothing more but wait for the ones that retired before them."""
        self._tasks: deque[ThreadTask[Any]] = deque()
        """Granted, and not begun."""
        self._begun: set[ThreadTask[Any]] = set()
        self._ended = False
        self._lock = primitives.RLock()
        self._free = Gates(primitives)
        """Threads without work."""
        self._closers = Gates(primitives)
        """Those that wait for the end of all threads."""

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
                self._free.open()  # who is too many ends

    def start(self, work: Callable[[], T]) -> ThreadTask[T] | None:
        if self.full:  # most often it is, and no lock is needed to see it
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
        """Whether the task has not been begun; then it never is."""
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
                gate = self._free.shut()  # first: whoever brings work from now on opens it
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
        """The threads that retired before this one: they have ended, or do so now."""
        self.threads.discard(me)
        over, self._retired = self._retired, [me]
        self._closers.open()
        return over

    def end(self) -> None:
        with hold(), self._lock:
            self._ended, self.limit = True, 0
            self._free.open()

    def join(self) -> None:
        """Wait for all threads, also for those that are just being started."""
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
