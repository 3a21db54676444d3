"""Work for threads that would wait: who has it to do puts it here, and others take of it while they have nothing to do.

The rule of this module: nothing waits for others to take it. Who asks for a result does the work if nobody has begun.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import Any, Generic, TypeVar

from workbench.executors.pending import Done, Pending
from workbench.interrupts import admit, hold

T = TypeVar("T")


class SharedTask(Generic[T]):
    """Work that who comes first does."""

    def __init__(self, work: Callable[[], T], offered: deque[SharedTask[Any]]) -> None:
        self._work, self._offered = work, offered
        self._begun, self._over = Lock(), Lock()
        self._over.acquire()

    def run(self) -> bool:
        """Do it, if nobody has begun; whether it was done here."""
        with hold():
            if not self._begun.acquire(blocking=False):
                return False
            self._done = Done(self._admitted, carries=BaseException)  # whoever waits gets the error, whatever it is
            self._over.release()
        return True

    def _admitted(self) -> T:
        with admit():
            return self._work()

    def wait_for(self) -> T:
        """See `Pending`."""
        with suppress(ValueError):  # somebody has taken it
            self._offered.remove(self)
        self.run()
        with self._over:  # others may be waiting, too
            pass
        return self._done.wait_for()


class SharedWork:
    """Work that has been put here and not been begun; it is asked for as a `ThreadManager` is."""

    def __init__(self) -> None:
        self._tasks: deque[SharedTask[Any]] = deque()

    def start(self, work: Callable[[], T]) -> Pending[T]:
        """The work, for whoever has nothing else to do, or waits for it."""
        task = SharedTask(work, self._tasks)
        self._tasks.append(task)
        return task

    def help(self) -> bool:
        """Do some of it, what was put here last first; False where there is none."""
        with suppress(IndexError):
            while not self._tasks.pop().run():
                pass
            return True
        return False
