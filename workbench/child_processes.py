"""Child processes that serve this one.

The rule of this module: the processes end with the work, however it ends. They are forked, so that their functions need
not be sent, and scripts and notebooks need no special code. They are stopped with SIGTERM, which comes as
`KeyboardInterrupt` (`interrupts`); Ctrl-C is for the parent, which passes it on; and they stop when the parent is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from enum import Enum
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import Any, TypeVar

from workbench.budget import cores, report, work
from workbench.errors import LimitMet, WorkbenchError
from workbench.interrupts import DEADLINE, ENDING, HELD, admit, came, end_with_parent, hold, own

_Item = TypeVar("_Item")


class Forked:
    """One process, and the connection to it. It is created where interrupts are held back (`interrupts.hold`).

    Parameters
    ----------
    serve: the work of the process, given its end of the connection, until that is closed (`EOFError`).
    others: existing processes, whose connections it does not keep open.
    """

    def __init__(self, serve: Callable[[Connection], None], others: Sequence[Forked]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        ours = [self.connection, *(each.connection for each in others)]
        self.process: BaseProcess = context.Process(target=_live, args=(theirs, ours, serve), daemon=True)
        before = signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)  # until the child is ready for these signals
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # about forks: no other thread is needed in them
                self.process.start()
        finally:
            signal.pthread_sigmask(signal.SIG_SETMASK, before)
        theirs.close()

    def stop(self, *, now: bool) -> None:
        """End the process; `now`: also in the midst of its work."""
        self.connection.close()
        if now:
            self.process.terminate()
        self.process.join(DEADLINE if now else 5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        with contextlib.suppress(ValueError):  # `interrupts.leave` may have waited for it, in another thread
            self.process.close()  # otherwise garbage collection does, where Ctrl-C would be swallowed

    @property
    def cause_of_death(self) -> str:
        """The way in which it ended, for a process that no longer answers."""
        self.process.join(5)
        return f"the process died (status {self.process.exitcode})"


def _live(connection: Connection, ours: Sequence[Connection], serve: Callable[[Connection], None]) -> None:
    """Run a child process."""
    for each in ours:
        each.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent passes it on
    own(HELD)
    end_with_parent(signal.SIGTERM)
    try:
        with contextlib.suppress(EOFError, OSError, KeyboardInterrupt), admit():
            serve(connection)  # until the parent has no more work, is gone, or stops this process
    except Exception:
        if not came():  # foreign code may turn an interrupt into an error of its own
            raise


def can_fork() -> bool:
    """Whether work gains from processes: there are several processors, and this is not such a process already.

    On macOS a process with foreign threads cannot be forked safely.
    """
    return cores() > 1 and sys.platform != "darwin" and not multiprocessing.current_process().daemon


def run_at_once(
    works: Sequence[Callable[[], Iterator[_Item]]], seconds: float | None, died: Callable[[str], _Item]
) -> Iterator[_Item]:
    """Yield the items of several iterators as they come, each of which runs in a process of its own.

    All processes end with this iterator.

    Parameters
    ----------
    seconds: the time after which they are stopped; None: unlimited.
    died: makes the item for a process that met a limit or died, from the reason.

    Raises
    ------
    WorkbenchError: an iterator raised it.
    """
    end = None if seconds is None else time.monotonic() + seconds
    lanes: list[_Lane] = []
    finished = False
    try:
        for each in works:
            with hold():
                lanes.append(_Lane(partial(_send_items, each), lanes))
        while running := [lane for lane in lanes if not lane.ended]:
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                return
            for ready in wait([lane.connection for lane in running], left):
                lane = next(lane for lane in running if lane.connection is ready)
                match lane.receive():
                    case (_Sent.ITEM, item):
                        yield item
                    case (_Sent.ERROR, LimitMet() as met):
                        yield died(met.what)
                    case (_Sent.ERROR, error):
                        raise error
                    case (_Sent.DIED, cause):
                        yield died(cause)
                report("; ".join(lane.doing for lane in lanes if lane.doing))
        finished = True
    finally:
        with hold():
            for lane in lanes if not finished else ():
                lane.process.terminate()
            for lane in lanes:
                lane.stop(now=not finished)


class _Sent(Enum):
    """What a process sends."""

    ITEM, ERROR, DOING, END, DIED = range(5)


class _Lane(Forked):
    """A process that yields items.

    Attributes
    ----------
    doing: its progress.
    ended: whether there are no more items.
    """

    doing, ended = "", False

    def receive(self) -> tuple[_Sent, Any]:
        """Return what the process has sent, after noting what it does."""
        try:
            kind, content = self.connection.recv()
        except (EOFError, OSError):
            kind, content = _Sent.DIED, self.cause_of_death
        self.doing = content if kind is _Sent.DOING else ""
        self.ended = kind in (_Sent.ERROR, _Sent.END, _Sent.DIED)
        return kind, content


def _send_items(items: Callable[[], Iterator[_Item]], connection: Connection) -> None:
    """Send the items, and progress reports between them."""
    work().listener = lambda **_: connection.send((_Sent.DOING, work().describe()))
    try:
        for item in items():
            connection.send((_Sent.ITEM, item))
        connection.send((_Sent.END, None))
    except WorkbenchError as error:
        connection.send((_Sent.ERROR, error))
