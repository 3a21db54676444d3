"""A process that serves this one: it receives frames on a pipe, and answers with frames.

The rule of this module: the process ends with its pipe, and after an interrupted call it is not used again.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

from workbench.frames import Frame, take_frames, write_frame

GRACE = 10.0
"""Seconds that a process has to end by itself."""


class ProcessLostError(Exception):
    """The error for a process that ended without an answer; the message has the reason."""


class FramedProcess:
    """The caller's end of such a process.

    Parameters
    ----------
    what: its name in messages.
    """

    def __init__(self, what: str, command: Sequence[str], environment: Mapping[str, str] | None = None) -> None:
        self.what = what
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the process
        self._buffer, self._frames = bytearray(), list[Frame]()
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
            env=environment,
            start_new_session=True,  # Ctrl-C reaches the caller only
        )
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests, self._replies = self._process.stdin, self._process.stdout

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def alive(self) -> bool:
        """Whether the process still runs."""
        return self._process.poll() is None

    def fileno(self) -> int:
        """Return the descriptor of its answers."""
        return self._replies.fileno()

    def send(self, frame: Frame) -> None:
        """Send it a frame; if it has ended, `receive` reports that."""
        with contextlib.suppress(BrokenPipeError):
            write_frame(self._requests.fileno(), frame)

    def receive(self, seconds: float | None = None) -> Frame:
        """Return its next frame.

        Raises
        ------
        ProcessLostError: it ended without one, or none comes within that time. After any error it must be killed.
        """
        deadline = None if seconds is None else time.monotonic() + seconds
        poll = select.poll()  # select.select fails on descriptors above 1023
        poll.register(self._replies.fileno(), select.POLLIN)
        while not self._frames:
            left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
            if not poll.poll(left):
                raise ProcessLostError(f"{self.what} does not answer")
            data = os.read(self._replies.fileno(), 1 << 20)
            if not data:
                raise ProcessLostError(self.describe_end())
            self._buffer += data
            self._frames += take_frames(self._buffer)
        return self._frames.pop(0)

    def describe_end(self) -> str:
        """Describe how it ended."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            status = self._process.wait(GRACE)
            how = f"was killed by signal {-status}" if status < 0 else f"ended with status {status}"
            return f"{self.what} process {how}"
        return f"{self.what} process closed its pipe"

    def read_last_words(self) -> list[str]:
        """Return the last lines that it has printed."""
        self._log.seek(0)
        return self._log.read().decode(errors="replace").strip().splitlines()[-3:]

    def kill(self) -> None:
        """End the process and its work at once."""
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._close_files()
        self._process.wait()

    def close(self) -> None:
        """Let the process end by itself, which takes no time if it is idle, or end it."""
        self._requests.close()
        try:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(GRACE)
        except BaseException:
            self.kill()
            raise
        if self.alive:
            self.kill()
        self._close_files()

    def disown(self) -> None:
        """Forget a process that belongs to the one that this one was forked from."""
        self._process.returncode = 0  # otherwise its finaliser would complain, and wait for another's child
        self._close_files()

    def _close_files(self) -> None:
        files: tuple[Any, ...] = (self._requests, self._replies, self._log)
        for file in files:
            with contextlib.suppress(OSError):
                file.close()
