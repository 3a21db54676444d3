"""A command with limits works in a child process, which this one attends to.

The child interrupts itself at its limits (`workbench.budget`) and says what it knows. What cannot be interrupted,
foreign code that keeps Python's lock or memory that takes seconds to be given back, is killed a moment later, and this
process says the rest: the phase that was reported last, and a line for each verdict that is missing.
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
"""Seconds that the child has from its own interrupt on, or from one that was passed on."""
RECKLESS = 1.5
"""By which factor memory may exceed its limit before the child is killed at once."""
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_REPORTS: list[int] = []
"""In the child: the pipe to the parent."""


def attend(seconds: float | None, memory_mb: int | None, *, terminal: bool = False) -> int | None:
    """Do the rest of the program in a child process.

    Parameters
    ----------
    terminal: whether it reads from the terminal, which only processes of one group may do.

    Returns
    -------
    In the child, and where nothing is to be bounded: None. In the parent, when the child has ended: its exit code.

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
    own()  # what came is its parent's, who passes it on
    if not terminal:
        os.setpgid(0, 0)  # Ctrl-C reaches the parent only, which passes it on
    end_with_parent(signal.SIGKILL)
    _REPORTS.append(theirs)
    work().listener = _report
    return None


def report_missing(verdicts: Sequence[str | Mapping[str, Any]], worst: int) -> None:
    """Tell the parent, if there is one, what to print where this process is killed.

    Parameters
    ----------
    verdicts: those that are not known yet, as lines or as objects, to which the reason is added.
    worst: the exit code that the others ask for.
    """
    _report(missing=list(verdicts), worst=worst)


def report_end(code: int) -> None:
    """Tell the parent that all is printed: what follows is only the end of the process."""
    _report(code=code)


def _report(**report: Any) -> None:
    if _REPORTS:
        with contextlib.suppress(OSError):  # a parent that is gone
            os.write(_REPORTS[0], json.dumps(report).encode() + b"\n")


class _Attendant:
    """The parent: hears what the child reports, passes signals on, and watches the limits."""

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
        """The signal that was passed on first, and when."""
        self.asked: tuple[str, float] | None = None
        """The limit because of which the child was asked to end, and when."""
        self.heard: dict[str, Any] = {"phase": "", "missing": None, "worst": 0, "files": {}}
        """What the child reports; `missing` is None where it prints no verdicts."""
        self._buffer = b""

    def wait(self) -> int:
        """The exit code of the child."""
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
        """The exit code for how the child ends, or is ended."""
        poll = select.poll()
        poll.register(self.reports, select.POLLIN)
        while True:
            if poll.poll(GLANCE * 1000) and not self._hear():
                poll.unregister(self.reports)  # it ends
            ended, status = os.waitpid(self.child, os.WNOHANG)
            if ended:
                return self._exit_code(status)
            if self.passed and time.monotonic() > self.passed[1] + MERCY:
                leave(self.passed[0])
            if (limit := self._limit()) and not self.asked:
                os.kill(self.child, signal.SIGTERM)  # which also ends waiting for what does not come
                self.asked = limit, time.monotonic()
            if self.asked and (self._reckless() or time.monotonic() > self.asked[1] + GRACE):
                os.kill(self.child, signal.SIGKILL)
                _, status = os.waitpid(self.child, 0)
                while self._hear():
                    pass
                return self._exit_code(status)

    def _hear(self) -> bool:
        """Take in what the child reports; whether there may be more."""
        data = os.read(self.reports, 1 << 16)
        *lines, self._buffer = (self._buffer + data).split(b"\n")
        for line in lines:
            self.heard |= json.loads(line)
        if "code" in self.heard and self.printed is None:
            self.printed = time.monotonic()
        return bool(data)

    def _limit(self) -> str:
        """The limit that the child has met and did not stop at."""
        now = time.monotonic()
        over = self.printed is not None and now > self.printed + GRACE  # all that is left is to give back memory
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
        """Whether there is no time to ask."""
        return self.memory_mb is not None and self._measure_memory() > RECKLESS * self.memory_mb + 64

    def _exit_code(self, status: int) -> int:
        """The exit code of the child; where it was killed before all was printed, the rest is said here."""
        code, limit = self.heard.get("code", os.waitstatus_to_exitcode(status)), self.asked[0] if self.asked else ""
        if code >= 0 and not (limit and code == 128 + signal.SIGTERM):
            return int(code)
        abandon(self.heard["files"])
        phase = self.heard["phase"]
        error: WorkbenchError = LimitMet(limit, phase)
        if not limit:
            doing = f" while {phase}" if phase else ""
            hint = "SIGKILL often means that the system had no memory left: limit it with --memory"
            error = EngineError(f"the process was killed by signal {-code}{doing}", hint=hint)
        if self.heard["missing"] is None:
            raise error
        for line in self.heard["missing"]:
            as_json = None if isinstance(line, str) else json.dumps(line | {"reason": error.what, "phase": phase})
            print(as_json or f"{line}: {error.what}")
        print(f"workbench: {error.message}", file=sys.stderr)
        return int(self.heard["worst"]) or error.exit_code
