"""Child processes that serve this one.

The rule of this module: the processes end with the work, whatever ends it. They are forked, so that what they do need
not be sent (it holds functions) and scripts and notebooks need no care. They are told to stop with SIGTERM, which
comes as `KeyboardInterrupt`; Ctrl-C is for the parent, who passes it on; and they stop when the parent is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from workbench.budget import end_with_parent


class Forked:
    """One process, and the connection to it.

    Parameters
    ----------
    serve: what it does, given its end of the connection, until that is closed (`EOFError`).
    others: those that there are already, whose connections it does not keep open.
    """

    def __init__(self, serve: Callable[[Connection], None], others: Sequence[Forked]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        ours = [self.connection, *(each.connection for each in others)]
        self.process: BaseProcess = context.Process(target=_live, args=(theirs, ours, serve), daemon=True)
        try:
            with _held_back(), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: nothing waits for those
                self.process.start()
            theirs.close()
        except BaseException:  # interrupted meanwhile
            self.stop(now=True)
            raise

    def stop(self, *, now: bool) -> None:
        """End the process; `now`: also what it works on."""
        if self.process.pid is None:
            return
        self.connection.close()
        for _ in range(5):
            if now:
                self.process.terminate()  # again, where it came in a call that lets no exception through
            self.process.join(1)
            if not self.process.is_alive():
                return
        self.process.kill()
        self.process.join()

    @property
    def died(self) -> str:
        """What has become of it, where it says nothing any more."""
        self.process.join(5)
        return f"the process died (status {self.process.exitcode})"


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """What wants to stop us while a child is being started comes when it has started; the child begins deaf to it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _live(connection: Connection, ours: Sequence[Connection], serve: Callable[[Connection], None]) -> None:
    """The life of a process."""
    for each in ours:
        each.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent passes it on
    signal.signal(signal.SIGTERM, _stop)
    end_with_parent(signal.SIGTERM)
    try:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
            serve(connection)
        finally:
            signal.signal(signal.SIGTERM, lambda *_: None)  # a traceback would be printed, and of SIG_IGN a race
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the parent has no more work, is gone, or wants us to stop


def _stop(*_: object) -> None:
    sys.unraisablehook = lambda _: None  # what is let through nowhere is not told either: it comes again
    raise KeyboardInterrupt
