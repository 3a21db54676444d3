"""Child processes that serve this one.

The rule of this module: the processes end with the work, however it ends. They are forked, so that their functions need
not be sent, and scripts and notebooks need no special code. They are stopped with SIGTERM, which comes as
`KeyboardInterrupt` (`interrupts`); Ctrl-C is for the parent, which passes it on; and they stop when the parent is gone.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import warnings
from collections.abc import Callable, Sequence
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess

from workbench.interrupts import DEADLINE, ENDING, HELD, admit, end_with_parent, own


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
    with contextlib.suppress(EOFError, OSError, KeyboardInterrupt), admit():
        serve(connection)  # until the parent has no more work, is gone, or stops this process
