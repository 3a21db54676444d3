"""The compiled executor: a pipeline as one loop of machine code, and rules as tables that one kernel interprets."""

from __future__ import annotations

import math
from operator import attrgetter
from typing import TYPE_CHECKING

from workbench.core.form import Form
from workbench.errors import InputError, Refused
from workbench.executors.table import (
    KEY,
    NUMBA,
    PIPELINE,
    RULE_SET,
    STATE,
    THREADS,
    BackendOption,
    BackendRow,
    RunSize,
    Start,
)
from workbench.extensions import later

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.keyed import Partition
    from workbench.executors.session import Session


def _make(pipeline: Program, start: Start) -> Backend:
    from workbench.executors.compiled.execute.executor import Compiled

    threads, reassociate = start.options.threads or 1, start.options.reassociate
    if threads == 1:
        if reassociate:
            raise InputError("--reassociate is for one stream in blocks", hint="add --backend compiled --threads 2")
        return Compiled(pipeline)
    try:
        from workbench.executors.compiled.parallel.executor import COSTLY, Parallel

        return Parallel(pipeline, threads=threads, reassociate=reassociate, costly=COSTLY)
    except Refused as error:
        if reassociate:
            raise
        executor = Compiled(pipeline)
        executor.threads = threads
        start.report(f"{error.what}; one thread runs it, and others read and write")
        return executor


def _session(running: Compiled, start: Start) -> Session:
    from workbench.executors.compiled.execute.session import ColumnSession

    return ColumnSession(running, threads=running.threads, idle=start.options.steps)


def _open_keyed(pipeline: Program, start: Start, partition: Partition) -> Session:
    from workbench.executors.compiled.execute.executor import Compiled
    from workbench.executors.compiled.keyed.session import KeyedColumnSession
    from workbench.executors.compiled.keyed.tables import make_compiled_keys

    one = Compiled(pipeline, maps=False)
    return KeyedColumnSession(make_compiled_keys(one, threads=start.options.threads or 1), partition)


START, ROW_SECONDS = 0.2, 1e-7
"""Approximate seconds for the start, compilation included, and for a row."""


def _estimate(size: RunSize) -> float:
    # each key of rules has an engine, and each engine its arrays
    return math.inf if size.rules and size.keyed else START + size.rows * ROW_SECONDS


ROW = BackendRow(
    "compiled",
    "machine code for columns of events; rules are tables, which one kernel interprets",
    _make,
    _session,
    _open_keyed,
    kinds=(PIPELINE, RULE_SET),
    engine=later("workbench.executors.compiled.rules.threads", "make_compiled_rules"),
    undivided=attrgetter("in_turn"),
    form=Form.ARRAYS,
    options=(
        BackendOption(
            "--threads",
            "number of threads: blocks of a long stream, reading and writing; rules by key or time (default: 1)",
            THREADS,
        ),
        BackendOption(
            "--reassociate",
            "with --threads: add and multiply floats in another order; results differ by rounding",
            {"action": "store_true"},
            (PIPELINE,),
        ),
        KEY,
        STATE,
    ),
    needs=NUMBA,
    estimate=_estimate,
    compared="the generated code step by step in Python; machine code on columns, each trace in two pieces; "
    "machine code in blocks in three threads, on traces whose steps are complete, and once more with floats regrouped "
    "(see below)",
    rank=5,
)
