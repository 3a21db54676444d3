"""The reference executor, with parts of the pipeline in threads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.executors.table import FAULTS, KEY, STATE, THREADS, BackendOption, BackendRow, Start
from workbench.extensions import later

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.keyed import Partition
    from workbench.executors.session import Session
    from workbench.executors.threaded.executor import Threaded


def _make(pipeline: Program, start: Start) -> Threaded:
    from workbench.executors.threaded.executor import Threaded
    from workbench.executors.threaded.manager import ThreadManager

    manager = start.closing.enter_context(ThreadManager(start.options.threads or os.cpu_count()))
    return Threaded(pipeline, manager, oracle=start.oracle)


def _open_keyed(pipeline: Program, start: Start, partition: Partition) -> Session:
    from workbench.executors.reference.keyed import KeyedRowSession

    return KeyedRowSession(_make(pipeline, start), partition)


ROW = BackendRow(
    "threaded",
    "the reference executor, with parts of the pipeline and instances in windows in threads",
    _make,
    later("workbench.executors.row_session", "open_overlapped_session"),
    _open_keyed,
    options=(
        *FAULTS,
        BackendOption("--threads", "number of worker threads (default: one per core)", THREADS),
        KEY,
        STATE,
    ),
    compared="any cuts, pipelined processors and limits of threads, under schedules: first with a few switches between "
    "threads, then with many",
    rank=1,
)
