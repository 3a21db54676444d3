"""The caller's end of a worker process: start it, give it a job, take it down."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from workbench.budget import report
from workbench.errors import EngineError
from workbench.framed_process import GRACE, FramedProcess, ProcessLostError
from workbench.frames import Frame

_START_SECONDS = 60.0  # imports take 0.2 s; a loaded machine may need many times as long

_PACKAGE = Path(__file__).resolve().parents[2]
# The worker needs the modules of this folder only. Packages made by hand, in place of importing
# `workbench.verify` with all that it imports, keep its start short; so does leaving out the module `site` (-S),
# with what installed packages want done at every start.
_BOOT = """
import sys, types
sys.path[:] = {path!r}
for name, path in {packages!r}:
    package = types.ModuleType(name)
    package.__path__ = [path]
    sys.modules[name] = package
from workbench.smv.engines.worker import main
main()
"""


class Worker(FramedProcess):
    """One worker process.

    Raises
    ------
    EngineError: it does not start (pynusmv is built wrongly); the message has its last words.
    """

    def __init__(self) -> None:
        packages = [
            ("workbench", str(_PACKAGE)),
            ("workbench.smv", str(_PACKAGE / "smv")),
            ("workbench.smv.engines", str(_PACKAGE / "smv" / "engines")),
        ]
        boot = _BOOT.format(path=sys.path, packages=packages)
        super().__init__("the worker", [sys.executable, "-S", "-c", boot])
        self._folder = ""
        try:
            self._folder = str(self.receive(_START_SECONDS)["folder"])
        except ProcessLostError as error:
            words = self.read_last_words()
            self.kill()
            raise EngineError(
                f"the pynusmv worker does not start: {words[-1] if words else error}",
                hint="pynusmv must be built with the flags of the installation guide; see `workbench doctor`",
            ) from error
        except BaseException:
            self.kill()
            raise

    def call(self, job: Frame) -> Frame:
        """Give the worker a job, whose limit of time it enforces, and wait for its reply.

        Raises
        ------
        ProcessLostError: the worker ended without a reply. After any error it is to be killed.
        """
        self.send(job)
        seconds = None if job["seconds"] is None else job["seconds"] + GRACE
        question = "building the model"
        report(question)
        while "ended" not in (frame := self.receive(seconds)):
            if "deciding" in frame:
                question = f"question {frame['deciding'] + 1} of {len(job['queries'])}"
            report(question + (f", the states up to {frame['depth']} steps away" if "depth" in frame else ""))
        return frame

    def kill(self) -> None:
        """End the process and the job that it runs, now."""
        super().kill()  # the child of the worker dies with it
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)
