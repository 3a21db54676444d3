"""The dataflow executor: several processors and several steps at the same time, but only for new events."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.errors import InputError
from workbench.executors.table import FAULTS, KEY, STATE, THREADS, BackendOption, BackendRow, Start
from workbench.extensions import later

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.dataflow.executor import Dataflow
    from workbench.executors.keyed import Partition
    from workbench.executors.session import Session


def _make(pipeline: Program, start: Start) -> Dataflow:
    from workbench.executors.dataflow.executor import AHEAD, Dataflow
    from workbench.executors.threaded.manager import ThreadManager

    threads = start.options.threads or os.cpu_count() or 1
    manager = start.closing.enter_context(ThreadManager(threads - 1))
    running = Dataflow(
        pipeline,
        manager,
        groups=start.options.groups,
        compiled=start.options.compiled,
        oracle=start.oracle,
        ahead=start.options.phases or AHEAD,
    )
    start.reporter.notes.append(running.summary)
    return running


def _open_keyed(pipeline: Program, start: Start, partition: Partition) -> Session:
    from workbench.executors.reference.keyed import KeyedRowSession

    if start.options.compiled:
        raise InputError("--compiled does not run a state for each key", hint="leave --key or --compiled out")
    return KeyedRowSession(_make(pipeline, start), partition)


ROW = BackendRow(
    "dataflow",
    "threads run processors that have new events, of several steps at the same time",
    _make,
    later("workbench.executors.row_session", "open_overlapped_session"),
    _open_keyed,
    options=(
        *FAULTS,
        BackendOption("--threads", "number of threads, with the main one (default: one per core)", THREADS),
        BackendOption("--phases", "maximum number of steps in progress at once (default: 256)", THREADS),
        BackendOption("--groups", "run each pipeline that is called as one vertex", {"action": "store_true"}),
        BackendOption("--compiled", "machine code for vertices that numba can compile", {"action": "store_true"}),
        KEY,
        STATE,
    ),
    compared="processors and groups, any limits of threads, of phases in flight and of phases run in turn, under "
    "schedules",
    rank=2,
)
