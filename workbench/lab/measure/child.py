"""The process in which experiments run: it performs one task after another, until there are no more.

It reports the start and the end of each measurement, with the CPU time of its process tree. It may end at any moment
and in any way, which its supervisor handles. It never returns: it exits without the cleanup, which is its parent's.
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys
import time
import traceback
from collections.abc import Mapping
from typing import Any, NoReturn

from workbench.errors import EngineMissing, Refused, WorkbenchError, did_you_mean
from workbench.frames import Frame, read_frames, write_frame
from workbench.lab.calls import call
from workbench.lab.experiment import SEED, Experiment, Prerequisite
from workbench.lab.measure.tree import own_cpu
from workbench.lab.region import fits
from workbench.lab.result import Status, plain
from workbench.lab.suite import Suite
from workbench.process_memory import forget_peak, largest_mb, limit_memory, read_peak_mb

LAST_WORDS = 12
"""Maximum number of calls that the report of an error lists."""
_CALLS = call.__code__.co_filename


def serve(suite: Suite, jobs: int, answers: int) -> NoReturn:
    """Perform tasks from the pipe `jobs`, and report to the pipe `answers`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.stdout = open(1, "w", 1, "utf-8", "replace", closefd=False)  # noqa: SIM115 - lines outlive a crash
    warm = False
    for task in read_frames(jobs):
        limit_memory(task["memory_mb"])
        warm = warm or _warm_up(suite, task, answers)
        if warm:
            _do(suite, task, answers)
    os._exit(0)


def _warm_up(suite: Suite, task: Frame, answers: int) -> bool:
    """Call the warm-up of an experiment, and return whether it succeeded."""
    experiment = suite.experiments.get(task["experiment"])
    if experiment is None or experiment.warm_up is None or "make" in task:
        return True
    try:
        experiment.warm_up()
        return True
    except BaseException as error:
        write_frame(answers, {"begin": time.monotonic(), "cpu": own_cpu()})
        write_frame(answers, {**_describe_error(error), "cpu": own_cpu(), "wall": 0.0, "peak_mb": read_peak_mb()})
        return False


def _do(suite: Suite, task: Frame, answers: int) -> None:
    """Perform one task, and report the result."""
    forget_peak()
    before = largest_mb(resource.getrusage(resource.RUSAGE_CHILDREN))
    begin = time.monotonic()
    write_frame(answers, {"begin": begin, "cpu": own_cpu()})
    try:
        if "make" in task:
            answer = _make(suite.prerequisites[task["make"]], task)
        elif "page" in task:
            answer = _page(suite.experiments[task["experiment"]], task)
        else:
            answer = _measure(suite.experiments[task["experiment"]], task)
    except BaseException as error:
        answer = _describe_error(error)
    wall = time.monotonic() - begin
    sys.stdout.flush()
    after = largest_mb(resource.getrusage(resource.RUSAGE_CHILDREN))
    peak = max(read_peak_mb(), after if after > before else 0.0)
    write_frame(answers, {**answer, "cpu": own_cpu(), "wall": wall, "peak_mb": peak})


def _make(prerequisite: Prerequisite, task: Frame) -> dict[str, Any]:
    from pathlib import Path

    call(prerequisite.make, {**task["point"], SEED: task["seed"], "path": Path(task["path"])})
    return {"status": str(Status.OK)}


def _page(experiment: Experiment, task: Frame) -> dict[str, Any]:
    if experiment.page is None:
        raise Refused(f"experiment '{experiment.name}' has no page")
    text = call(experiment.page, {**task["point"], SEED: task["seed"]})
    return {"status": str(Status.OK), "outputs": {"page": text}}


def _measure(experiment: Experiment, task: Frame) -> dict[str, Any]:
    from pathlib import Path

    files = {name: Path(path) for name, path in task["files"].items()}
    result = call(experiment.function, {**task["point"], SEED: task["seed"], **files})
    outputs = check_outputs(experiment, result)
    differing = [
        f"{name} is {outputs.get(name)!r} where {plain(expectation)!r} is expected"
        for name, expectation in experiment.expectation(task["point"]).items()
        if outputs.get(name) != plain(expectation)
    ]
    undecided = [
        f"{name} is unknown: {value.reason}"
        for name, value in result.items()
        if getattr(value, "outcome", "") == "unknown"  # a verdict, whose class takes long to import
    ]
    status = Status.UNDECIDED if undecided else Status.WRONG if differing else Status.OK
    return {"status": str(status), "outputs": outputs, "reason": "; ".join(undecided or differing)}


def check_outputs(experiment: Experiment, result: Any) -> dict[str, Any]:
    """Return the outputs as plain data if they match the declarations of the experiment.

    Raises
    ------
    TypeError: the outputs do not match.
    """
    if not isinstance(result, Mapping):
        raise TypeError(f"experiment '{experiment.name}' returned {result!r}, not a mapping from outputs to values")
    if undeclared := sorted(map(str, result.keys() - experiment.outputs.keys())):
        hint = did_you_mean(undeclared[0], experiment.outputs, "declared are ")
        raise TypeError(f"output '{undeclared[0]}' is not declared: {hint or 'no output is'}")
    if absent := sorted(experiment.outputs.keys() - result.keys()):
        raise TypeError(f"output '{absent[0]}' is missing")
    outputs = {name: plain(value) for name, value in result.items()}
    for name, output in experiment.outputs.items():
        kinds = {float: (int, float, str), int: (int,), bool: (bool,), str: (str,)}[output.kind]
        value = outputs[name]
        odd_bool = isinstance(value, bool) and output.kind is not bool
        odd_text = isinstance(result[name], str) and output.kind is float  # `plain` makes texts of infinite floats
        if value is not None and (not isinstance(value, kinds) or odd_bool or odd_text):
            raise TypeError(f"output '{name}' is {result[name]!r}, but was declared as {output.kind.__name__}")
        if isinstance(value, int) and not fits(value):
            raise TypeError(f"output '{name}' is {value}, which has more than 64 bits: declare it as float or str")
    return outputs


def _describe_error(error: BaseException) -> dict[str, Any]:
    """Return the status and the reason of a measurement that ended with an exception."""
    if isinstance(error, MemoryError):
        return {"status": str(Status.MEMORY), "reason": "MemoryError"}
    if isinstance(error, Refused | EngineMissing):
        return {"status": str(Status.REFUSED), "reason": error.message}
    if isinstance(error, WorkbenchError):
        with contextlib.suppress(OSError):
            os.write(2, "".join(traceback.format_exception(error)).encode(errors="replace"))
        return {"status": str(Status.CRASH), "reason": f"{type(error).__name__}: {error.message}"}
    message = "".join(traceback.format_exception_only(error)).strip()
    return {"status": str(Status.CRASH), "reason": "\n".join([message, *_list_calls(error)])}


def _list_calls(error: BaseException) -> list[str]:
    """Return the calls that led to an error, without the lab's own calls before the experiment."""
    calls = traceback.extract_tb(error.__traceback__)
    while calls and calls[0].filename in (__file__, _CALLS):
        del calls[0]
    return [f"{frame.filename}:{frame.lineno} in {frame.name}: {frame.line}" for frame in calls[-LAST_WORDS:]]
