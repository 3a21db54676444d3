"""The caller's side of a supervisor: start it, give it a task, receive the measurement, end it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import workbench
from workbench.errors import LabError, SuiteError
from workbench.framed_process import GRACE, FramedProcess, ProcessLostError
from workbench.lab.result import Measured, Status


class Client(FramedProcess):
    """A supervisor process. `fileno` becomes readable when the measurement of a task can be received.

    `lost` is true if the process has died and must be replaced.

    Raises
    ------
    SuiteError: the suite cannot be loaded.
    LabError: the supervisor does not start.
    """

    def __init__(self, suite: Path, files: Path) -> None:
        home = str(Path(workbench.__file__).resolve().parent.parent)
        path = os.pathsep.join(filter(None, [home, os.environ.get("PYTHONPATH", "")]))
        self.suite, self.files, self.lost = suite, files, False
        command = [sys.executable, "-m", "workbench.lab.measure.supervisor", str(suite), str(files)]
        super().__init__("the supervisor", command, {**os.environ, "PYTHONPATH": path})
        try:
            hello = self.receive()
        except ProcessLostError as error:
            self.close()
            raise LabError(f"the process that measures does not start: {error}") from None
        except BaseException:
            self.close()
            raise
        if "error" in hello:
            self.close()
            raise SuiteError(hello["error"], where=hello["where"], hint=hello["hint"])

    def take(self) -> Measured:
        """Wait for the measurement of the task and return it; a crash if the supervisor is `lost`."""
        try:
            answer: dict[str, Any] = self.receive()
        except ProcessLostError as error:
            self.lost = True
            self.close()
            return Measured(Status.CRASH, reason=f"the process that measures was lost: {error}")
        return Measured(**{**answer, "status": Status(answer["status"])})

    def describe_end(self) -> str:
        """Describe how the process ended, with its last output."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(GRACE)
        return "; ".join([f"status {self._process.poll()}", *self.read_last_words()])
