"""The reference executor, which runs everything."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import InputError
from workbench.executors.table import FAULTS, KEYED, PROCESSES, BackendOption, BackendRow, Start

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend
    from workbench.executors.keyed import KeyedSteps


def _make(pipeline: Program, start: Start) -> Backend:
    from workbench.executors.reference.executor import Reference

    if count := start.option("processes"):
        if start.option("why"):
            raise InputError("--why looks at the quantifiers of one process", hint="leave --processes or --why out")
        from workbench.executors.processes.executor import Processes

        return start.closing.enter_context(Processes(pipeline, count, oracle=start.oracle, live=start.live))
    running = Reference(pipeline, oracle=start.oracle)
    if most := start.option("why"):
        from workbench.executors.reference.refutation import Refutations

        Refutations(running, most, lambda found: start.say(str(found)))
    return running


def _keyed(pipeline: Program, start: Start) -> KeyedSteps:
    from workbench.executors.keyed import KeyedSteps
    from workbench.executors.reference.executor import Reference

    if start.option("processes"):
        raise InputError(
            "--processes divides one run, and --key makes many", hint="add --backend spark, or leave one out"
        )
    return KeyedSteps(Reference(pipeline))


ROW = BackendRow(
    "reference",
    "any Python values, an event at a time, queues of any length",
    _make,
    _keyed,
    options=(
        *FAULTS,
        PROCESSES,
        BackendOption(
            "--why",
            "tell of which values quantifiers are false, the first N times (default: 10)",
            {"type": "positive", "nargs": "?", "const": 10, "metavar": "N"},
        ),
        *KEYED,
    ),
    compared="the specification (the `denote` of every processor), step by step; pull mode, without its steps",
    rank=0,
)
