"""The caller's end of a worker process: start it, give it a job, take it down.

Rule: whatever interrupts a call, the worker does not survive it half-way; a worker that is given
back is ready for the next job.
"""

from __future__ import annotations

import contextlib
import os
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from workbench.errors import EngineError

from .frames import Frame, take_frames, write_frame

_START_SECONDS = 60.0  # imports take 0.2 s; a loaded machine may need many times as long
_GRACE_SECONDS = 10.0  # after the time limit, which the worker itself enforces

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


class WorkerLostError(Exception):
    """The worker process ended, or was ended, without a reply; the message says how."""


class Worker:
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
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed by close()
        self._buffer = bytearray()
        self._process = subprocess.Popen(
            [sys.executable, "-S", "-c", _BOOT.format(path=sys.path, packages=packages)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            start_new_session=True,  # Ctrl-C reaches the caller only
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout
        self._folder = ""
        try:
            self._folder = str(self._receive(_START_SECONDS)["folder"])
        except WorkerLostError as error:
            words = self._read_last_words()
            self.kill()
            raise EngineError(
                f"the pynusmv worker does not start: {words or error}",
                hint="pynusmv must be built with the flags of the installation guide; see `workbench doctor`",
            ) from error
        except BaseException:
            self.kill()
            raise

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def call(self, job: Frame) -> Frame:
        """Give the worker a job and wait for its reply.

        Raises
        ------
        WorkerLostError: the worker ended without a reply. After any error it is to be killed.
        """
        limit = None if job["seconds"] is None else job["seconds"] + _GRACE_SECONDS
        try:
            write_frame(self._requests.fileno(), job)
        except BrokenPipeError:
            raise WorkerLostError(self._describe_end()) from None
        return self._receive(limit)

    def _receive(self, seconds: float | None) -> Frame:
        deadline = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()  # select.select fails on descriptors above 1023
        poll.register(self._replies.fileno(), select.POLLIN)
        while True:
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if not poll.poll(left):
                raise WorkerLostError("the worker does not answer")
            data = os.read(self._replies.fileno(), 1 << 20)
            if not data:
                raise WorkerLostError(self._describe_end())
            self._buffer += data
            frames = take_frames(self._buffer)
            if frames:
                return frames[0]

    def _describe_end(self) -> str:
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(_GRACE_SECONDS)
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            return f"the worker process {how}"
        return "the worker process closed its pipe"

    def _read_last_words(self) -> str:
        self._log.seek(0)
        lines = self._log.read().decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else ""

    def kill(self) -> None:
        """End the process and the job that it runs, now."""
        # The child of the worker dies with it; the group catches it where the kernel cannot be asked.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._release()
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)

    def close(self) -> None:
        """Let the process end by itself; at once, since it is not at work."""
        self._requests.close()
        try:
            self._process.wait(_GRACE_SECONDS)
        except BaseException:
            self.kill()
            raise
        self._release()

    def disown(self) -> None:
        """Forget a worker that belongs to the process this one was forked from."""
        self._process.returncode = 0  # else its finaliser would complain, and wait for another's child
        self._close_files()

    def _release(self) -> None:
        self._close_files()
        self._process.wait()

    def _close_files(self) -> None:
        files: tuple[Any, ...] = (self._requests, self._replies, self._log)
        for file in files:
            with contextlib.suppress(OSError):
                file.close()
