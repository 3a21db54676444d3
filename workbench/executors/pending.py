"""Results of non-blocking calls: work that may still run, and its result (Multiple Threads, section 4.2).

The rule of this module: an error is raised in the caller that waits for the result, whichever thread met it.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor
from typing import Generic, Protocol, TypeVar

from workbench.interrupts import hold

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class Pending(Protocol[T_co]):
    """Work that has been started."""

    def wait_for(self) -> T_co:
        """Wait for the result and return it, or raise the error of the work. May be called again."""


class Done(Generic[T]):
    """Work that is run at once, in the caller: the fallback of non-blocking calls.

    Parameters
    ----------
    work: called at once, in the caller's thread.
    carries: errors that are stored for `wait_for`. Others are raised at once: Ctrl-C must reach the thread that works.
    """

    __slots__ = ("_error", "_value")

    _value: T

    def __init__(self, work: Callable[[], T], carries: type[BaseException] = Exception) -> None:
        self._error: BaseException | None = None
        try:
            self._value = work()
        except carries as error:
            self._error = error

    def wait_for(self) -> T:
        """Return the result, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._value

    @property
    def has_failed(self) -> bool:
        """Whether the work raised an error."""
        return self._error is not None

    @property
    def has_ended(self) -> bool:
        """Whether the error marks the end of an iterator."""
        return isinstance(self._error, StopIteration)


class Submitted(Generic[T]):
    """Work for a pool; `wait_for` does the work itself if no thread has begun it.

    Parameters
    ----------
    executor: the pool.
    """

    def __init__(self, work: Callable[[], T], executor: Executor) -> None:
        self._work = work
        self._here: Done[T] | None = None
        self._future = executor.submit(work)

    @property
    def done(self) -> bool:
        """Whether there is a result."""
        return self._future.done()

    def wait_for(self) -> T:
        """See `Pending`."""
        if self._future.cancel() and self._here is None:
            self._here = Done(self._work)
        return self._future.result() if self._here is None else self._here.wait_for()


class Pool:
    """A thread pool of `concurrent.futures` with the interface of `ThreadManager`."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def start(self, work: Callable[[], T]) -> Submitted[T]:
        """Submit work, which begins when a thread is free."""
        with hold():
            return Submitted(work, self._executor)
