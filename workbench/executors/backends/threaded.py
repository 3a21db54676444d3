"""The reference executor, with parts of the pipeline in threads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.executors.table import FAULTS, KEYED, THREADS, BackendOption, BackendRow, Start

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.keyed import KeyedSteps
    from workbench.executors.threaded.executor import Threaded


def _make(pipeline: Program, start: Start) -> Threaded:
    from workbench.executors.threaded.executor import Threaded
    from workbench.executors.threaded.manager import ThreadManager

    manager = start.closing.enter_context(ThreadManager(start.options.threads or os.cpu_count()))
    return Threaded(pipeline, manager, oracle=start.oracle)


def _keyed(pipeline: Program, start: Start) -> KeyedSteps:
    from workbench.executors.keyed import KeyedSteps

    return KeyedSteps(_make(pipeline, start))


ROW = BackendRow(
    "threaded",
    "the same, parts of the pipeline and copies in windows in threads",
    _make,
    _keyed,
    options=(
        *FAULTS,
        BackendOption("--threads", "so many beside the main one (default: one per core)", THREADS),
        *KEYED,
    ),
    compared="any cuts, pipelined processors and limits of threads, under schedules: first with a few switches between "
    "threads, then with many",
    rank=1,
)
