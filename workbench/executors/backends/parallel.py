"""The compiled executor, one long stream in blocks in several threads."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from workbench.executors.table import KEYED, NUMBA, REASSOCIATE, THREADS, BackendOption, BackendRow, Start

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend
    from workbench.executors.keyed import KeyedColumns


def _make(pipeline: Program, start: Start) -> Backend:
    from workbench.executors.compiled.parallel.executor import COSTLY, Parallel

    threads = start.option("threads", os.cpu_count() or 1)
    return Parallel(pipeline, threads=threads, reassociate=start.option("reassociate", False), costly=COSTLY)


def _keyed(pipeline: Program, start: Start) -> KeyedColumns:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.compiled.keyed.tables import compiled_keys

    return compiled_keys(Compiled(pipeline, maps=False), threads=start.option("threads", os.cpu_count() or 1))


ROW = BackendRow(
    "parallel",
    "the same machine code, a long stream in blocks in several threads",
    _make,
    _keyed,
    like="numba",
    options=(
        BackendOption("--threads", "so many blocks at a time (default: one per core)", THREADS),
        REASSOCIATE,
        *KEYED,
    ),
    needs=NUMBA,
    compared="machine code in blocks in three threads, on traces whose steps are complete; once more with floats "
    "regrouped (see below)",
    rank=3,
)
