"""What the thread package takes from Python: threads and conditions, and nothing else.

Whoever needs them takes them from one place, the thread manager, so that tests can put a scheduler of their own
in the place of the standard library (`conformance.schedules`). The module `threading` is the default.
"""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Protocol


class Condition(Protocol):
    """`threading.Condition`: a lock, and waiting for a change of what it guards."""

    def __enter__(self) -> bool: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...

    def wait(self) -> bool:
        """Give up the lock until notified."""

    def notify(self, n: int = 1) -> None:
        """Wake waiting threads."""

    def notify_all(self) -> None:
        """Wake all waiting threads."""


class Thread(Protocol):
    """`threading.Thread`."""

    def start(self) -> None:
        """Let it run."""

    def join(self) -> None:
        """Wait until it has ended."""


class MakesThread(Protocol):
    """The class `threading.Thread`."""

    def __call__(self, *, target: Callable[[], None], name: str, daemon: bool) -> Thread: ...


class Primitives(Protocol):
    """The part of the module `threading` that is used."""

    @property
    def Condition(self) -> Callable[[], Condition]:  # noqa: N802
        """Makes a condition with a lock of its own that may be taken again by its owner."""

    @property
    def Thread(self) -> MakesThread:  # noqa: N802
        """Makes a thread."""
