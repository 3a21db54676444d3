"""The process that runs NuSMV: `main` serves jobs from a pipe, in a forked child that it supervises.

NuSMV keeps global state, exits the process on some errors, crashes on others and cannot be
interrupted. So there are two processes. The *supervisor* loads NuSMV and never runs it; it
enforces the time limit and reports how a job ended. The *runner*, a fork of it, does the jobs one
after the other, and resets NuSMV in between, which costs 2 ms. A runner that was killed, died
or met an error is followed by a fresh fork (15 ms, mostly page faults), so no job is affected
by an earlier failure.

The pipes carry frames. If the caller exits its pipe ends, and with it both processes and the
running job.
"""

from __future__ import annotations

import gc
import math
import os
import resource
import select
import shutil
import signal
import sys
import tempfile
import time

from workbench.budget import resident_mb
from workbench.frames import Frame, fork_serving, read_frames, read_tail, take_frames, write_frame
from workbench.process_memory import forget_peak, largest_mb, limit_memory, read_peak_mb

from .ending import Deadline, out_of_memory

_LOG_TAIL = 4000  # bytes: enough for the last words, whatever was printed before
_JOBS_OF_A_RUNNER = 300  # NuSMV's reset loses some kilobytes every time
_GROWTH_OF_A_RUNNER = 64.0  # MB; what a large job leaves behind would count against the next one's limit


def main() -> None:
    """Serve jobs from standard input on standard output until standard input ends."""
    requests, replies = 0, os.dup(1)
    os.dup2(2, 1)  # output of libraries must not get between the frames
    gc.disable()  # imports leave little garbage, and collecting it would take a fifth of the start
    # Import here, not in a job: every runner inherits the modules.
    from . import bindings, checker  # noqa: F401

    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the caller, who decides what stops
    folder = tempfile.mkdtemp(prefix="workbench-")
    supervisor = _Supervisor(requests, replies)
    try:
        os.chdir(folder)
        bindings.start()
        # The objects of the imports are permanent: without this, garbage collection is most of
        # the cost of a reset, and copies every page that a runner shares with its supervisor.
        gc.freeze()
        gc.enable()
        supervisor.fork()
        write_frame(replies, {"ready": True, "folder": folder, "pid": os.getpid()})
        for job in read_frames(requests):
            write_frame(replies, supervisor.serve(job))
            supervisor.fork()
    finally:
        supervisor.kill()
        shutil.rmtree(folder, ignore_errors=True)


class _Supervisor:
    """The owner of a runner, which gives it jobs and observes their ends."""

    def __init__(self, requests: int, replies: int) -> None:
        self._callers = (requests, replies)
        self._log_file = tempfile.TemporaryFile()  # noqa: SIM115 - for the life of the process
        self._log = self._log_file.fileno()
        self._runner = 0
        self._jobs = self._answers = -1
        self._cpu_before = 0.0

    def fork(self) -> None:
        """Start a runner if there is none."""
        if not self._runner:
            self._cpu_before = 0.0
            self._runner, self._jobs, self._answers = fork_serving(_serve, self._log, self._callers)

    def kill(self) -> None:
        """Kill the runner."""
        if self._runner:
            os.kill(self._runner, signal.SIGKILL)
            self._reap()

    def _reap(self) -> tuple[int, resource.struct_rusage]:
        _, status, usage = os.wait4(self._runner, 0)
        self._runner = 0
        os.close(self._jobs)
        os.close(self._answers)
        return os.waitstatus_to_exitcode(status), usage

    def serve(self, job: Frame) -> Frame:
        """Let the runner do one job; return its frames and its ending."""
        begin = time.monotonic()
        try:
            write_frame(self._jobs, job)
            frames, ended = self._listen(Deadline(job["seconds"]))
        except BrokenPipeError:  # the runner was killed from outside
            frames, ended = [], ""
        done = frames.pop() if frames and "done" in frames[-1] else None
        reply: Frame = {"frames": frames, "ended": ended, "wall_seconds": time.monotonic() - begin}
        if done is not None:
            reply |= {"status": 0, "cpu_seconds": done["cpu"], "peak_mb": done["peak_mb"]}
            self._cpu_before = done["cpu_total"]
            if done["retires"]:
                self._reap()
        else:
            if ended:
                os.kill(self._runner, signal.SIGKILL)
            status, usage = self._reap()
            cpu = usage.ru_utime + usage.ru_stime - self._cpu_before
            reply |= {"status": status, "cpu_seconds": cpu, "peak_mb": largest_mb(usage)}
        return reply | {"log": read_tail(self._log, _LOG_TAIL)}

    def _listen(self, deadline: Deadline) -> tuple[list[Frame], str]:
        """Collect frames until the runner is done, has died, or must be killed (`TIME` or `SIDE_QUESTION`)."""
        buffer, frames = bytearray(), list[Frame]()
        while True:
            left = None if math.isinf(deadline.seconds_left) else deadline.seconds_left
            ready = select.select([self._answers, self._callers[0]], [], [], left)[0]
            if self._answers in ready:
                data = os.read(self._answers, 1 << 20)
                buffer += data
                fresh = take_frames(buffer)
                frames += fresh
                for frame in fresh:
                    if "depth" in frame or "deciding" in frame:  # progress, for the caller
                        write_frame(self._callers[1], frame)
                if any(frame.get("phase") == "side" for frame in fresh):
                    deadline.begin_side_questions()
                if not data or (frames and "done" in frames[-1]):
                    return frames, ""
            elif ready:  # no second job comes before the reply: the caller has exited
                sys.exit(0)
            else:
                return frames, deadline.limit


def _serve(jobs: int, answers: int) -> None:
    """Do jobs until one fails."""
    from . import bindings

    base_mb = resident_mb()
    for count, job in enumerate(read_frames(jobs), 1):
        os.ftruncate(2, 0)
        os.lseek(2, 0, os.SEEK_SET)
        forget_peak()
        limit_memory(job["memory_mb"])
        begin = time.process_time()
        clean = _run(job, answers)
        limit_memory(None)
        total = time.process_time()
        grown = resident_mb() - base_mb > _GROWTH_OF_A_RUNNER
        retires = not clean or grown or count == _JOBS_OF_A_RUNNER
        done = {"done": True, "cpu": total - begin, "cpu_total": total, "retires": retires}
        write_frame(answers, done | {"peak_mb": read_peak_mb()})
        if retires:
            os._exit(0)
        bindings.reset()  # after the answer, which has been sent


def _run(job: Frame, answers: int) -> bool:
    """Do one job; return False if its text was defective, since NuSMV may then be in any state."""
    from . import checker
    from .ending import RejectedError

    def emit(frame: Frame) -> None:
        write_frame(answers, frame)

    try:
        if job["job"] == "check":
            options = (job["required"], job["count_states"], job["watch"])
            checker.check(job["model"], job["order"], job["queries"], *options, emit)
        else:
            checker.simulate(job["model"], job["order"], job["runs"], job["watch"], emit)
    except RejectedError as error:
        if error.printed and out_of_memory(os.pread(2, _LOG_TAIL, 0).decode(errors="replace")):
            raise MemoryError from error  # NuSMV reports a lack of memory as a defect of the text
        frame = {"rejected": error.what, "where": error.where, "hint": error.hint, "printed": error.printed}
        emit(frame | {"is_deadlock": error.is_deadlock})
        return False
    return True
