"""Events of rules as the rows of a log that are put in order (`order`), and as batches.

The rule of this module: what events are in a block does not depend on how they are cut into pieces.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from operator import attrgetter, methodcaller
from typing import TYPE_CHECKING

from workbench.events.batch import LogBatch
from workbench.events.clock import Clock
from workbench.executors.session import Session
from workbench.executors.table import Start
from workbench.runner.batching import BatchPace
from workbench.runner.order import LateRows, PieceForm, part
from workbench.runner.rules.columns import pack_events
from workbench.runner.rules.composites import event_columns, event_row
from workbench.tesla.event_block import EventBlock, join_blocks
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.runner.state import RunState

EventPiece = EventBlock | list[Occurrence]
"""Successive events of a log."""


def event_form(rules: RuleSet) -> PieceForm[EventBlock, Occurrence]:
    """The events of these rules in blocks."""
    data = attrgetter("type", "time", "values")
    return PieceForm(methodcaller("occurrences", rules), partial(pack_events, rules), join_blocks, data, Occurrence)


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


def event_batches(
    pieces: Iterator[EventPiece], session: Session, pace: BatchPace, file: str = ""
) -> Iterator[LogBatch]:
    """The events of rules in batches, each read when the one before it has been run; `file` is where they are from."""
    for piece in pieces:
        at = 0
        while at < len(piece):
            rest = len(piece) - at
            whole = 0 if isinstance(piece, list) else session.block_size(rest)
            end = at + min(rest, whole or pace.size)
            some = part(piece, at, end) if end - at < len(piece) else piece
            yield LogBatch(range(end - at), occurrences=some, left=len(piece) - end, file=file)
            at = end
