"""Thread managers: they grant a thread, or do not (Multiple Threads, section 4.1).

The rule of this module: asking for a thread never blocks. Where none is granted, the work is done by the thread that
asked; so a limit decides how much runs at the same time, never what is computed, and 0 turns threading off.
"""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Generic, Self, TypeVar

from workbench.core.pending import Done, Pending
from workbench.errors import PipelineError
from workbench.threads.primitives import Primitives, Thread

T = TypeVar("T")


class Task(Generic[T]):
    """Work that a thread of a manager does."""

    def __init__(self, work: Callable[[], T], primitives: Primitives) -> None:
        self._work: Callable[[], T] | None = work
        self._over = primitives.Condition()
        self._error: BaseException | None = None
        self._value: Any = None

    def run(self) -> None:
        """Do the work; `finish` makes it known."""
        assert self._work is not None
        try:
            self._value = self._work()
        except BaseException as error:  # whoever waits gets it, whatever it is
            self._error = error

    def finish(self) -> None:
        """Let go whoever waits."""
        with self._over:
            self._work = None
            self._over.notify_all()

    def wait_for(self) -> T:
        """The result, when it is there; the error of the work is raised here."""
        with self._over:
            while self._work is not None:
                self._over.wait()
        if self._error is not None:
            raise self._error
        value: T = self._value
        return value


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
        self._workers = _Workers(_checked(limit), primitives)
        self.grants = limit != 0
        """Whether it would ever grant a thread now: not with a limit of 0, nor when closed. Asked for every event."""
        self._finalizer = weakref.finalize(self, self._workers.end)

    @property
    def limit(self) -> int | None:
        """Most threads that work at the same time. It may be changed at any time, and holds for what is asked next."""
        return self._workers.limit

    @limit.setter
    def limit(self, limit: int | None) -> None:
        self._workers.change_limit(_checked(limit))
        self.grants = self._workers.limit != 0

    @property
    def working(self) -> int:
        """The number of threads at work."""
        return self._workers.working

    @property
    def threads(self) -> int:
        """The number of threads there are, idle ones included."""
        return len(self._workers.threads)

    def try_start(self, work: Callable[[], T]) -> Task[T] | None:
        """The work, begun in a thread; None where no thread is granted, and then nothing has been done."""
        if self._workers.limit == 0:
            return None
        return self._workers.start(work)

    def start(self, work: Callable[[], T]) -> Pending[T]:
        """The work, begun in a thread if one is granted, else done here and now."""
        return self.try_start(work) or Done(work)

    def close(self) -> None:
        """Grant no thread any more, wait for what is being done, and end all threads."""
        self.grants = False
        self._workers.end()
        self._workers.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


class _Workers:
    """The threads of a manager; they do not know the manager, so that it can be found unused."""

    def __init__(self, limit: int | None, primitives: Primitives) -> None:
        self.limit = limit
        self.primitives = primitives
        self.working = 0
        self.threads: set[Thread] = set()
        self.retired: list[Thread] = []
        """Threads that do nothing more."""
        self._idle = 0
        self._tasks: deque[Task[Any]] = deque()
        self._ended = False
        self._changed = primitives.Condition()

    def change_limit(self, limit: int | None) -> None:
        with self._changed:
            if not self._ended:
                self.limit = limit
                self._changed.notify_all()  # who is idle and too many ends

    def start(self, work: Callable[[], T]) -> Task[T] | None:
        with self._changed:
            if self._ended or (self.limit is not None and self.working >= self.limit):
                return None
            self.working += 1
            task = Task(work, self.primitives)
            self._tasks.append(task)
            if self._idle >= len(self._tasks):
                self._changed.notify()
                return task
            thread = self.primitives.Thread(target=lambda: self._serve(thread), name="workbench", daemon=True)
            self.threads.add(thread)
            over, self.retired = self.retired, []
        try:
            for each in over:  # they have ended, or do so now
                each.join()
            thread.start()
        except BaseException as error:  # Ctrl-C, or the system has no thread left
            if not isinstance(error, RuntimeError):
                self._withdraw(task, thread)
                raise
            return None if self._withdraw(task, thread) else task
        return task

    def _withdraw(self, task: Task[Any], thread: Thread) -> bool:
        """Whether the task has not been begun; then it never is. The thread may begin late, or not at all."""
        with self._changed:
            self.threads.discard(thread)
            if task not in self._tasks:
                return False
            self._tasks.remove(task)
            self.working -= 1
            return True

    def _serve(self, thread: Thread) -> None:
        while task := self._next(thread):
            task.run()
            with self._changed:
                self.working -= 1  # before it is known to be over: then its thread can be granted again
            task.finish()

    def _next(self, thread: Thread) -> Task[Any] | None:
        with self._changed:
            self.threads.add(thread)  # it is not there if it began late
            while not self._tasks:
                if self._ended or (self.limit is not None and self.working + self._idle >= self.limit):
                    self.threads.discard(thread)
                    self.retired.append(thread)
                    return None
                self._idle += 1
                self._changed.wait()
                self._idle -= 1
            return self._tasks.popleft()

    def end(self) -> None:
        with self._changed:
            self._ended, self.limit = True, 0
            self._changed.notify_all()

    def join(self) -> None:
        with self._changed:
            threads = [*self.threads, *self.retired]
        for thread in threads:
            thread.join()
        with self._changed:
            self.retired.clear()


def _checked(limit: int | None) -> int | None:
    whole = isinstance(limit, int) and not isinstance(limit, bool)
    if limit is not None and (not whole or limit < 0):
        raise PipelineError(
            f"a thread manager cannot have a limit of {limit!r}", hint="a whole number; 0: no threads; None: no limit"
        )
    return limit
