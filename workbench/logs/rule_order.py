"""Events of rules as the rows of a log that are put in order (`order`), and as batches.

The rule of this module: events that come one by one are taken before the next piece is read.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from functools import partial
from operator import methodcaller
from typing import TYPE_CHECKING, Any

from workbench.errors import WorkbenchError
from workbench.events.batch import LogBatch
from workbench.events.clock import Clock
from workbench.executors.session import Session
from workbench.executors.snapshot import from_parts, to_parts
from workbench.executors.table import Start
from workbench.logs.batching import BatchPace
from workbench.logs.order import HoldBack, LateRows, PieceForm
from workbench.logs.rule_columns import text_codes
from workbench.logs.rule_composites import event_columns, event_row
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block, joined
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.logs.state import RunState

EventPiece = EventBlock | Iterator[Occurrence]
"""Successive events of a log."""


def event_form(rules: RuleSet) -> PieceForm[EventBlock, Occurrence]:
    """The events of these rules in blocks."""
    return PieceForm(methodcaller("occurrences", rules), partial(_as_block, rules), joined)


def _as_block(rules: RuleSet, events: Sequence[Occurrence]) -> EventBlock | None:
    try:
        return event_block(rules, events, text_codes)
    except LargeNumberError:
        return None


def late_events(start: Start, rules: RuleSet, clock: Clock, state: RunState | None) -> LateRows[Occurrence]:
    """What becomes of late events."""
    return LateRows(
        start,
        clock,
        lambda: event_columns(rules, clock, rules.events),
        lambda event: event_row(event, rules, clock),
        lambda event: f"an event of type {event.type}",
        "events",
        state,
    )


def save_held(held: HoldBack[EventBlock, Occurrence]) -> Any:
    """The events that wait, as JSON data."""
    newest, events = held.held()
    return [newest, to_parts([(each.type, each.time, each.values) for each in events])]


def restore_held(held: HoldBack[EventBlock, Occurrence], saved: Any) -> int:
    """Have events wait that have waited in an earlier run; how many there are."""
    newest, parts = saved
    events = [Occurrence(*each) for each in from_parts(parts)]
    held.hold(newest, events)
    return len(events)


def event_batches(
    pieces: Iterator[EventPiece], session: Session, pace: BatchPace, file: str = ""
) -> Iterator[LogBatch]:
    """The events of rules in batches, each read when the one before it has been run; `file` is where they are from."""
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
        some, failed, size = list[Occurrence](), None, pace.size
        try:
            some.extend(itertools.islice(events, size))
        except WorkbenchError as error:
            failed = error
        ended = failed is not None or len(some) < size
        if some or failed is not None:
            yield LogBatch(range(len(some)), occurrences=some, file=file, failed=failed)
