"""The only primitives of Python that the thread package uses: threads and locks.

All code takes them from one place, the thread manager, so that tests can replace the standard library by a scheduler of
their own (`conformance.compare.schedules`). The module `threading` is the default.

The rule of this module: threads wait at gates, outside of any lock; there are no conditions, in whose code Ctrl-C would
leave a lock taken.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

Guard = AbstractContextManager[bool]
"""`threading.RLock`, used only with `with`."""


class Gate(Guard, Protocol):
    """A lock, as `threading.Lock`."""

    def acquire(self) -> bool:
        """Wait until the lock is free, and take it."""

    def release(self) -> None:
        """Release the lock; any thread may."""

    def locked(self) -> bool:
        """Whether the lock is taken."""


class Thread(Protocol):
    """A thread, as `threading.Thread`."""

    def start(self) -> None:
        """Start it."""

    def join(self) -> None:
        """Wait until it has ended."""

    def is_alive(self) -> bool:
        """Whether it has started and not ended."""


class MakesThread(Protocol):
    """The class `threading.Thread`."""

    def __call__(self, *, target: Callable[[], None], name: str, daemon: bool) -> Thread: ...


TellsThread = Callable[[], Thread]
"""The function `threading.current_thread`."""


class Primitives(Protocol):
    """The part of the module `threading` that is used."""

    @property
    def Lock(self) -> Callable[[], Gate]:  # noqa: N802
        """Constructor of locks."""

    @property
    def RLock(self) -> Callable[[], Guard]:  # noqa: N802
        """Constructor of reentrant locks: the garbage collector may run at any time in the thread that holds one."""

    @property
    def Thread(self) -> MakesThread:  # noqa: N802
        """Constructor of threads."""

    @property
    def current_thread(self) -> TellsThread:
        """Function that returns the current thread."""


class Gates:
    """Threads that wait for a change of data that a lock guards.

    Each waits at a gate of its own. `shut` one with the lock held, check whether to wait, and pass it (`acquire`)
    without the lock.
    """

    def __init__(self, primitives: Primitives) -> None:
        self._make = primitives.Lock
        self._gates: list[Gate] = []

    def shut(self) -> Gate:
        """Add a new gate; called with the lock held."""
        gate = self._make()
        gate.acquire()
        self._gates.append(gate)
        return gate

    def open(self) -> None:
        """Release all; called with the lock held."""
        while self.open_one():
            pass

    def open_one(self) -> bool:
        """Release one; False if none waits. Called with the lock held."""
        if not self._gates:
            return False
        self._gates.pop(0).release()
        return True

    def remove(self, gate: Gate) -> None:
        """Remove a gate at which no thread waits any more; called with the lock held."""
        if gate in self._gates:
            self._gates.remove(gate)
