"""Processes that decide problems.

The rule of this module: the processes end with the work, whatever ends it. They are forked, so that problems need not
be sent (they hold functions) and scripts and notebooks need no care. They are told to stop with SIGTERM, which takes
down the engine that they wait for; and they stop when the parent is gone. A process that dies costs one verdict: it
is `unknown`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from workbench.budget import end_with_parent
from workbench.errors import WorkbenchError
from workbench.verify.answer.problem import Problem
from workbench.verify.answer.verdict import Verdict


def in_processes(
    todo: Sequence[Problem], decided: Callable[[int], Verdict], jobs: int
) -> Iterator[tuple[int, Verdict]]:
    """The verdicts as they become known, each with the number of its problem; `decided` is run in a process."""
    left = list(range(len(todo)))[::-1]
    members: list[_Member] = []
    finished = False
    try:
        for _ in range(jobs):
            members.append(_Member(decided, members))
            members[-1].give(left.pop())
        while busy := [member for member in members if member.number is not None]:
            for ready in wait([member.connection for member in busy]):
                member = next(m for m in busy if m.connection is ready)
                number, verdict = member.received(todo)
                if not member.process.is_alive():
                    member.stop(now=True)
                    members.remove(member)
                    if left:
                        members.append(member := _Member(decided, members))
                if left:
                    member.give(left.pop())
                yield number, verdict
        finished = True
    finally:
        for member in members:
            member.stop(now=not finished)


class _Member:
    """One process and the problem that it works on.

    Parameters
    ----------
    decided: what it does.
    others: those that there are already, whose connections it does not keep open.
    """

    def __init__(self, decided: Callable[[int], Verdict], others: Sequence[_Member]) -> None:
        context = multiprocessing.get_context("fork")
        self.connection, theirs = context.Pipe()
        ours = [self.connection, *(member.connection for member in others)]
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs, ours, decided), daemon=True)
        self.number: int | None = None
        try:
            with _held_back(), warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside threads: nothing waits for those
                self.process.start()
            theirs.close()
        except BaseException:  # interrupted meanwhile
            self.stop(now=True)
            raise

    def give(self, number: int) -> None:
        """Let it decide a problem."""
        self.number = number
        self.connection.send(number)

    def received(self, todo: Sequence[Problem]) -> tuple[int, Verdict]:
        """The answer, where it has something to say or has died."""
        assert self.number is not None
        number, self.number = self.number, None
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            self.process.join(5)
            return number, todo[number].undecided(f"the process died (status {self.process.exitcode})")
        if isinstance(answer, WorkbenchError):
            raise answer
        assert isinstance(answer, Verdict)
        return number, answer

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


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """What wants to stop us while a child is being started comes when it has started; the child begins deaf to it."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _serve(connection: Connection, ours: Sequence[Connection], decided: Callable[[int], Verdict]) -> None:
    """The life of a process: numbers of problems in, verdicts out."""
    for each in ours:
        each.close()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent passes it on
    signal.signal(signal.SIGTERM, _stop)
    end_with_parent(signal.SIGTERM)
    try:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT, signal.SIGTERM})
            while True:
                try:
                    answer: Verdict | WorkbenchError = decided(connection.recv())
                except WorkbenchError as error:
                    answer = error
                connection.send(answer)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a process on its way out would print a traceback
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the parent has no more work, is gone, or wants us to stop


def _stop(*_: object) -> None:
    sys.unraisablehook = lambda _: None  # what is let through nowhere is not told either: it comes again
    raise KeyboardInterrupt
