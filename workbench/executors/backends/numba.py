"""The compiled executor: a pipeline as one loop of machine code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from workbench.errors import InputError, Refused
from workbench.executors.table import KEYED, NUMBA, REASSOCIATE, THREADS, BackendOption, BackendRow, Start

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend
    from workbench.executors.keyed import KeyedColumns


def _make(pipeline: Program, start: Start) -> Backend:
    from workbench.executors.compiled.execute.executor import Compiled

    threads, reassociate = start.option("threads", 1), start.option("reassociate", False)
    if threads == 1:
        if reassociate:
            raise InputError("--reassociate is for one stream in blocks", hint="add --backend numba --threads 2")
        return Compiled(pipeline, live=start.live)
    try:
        from workbench.executors.compiled.parallel.executor import COSTLY, Parallel

        return Parallel(pipeline, threads=threads, reassociate=reassociate, costly=COSTLY)
    except Refused as error:
        if reassociate:
            raise
        made = Compiled(pipeline, live=start.live)
        made.threads = threads
        start.say(f"{error.what}; one thread runs it, others read and write beside it")
        return made


def _keyed(pipeline: Program, start: Start) -> KeyedColumns:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.compiled.keyed.tables import compiled_keys

    return compiled_keys(Compiled(pipeline, live=start.live, maps=False), threads=start.option("threads", 1))


ROW = BackendRow(
    "numba",
    "machine code for columns of events",
    _make,
    _keyed,
    like="numba",
    options=(
        BackendOption(
            "--threads", "a long stream in so many blocks at a time, or beside reading (default: 1)", THREADS
        ),
        REASSOCIATE,
        *KEYED,
    ),
    needs=NUMBA,
    compared="the generated code step by step in Python, and machine code on columns, each trace in two pieces",
    rank=2,
)
