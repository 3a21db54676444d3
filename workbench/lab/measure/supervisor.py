"""The process that runs experiments, each in a child process, and survives their crashes.

It loads the suite, and forks a child for a task; it reuses a child for the next task only if the experiment allows that
and nothing went wrong. It is the subreaper of all processes that a child starts: it inherits orphans, kills them, and
counts their CPU time. It reads tasks from standard input and writes measurements to standard output, as frames, and
ends, with all its descendants, when its caller is gone.
"""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import gc
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

from workbench.errors import WorkbenchError
from workbench.frames import Frame, fork_serving, read_frames, read_tail, write_frame
from workbench.interrupts import descendants
from workbench.lab.experiment import Experiment, Limits, Prerequisite
from workbench.lab.measure import cgroup, child
from workbench.lab.measure.machine import MachineLoad
from workbench.lab.measure.watch import WARM_UP_SECONDS, CallerGone, Child, Watch
from workbench.lab.result import Measured, Status
from workbench.lab.suite import Suite
from workbench.lab.suite_search import load_suite
from workbench.process_memory import largest_mb
from workbench.smv.engines.ending import out_of_memory

PR_SET_CHILD_SUBREAPER = 36
MAX_TASKS = 300
"""Maximum number of tasks of one child: libraries leak some memory with each."""
MAX_GROWTH_MB = 64.0
LOG_TAIL = 4000
_GRACE = 2.0  # seconds in which the processes of a child may end by themselves


def main() -> None:
    """Serve tasks until standard input ends."""
    requests, replies = 0, os.dup(1)
    os.dup2(2, 1)  # the output of a suite while it is loaded must not mix with the frames
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the caller handles Ctrl-C: it decides what stops
    sys.path[:] = [entry for entry in sys.path if entry]
    path, files = Path(sys.argv[1]), Path(sys.argv[2])
    try:
        suite = load_suite(path)
    except WorkbenchError as error:
        write_frame(replies, {"error": error.what, "where": str(error.where), "hint": error.hint})
        return
    supervisor = Supervisor(suite, files, requests, replies)
    write_frame(replies, {"ready": os.getpid()})
    try:
        for task in read_frames(requests):
            write_frame(replies, asdict(supervisor.measure(task)))
    finally:
        supervisor.close()


class Supervisor:
    """A supervisor that measures tasks of a suite, one at a time.

    Parameters
    ----------
    files: the folder of prerequisites.
    requests: a descriptor that becomes readable during a task only if the caller is gone; None: there is none.
    replies: the descriptor that the caller reads, which children must not use.
    """

    def __init__(self, suite: Suite, files: Path, requests: int | None = None, replies: int | None = None) -> None:
        self.suite, self.files, self._requests, self._replies = suite, files, requests, replies
        self._log = tempfile.TemporaryFile()  # noqa: SIM115 - for the life of the process
        self._scratch = tempfile.mkdtemp(prefix="workbench-lab-")
        self._child: Child | None = None
        self._load = MachineLoad()
        self._group = self._make_group()
        if sys.platform == "linux":
            ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1)
        gc.collect()
        gc.freeze()  # otherwise garbage collection copies the pages shared with a child

    def _make_group(self) -> cgroup.ControlGroup | None:
        base = cgroup.base()
        with contextlib.suppress(OSError):
            return cgroup.ControlGroup(base) if base else None
        return None

    def close(self) -> None:
        """End the child, and remove temporary files."""
        if self._child:
            self._retire(self._child, now=True)
        if self._group:
            self._group.remove()
        shutil.rmtree(self._scratch, ignore_errors=True)

    # --- a task ---------------------------------------------------------------------------------------------

    def measure(self, task: Frame) -> Measured:
        """Measure an experiment at a point, after making the prerequisites that it needs."""
        experiment = self.suite.get(task["experiment"])
        files: dict[str, str] = {}
        for prerequisite in experiment.needs:
            try:
                files[prerequisite.name] = str(self._provide(prerequisite, task, experiment.limits))
            except OSError as error:
                return Measured(Status.CRASH, reason=f"prerequisite '{prerequisite.name}': {error}")
            except _PreparationError as error:
                return error.measured
        whole = {**task, "files": files, "memory_mb": self._rlimit(experiment.limits)}
        return self._run(experiment, whole, experiment.limits, persistent=experiment.persistent)

    def _rlimit(self, limits: Limits) -> int | None:
        """Return the memory limit of each process; None if a control group limits them together."""
        return None if self._group else limits.memory_mb

    def _provide(self, prerequisite: Prerequisite, task: Frame, limits: Limits) -> Path:
        """Return the file of a prerequisite, making it if it does not exist; concurrent requests wait."""
        file = prerequisite.file(self.files, task["point"], task["code"])
        if file.exists():
            return file
        file.parent.mkdir(parents=True, exist_ok=True)
        with open(f"{file}.lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            if not file.exists():
                aside = Path(f"{file}.incoming")
                aside.unlink(missing_ok=True)
                job = {**task, "make": prerequisite.name, "path": str(aside), "memory_mb": self._rlimit(limits)}
                experiment = self.suite.get(task["experiment"])
                outcome = self._run(experiment, job, limits, persistent=False)
                if outcome.status is not Status.OK:
                    raise _PreparationError(prerequisite.name, outcome)
                aside.rename(file)
        Path(f"{file}.lock").unlink(missing_ok=True)
        return file

    def _run(self, experiment: Experiment, task: Frame, limits: Limits, *, persistent: bool) -> Measured:
        os.ftruncate(self._log.fileno(), 0)
        os.lseek(self._log.fileno(), 0, os.SEEK_SET)
        child, start = self._child_for(experiment.name, limits, persistent=persistent), time.monotonic()
        watch, ended = self._watch(child, task, limits)
        final = watch.final
        wall = final["wall"] if final else time.monotonic() - (watch.begin or start)
        peak, cpu = (max(watch.peak_mb, final["peak_mb"]), final["cpu"]) if final else (watch.peak_mb, 0.0)
        child.tasks += 1
        child.first_mb = child.first_mb or peak
        status: int | None = None
        if not (persistent and final and _can_go_on(child, final, peak)):
            status, of_all, largest = self._retire(child, now=final is None)
            if not (persistent and final):  # otherwise processes that ended between two tasks would count
                cpu = max(cpu, of_all)
            peak = max(peak, 0.0 if persistent else largest)
        if self._group:
            peak = max(peak, 0.0 if persistent else self._group.peak_mb)
        load, steal, reliable = self._load.look()
        log = read_tail(self._log.fileno(), LOG_TAIL)
        return Measured(
            **self._ending(final, ended, status, limits, peak, log),
            wall_seconds=wall, cpu_seconds=max(cpu - watch.cpu_before, 0.0), peak_mb=peak,
            limited_by="cgroup v2" if self._group else "rlimits",
            load=load, steal=steal, reliable=reliable, log=log,
            gpu_seconds=watch.gpu.seconds if watch.gpu else None, gpu_peak_mb=watch.gpu.peak_mb if watch.gpu else None,
        )  # fmt: skip

    def _watch(self, child: Child, task: Frame, limits: Limits) -> tuple[Watch, str]:
        """Give a child its task, and watch it until it ends or meets a limit; return the name of the limit."""
        try:
            write_frame(child.jobs, task)
            watch = Watch(child, limits, self._requests)
            return watch, watch.listen()
        except BrokenPipeError:  # the child has been killed
            return Watch(child, limits, None), ""
        except CallerGone:
            self.close()
            sys.exit(0)

    def _ending(
        self, final: Frame | None, ended: str, status: int | None, limits: Limits, peak: float, log: str
    ) -> dict[str, Any]:
        """Return the status, the reason and the outputs of a measurement."""
        if final is not None:
            outputs, reason = final.get("outputs", {}), final.get("reason", "")
            final_status = Status(final["status"])
            if final_status is Status.CRASH and out_of_memory(reason):
                final_status = Status.MEMORY
            if final_status is Status.MEMORY and limits.memory_mb is not None:
                reason = f"limit of {limits.memory_mb} MB: {reason}"
            return {"status": final_status, "reason": reason, "outputs": outputs}
        if ended == "seconds":
            return {"status": Status.TIMEOUT, "reason": f"more than {limits.seconds:g} s of wall-clock time"}
        if ended == "cpu_seconds":
            return {"status": Status.TIMEOUT, "reason": f"more than {limits.cpu_seconds:g} CPU seconds"}
        if ended == "warm-up":
            return {"status": Status.CRASH, "reason": f"the warm-up did not end within {WARM_UP_SECONDS:g} s"}
        group_full = self._group is not None and self._group.out_of_memory
        nearly = limits.memory_mb is not None and peak > 0.9 * limits.memory_mb
        if ended == "memory" or group_full or out_of_memory(log) or nearly:
            limit = "no limit" if limits.memory_mb is None else f"limit of {limits.memory_mb} MB"
            return {"status": Status.MEMORY, "reason": f"{limit}, reached {peak:.0f} MB"}
        last_words = "\n".join([line for line in log.splitlines() if line.strip()][-3:])
        return {"status": Status.CRASH, "reason": "; ".join(filter(None, [_describe_status(status), last_words]))}

    # --- the child ------------------------------------------------------------------------------------------

    def _child_for(self, experiment: str, limits: Limits, *, persistent: bool) -> Child:
        if self._child and (not persistent or self._child.experiment != experiment):
            self._retire(self._child, now=False)
        return self._child or self._fork(experiment, limits)

    def _fork(self, experiment: str, limits: Limits) -> Child:
        if self._group is not None:
            with contextlib.suppress(OSError):
                self._group.remove()
            self._group = self._make_group()
            if self._group:
                self._group.limit(limits.memory_mb)

        def serve(jobs: int, answers: int) -> None:
            _become_child(self._group, self._scratch)
            child.serve(self.suite, jobs, answers)

        pipes = fork_serving(serve, self._log.fileno(), [] if self._replies is None else [self._replies])
        self._child = Child(*pipes, experiment)
        return self._child

    def _retire(self, child: Child, *, now: bool) -> tuple[int | None, float, float]:
        """End a child and its descendants; return its exit status, the total CPU seconds, the peak memory of one."""
        self._child = None
        os.close(child.jobs)  # the child ends when its jobs do; at the deadline it and all descendants are killed
        deadline = time.monotonic() + (0.0 if now else _GRACE)
        status, cpu, largest, pause = None, 0.0, 0.0, 0.001
        _wait_for(child.pid, deadline)
        while True:
            if time.monotonic() >= deadline:
                for pid in descendants(os.getpid()):
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(pid, signal.SIGKILL)
            try:
                pid, raw, usage = os.wait4(-1, os.WNOHANG)
            except ChildProcessError:
                break
            if pid == 0:
                time.sleep(pause)
                pause = min(2 * pause, 0.01)
                continue
            cpu += usage.ru_utime + usage.ru_stime
            largest = max(largest, largest_mb(usage))
            if pid == child.pid:
                status = os.waitstatus_to_exitcode(raw)
        os.close(child.answers)
        for name in os.listdir(self._scratch):  # files that the child has left in its temporary folder
            path = os.path.join(self._scratch, name)
            shutil.rmtree(path, ignore_errors=True)
            with contextlib.suppress(OSError):
                os.unlink(path)
        return status, cpu, largest


def _can_go_on(child: Child, final: Frame, peak: float) -> bool:
    """Whether a child can take another task: its last one ended well, left no process behind, and leaked little."""
    well = final["status"] in ("ok", "wrong verdict") and child.tasks < MAX_TASKS
    alone = len(descendants(os.getpid())) <= 1 + len(descendants(child.pid))
    return well and alone and peak - child.first_mb <= MAX_GROWTH_MB


def _wait_for(pid: int, deadline: float) -> None:
    """Wait until a child has ended, or until the deadline."""
    with contextlib.suppress(OSError, AttributeError):  # only Linux has it; otherwise the caller polls
        handle = os.pidfd_open(pid)
        try:
            select.select([handle], [], [], max(0.0, deadline - time.monotonic()))
        finally:
            os.close(handle)


class _PreparationError(Exception):
    def __init__(self, name: str, outcome: Measured) -> None:
        problem = f"prerequisite '{name}': {outcome.status}: {outcome.reason}"
        status = Status.REFUSED if outcome.status is Status.REFUSED else Status.CRASH
        self.measured = Measured(status, reason=problem, log=outcome.log)


def _become_child(group: cgroup.ControlGroup | None, folder: str) -> None:
    """Set up a new child process."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    os.setsid()
    os.environ["TMPDIR"] = folder
    tempfile.tempdir = None
    if group is not None:
        with contextlib.suppress(OSError):
            group.add(os.getpid())


def _describe_status(status: int | None) -> str:
    if status is None:
        return "it was lost"
    if status < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-status).name}"
        return f"killed by signal {-status}"
    return f"ended with status {status}"


if __name__ == "__main__":
    main()
