"""The caller's end of a supervisor: start it, give it a task, take the measurement, end it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import workbench
from workbench.errors import LabError, SuiteError
from workbench.lab.result import Measured, Status
from workbench.smv.engines.frames import Frame, take_frames, write_frame

_GRACE = 5.0


class _LostError(Exception):
    """The supervisor is gone; the message has its last words."""


class Client:
    """One supervisor process. `fileno` becomes readable when the measurement of a task can be taken.

    `lost` tells that the process is gone, and another has to take its place.

    Raises
    ------
    SuiteError: the suite cannot be loaded.
    LabError: the supervisor does not start.
    """

    def __init__(self, suite: Path, files: Path) -> None:
        home = str(Path(workbench.__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
        self.suite, self.files, self.lost = suite, files, False
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by end()
        self._buffer = bytearray()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "workbench.lab.measure.supervisor", str(suite), str(files)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, bufsize=0,
            env={**os.environ, "PYTHONPATH": path},
            start_new_session=True,  # Ctrl-C reaches the caller only
        )  # fmt: skip
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        try:
            hello = self._receive()
        except _LostError as error:
            raise LabError(f"the process that measures does not start: {error}") from None
        except BaseException:
            self.end()
            raise
        if "error" in hello:
            self.end()
            raise SuiteError(hello["error"], where=hello["where"], hint=hello["hint"])

    def fileno(self) -> int:
        """The descriptor of its answers."""
        return self._replies.fileno()

    @property
    def pid(self) -> int:
        """The process id of the supervisor."""
        return self._process.pid

    def give(self, task: Frame) -> None:
        """Begin a task."""
        with contextlib.suppress(OSError):  # it is gone, which `take` tells
            write_frame(self._requests.fileno(), task)

    def take(self) -> Measured:
        """The measurement of the task, waiting for it: a crash where the supervisor is `lost`."""
        try:
            found: dict[str, Any] = self._receive()
        except _LostError as error:
            self.lost = True
            return Measured(Status.CRASH, reason=f"the process that measures was lost: {error}")
        return Measured(**{**found, "status": Status(found["status"])})

    def _receive(self) -> Frame:
        while True:
            data = os.read(self._replies.fileno(), 1 << 20)
            if not data:
                raise _LostError(self._how())
            self._buffer += data
            if frames := take_frames(self._buffer):
                return frames[0]

    def _how(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        self._log.seek(0)
        words = self._log.read().decode(errors="replace").strip().splitlines()
        status = self._process.poll()
        self.end()
        return "; ".join([f"status {status}", *words[-3:]])

    def end(self) -> None:
        """End it, with everything that it has started."""
        for file in (self._requests, self._replies):
            with contextlib.suppress(OSError):
                file.close()
        try:
            self._process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._log.close()
