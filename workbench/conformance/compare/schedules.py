"""Schedules: the same interleaving of threads again and again, and another one for every seed.

A `Schedule` takes the place of the module `threading` in a `ThreadManager`. Its threads are real, but only one runs
at a time; at every operation on a lock or a thread, and wherever `point` is called, the schedule decides who goes
on. So a run can be repeated; that nobody can go on is seen at once (`Deadlock`), and so is a thread that does not end.

A schedule is a seed, which decides everything, or a list of switches: a thread goes on until it has to wait, but for
those points. Few switches show most mistakes (Musuvathi and Qadeer, PLDI 2007), and a list of them can be made shorter.
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
    """No thread can go on."""


class Schedule:
    """One interleaving.

    Parameters
    ----------
    seed: decides everything; or the switches: after how many points another thread goes on, and which of those that
        can (counted from the one that began first, and round again); then after how many more; and so on.
    switching: how probable it is at a point that another thread goes on; None: the seed decides.
    """

    def __init__(self, seed: int | Switches, switching: float | None = None) -> None:
        self._switches = None if isinstance(seed, int) else list(seed)
        self._random = random.Random(seed if isinstance(seed, int) else 0)
        self._switching = self._random.choice((0.05, 0.3, 0.9)) if switching is None else switching
        self._fibers: list[_Fiber] = []
        self._current = _Fiber("caller")
        self._caller = ScheduledThread(self, lambda: None, "caller")
        self._dead = ""
        self._failures: list[BaseException] = []
        self._interrupt: BaseException | None = None
        self.points = 0
        """The number of times at which another thread could have gone on."""

    # --- as the module `threading` ---

    def Lock(self) -> ScheduledLock:  # noqa: N802
        """A lock whose taking is scheduled."""
        return ScheduledLock(self)

    def RLock(self) -> ScheduledRLock:  # noqa: N802
        """A lock that its owner may take again."""
        return ScheduledRLock(self)

    def current_thread(self) -> ScheduledThread:
        """The thread that runs; one of its own for the caller."""
        return self._current.thread or self._caller

    def Thread(self, *, target: Callable[[], None], name: str, daemon: bool) -> ScheduledThread:  # noqa: N802
        """A thread that is scheduled."""
        del daemon
        return ScheduledThread(self, target, name)

    # --- running ---

    def run(self, body: Callable[[], T]) -> T:
        """Run `body` under this schedule, as the first thread.

        Raises
        ------
        Deadlock: nobody could go on. AssertionError: a thread has not ended when `body` has, or has failed.
        """
        caller = self._current
        self._fibers = [caller]
        try:
            result = body()
        finally:
            if self._interrupt is not None:  # who cleans up behind it fails otherwise
                raise self._interrupt
        left = [fiber.name for fiber in self._fibers if fiber is not caller]
        if left:
            self._die(f"{len(left)} threads have not ended: {', '.join(left)}")
            raise AssertionError(self._dead)
        if self._failures:
            raise AssertionError("a thread has failed") from self._failures[0]
        return result

    def point(self) -> None:
        """Another thread may go on here; not where all is over, and objects are only put away."""
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
        able = [fiber for fiber in self._fibers if fiber.blocked is None]
        self._go_on(able[which % len(able)])

    # --- for locks and threads ---

    @property
    def current(self) -> _Fiber:
        """The thread that runs."""
        return self._current

    def block(self, why: object) -> None:
        """The current thread cannot go on until it is unblocked."""
        self._current.blocked = why
        self.switch()

    def unblock(self, why: object) -> None:
        """Those that are blocked for this reason can go on."""
        for fiber in self._fibers:
            if fiber.blocked is why:
                fiber.blocked = None

    def switch(self) -> None:
        """The seed chooses who goes on."""
        if self._dead:
            raise Deadlock(self._dead)
        self._go_on(self._choose_fiber())

    def _go_on(self, chosen: _Fiber | None) -> None:
        """This thread goes on, and the current one when it is chosen again."""
        me = self._current
        if chosen is not None and chosen is not me:
            self._current = chosen
            chosen.baton.release()
            try:
                me.baton.acquire()
            except BaseException as error:  # Ctrl-C comes to the caller while another thread goes on
                self._interrupt = error
                raise
        if self._dead:
            raise Deadlock(self._dead)

    def _choose_fiber(self) -> _Fiber | None:
        able = [fiber for fiber in self._fibers if fiber.blocked is None]
        if able:
            return self._random.choice(able) if self._switches is None else able[0]
        waiting = ", ".join(f"{fiber.name} for {fiber.blocked}" for fiber in self._fibers)
        self._die(f"no thread can go on; waiting: {waiting}")
        return None

    def _die(self, why: str) -> None:
        """All threads are let go, to fail."""
        self._dead = why
        for fiber in self._fibers:
            if fiber is not self._current:
                fiber.baton.release()

    def began(self, fiber: _Fiber) -> None:
        """A thread can be chosen from now on."""
        self._fibers.append(fiber)

    def end_fiber(self, fiber: _Fiber, failure: BaseException | None) -> None:
        """The current thread has ended."""
        if self._dead:
            return
        if failure is not None:
            self._failures.append(failure)
        self._fibers.remove(fiber)
        self.unblock(fiber)
        chosen = self._choose_fiber()
        if chosen is not None:
            self._current = chosen
            chosen.baton.release()


class _Fiber:
    """A thread, as the schedule sees it."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.thread: ScheduledThread | None = None
        self.baton = threading.Semaphore(0)
        self.blocked: object = None

    def __str__(self) -> str:
        return f"the end of {self.name}"


class ScheduledThread:
    """In place of `threading.Thread`."""

    def __init__(self, schedule: Schedule, target: Callable[[], None], name: str) -> None:
        self._schedule = schedule
        self._target = target
        self._fiber = _Fiber(name)
        self._fiber.thread = self
        self._begun = self._over = False

    def start(self) -> None:
        """Let it run, at once or later."""
        self._begun = True
        self._schedule.began(self._fiber)
        threading.Thread(target=self._run, daemon=True).start()
        self._schedule.point()

    def is_alive(self) -> bool:
        """Whether it has been started and has not ended."""
        return self._begun and not self._over

    def join(self) -> None:
        """Wait until it has ended; RuntimeError where `threading.Thread` raises it."""
        if not self._begun:
            raise RuntimeError("cannot join thread before it is started")
        if self._fiber is self._schedule.current:
            raise RuntimeError("cannot join current thread")
        while not self._over:
            self._schedule.block(self._fiber)

    def _run(self) -> None:
        self._fiber.baton.acquire()
        failure: BaseException | None = None
        try:
            self._target()
        except BaseException as error:  # told by `Schedule.run`
            failure = error
        self._over = True
        self._schedule.end_fiber(self._fiber, failure)


class ScheduledLock:
    """In place of `threading.Lock`."""

    name = "a gate"

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        self._owner: _Fiber | None = None

    def acquire(self) -> bool:
        """Take it when nobody has it. No point: who makes a lock takes it before anybody else can."""
        while self._owner is not None:
            self._schedule.block(self)
        self._owner = self._schedule.current
        return True

    def release(self) -> None:
        """Give it up."""
        assert self._owner is not None, "release of a lock that is not held"
        self._owner = None
        self._schedule.unblock(self)

    def locked(self) -> bool:
        """Whether somebody has it."""
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
    """In place of `threading.RLock`: its owner may take it again. Another thread may go on before it, and after it."""

    name, _depth = "a lock", 0

    def acquire(self) -> bool:
        self._schedule.point()
        if self._owner is not self._schedule.current:
            super().acquire()
        self._depth += 1
        return True

    def release(self) -> None:
        assert self._owner is self._schedule.current
        self._depth -= 1
        if not self._depth:
            super().release()
            self._schedule.point()
