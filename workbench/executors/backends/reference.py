"""The reference executor, which runs everything."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, cast

from workbench.errors import InputError
from workbench.executors.table import FAULTS, KEY, PROCESSES, PYTHON_SECONDS, STATE, BackendOption, BackendRow, Start
from workbench.extensions import later

if TYPE_CHECKING:
    from workbench.core.program import Program
    from workbench.executors.backend import Backend
    from workbench.executors.keyed import Partition
    from workbench.executors.processes.executor import Processes
    from workbench.executors.reference.executor import Reference
    from workbench.executors.reference.refutation import Refutation
    from workbench.executors.session import Session

MAXIMUM = 10
"""Default number of explanations of false quantifiers."""


def _make(pipeline: Program, start: Start) -> Backend:
    from workbench.executors.reference.executor import Reference

    page = start.options.html
    limit = start.options.why or (MAXIMUM if page else None)
    if count := start.options.processes:
        if limit:
            raise InputError(
                "--why explains the quantifiers of one process", hint="leave --processes or --why and --html out"
            )
        from workbench.executors.processes.executor import Processes

        return start.closing.enter_context(Processes(pipeline, count, oracle=start.oracle, live=start.live))
    running = Reference(pipeline, oracle=start.oracle)
    if limit:
        from workbench.executors.reference.refutation import Refutations

        refutations = Refutations(running, limit, lambda refutation: start.report(str(refutation))).found
        if page:
            start.closing.enter_context(_page(page, f"{pipeline.kind} {pipeline.name}", refutations, limit))
    return running


@contextmanager
def _page(path: str, program: str, refutations: Sequence[Refutation], limit: int) -> Iterator[None]:
    """Open a page for explanations from this block; a path that cannot be written is refused at once."""
    from workbench.events.files import check_page_name, destination

    refutation_page = later("workbench.show.refutation_page", "refutation_page")

    check_page_name(path)
    with destination(path) as stream:
        yield
        stream.write(refutation_page(program, refutations, limit))


def _session(running: Reference, start: Start) -> Session:
    from workbench.executors.row_session import open_overlapped_session, reference_session

    if start.options.processes:
        return open_overlapped_session(cast("Processes", running), start)
    return reference_session(running, start)


def _open_keyed(pipeline: Program, start: Start, partition: Partition) -> Session:
    from workbench.executors.reference.executor import Reference
    from workbench.executors.reference.keyed import KeyedRowSession

    if start.options.why or start.options.html:
        raise InputError("--why explains one run, but --key starts many", hint="leave --key or --why and --html out")
    if start.options.processes:
        raise InputError(
            "--processes divides one run, but --key starts many", hint="add --backend spark, or leave one out"
        )
    return KeyedRowSession(Reference(pipeline), partition)


ROW = BackendRow(
    "reference",
    "any Python values, an event at a time, queues of any length",
    _make,
    _session,
    _open_keyed,
    estimate=lambda size: size.rows * PYTHON_SECONDS,
    options=(
        *FAULTS,
        PROCESSES,
        BackendOption(
            "--why",
            "report for which values quantifiers are false, the first N times (default: 10)",
            {"type": "positive", "nargs": "?", "const": MAXIMUM, "metavar": "N"},
        ),
        BackendOption("--html", "write this report as a page, with all of the values", {"metavar": "FILE"}),
        KEY,
        STATE,
    ),
    compared="the specification (the `denote` of every processor), step by step; pull mode, without its steps",
    rank=0,
)
