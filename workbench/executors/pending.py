"""What a non-blocking call gives back: work that may go on, and its result (Multiple Threads, section 4.2).

The rule of this module: an error is carried to whoever waits for the result, in whichever thread it came up.
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
        """The result, when it is there; raises what the work raised. May be called again."""


class Done(Generic[T]):
    """Work that is done here and now: what non-blocking calls fall back to.

    Parameters
    ----------
    work: called at once, in the caller's thread.
    carries: errors for whoever waits. Others are raised here: Ctrl-C is for who works, and nobody might wait.
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
        """The result, or the error."""
        if self._error is not None:
            raise self._error
        return self._value

    @property
    def has_failed(self) -> bool:
        """Whether it came to an error."""
        return self._error is not None

    @property
    def has_ended(self) -> bool:
        """Whether the error is the end of what was iterated over."""
        return isinstance(self._error, StopIteration)


class Submitted(Generic[T]):
    """Work for a pool; who asks for the result does the work if nobody has begun it.

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
        """Whether nobody has to wait."""
        return self._future.done()

    def wait_for(self) -> T:
        """See `Pending`."""
        if self._future.cancel() and self._here is None:
            self._here = Done(self._work)
        return self._future.result() if self._here is None else self._here.wait_for()


class Pool:
    """Threads of `concurrent.futures`, which are asked as a `ThreadManager` is."""

    def __init__(self, executor: Executor) -> None:
        self._executor = executor

    def start(self, work: Callable[[], T]) -> Submitted[T]:
        """The work, begun when a thread has time."""
        with hold():
            return Submitted(work, self._executor)
