"""The engine `pynusmv`: NuSMV embedded in worker processes, which are reused."""

from __future__ import annotations

import atexit
import contextlib
import importlib.util
import os
import shutil
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from workbench.budget import report, uninterruptible
from workbench.errors import EngineError, EngineMissing
from workbench.framed_process import GRACE, FramedProcess, ProcessLostError
from workbench.frames import Frame

from .ending import Ending, defect
from .engine import Answer, EngineLimits, RawTrace, Reached, Task, TaskResult, unshown

_START_SECONDS = 60.0  # imports take 0.2 s; a loaded machine may need many times as long

_PACKAGE = Path(__file__).resolve().parents[2]
# The worker needs the modules of this folder only. Packages made by hand, instead of importing
# `workbench.verify` with all its imports, keep its start short; so does omitting the module `site` (-S),
# and the start-up code of installed packages with it.
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
        """Give the worker a job, whose time limit it enforces, and wait for its reply.

        Raises
        ------
        ProcessLostError: the worker ended without a reply. After any error the worker must be killed.
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
        """Kill the process and its current job."""
        super().kill()  # the child of the worker dies with it
        if self._folder:
            shutil.rmtree(self._folder, ignore_errors=True)


INSTALL_HINT = "run 'make setup' in a clone, which builds NuSMV, or put a NuSMV executable on PATH"
_EMBEDDED = "NuSMV 2.5.4"  # the version inside pynusmv 1.0rc8, the only release that builds
_MAX_IDLE_WORKERS = 4  # idle workers; each holds 30 MB, mostly shared


class PynusmvEngine:
    """An engine that runs NuSMV through pynusmv, in worker processes.

    Calls from several threads run in separate workers. Workers end with the process
    that uses the engine; `close` ends the idle ones at once.

    Raises
    ------
    EngineMissing: pynusmv is not installed.
    """

    name, path = "pynusmv", ""

    def __init__(self) -> None:
        spec = importlib.util.find_spec("pynusmv")
        if spec is None or spec.origin is None:
            raise EngineMissing("the engine 'pynusmv' is not installed", hint=INSTALL_HINT)
        self._version = f"pynusmv {_find_version(Path(spec.origin).parent)} ({_EMBEDDED})"
        self._idle: list[Worker] = []
        self._lock = threading.Lock()
        self._owner = os.getpid()
        atexit.register(self.close)

    def version(self) -> str:
        """Return the versions of pynusmv and of the NuSMV inside it."""
        return self._version

    def start(self) -> None:
        """Start a worker in advance, so that the next check does not pay for its start (0.2 s)."""
        with self._borrow_worker():
            pass

    def check(self, task: Task, limits: EngineLimits = EngineLimits()) -> TaskResult:  # noqa: B008 - immutable
        """Answer every query of `task` (see `Engine.check`)."""
        job = {
            "job": "check",
            "queries": [[query.kind, query.formula] for query in task.queries],
            "required": task.required,
            "count_states": task.count_states,
            "watch": list(task.watch),
        }
        reply = self._call(job, task.model, task.order, limits)
        _refuse_defects(reply, task.model, limits)
        reason = _read_ending(reply, limits).reason() if _is_unfinished(reply) else ""
        depth = max((frame["depth"] for frame in reply["frames"] if "depth" in frame), default=0)
        reached = Reached(self.name, f"the states up to {depth} steps away")
        answers = [Answer(None, reason=reason, reached=(reached,) if depth else ())] * len(task.queries)
        current: int | None = None
        for frame in reply["frames"]:
            if "deciding" in frame:
                current = frame["deciding"]
            elif "depth" in frame and current is not None and task.queries[current].kind == "invar":
                # the latest layer is checked only when it has been reported
                answers[current] = replace(answers[current], reached=(reached._replace(steps=frame["depth"] - 1),))
            elif "refuted" in frame:
                answers[frame["refuted"]] = unshown(reason)
            elif "answer" in frame:
                trace = RawTrace(tuple(frame["steps"]), frame["loop"]) if frame["steps"] else None
                answers[frame["answer"]] = Answer(frame["truth"], trace, length=frame["length"])
        return TaskResult(
            tuple(answers),
            self.version(),
            cpu_seconds=reply["cpu_seconds"],
            wall_seconds=reply["wall_seconds"],
            reachable_states=next((f["reachable"] for f in reply["frames"] if "reachable" in f), None),
            peak_mb=reply["peak_mb"],
        )

    def simulate_many(
        self,
        model: str,
        order: Sequence[str],
        runs: Sequence[Sequence[Mapping[str, str]]],
        watch: Sequence[str],
        *,
        limits: EngineLimits = EngineLimits(),  # noqa: B008 - immutable
    ) -> list[list[dict[str, str]]]:
        """Follow many lists of steps through a model that is loaded once.

        Parameters
        ----------
        runs: per run, per step, the values of some VARs (names to value texts; others are free).
            Step 0 is an initial state.
        watch: expressions of any type over VARs and DEFINEs, to evaluate at each step.

        Returns
        -------
        Per run, per step, the text of each watched expression to the text of its value; if the given values do not
        determine a state, the values of one matching state.

        Raises
        ------
        EngineError: the model, an expression or a value is defective; no state matches a step; or
            a limit was met.
        """
        plain = [[dict(step) for step in run] for run in runs]
        job = {"job": "simulate", "runs": plain, "watch": list(watch)}
        reply = self._call(job, model, order, limits)
        _refuse_defects(reply, model, limits)
        if _is_unfinished(reply):
            raise EngineError(f"the simulation did not finish: {_read_ending(reply, limits).reason()}")
        run_values = (frame["values"] for frame in reply["frames"] if "run" in frame)
        return [[dict(zip(watch, values, strict=True)) for values in run] for run in run_values]

    @uninterruptible
    def close(self) -> None:
        """End the idle workers. The engine stays usable: the next job starts a new one."""
        self._disown_inherited()
        with self._lock:
            idle, self._idle = self._idle, []
        for worker in idle:
            worker.close()

    def _call(self, job: Frame, model: str, order: Sequence[str], limits: EngineLimits) -> Frame:
        job = job | {
            "model": model,
            "order": list(order),
            "seconds": limits.seconds,
            "memory_mb": limits.memory_mb,
        }
        begin = time.monotonic()
        try:
            with self._borrow_worker() as worker:
                return worker.call(job)
        except ProcessLostError as error:
            return {
                "frames": [],
                "ended": "gone",
                "status": 0,
                "log": str(error),
                "cpu_seconds": 0.0,
                "wall_seconds": time.monotonic() - begin,
                "peak_mb": 0.0,
            }

    @contextlib.contextmanager
    @uninterruptible
    def _borrow_worker(self) -> Iterator[Worker]:
        """Yield an idle worker that is alive, or a new one; it is kept afterwards if it is still good."""
        self._disown_inherited()
        worker = None
        while worker is None:
            with self._lock:
                worker = self._idle.pop() if self._idle else None
            if worker is None:
                worker = Worker()
            elif not worker.alive:
                worker.kill()
                worker = None
        try:
            yield worker
        except BaseException:
            worker.kill()
            raise
        with self._lock:
            if len(self._idle) < _MAX_IDLE_WORKERS:
                self._idle.append(worker)
                return
        worker.close()

    def _disown_inherited(self) -> None:
        """Leave the workers, after a fork, to the process that started them."""
        if self._owner != os.getpid():
            self._owner = os.getpid()
            self._lock = threading.Lock()
            idle, self._idle = self._idle, []
            for worker in idle:
                worker.disown()


def _read_ending(reply: Frame, limits: EngineLimits) -> Ending:
    return Ending(
        status=reply["status"],
        log=reply["log"],
        peak_mb=reply["peak_mb"],
        limits=limits,
        timed_out="" if reply["ended"] == "gone" else reply["ended"],
        gone=reply["log"] if reply["ended"] == "gone" else "",
    )


def _find_version(package: Path) -> str:
    """Return the version in the name of a package's metadata, which is faster than reading them."""
    names = [folder.stem for folder in package.parent.glob(f"{package.name}-*.dist-info")]
    return names[0].partition("-")[2] if names else "of unknown version"


def _is_unfinished(reply: Frame) -> bool:
    return bool(reply["ended"] or reply["status"])


def _refuse_defects(reply: Frame, model: str, limits: EngineLimits) -> None:
    """Raise the error for a model or formula that NuSMV does not accept."""
    for frame in reply["frames"]:
        if "rejected" in frame:
            log = reply["log"] if frame["printed"] else ""
            fields = {name: frame[name] for name in ("where", "hint", "is_deadlock")}
            raise defect(log, model, what=frame["rejected"], **fields)
    ending = _read_ending(reply, limits)
    accepted = any(frame.get("phase") == "search" for frame in reply["frames"])
    # NuSMV exits the process when it meets, for example, a value outside of a variable's range.
    if not accepted and ending.status == 1 and not ending.memory_limit_met():
        formulas = [frame["formula"] for frame in reply["frames"] if "formula" in frame]
        raise defect(reply["log"], model, where=formulas[-1] if formulas else "")
