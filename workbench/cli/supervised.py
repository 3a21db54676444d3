"""Commands with limits run in a child process, which this process supervises.

The child interrupts itself at its limits (`workbench.budget`) and prints the known results. If it cannot be
interrupted, because foreign code holds Python's lock or memory takes seconds to be released, it is killed a moment
later, and this process prints the rest: the phase that was reported last, and a line for each missing verdict.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.budget import GLANCE, GRACE, memory_limit, resident_mb, time_limit, work
from workbench.errors import EngineError, LimitMet, WorkbenchError
from workbench.interrupts import abandon, end_with_parent, leave, own

MERCY = 1.0
"""Seconds that the child gets after its own interrupt, or after one that was passed on."""
RECKLESS = 1.5
"""Factor by which memory may exceed its limit before the child is killed at once."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_REPORTS: list[int] = []
"""The pipe to the parent, in the child."""


def attend(seconds: float | None, memory_mb: int | None, *, terminal: bool = False) -> int | None:
    """Run the rest of the program in a child process.

    Parameters
    ----------
    terminal: whether it reads from the terminal, which only the processes of one group may do.

    Returns
    -------
    None in the child, and if there are no limits. In the parent, when the child has ended: its exit code.

    Raises
    ------
    LimitMet: the child had to be killed. EngineError: it died.
    """
    if (seconds is None and memory_mb is None) or not hasattr(os, "fork"):
        return None
    reports, theirs = os.pipe()
    for stream in (sys.stdout, sys.stderr):
        stream.flush()
    child = os.fork()
    if child:
        os.close(theirs)
        return _Attendant(child, reports, seconds, memory_mb, passed_on=_PASSED_ON[terminal:]).wait()
    os.close(reports)
    own()  # the parent has the pending signals, and passes them on
    if not terminal:
        os.setpgid(0, 0)  # Ctrl-C reaches the parent only, which passes it on
    end_with_parent(signal.SIGKILL)
    _REPORTS.append(theirs)
    work().listener = _report
    return None


def report_missing(verdicts: Sequence[str | Mapping[str, Any]], worst: int) -> None:
    """Send the parent, if there is one, the lines to print if this process is killed.

    Parameters
    ----------
    verdicts: the verdicts that are not known yet, as lines or as objects, to which the reason is added.
    worst: the exit code of the known verdicts.
    """
    _report(missing=list(verdicts), worst=worst)


def report_end(code: int) -> None:
    """Report to the parent that everything is printed, and only the end of the process remains."""
    _report(code=code)


def _report(**report: Any) -> None:
    if _REPORTS:
        with contextlib.suppress(OSError):  # the parent is gone
            os.write(_REPORTS[0], json.dumps(report).encode() + b"\n")


class _Attendant:
    """The parent process: it receives the child's reports, passes signals on, and enforces the limits."""

    def __init__(
        self, child: int, reports: int, seconds: float | None, memory_mb: int | None, passed_on: Sequence[int]
    ) -> None:
        self.child, self.reports, self.passed_on = child, reports, passed_on
        self.seconds, self.memory_mb = seconds, memory_mb
        self.deadline = None if seconds is None else time.monotonic() + seconds + GRACE + MERCY
        self.begun_mb = resident_mb()
        self.exceeded = 0.0
        self.printed: float | None = None
        self.passed: tuple[int, float] | None = None
        """The first signal that was passed on, and its time."""
        self.asked: tuple[str, float] | None = None
        """The limit because of which the child was asked to end, and the time."""
        self.heard: dict[str, Any] = {"phase": "", "missing": None, "worst": 0, "files": {}}
        """The reports of the child; `missing` is None if it prints no verdicts."""
        self._buffer = b""

    def wait(self) -> int:
        """Wait for the child, and return its exit code."""
        before = {number: signal.getsignal(number) for number in _PASSED_ON}
        for number, handler in before.items():
            if handler != signal.SIG_IGN:
                signal.signal(number, self._pass_on)
        try:
            return self._watch()
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
            os.close(self.reports)

    def _pass_on(self, came: int, _: object) -> None:
        self.passed = self.passed or (came, time.monotonic())
        if came in self.passed_on:
            os.kill(self.child, came)

    def _watch(self) -> int:
        """Watch the child until it ends or must be killed, and return the exit code."""
        poll = select.poll()
        poll.register(self.reports, select.POLLIN)
        while True:
            if poll.poll(GLANCE * 1000) and not self._hear():
                poll.unregister(self.reports)  # the child is ending
            ended, status = os.waitpid(self.child, os.WNOHANG)
            if ended:
                return self._exit_code(status)
            if self.passed and time.monotonic() > self.passed[1] + MERCY:
                leave(self.passed[0])
            if (limit := self._limit()) and not self.asked:
                done = self.printed is not None  # it would say that it was interrupted, and it was not
                os.kill(self.child, signal.SIGKILL if done else signal.SIGTERM)  # which also interrupts waiting
                self.asked = limit, time.monotonic()
            if self.asked and (self._reckless() or time.monotonic() > self.asked[1] + GRACE):
                os.kill(self.child, signal.SIGKILL)
                _, status = os.waitpid(self.child, 0)
                while self._hear():
                    pass
                return self._exit_code(status)

    def _hear(self) -> bool:
        """Receive reports of the child, and return whether there may be more."""
        data = os.read(self.reports, 1 << 16)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self.heard |= json.loads(line)
        if "code" in self.heard and self.printed is None:
            self.printed = time.monotonic()
        return bool(data)

    def _limit(self) -> str:
        """Return the limit that the child has exceeded without stopping."""
        now = time.monotonic()
        over = self.printed is not None and now > self.printed + GRACE  # only memory remains to be released
        if over or (self.deadline is not None and now > self.deadline):
            return time_limit(self.seconds or 0.0)
        if self.memory_mb is None or self._measure_memory() <= self.memory_mb:
            self.exceeded = 0.0
            return ""
        self.exceeded = self.exceeded or now
        return memory_limit(self.memory_mb) if self._reckless() or now > self.exceeded + MERCY else ""

    def _measure_memory(self) -> float:
        return resident_mb(self.child) - self.begun_mb

    def _reckless(self) -> bool:
        """Whether memory exceeds its limit so far that the child must be killed at once."""
        return self.memory_mb is not None and self._measure_memory() > RECKLESS * self.memory_mb + 64

    def _exit_code(self, status: int) -> int:
        """Return the exit code of the child; if it was killed before the end, print the rest first."""
        code, limit = self.heard.get("code", os.waitstatus_to_exitcode(status)), self.asked[0] if self.asked else ""
        if code >= 0 and not (limit and code == 128 + signal.SIGTERM):
            return int(code)
        abandon(self.heard["files"])
        phase = self.heard["phase"]
        error: WorkbenchError = LimitMet(limit, phase)
        if not limit:
            doing = f" while {phase}" if phase else ""
            hint = "SIGKILL often means that the system ran out of memory: limit this command with --memory"
            error = EngineError(f"the process was killed by signal {-code}{doing}", hint=hint)
        if self.heard["missing"] is None:
            raise error
        for line in self.heard["missing"]:
            as_json = None if isinstance(line, str) else json.dumps(line | {"reason": error.what, "phase": phase})
            print(as_json or f"{line}: {error.what}")
        print(f"workbench: {error.message}", file=sys.stderr)
        return int(self.heard["worst"]) or error.exit_code
