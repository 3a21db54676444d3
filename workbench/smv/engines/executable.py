"""The engines `nusmv` and `nuxmv`: an executable in batch mode, one process per task."""

from __future__ import annotations

import contextlib
import functools
import math
import os
import re
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from workbench.budget import uninterruptible
from workbench.errors import BeyondSmv, EngineError, EngineMissing
from workbench.interrupts import prepare_end_with_parent
from workbench.process_memory import largest_mb

from .confinement import confine
from .ending import MODEL_FILE, NO_FAIR_PATH, NO_INITIAL_STATE, Deadline, Ending, deadlock, defect
from .engine import Answer, EngineLimits, Query, RawTrace, Task, TaskResult, slowest_last
from .output import read_answer, read_count, read_deadlock, read_length

_OUTPUT = "out-"
_COMMANDS = {"invar": "check_invar", "ctl": "check_ctlspec", "ltl": "check_ltlspec"}
_SIDE = "side"
_GLANCE = 0.1  # seconds between two checks of the progress of a task
_LONGEST_LINE = 59_000  # bytes of a formula; NuSMV cuts the lines of its scripts at 65536
_NAMES = {"nusmv": "NuSMV", "nuxmv": "nuXmv"}
# FALSE is true only if there is no state or path of which it could be false.
_NO_STATE = re.compile(r"^-- invariant FALSE +is true", re.MULTILINE)
_NO_PATH = re.compile(r"^-- specification +FALSE +is true", re.MULTILINE)
_TEMPORAL = re.compile(r"\b[AE][GFX]\b|\b[AE]\s*\[")
_BANNER = re.compile(r"This is (\S+) (\S+)")


def find_executable(name: str) -> str | None:
    """Return the path of an engine's executable, None if there is none.

    The search uses the environment variable (WORKBENCH_NUSMV, WORKBENCH_NUXMV; a path or a name on
    PATH), the folder of the running Python interpreter, and PATH.
    """
    configured = os.environ.get(f"WORKBENCH_{name.upper()}")
    if configured:
        return shutil.which(configured)
    beside = shutil.which(_NAMES[name], path=str(Path(sys.executable).parent))
    return beside or shutil.which(_NAMES[name])


@dataclass(frozen=True)
class Finished:
    """The result of a process that has ended: its output, and the files written by its commands."""

    ending: Ending
    text: str
    parts: dict[str, str]
    cpu_seconds: float


class ExecutableEngine:
    """An engine that runs NuSMV or nuXmv in batch mode.

    Parameters
    ----------
    name: `nusmv` or `nuxmv`.

    Raises
    ------
    EngineMissing: there is no such executable.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        path = find_executable(name)
        if path is None:
            variable = f"WORKBENCH_{name.upper()}"
            configured = os.environ.get(variable)
            raise EngineMissing(
                f"{variable} names no executable: {configured}"
                if configured
                else f"the engine '{name}' is not installed: no {_NAMES[name]} on PATH",
                hint=f"install {_NAMES[name]} and put it on PATH, or set {variable} to its path",
            )
        self.path = path

    @functools.cached_property
    def _version(self) -> str:
        finished = self.run("quit\n", {}, EngineLimits(seconds=30))
        banner = _BANNER.search(finished.text)
        if banner is None:
            raise EngineError(
                f"{self.path} does not present itself as NuSMV or nuXmv: {finished.ending.reason()}",
                hint=f"set WORKBENCH_{self.name.upper()} to the right executable",
            )
        return f"{banner[1]} {banner[2]}"

    def start(self) -> None:
        """Do nothing: each check has a process of its own."""

    def version(self) -> str:
        """Return the name and version that the executable prints."""
        return self._version

    def check(self, task: Task, limits: EngineLimits = EngineLimits()) -> TaskResult:  # noqa: B008 - immutable
        """Answer every query of `task` (see `Engine.check`)."""
        version = self.version()
        begin = time.monotonic()
        files = {MODEL_FILE: task.model}
        if task.order:
            files["model.ord"] = "\n".join(task.order) + "\n"
        finished = self.run(_write_script(task), files, limits)
        parts = finished.parts
        self._refuse_defects(task, finished.ending, parts)
        reason = "the engine reported no result" if "end" in parts else finished.ending.reason()
        answers = []
        for index, query in enumerate(task.queries):
            done = f"{index}.done" in parts
            if query.kind == "longest" and done:
                answers.append(read_length(parts.get(f"{index}.none", ""), parts.get(str(index), "")))
                continue
            read = read_answer(parts.get(str(index), ""), complete=done, reason=reason)
            if read is None:
                answers.append(Answer(None, reason=reason))
            else:
                answer = _select_trace(task, read[0], parts.get("vars", ""))
                answers.append(self.with_path(task, query, answer, read[1], limits))
        return TaskResult(
            tuple(answers),
            version,
            cpu_seconds=finished.cpu_seconds,
            wall_seconds=time.monotonic() - begin,
            reachable_states=read_count(parts.get("count", "")) if task.count_states else None,
            peak_mb=finished.ending.peak_mb,
        )

    def _refuse_defects(self, task: Task, ending: Ending, parts: dict[str, str]) -> None:
        """Raise the error for a defective or vacuous model, or a defective formula."""
        if _NO_STATE.search(parts.get("state", "")):
            raise defect("", task.model, *NO_INITIAL_STATE)
        if stuck := read_deadlock(parts.get("fsm", "")):
            raise defect("", task.model, *deadlock(stuck), is_deadlock=True)
        if _NO_PATH.search(parts.get("path", "")):
            raise defect("", task.model, *NO_FAIR_PATH)
        if "end" in parts or ending.timed_out or ending.status <= 0 or ending.memory_limit_met():
            return
        if "built" not in parts:
            raise defect(ending.log, task.model)
        open_ = next((index for index in _order_queries(task) if f"{index}.done" not in parts), None)
        if open_ is not None:
            formula = task.queries[open_].formula
            raise defect(ending.log, task.model, what="the formula is not correct", where=formula)

    def with_path(self, task: Task, query: Query, answer: Answer, loops: Sequence[int], limits: EngineLimits) -> Answer:
        """Complete a printed trace with its loop (`loops`: the steps where it may start).

        If more than one step equals the last, the loop may start at any of them. It starts where
        the model, confined to the lasso, violates the formula.
        """
        if query.kind == "ctl" and answer.trace is not None and len(answer.trace.steps) == 1 and not loops:
            # NuSMV has no path to show, and shows the initial state. That is a counterexample only
            # if one state is enough: for AG, and for a formula about the initial states themselves.
            one_is_enough = re.match(r"[\s(]*AG\b", query.formula) or not _TEMPORAL.search(query.formula)
            return answer if one_is_enough else Answer(False)
        if answer.trace is None or len(loops) < 2:
            return answer
        for loop in loops:
            trace = RawTrace(answer.trace.steps, loop)
            confined = Task(confine(task.model, trace), (query,))
            finished = self.run(_write_script(confined), {MODEL_FILE: confined.model}, limits)
            read = read_answer(finished.parts.get("0", ""), complete=True)
            if read is not None and read[0].truth is False:
                return Answer(False, trace)
        return Answer(False, None)

    def run(
        self,
        script: str,
        files: dict[str, str],
        limits: EngineLimits,
        *,
        follow: Callable[[bytes], object] | None = None,
    ) -> Finished:
        """Run a script in a folder with these files, within the limits.

        Parameters
        ----------
        follow: receives the output, line by line; nothing is lost when the process is killed (if coreutils are
            installed).
        """
        prefix = [stdbuf, "-oL"] if follow and (stdbuf := shutil.which("stdbuf")) else []
        with _start([*prefix, self.path, "-source", "script"], {**files, "script": script}) as child:
            deadline = Deadline(limits.seconds)
            _restrict(child.pid, limits)
            text, timed_out = _read(child.output, deadline, Path(child.folder, _SIDE), follow)
            usage = child.end(now=bool(timed_out))
            child.log.seek(0)
            outputs = [name for name in os.listdir(child.folder) if name.startswith(_OUTPUT)]
            return Finished(
                Ending(
                    status=child.status or 0,
                    log=child.log.read().decode(errors="replace"),
                    peak_mb=largest_mb(usage),
                    limits=limits,
                    timed_out=timed_out,
                ),
                text,
                {name.removeprefix(_OUTPUT): Path(child.folder, name).read_text(errors="replace") for name in outputs},
                usage.ru_utime + usage.ru_stime,
            )


class _Child:
    """A process with a folder of its own, its output, and its log."""

    def __init__(self, command: Sequence[str], files: dict[str, str], folder: str, log: IO[bytes]) -> None:
        self.folder, self.log = folder, log
        for name, content in files.items():
            Path(folder, name).write_text(content, encoding="utf-8")
        self._process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            bufsize=0,
            start_new_session=True,  # Ctrl-C reaches the caller, who ends the process
            preexec_fn=prepare_end_with_parent(signal.SIGKILL),
        )
        assert self._process.stdout is not None
        self._pipe = self._process.stdout
        self.pid, self.output = self._process.pid, self._pipe.fileno()

    @property
    def status(self) -> int | None:
        """The exit status; None before the end."""
        return self._process.returncode

    @uninterruptible
    def end(self, *, now: bool) -> resource.struct_rusage:
        """Wait for the process, or kill it `now`; return its resource usage."""
        self._pipe.close()
        if now:
            os.killpg(self.pid, signal.SIGKILL)
        _, status, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        return usage


@contextlib.contextmanager
@uninterruptible
def _start(command: Sequence[str], files: dict[str, str]) -> Iterator[_Child]:
    """Start a process in a folder with these files; it ends with the block."""
    with tempfile.TemporaryDirectory(prefix="workbench-") as folder, tempfile.TemporaryFile() as log:
        child = _Child(command, files, folder, log)
        try:
            yield child
        finally:
            if child.status is None:
                child.end(now=True)


def _restrict(pid: int, limits: EngineLimits) -> None:
    """Limit the resources of a child that has just started (it needs little in its first moments)."""
    rlimits = {resource.RLIMIT_CORE: 0}
    if limits.memory_mb is not None:
        rlimits[resource.RLIMIT_DATA] = limits.memory_mb << 20
    if limits.seconds is not None:
        # The caller watches wall-clock time; this is for a caller that was killed.
        rlimits[resource.RLIMIT_CPU] = math.ceil(limits.seconds) + 1
    if hasattr(resource, "prlimit"):
        with contextlib.suppress(ProcessLookupError, PermissionError, ValueError):  # it may have ended already
            for kind, limit in rlimits.items():
                resource.prlimit(pid, kind, (limit, limit))


def _read(fd: int, deadline: Deadline, side: Path, follow: Callable[[bytes], object] | None = None) -> tuple[str, str]:
    """Return all output of a pipe, and the limit that was met, if any.

    Once the file `side` exists, only side questions are left.
    """
    data = bytearray()
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while True:
        left = deadline.seconds_left
        if not poll.poll(min(left, _GLANCE) * 1000):
            if left == 0:
                return data.decode(errors="replace"), deadline.limit
            if side.exists():
                deadline.begin_side_questions()
            continue
        chunk = os.read(fd, 1 << 20)
        if not chunk:
            return data.decode(errors="replace"), ""
        data += chunk
        if follow:
            follow(chunk)


def read_commands(*, watch: bool = False, order: bool = False) -> list[str]:
    """Return the commands with which every script reads a model."""
    return [
        "set on_failure_script_quits",
        "set keep_single_value_vars",  # otherwise such a variable is a DEFINE and missing from traces
        "set traces_show_defines" if watch else "unset traces_show_defines",
        f"read_model -i {MODEL_FILE}",
        "flatten_hierarchy",
        "encode_variables -i model.ord" if order else "encode_variables",
    ]


def _write_script(task: Task) -> str:
    """Return the commands that decide a task.

    Each writes to a file of its own: standard output is buffered, and lost when the process is killed.
    """
    lines = [
        "set dynamic_reorder",  # also with an order: no command here can turn it on once a BDD has grown
        *read_commands(watch=bool(task.watch), order=bool(task.order)),
        "build_model",
        f"echo -o {_OUTPUT}built yes",
        *([f"show_vars -s -f -i -V -o {_OUTPUT}vars"] if task.watch else []),
        f"check_fsm -o {_OUTPUT}fsm",
        f'check_invar -o {_OUTPUT}state -p "FALSE"',
    ]
    if any(query.kind != "invar" for query in task.queries):
        lines.append(f'check_ctlspec -o {_OUTPUT}path -p "FALSE"')
    for position, index in enumerate(_order_queries(task), 1):
        query = task.queries[index]
        commands = _commands(query.kind, one_line(query.formula), index)
        lines += [*commands, f"echo -o {_OUTPUT}{index}.done yes"]
        if position == task.required:
            lines += [*_count_states(task), f"echo -o {_SIDE} yes"]
    if not task.required:
        lines += _count_states(task)
    lines += [f"echo -o {_OUTPUT}end yes", "quit", ""]
    return "\n".join(lines)


def _order_queries(task: Task) -> list[int]:
    """Return the queries in the order in which they are decided."""
    kinds, required = [query.kind for query in task.queries], task.required
    return [*slowest_last(kinds, 0, required), *slowest_last(kinds, required, len(kinds))]


def _select_trace(task: Task, answer: Answer, variables: str) -> Answer:
    """Return the answer with a trace of VARs and watched names only; `variables` is the output of `show_vars`."""
    if answer.trace is None or not task.watch:
        return answer
    names = {*task.watch, *(line.partition(" : ")[0] for line in variables.splitlines())}
    steps = tuple({name: value for name, value in step.items() if name in names} for step in answer.trace.steps)
    return replace(answer, trace=replace(answer.trace, steps=steps))


def _commands(kind: str, formula: str, index: int) -> list[str]:
    """Return the commands for one query. The longest path inside a set is the longest one that leads out of it."""
    if kind != "longest":
        return [f'{_COMMANDS[kind]} -o {_OUTPUT}{index} -p "{formula}"']
    return [
        f'check_ctlspec -o {_OUTPUT}{index}.none -p "AG !({formula})"',
        f'check_compute -o {_OUTPUT}{index} -p "MAX [{formula}, !({formula})]"',
    ]


def one_line(formula: str) -> str:
    """Return a formula on one line, as a command takes it.

    Raises
    ------
    EngineError: the formula does not fit into a command; BeyondSmv if that is because of its length.
    """
    text = " ".join(line.split("--")[0] for line in formula.splitlines())
    fields = {"where": f"{text[:60]}...", "hint": "use the engine 'pynusmv'"}
    if '"' in text:
        raise EngineError("this formula has a quotation mark, and cannot be given to an executable", **fields)
    if (length := len(text.encode())) > _LONGEST_LINE:
        raise BeyondSmv(f"this formula is too long for an executable: {length} bytes", **fields)
    return text


def _count_states(task: Task) -> list[str]:
    return [f"print_reachable_states -o {_OUTPUT}count"] if task.count_states else []
