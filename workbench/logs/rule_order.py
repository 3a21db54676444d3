"""Events of a log in their order: of several files, and of rows that may come late.

The rule of this module: blocks stay blocks, and are ordered as a whole; where there are none, events go one by one and
come in the same order.
"""

from __future__ import annotations

import heapq
import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
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
    from workbench.events.rows import RowWriter
    from workbench.executors.table import Start

EventPiece = EventBlock | Iterator[Occurrence]
"""Successive events of a log; those that come one by one are taken before the next piece is asked for."""
MOST_DOUBTFUL = 1024
"""Events of a block that may come too late, each of which is looked at."""
SIZE = 4096
"""Events that are merged at a time, where there are no blocks."""


def singly(pieces: Iterator[EventPiece], rules: RuleSet) -> Iterator[Occurrence]:
    """The events of pieces."""
    for piece in pieces:
        yield from piece.occurrences(rules) if isinstance(piece, EventBlock) else piece


def merged(streams: Sequence[Iterator[EventPiece]], rules: RuleSet, *, in_order: bool) -> Iterator[EventPiece]:
    """The events of several streams in the order of time; those of one time in the order of the streams.

    Parameters
    ----------
    in_order: whether the times in each of them do not go back.
    """
    if not in_order:
        yield heapq.merge(*(singly(each, rules) for each in streams), key=_time)
        return
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
    """What becomes of events that come too late: they are written to a file, or are an error.

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


class LateEvents:
    """Puts events into the order of time, those of one time as they come; each waits for what may come late.

    Parameters
    ----------
    too_late: is told of events that come later still, which are left out.
    """

    def __init__(self, rules: RuleSet, clock: Clock, too_late: Callable[[Occurrence], object]) -> None:
        self.rules, self.clock, self.too_late = rules, clock, too_late
        self._late: int | None = None
        self._newest: int | None = None
        self._given: int | None = None
        self._count = 0
        self._waiting: EventBlock | list[tuple[int, int, Occurrence]] = []

    def ordered(self, pieces: Iterator[EventPiece]) -> Iterator[EventPiece]:
        """The same events in order."""
        for piece in pieces:
            if not isinstance(piece, EventBlock):
                yield self._singly(piece)
            elif len(piece):
                late = self._places_too_late(piece)
                yield from self._blocks(piece, late) if late is not None else self._one_by_one(piece)
        if isinstance(self._waiting, EventBlock):
            yield self._waiting
        else:
            yield (heapq.heappop(self._waiting)[2] for _ in itertools.repeat(None, len(self._waiting)))

    def _one_by_one(self, block: EventBlock) -> Iterator[EventPiece]:
        yield self._singly(iter(block.occurrences(self.rules)))

    def _places_too_late(self, block: EventBlock) -> Any:
        """Where in a block events come too late; None where many may, or what waits is no block."""
        import numpy as np

        late, times = self._begun(), block.times
        try:
            self._waiting = self._as_block() or block.part(0, 0)
        except LargeNumberError:
            return None
        newest = np.maximum.accumulate(times)[:-1]
        first = int(times[0]) if self._newest is None else self._newest
        bounds = np.maximum(np.append(first, newest), first) - late
        doubtful = (times < bounds).nonzero()[0]  # they are late where an event after them has been given away
        if len(doubtful) > MOST_DOUBTFUL:
            return None
        found = []
        for place, time, bound in zip(doubtful.tolist(), times[doubtful], bounds[doubtful], strict=True):
            before = (((some > time) & (some < bound)).any() for some in (self._waiting.times, times[:place]))
            if (self._given is not None and self._given > time) or any(before):
                found.append(place)
        return np.array(found, np.int64)

    def _blocks(self, block: EventBlock, late: Any) -> Iterator[EventPiece]:
        """Those that need not wait any longer; it is told of those at some places, when what comes before is away."""
        import numpy as np

        if len(late):
            yield self._released(block.part(0, int(late[0])))
            for event in block.taken(late).occurrences(self.rules):
                self.too_late(event)
            block = block.taken(np.setdiff1d(np.arange(late[0], len(block)), late))
        yield self._released(block)

    def _released(self, block: EventBlock) -> EventBlock:
        """More events wait: those that do so no longer."""
        import numpy as np

        assert isinstance(self._waiting, EventBlock)
        both = joined([self._waiting, block])
        both = both.taken(both.times.argsort(kind="stable"))
        if len(block):
            newest = int(block.times.max())
            self._newest = newest if self._newest is None else max(self._newest, newest)
        cut = 0 if self._newest is None else int(np.searchsorted(both.times, self._newest - self._begun()))
        if cut:
            self._given = int(both.times[cut - 1])
        self._waiting = both.part(cut, len(both))
        return both.part(0, cut)

    def _begun(self) -> int:
        """How long events wait; it is known when the first has come."""
        if self._late is None:
            self._late = self.clock.duration(str(self.clock.late))
        return self._late

    def _as_block(self) -> EventBlock | None:
        if isinstance(self._waiting, EventBlock):
            return self._waiting
        events = [event for _, _, event in sorted(self._waiting)]
        return event_block(self.rules, events, text_codes) if events else None

    def _singly(self, events: Iterator[Occurrence]) -> Iterator[Occurrence]:
        if isinstance(self._waiting, EventBlock):
            waiting = self._waiting.occurrences(self.rules)
            self._waiting = [(event.time, i - len(waiting), event) for i, event in enumerate(waiting)]
            self._count = 0
        heap = self._waiting
        for event in events:
            late = self._begun()
            if self._given is not None and event.time < self._given:
                self.too_late(event)
                continue
            self._newest = event.time if self._newest is None else max(self._newest, event.time)
            self._count += 1
            heapq.heappush(heap, (event.time, self._count, event))
            while heap[0][0] < self._newest - late:
                self._given, _, first = heapq.heappop(heap)
                yield first


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
