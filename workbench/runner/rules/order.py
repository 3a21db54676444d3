"""Form pieces (`order`) and batches of the events of rules.

The rule of this module: events that come one by one are taken before the next piece is read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from dataclasses import replace
from functools import partial
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING

from workbench.core.program import Ports
from workbench.errors import WorkbenchError
from workbench.events.batch import LogBatch, take
from workbench.events.clock import Clock
from workbench.executors.session import Session
from workbench.executors.table import Start
from workbench.runner.batching import BatchPace
from workbench.runner.order import LateRows, PieceForm
from workbench.runner.rules.columns import TYPE, pack_events
from workbench.runner.rules.composites import RuleRow, event_columns, event_row
from workbench.tesla.event_block import EventBlock, join_blocks
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.runner.state import RunState

EventPiece = EventBlock | Iterator[Occurrence]
"""Successive events of a log."""


def event_form(rules: RuleSet) -> PieceForm[EventBlock, Occurrence]:
    """Return the conversions between the events of these rules and blocks."""
    data = attrgetter("type", "time", "values")
    return PieceForm(methodcaller("occurrences", rules), partial(pack_events, rules), join_blocks, data, Occurrence)


def late_events(
    start: Start, rules: RuleSet, clock: Clock, state: RunState | None, types: Callable[[], Collection[str]]
) -> LateRows[Occurrence]:
    """Return the handling of late events; `types` returns those that are given for all files of the log."""

    def columns() -> Ports:
        ports = event_columns(rules, clock, types() or rules.events)
        return replace(ports, outputs=ports.outputs[len(types()) == 1 :])  # all have one type, as in the file

    def row(event: Occurrence) -> RuleRow:
        cells = event_row(event, rules, clock)
        if len(types()) == 1:
            del cells[TYPE]
        return cells

    return LateRows(
        start,
        clock,
        columns,
        row,
        lambda event: f"an event of type {event.type}",
        "event",
        state,
    )


def event_batches(
    pieces: Iterator[EventPiece], session: Session, pace: BatchPace, file: str = ""
) -> Iterator[LogBatch]:
    """Yield the events of rules in batches, each read when the one before has been run; `file` is their origin."""
    for piece in pieces:
        if not isinstance(piece, EventBlock):
            yield from _of_events(piece, pace, file)
            continue
        at = 0
        while at < len(piece):
            end = min(len(piece), at + (session.block_size(len(piece) - at) or pace.size))
            some = piece.part(at, end) if end - at < len(piece) else piece
            yield LogBatch(range(end - at), occurrences=some, left=len(piece) - end, file=file)
            at = end


def _of_events(events: Iterator[Occurrence], pace: BatchPace, file: str) -> Iterator[LogBatch]:
    ended = False
    while not ended:
        size = pace.size
        some, failed = take(events, size, WorkbenchError)
        ended = failed is not None or len(some) < size
        if some or failed is not None:
            yield LogBatch(range(len(some)), occurrences=some, file=file, failed=failed)
