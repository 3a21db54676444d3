"""What the thread package takes from Python: threads and locks, and nothing else.

Whoever needs them takes them from one place, the thread manager, so that tests can put a scheduler of their own
in the place of the standard library (`conformance.schedules`). The module `threading` is the default.

The rule of this module: who waits does so at a gate, outside of any lock; there are no conditions, in whose code Ctrl-C
would leave a lock taken.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Protocol

Guard = AbstractContextManager[bool]
"""`threading.RLock`, taken by `with` only."""


class Gate(Guard, Protocol):
    """`threading.Lock`."""

    def acquire(self) -> bool:
        """Wait until it can be taken, and take it."""

    def release(self) -> None:
        """Give it up; any thread may."""

    def locked(self) -> bool:
        """Whether somebody has taken it."""


class Thread(Protocol):
    """`threading.Thread`."""

    def start(self) -> None:
        """Let it run."""

    def join(self) -> None:
        """Wait until it has ended."""

    def is_alive(self) -> bool:
        """Whether it has begun and not ended."""


class MakesThread(Protocol):
    """The class `threading.Thread`."""

    def __call__(self, *, target: Callable[[], None], name: str, daemon: bool) -> Thread: ...


TellsThread = Callable[[], Thread]
"""The function `threading.current_thread`."""


class Primitives(Protocol):
    """The part of the module `threading` that is used."""

    @property
    def Lock(self) -> Callable[[], Gate]:  # noqa: N802
        """Makes a lock."""

    @property
    def RLock(self) -> Callable[[], Guard]:  # noqa: N802
        """Makes a lock that may be taken again by its owner: the garbage collector may come by at any time."""

    @property
    def Thread(self) -> MakesThread:  # noqa: N802
        """Makes a thread."""

    @property
    def current_thread(self) -> TellsThread:
        """The thread that runs."""


class Gates:
    """Those that wait for a change of what a lock guards.

    Each waits at a gate of its own. `shut` one with the lock, look whether there is something to wait for, and
    pass it (`acquire`) without the lock.
    """

    def __init__(self, primitives: Primitives) -> None:
        self._make = primitives.Lock
        self._gates: list[Gate] = []

    def shut(self) -> Gate:
        """A new gate; called with the lock."""
        gate = self._make()
        gate.acquire()
        self._gates.append(gate)
        return gate

    def open(self) -> None:
        """Let all go on; called with the lock."""
        while self.open_one():
            pass

    def open_one(self) -> bool:
        """Let one go on; False if nobody waits. Called with the lock."""
        if not self._gates:
            return False
        self._gates.pop(0).release()
        return True

    def remove(self, gate: Gate) -> None:
        """Nobody waits there any more; called with the lock."""
        if gate in self._gates:
            self._gates.remove(gate)
