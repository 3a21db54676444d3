"""Worker processes that decide problems.

The rule of this module: a process that dies costs one verdict, which becomes `unknown`. SIGTERM also stops the engine
that a process waits for (`workbench/child_processes.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait

from workbench.budget import report, work
from workbench.child_processes import Forked
from workbench.errors import WorkbenchError
from workbench.interrupts import hold
from workbench.verify.answer.problem import Problem
from workbench.verify.answer.verdict import Verdict


def decide_in_processes(
    todo: Sequence[Problem], decided: Callable[[int], Verdict], jobs: int
) -> Iterator[tuple[int, Verdict]]:
    """Yield the verdicts as they become known, with the numbers of their problems; `decided` runs in a process."""
    left = list(range(len(todo)))[::-1]
    members: list[_Member] = []
    finished = False
    try:
        for _ in range(jobs):
            with hold():
                members.append(_Member(decided, members))
            members[-1].give(left.pop())
        while busy := [member for member in members if member.number is not None]:
            for ready in wait([member.connection for member in busy]):
                member = next(m for m in busy if m.connection is ready)
                answer = member.received(todo)
                if answer is None:
                    report("; ".join(filter(None, (each.doing for each in members))))
                    continue
                number, verdict = answer
                if not member.process.is_alive():
                    member.stop(now=True)
                    members.remove(member)
                    if left:
                        with hold():
                            members.append(member := _Member(decided, members))
                if left:
                    member.give(left.pop())
                yield number, verdict
        finished = True
    finally:
        with hold():
            for member in members if not finished else ():
                member.process.terminate()
            for member in members:
                member.stop(now=not finished)


class _Member(Forked):
    """One process and the problem that it works on; `decided` is the function that it runs."""

    def __init__(self, decided: Callable[[int], Verdict], others: Sequence[_Member]) -> None:
        self.number: int | None = None
        self.doing = ""
        """The problem, and its progress."""
        super().__init__(partial(_serve, decided), others)

    def give(self, number: int) -> None:
        """Send the process a problem to decide."""
        self.number = number
        self.connection.send(number)

    def received(self, todo: Sequence[Problem]) -> tuple[int, Verdict] | None:
        """Receive a message: return the verdict, also if the process has died; None for a progress report."""
        assert self.number is not None
        try:
            answer = self.connection.recv()
        except (EOFError, OSError):
            answer = todo[self.number].make_undecided(self.cause_of_death)
        self.doing = f"{todo[self.number].text}: {answer}" if isinstance(answer, str) else ""
        if self.doing:
            return None
        number, self.number = self.number, None
        if isinstance(answer, WorkbenchError):
            raise answer
        assert isinstance(answer, Verdict)
        return number, answer


def _serve(decided: Callable[[int], Verdict], connection: Connection) -> None:
    """Receive numbers of problems, and send verdicts; before each verdict, send progress reports as text."""
    work().listener = lambda **_: connection.send(work().describe())
    while True:
        try:
            answer: Verdict | WorkbenchError = decided(connection.recv())
        except WorkbenchError as error:
            answer = error
        connection.send(answer)
