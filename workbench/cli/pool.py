"""Deciding many properties in processes of their own.

The rule of this module: the processes end with the work, whatever ends it. They are told to stop with SIGTERM
(an interrupt from the keyboard reaches only the parent), which takes down the engine that they wait for; and
they stop by themselves when the parent is gone. A process that dies costs one verdict: it is `unknown`.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from workbench.cli.problem import Problem, problem
from workbench.errors import EngineMissing, WorkbenchError
from workbench.language import Source, parse_property, read_file
from workbench.verify.answer.check import Settings, undecided
from workbench.verify.answer.verdict import Verdict


@dataclass(frozen=True)
class PoolTask:
    """A property of a pipeline in a file: by its text, or the file's `check` line of that number."""

    path: str
    pipeline: str
    asked: str | int
    settings: Settings

    @property
    def problem(self) -> Problem:
        """What is to be decided."""
        loaded = source(self.path).get(self.pipeline)
        syntax = loaded.checks[self.asked] if isinstance(self.asked, int) else parse_property(self.asked)
        return problem(loaded, syntax, self.settings)


@cache
def source(path: str) -> Source:
    """The file, read once."""
    return read_file(path)


def decide(task: PoolTask) -> Verdict:
    """The verdict on a task; an error is the reason of an `unknown`, except that there is no engine."""
    text = str(task.asked)
    try:
        item = task.problem
        text = item.text
        return item.decide()
    except EngineMissing:
        raise
    except WorkbenchError as error:
        return undecided(task.pipeline, text, task.settings, error.message)


def _serve(connection: Connection) -> None:
    """The life of a process: tasks in, verdicts out."""
    signal.signal(signal.SIGTERM, _stop)
    try:
        try:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGTERM})
            _answer(connection)
        finally:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)  # an interpreter on its way out would print a traceback
    except (EOFError, OSError, KeyboardInterrupt):
        pass  # the parent has no more work, is gone, or wants us to stop


def _answer(connection: Connection) -> None:
    while True:
        number, task = connection.recv()
        try:
            answer: Verdict | WorkbenchError = decide(task)
        except WorkbenchError as error:
            answer = error
        connection.send((number, answer))


def _stop(*_: object) -> None:
    raise KeyboardInterrupt


class _Member:
    """One process and the task it works on."""

    def __init__(self) -> None:
        context = multiprocessing.get_context("spawn")
        self.connection, theirs = context.Pipe()
        self.process: BaseProcess = context.Process(target=_serve, args=(theirs,), daemon=True)
        self.number: int | None = None
        try:
            with _held_back():
                self.process.start()
            theirs.close()
        except BaseException:  # interrupted meanwhile
            self.stop(now=True)
            raise

    def give(self, number: int, task: PoolTask) -> None:
        self.number = number
        self.connection.send((number, task))

    def stop(self, *, now: bool) -> None:
        if self.process.pid is None:
            return
        if now:
            self.process.terminate()
        self.connection.close()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()


@contextlib.contextmanager
def _held_back() -> Iterator[None]:
    """What wants to stop us while a child is being started comes when it has started; the child begins deaf to it."""
    resource_tracker.ensure_running()  # it would let signals through when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def decide_in_parallel(tasks: Sequence[PoolTask], jobs: int) -> Iterator[tuple[int, Verdict]]:
    """The verdicts as they become known, each with the number of its task.

    Raises
    ------
    EngineMissing: there is no engine to decide with.
    """
    todo = list(enumerate(tasks))[::-1]
    members: list[_Member] = []
    finished = False
    try:
        for _ in range(min(max(jobs, 1), len(tasks))):
            members.append(_Member())
            members[-1].give(*todo.pop())
        while busy := [member for member in members if member.number is not None]:
            for ready in wait([member.connection for member in busy]):
                member = next(m for m in busy if m.connection is ready)
                number, verdict = _received(member, tasks)
                if not member.process.is_alive():
                    member.stop(now=True)
                    members.remove(member)
                    if todo:
                        members.append(member := _Member())
                if todo:
                    member.give(*todo.pop())
                yield number, verdict
        finished = True
    finally:
        for member in members:
            member.stop(now=not finished)


def _received(member: _Member, tasks: Sequence[PoolTask]) -> tuple[int, Verdict]:
    """The answer of a member that has something to say, or has died."""
    assert member.number is not None
    number, member.number = member.number, None
    try:
        _, answer = member.connection.recv()
    except (EOFError, OSError):
        member.process.join(5)
        task = tasks[number]
        reason = f"the process died (status {member.process.exitcode})"
        return number, undecided(task.pipeline, str(task.asked), task.settings, reason)
    if isinstance(answer, WorkbenchError):
        raise answer
    assert isinstance(answer, Verdict)
    return number, answer
