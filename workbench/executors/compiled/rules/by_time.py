"""Rules in several threads by time: each thread runs all rules on a time slice of each block of events.

The rule of this module: the events of the *lookback* before an event determine its effects. So a thread first replays
these before its slice: they trigger nothing or, where rules feed each other, only composites that another thread
publishes. The thread that had the end of a block gets the beginning of the next one, without replay. Where the lookback
begins before the block, other threads begin with a copy of that thread's history.

Source: Balkesen, Dindar, Wetter, Tatbul, RIP: run-based intra-query parallelism for scalable complex event processing
(DEBS 2013).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import pairwise
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import WorkbenchError
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.numbering import NumberedPiece, PartNumbers, causes_of, starts_of
from workbench.executors.threaded.manager import ThreadManager
from workbench.tesla.engines.rule_split import TimeSplit
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence

MIN_SLICE = 1 << 12
"""Minimum number of events that pays for a thread."""
ROUNDS = 3
"""Iterations that find the lengths of slices."""
REPLAY_COST = 0.5
"""Initial estimate of the cost of replaying an event, relative to processing it."""
MAX_REPLAY_COST = 1.5
"""Upper limit of that cost; larger measurements are noise."""
FADING = 0.7
"""The weight of earlier blocks in that cost."""


class SliceOutput(NamedTuple):
    """The output of a thread for its slice.

    Attributes
    ----------
    repeated: the thread's numbers of the events that it has replayed.
    begun: the thread's number of the first event of the slice.
    seconds: the time for replayed events, and for its own.
    error: the error that ended it.
    """

    repeated: Any
    begun: int
    blocks: Sequence[EventBlock | list[Occurrence]]
    seconds: tuple[float, float]
    error: WorkbenchError | None


class RulesByTime:
    """A rule set that is divided by time.

    Parameters
    ----------
    parts: engines of the whole rule set, one for each thread.
    """

    def __init__(self, parts: Sequence[CompiledRules], split: TimeSplit, manager: ThreadManager) -> None:
        self._parts, self._split, self._manager = parts, split, manager
        self._leader, self._count, self._events = 0, 0, 0
        self._numbers = [PartNumbers(self._split.overlap) for _ in parts]
        self._of_events = PartNumbers(self._split.overlap)
        self._replay_cost, self._seconds, self._counts = REPLAY_COST, np.zeros(2), np.zeros(2)

    def run(
        self, events: EventBlock | list[Occurrence], times: Any, *, sources: bool
    ) -> Iterator[EventBlock | list[Occurrence]]:
        """Yield the composites of events, which are a list if a number has more than 64 bits."""
        leader, slices = self._parts[self._leader], list(pairwise([0, *self.cut(times)]))
        if not isinstance(events, EventBlock) or not leader.takes_block(1):
            slices = [(0, len(times))]
        threads = [(self._leader + index) % len(self._parts) for index in range(len(slices))]
        begins = [first if first == 0 else self._begin_of(times, first) for first, _ in slices]
        for thread, begin in zip(threads[1:], begins[1:], strict=True):
            self._start(thread, begin > 0)
        runs = [
            partial(self._run_slice, self._parts[thread], events, (begin, *each), sources)
            for thread, begin, each in zip(threads, begins, slices, strict=True)
        ]
        for thread, begin, each, output in zip(threads, begins, slices, self._manager.run_all(runs), strict=True):
            yield from self._publish(self._numbers[thread], output, (begin, *each), times)
            self._account(output.seconds, (each[0] - begin, each[1] - each[0]))
            if output.error is not None:
                raise output.error
        self._leader, self._events = threads[-1], self._events + len(times)

    def advance(self, time: int) -> Iterator[EventBlock]:
        """Return the composites that the clock causes: none, since no rule waits for a deadline."""
        del time
        return iter(())

    def _begin_of(self, times: Any, first: int) -> int:
        """Return the index in the block from which a thread replays events before its slice."""
        return int(np.searchsorted(times, times[first] - self._split.overlap))

    def cut(self, times: Any) -> list[int]:
        """Return the ends of the slices of a block, with equal estimated durations."""
        count = len(times)
        for slices in range(min(len(self._parts), count // MIN_SLICE), 1, -1):
            sizes = np.full(slices, count / slices)
            for _ in range(ROUNDS):
                begins = (np.cumsum(sizes) - sizes).astype(np.int64).tolist()
                more = [self._replay_cost * (first - self._begin_of(times, first)) for first in begins[1:]]
                sizes = (count + sum(more)) / slices - np.array([0.0, *more])
                if sizes.min() < MIN_SLICE / 2:
                    break
            else:
                return [*np.cumsum(sizes)[:-1].astype(np.int64).tolist(), count]
        return [count]

    def _start(self, thread: int, within: bool) -> None:
        """Reset a thread: to an empty history if the block has the whole lookback, otherwise to that of the leader."""
        part, numbers = self._parts[thread], self._numbers[thread]
        part.forget_events()
        numbers.pieces = []
        if not within:
            part.copy_history(self._parts[self._leader])
            numbers.pieces = list(self._numbers[self._leader].pieces)

    def _run_slice(
        self, part: CompiledRules, events: EventBlock | list[Occurrence], offsets: tuple[int, int, int], sources: bool
    ) -> SliceOutput:
        """Replay the events from the first offset to the second, and process those up to the third."""
        begin, first, last = offsets
        if not isinstance(events, EventBlock):
            first_number = part.count
            return SliceOutput([], first_number, [part.process(each) for each in events], (0.0, 0.0), None)
        started, blocks, error = thread_time(), list[Any](), None
        repeated = self._repeat(part, events.part(begin, first)) if begin < first else []
        began, first_number = thread_time(), part.count
        try:
            blocks.extend(part.run_block(events.part(first, last), sources=sources))
        except WorkbenchError as wrong:
            error = wrong
        return SliceOutput(repeated, first_number, blocks, (began - started, thread_time() - began), error)

    def _repeat(self, part: CompiledRules, block: EventBlock) -> Any:
        """Replay events in a thread; return its numbers of them."""
        first_number = part.count
        if self._split.fed:
            numbers = [number for each in part.run_block(block, sources=False) for number in _numbers_of(each).tolist()]
        else:
            numbers = part.read_block(block)
        return starts_of(causes_of(np.array(numbers, np.int64), first_number), first_number, len(block))

    def _publish(
        self, part: PartNumbers, output: SliceOutput, offsets: tuple[int, int, int], times: Any
    ) -> Iterator[EventBlock | list[Occurrence]]:
        """Renumber the output of a thread for the whole run."""
        begin, first, last = offsets
        if len(output.repeated):
            again: Any = self._events + np.arange(begin, first)
            part.add(NumberedPiece(output.repeated, again, self._of_events.of_whole(again), int(times[first - 1])))
        composites = np.concatenate([_numbers_of([]), *map(_numbers_of, output.blocks)])
        starts, shift = (
            starts_of(causes_of(composites, output.begun), output.begun, last - first),
            self._count - output.begun,
        )
        events: Any = self._events + np.arange(first, last)
        part.add(NumberedPiece(starts, events, starts + shift, int(times[last - 1])))
        self._of_events.add(NumberedPiece(events, events, starts + shift, int(times[last - 1])))
        self._count += last - first + len(composites)
        for each in output.blocks:
            if isinstance(each, EventBlock):
                named = None if each.sources is None else part.of_whole(each.sources)
                yield replace(each, numbers=_numbers_of(each) + shift, sources=named)
            else:
                yield [
                    replace(
                        one, number=one.number + shift, sources=tuple(part.of_whole(np.array(one.sources)).tolist())
                    )
                    for one in each
                ]

    def _account(self, seconds: tuple[float, float], counts: tuple[int, int]) -> None:
        """Update the estimated cost of replaying an event."""
        self._seconds, self._counts = FADING * self._seconds + seconds, FADING * self._counts + counts
        if self._counts.min() >= MIN_SLICE and self._seconds[1] > 0:
            repeated, own = self._seconds / self._counts
            self._replay_cost = min(MAX_REPLAY_COST, repeated / own)


def _numbers_of(composites: EventBlock | Sequence[Occurrence]) -> Any:
    """Return the numbers of composites."""
    return (
        composites.numbers
        if isinstance(composites, EventBlock)
        else np.array([each.number for each in composites], np.int64)
    )
