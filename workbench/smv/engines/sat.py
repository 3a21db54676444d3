"""The engines `bmc` and `ic3`: the algorithms of NuSMV and nuXmv that use a SAT solver instead of BDDs.

`bmc` unrolls the model step by step. For invariants it searches both for a run to a bad state and for a
proof by induction over that many steps; for LTL formulas, for a lasso and for a proof that there is none. `ic3` needs
nuXmv. One process decides one query, since these commands print to standard output only. If a
time limit comes too early, the query stays undecided.
"""

from __future__ import annotations

import re
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from workbench.budget import report

from .ending import MODEL_FILE, SIDE_QUESTION, Ending, defect
from .engine import Answer, EngineLimits, Query, QueryKind, Reached, Task, TaskResult, limit_side_questions
from .executable import ExecutableEngine, one_line, read_commands
from .output import read_answer

DEEPEST = 1000
"""Maximum number of steps that a model is unrolled."""


class Commands(NamedTuple):
    """The commands of an executable, per kind of query; `{formula}` stands for the formula."""

    executable: str
    by_kind: Mapping[QueryKind, str]


COMMANDS = {
    "bmc": Commands(
        "nusmv",
        {
            "invar": f'check_invar_bmc_inc -a dual -k {DEEPEST} -p "{{formula}}"',
            "ltl": f'check_ltlspec_sbmc_inc -c -k {DEEPEST} -p "{{formula}}"',
        },
    ),
    "ic3": Commands(
        "nuxmv",
        {"invar": 'check_invar_ic3 -p "{formula}"'},
    ),
}


class SatEngine:
    """NuSMV's bounded model checking with proofs, or nuXmv's IC3.

    Parameters
    ----------
    name: `bmc` or `ic3`.

    Raises
    ------
    EngineMissing: there is no such executable.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.commands = COMMANDS[name]
        self._executable = ExecutableEngine(self.commands.executable)
        self.path = self._executable.path

    def start(self) -> None:
        """Do nothing: each check has a process of its own."""

    def version(self) -> str:
        """Return the name and version of the executable, and the method."""
        return f"{self._executable.version()} ({self.name})"

    def check(self, task: Task, limits: EngineLimits = EngineLimits()) -> TaskResult:  # noqa: B008 - immutable
        """Answer every query of `task` (see `Engine.check`); states are never counted."""
        version, begin = self.version(), time.monotonic()
        answers: list[Answer] = []
        cpu = peak = 0.0
        until = None if limits.seconds is None else begin + limits.seconds
        for index, query in enumerate(task.queries):
            if index == task.required:  # side questions from here on
                patient = time.monotonic() + limit_side_questions(time.monotonic() - begin)
                until = patient if until is None or not task.required else min(until, patient)
            left = None if until is None else max(0.01, until - time.monotonic())
            answer, ending, seconds = self._decide(task, query, replace(limits, seconds=left))
            answers.append(answer)
            cpu, peak = cpu + seconds, max(peak, ending.peak_mb if ending else 0.0)
        return TaskResult(tuple(answers), version, cpu, time.monotonic() - begin, None, peak)

    def _decide(self, task: Task, query: Query, limits: EngineLimits) -> tuple[Answer, Ending | None, float]:
        if task.watch:
            return Answer(None, reason="its traces lack the variables that drive the inputs"), None, 0.0
        if query.kind not in self.commands.by_kind:
            return Answer(None, reason=f"it does not decide {query.kind.upper()} formulas"), None, 0.0
        if query.kind == "ltl" and "COMPASSION" in task.model:
            return Answer(None, reason="it does not see COMPASSION"), None, 0.0
        files = {MODEL_FILE: task.model}
        commands = script(self.commands.by_kind[query.kind], query.formula)
        finished = self._executable.run(commands, files, limits, follow=_follow)
        ending = finished.ending
        done = f"\n{_DONE}" in finished.text
        if ending.status > 0 and not ending.timed_out and not ending.memory_limit_met():
            raise defect(ending.log, task.model, where=query.formula if "is not well typed" in ending.log else "")
        read = read_answer(finished.text, complete=done, reason=ending.reason())
        if read is not None:
            answer = self._executable.with_path(task, query, *read, limits)
            return answer, ending, finished.cpu_seconds
        reason = f"{self.name} found neither a counterexample nor a proof in {DEEPEST} steps" if done else ""
        if ending.timed_out and task.queries.index(query) >= task.required:
            ending = replace(ending, timed_out=SIDE_QUESTION)
        bounds = _BOUND.findall(finished.text)
        reached = (_make_reached(self.name, query, int(bounds[-1]) + 1),) if bounds else ()
        return Answer(None, reason=reason or ending.reason(), reached=reached), ending, finished.cpu_seconds


def _make_reached(engine: str, query: Query, steps: int) -> Reached:
    """Report that no counterexample has this length; for LTL that holds for loops only, not for longer runs."""
    text = f"no counterexample of up to {steps} steps"
    return Reached(engine, text, steps=steps if query.kind == "invar" else 0)


def _follow(chunk: bytes) -> None:
    """Report how many steps have been explored."""
    if bounds := _BOUND.findall(chunk.decode(errors="replace")):
        report(f"runs of up to {int(bounds[-1]) + 1} steps")


_BOUND = re.compile(r"^-- no (?:proof or )?counterexample found with bound (\d+)$", re.MULTILINE)
_DONE = "workbench: done"


def script(command: str, formula: str) -> str:
    """Return the commands that decide one query."""
    setup = ["bmc_setup"] if "bmc" in command else []
    decide = [*setup, command.format(formula=one_line(formula)), 'echo ""', f'echo "{_DONE}"', "quit", ""]
    return "\n".join([*read_commands(), "build_boolean_model", *decide])
