"""Schedules: repeatable interleavings of threads, a different one for every seed.

A `Schedule` replaces the module `threading` in a `ThreadManager`. Its threads are real, but only one runs at a time;
at every operation on a lock or a thread, and wherever `point` is called, the schedule chooses the thread that
continues. So a run can be repeated, and a deadlock (`Deadlock`) or a thread that does not end is detected at once.

A schedule is a seed, which determines everything, or a list of switches: except at those points, a thread runs until
it has to wait. Few switches reveal most mistakes (Musuvathi and Qadeer, PLDI 2007), and a list of them can be shrunk.
"""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import TypeVar

T = TypeVar("T")


Switches = Sequence[tuple[int, int]]


class Deadlock(Exception):
    """The exception for a state in which no thread can continue."""


class Schedule:
    """An interleaving of threads.

    Parameters
    ----------
    seed: determines everything; or the switches, each as the number of points before it and the number of the runnable
        thread to continue (counted from the oldest, modulo their number).
    switching: the probability of a switch at a point; None: the seed determines it.
    """

    def __init__(self, seed: int | Switches, switching: float | None = None) -> None:
        self._switches = None if isinstance(seed, int) else list(seed)
        self._random = random.Random(seed if isinstance(seed, int) else 0)
        self._switching = self._random.choice((0.05, 0.3, 0.9)) if switching is None else switching
        self._threads: list[ScheduledThread] = []
        self._current = ScheduledThread(self, lambda: None, "caller")
        self._dead = ""
        self._failures: list[BaseException] = []
        self._interrupt: BaseException | None = None
        self.points = 0
        """The number of points so far at which a switch was possible."""

    # --- the interface of the module `threading` ---

    def Lock(self) -> ScheduledLock:  # noqa: N802
        """Return a lock whose acquisition is scheduled."""
        return ScheduledLock(self)

    def RLock(self) -> ScheduledRLock:  # noqa: N802
        """Return a lock that its owner may acquire again."""
        return ScheduledRLock(self)

    def current_thread(self) -> ScheduledThread:
        """Return the running thread; the caller has a thread object of its own."""
        return self._current

    def Thread(self, *, target: Callable[[], None], name: str, daemon: bool) -> ScheduledThread:  # noqa: N802
        """Return a thread that is scheduled."""
        return ScheduledThread(self, target, name)

    # --- running ---

    def run(self, body: Callable[[], T]) -> T:
        """Run `body` under this schedule, as the first thread.

        Raises
        ------
        Deadlock: no thread could continue. AssertionError: a thread failed, or has not ended when `body` has.
        """
        caller = self._current
        self._threads = [caller]
        try:
            result = body()
        finally:
            if self._interrupt is not None:  # otherwise the cleanup after it fails
                raise self._interrupt
        left = [thread.name for thread in self._threads if thread is not caller]
        if left:
            self._die(f"{len(left)} threads have not ended: {', '.join(left)}")
            raise AssertionError(self._dead)
        if self._failures:
            raise AssertionError("a thread has failed") from self._failures[0]
        return result

    def point(self) -> None:
        """Allow a switch to another thread; none happens after a deadlock, when only cleanup remains."""
        if self._dead:
            return
        self.points += 1
        if self._switches is not None:
            self._count_down(self._switches)
        elif self._random.random() < self._switching:
            self.switch()

    def _count_down(self, switches: list[tuple[int, int]]) -> None:
        if not switches:
            return
        (points, which), *rest = switches
        if points > 0:
            switches[0] = (points - 1, which)
            return
        switches[:] = rest
        able = [thread for thread in self._threads if thread.blocked is None]
        self._go_on(able[which % len(able)])

    # --- for locks and threads ---

    def block(self, why: object) -> None:
        """Block the current thread until it is unblocked."""
        self._current.blocked = why
        self.switch()

    def unblock(self, why: object) -> None:
        """Unblock the threads that are blocked for this reason."""
        for thread in self._threads:
            if thread.blocked is why:
                thread.blocked = None

    def switch(self) -> None:
        """Switch to a thread that the seed chooses; with a list of switches, to the oldest that can run."""
        if self._dead:
            raise Deadlock(self._dead)
        self._go_on(self._choose_thread())

    def _go_on(self, successor: ScheduledThread | None) -> None:
        """Let the chosen thread run, and wait until the current one is chosen again."""
        me = self._current
        if successor is not None and successor is not me:
            self._current = successor
            successor.baton.release()
            try:
                me.baton.acquire()
            except BaseException as error:  # Ctrl-C reaches the caller while another thread runs
                self._interrupt = error
                raise
        if self._dead:
            raise Deadlock(self._dead)

    def _choose_thread(self) -> ScheduledThread | None:
        able = [thread for thread in self._threads if thread.blocked is None]
        if able:
            return self._random.choice(able) if self._switches is None else able[0]
        waiting = ", ".join(f"{thread.name} for {thread.blocked}" for thread in self._threads)
        self._die(f"no thread can continue; waiting: {waiting}")
        return None

    def _die(self, why: str) -> None:
        """Release all threads, so that they fail."""
        self._dead = why
        for thread in self._threads:
            if thread is not self._current:
                thread.baton.release()

    def began(self, thread: ScheduledThread) -> None:
        """Make a thread available for scheduling."""
        self._threads.append(thread)

    def end_thread(self, thread: ScheduledThread, failure: BaseException | None) -> None:
        """End the current thread."""
        if self._dead:
            return
        if failure is not None:
            self._failures.append(failure)
        self._threads.remove(thread)
        self.unblock(thread)
        successor = self._choose_thread()
        if successor is not None:
            self._current = successor
            successor.baton.release()


class ScheduledThread:
    """A replacement for `threading.Thread`."""

    def __init__(self, schedule: Schedule, target: Callable[[], None], name: str) -> None:
        self.name = name
        self.baton = threading.Semaphore(0)
        self.blocked: object = None
        """What the thread waits for; None: it can run."""
        self._schedule = schedule
        self._target = target
        self._begun = self._over = False

    def __str__(self) -> str:
        return f"the end of {self.name}"

    def start(self) -> None:
        """Start the thread; it runs now or later."""
        self._begun = True
        self._schedule.began(self)
        threading.Thread(target=self._run, daemon=True).start()
        self._schedule.point()

    def is_alive(self) -> bool:
        """Whether the thread has been started and has not ended."""
        return self._begun and not self._over

    def join(self) -> None:
        """Wait until the thread has ended; raise RuntimeError where `threading.Thread` does."""
        if not self._begun:
            raise RuntimeError("cannot join thread before it is started")
        if self is self._schedule.current_thread():
            raise RuntimeError("cannot join current thread")
        while not self._over:
            self._schedule.block(self)

    def _run(self) -> None:
        self.baton.acquire()
        failure: BaseException | None = None
        try:
            self._target()
        except BaseException as error:  # reported by `Schedule.run`
            failure = error
        self._over = True
        self._schedule.end_thread(self, failure)


class ScheduledLock:
    """A replacement for `threading.Lock`."""

    name = "a gate"

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._owner: ScheduledThread | None = None

    def acquire(self) -> bool:
        """Acquire the lock when it is free. No point here: the maker of a lock acquires it before any other thread."""
        while self._owner is not None:
            self._schedule.block(self)
        self._owner = self._schedule.current_thread()
        return True

    def release(self) -> None:
        """Release the lock."""
        assert self._owner is not None, "release of a lock that is not held"
        self._owner = None
        self._schedule.unblock(self)

    def locked(self) -> bool:
        """Whether a thread holds the lock."""
        return self._owner is not None

    def __enter__(self) -> bool:
        return self.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        if not isinstance(error, Deadlock):
            self.release()

    def __str__(self) -> str:
        return self.name


class ScheduledRLock(ScheduledLock):
    """A replacement for `threading.RLock`; threads may switch before it is acquired, and after it is released."""

    name, _depth = "a lock", 0

    def acquire(self) -> bool:
        self._schedule.point()
        if self._owner is not self._schedule.current_thread():
            super().acquire()
        self._depth += 1
        return True

    def release(self) -> None:
        assert self._owner is self._schedule.current_thread()
        self._depth -= 1
        if not self._depth:
            super().release()
            self._schedule.point()
