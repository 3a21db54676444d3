"""Events of a log in their order: of several files, and of rows that may come late.

The rule of this module: blocks stay blocks, and are ordered as a whole; where there are none, events go one by one and
come in the same order.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from workbench.errors import InputError, WorkbenchError
from workbench.events.batch import LogBatch
from workbench.events.clock import Clock
from workbench.events.row_batches import batches
from workbench.executors.session import Session
from workbench.logs.batching import BatchPace
from workbench.logs.rule_columns import text_codes
from workbench.logs.rule_composites import event_columns, event_row
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block, joined
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.events.writers import RowWriter
    from workbench.executors.table import Start

EventPiece = EventBlock | Iterator[Occurrence]
"""Successive events of a log; those that come one by one are taken before the next piece is asked for."""
SIZE = 4096
"""Events that are merged at a time, where there are no blocks."""


def singly(pieces: Iterator[EventPiece], rules: RuleSet) -> Iterator[Occurrence]:
    """The events of pieces."""
    for piece in pieces:
        yield from piece.occurrences(rules) if isinstance(piece, EventBlock) else piece


def merged(streams: Sequence[Iterator[EventPiece]], rules: RuleSet) -> Iterator[EventPiece]:
    """The events of several streams, each in the order of time; those of one time in the order of the streams."""
    rest = [_heads(each) for each in streams]
    heads = [next(each, None) for each in rest]
    while any(heads):
        last, first = min((head.last, i) for i, head in enumerate(heads) if head is not None)
        parts = []
        for i, head in enumerate(heads):
            if head is None:
                continue
            parts.append(head.before(last, equal=i <= first))
            heads[i] = head if len(head) else next(rest[i], None)
        yield _merged(parts, rules)


def begun(pieces: Iterator[EventPiece]) -> Iterator[EventPiece]:
    """The same, the first event read already."""
    for piece in pieces:
        if isinstance(piece, EventBlock):
            if len(piece):
                return itertools.chain([piece], pieces)
            continue
        for event in piece:
            return itertools.chain([itertools.chain([event], piece)], pieces)
    return iter(())


class _Head:
    """What has been read of a stream and not been given away."""

    def __init__(self, events: EventBlock | Sequence[Occurrence]) -> None:
        self._events, self._from = events, 0
        self._times: Any = events.times if isinstance(events, EventBlock) else [event.time for event in events]
        self.last = int(self._times[-1])

    def __len__(self) -> int:
        return len(self._times) - self._from

    def before(self, time: int, *, equal: bool) -> EventBlock | Sequence[Occurrence]:
        """The events before a time, or up to it, which are given away."""
        first = self._from
        self._from = (bisect_right if equal else bisect_left)(self._times, time, first)
        if isinstance(self._events, EventBlock):
            return self._events.part(first, self._from)
        return self._events[first : self._from]


def _heads(pieces: Iterator[EventPiece]) -> Iterator[_Head]:
    for piece in pieces:
        if isinstance(piece, EventBlock):
            if len(piece):
                yield _Head(piece)
        else:
            yield from map(_Head, batches(piece, SIZE))


def _merged(parts: Sequence[EventBlock | Sequence[Occurrence]], rules: RuleSet) -> EventPiece:
    some = [part for part in parts if len(part)]
    blocks = [part for part in some if isinstance(part, EventBlock)]
    if len(blocks) < len(some):
        lists = (part.occurrences(rules) if isinstance(part, EventBlock) else part for part in some)
        return heapq.merge(*lists, key=_time)
    if len(blocks) == 1:
        return blocks[0]
    found = joined(blocks)
    return found.taken(found.times.argsort(kind="stable"))


def _time(event: Occurrence) -> int:
    return event.time


def first_events(pieces: Iterator[EventPiece], count: int) -> Iterator[EventPiece]:
    """So many of the first events; of those that come one by one no more are asked for."""
    for piece in pieces if count else ():
        if isinstance(piece, EventBlock):
            part = piece.part(0, count)
            count -= len(part)
            yield part
        else:
            given = itertools.count()
            yield (event for event, _ in zip(itertools.islice(piece, count), given, strict=False))
            count -= next(given)
        if not count:
            return


class LateRows:
    """What becomes of late events: they are written to a file, or are an error.

    Attributes
    ----------
    closing: closes the file.
    """

    def __init__(self, start: Start, rules: RuleSet, clock: Clock) -> None:
        self.closing = start.closing
        self._start, self._rules, self._clock = start, rules, clock
        self._count = 0
        self._writer: RowWriter | None = None

    def __call__(self, event: Occurrence) -> None:
        path, shown = self._start.options.late_output, self._clock.show(event.time)
        if path is None:
            what = f"an event of type {event.type}, of {shown}, came later than --late {self._clock.late}"
            raise InputError(what, hint="wait longer, or keep such rows: --late-output FILE")
        if self._writer is None:
            from workbench.events.write import write_events

            ports = event_columns(self._rules, self._clock, self._rules.events)
            self._writer = self.closing.enter_context(write_events(path, ports, live=self._start.live))
        self._count += 1
        self._start.reporter.account.late += 1
        self._writer.row(event_row(event, self._rules, self._clock))
        self._writer.flush()

    def notes(self) -> Iterator[str]:
        """How many there were."""
        if self._count:
            yield f"{self._count:,} events came too late: they are in {self._start.options.late_output}"


class HoldBack:
    """Puts the events of one log into the order of time, those of one time as they come.

    The watermark is the greatest time that has been read, less the allowed lateness. An event below it is late; each
    other one waits until the watermark has passed it.

    Parameters
    ----------
    late: takes the late events, which are left out.
    """

    def __init__(self, rules: RuleSet, clock: Clock, late: Callable[[Occurrence], object]) -> None:
        self._rules, self._clock, self._late = rules, clock, late
        self._newest: int | None = None
        self._count = 0
        self._waiting: EventBlock | list[tuple[int, int, Occurrence]] = []

    def ordered(self, pieces: Iterator[EventPiece]) -> Iterator[EventPiece]:
        """The same events in order."""
        for piece in pieces:
            if not isinstance(piece, EventBlock):
                yield self._one_by_one(piece)
            elif len(piece):
                waiting = self._as_block(piece)
                yield from (
                    self._one_block(waiting, piece)
                    if waiting is not None
                    else [self._one_by_one(iter(piece.occurrences(self._rules)))]
                )
        if isinstance(self._waiting, EventBlock):
            yield self._waiting
        else:
            yield (heapq.heappop(self._waiting)[2] for _ in itertools.repeat(None, len(self._waiting)))

    @cached_property
    def _lateness(self) -> int:
        """The allowed lateness; its unit is known when the first event has come."""
        return self._clock.duration(str(self._clock.late))

    # --- blocks ---------------------------------------------------------------------------------------------

    def _one_block(self, waiting: EventBlock, block: EventBlock) -> Iterator[EventBlock]:
        """Those of a block, and of what waits, that the watermark passes; late ones follow what comes before them."""
        import numpy as np

        times = block.times
        newest = np.maximum.accumulate(times if self._newest is None else np.maximum(times, self._newest))
        late = (times < newest - self._lateness).nonzero()[0]
        if len(late):
            first = int(late[0])
            waiting = yield from self._passed(waiting, block.part(0, first))
            for event in block.taken(late).occurrences(self._rules):
                self._late(event)
            block = block.taken(np.setdiff1d(np.arange(first, len(block)), late))
        yield from self._passed(waiting, block)

    def _passed(self, waiting: EventBlock, block: EventBlock) -> Generator[EventBlock, None, EventBlock]:
        """What the watermark passes when a block has been read, and what waits then."""
        both = joined([waiting, block])
        both = both.taken(both.times.argsort(kind="stable"))
        if len(block):
            newest = int(block.times.max())
            self._newest = newest if self._newest is None else max(self._newest, newest)
        cut = 0 if self._newest is None else bisect_left(both.times, self._newest - self._lateness)
        self._waiting = both.part(cut, len(both))
        yield both.part(0, cut)
        return self._waiting

    def _as_block(self, block: EventBlock) -> EventBlock | None:
        """What waits as a block, before this one; None where it has no such form."""
        if isinstance(self._waiting, EventBlock):
            return self._waiting
        events = [event for _, _, event in sorted(self._waiting)]
        try:
            return event_block(self._rules, events, text_codes) if events else block.part(0, 0)
        except LargeNumberError:
            return None

    # --- one by one -----------------------------------------------------------------------------------------

    def _one_by_one(self, events: Iterator[Occurrence]) -> Iterator[Occurrence]:
        """The same of single events."""
        if isinstance(self._waiting, EventBlock):
            waiting = self._waiting.occurrences(self._rules)
            self._waiting = [(event.time, i - len(waiting), event) for i, event in enumerate(waiting)]
            self._count = 0
        heap = self._waiting
        for event in events:
            if self._newest is not None and event.time < self._newest - self._lateness:
                self._late(event)
                continue
            self._newest = event.time if self._newest is None else max(self._newest, event.time)
            self._count += 1
            heapq.heappush(heap, (event.time, self._count, event))
            while heap[0][0] < self._newest - self._lateness:
                yield heapq.heappop(heap)[2]


def event_batches(pieces: Iterator[EventPiece], session: Session, pace: BatchPace) -> Iterator[LogBatch]:
    """The events of rules in batches, each read when the one before it has been run."""
    for piece in pieces:
        if not isinstance(piece, EventBlock):
            yield from _of_events(piece, pace)
            continue
        at = 0
        while at < len(piece):
            end = min(len(piece), at + (session.block_size(len(piece) - at) or pace.size))
            some = piece.part(at, end) if end - at < len(piece) else piece
            yield LogBatch(range(end - at), occurrences=some, left=len(piece) - end)
            at = end


def _of_events(events: Iterator[Occurrence], pace: BatchPace) -> Iterator[LogBatch]:
    ended = False
    while not ended:
        some, failed, size = list[Occurrence](), None, pace.size
        try:
            some.extend(itertools.islice(events, size))
        except WorkbenchError as error:
            failed = error
        ended = failed is not None or len(some) < size
        if some or failed is not None:
            yield LogBatch(range(len(some)), occurrences=some, failed=failed)
