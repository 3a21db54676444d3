"""A rule set in several threads by time: each has all rules, and stretches of the stream of its own.

The rule of this module: before its stretch a thread puts the events of the reach before it where they are looked for,
and tells nothing of them; so what comes of an event is the same in each. A thread that goes on where it has ended has
nothing to repeat: stretches are dealt out so that one does in each block, and are so long that all end together.
Events that come one by one, or too few at once, stay with one thread; the others learn of them when they are needed.

Source: Balkesen, Dindar, Wetter, Tatbul, RIP: run-based intra-query parallelism for scalable complex event processing
(DEBS 2013).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise
from time import thread_time
from typing import Any, NamedTuple

import numpy as np

from workbench.errors import WorkbenchError
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.outputs import composite_block
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import Published, RunColumns
from workbench.executors.threaded.manager import ThreadManager
from workbench.tesla.engines.time_split import TimeSplit
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.occurrence import Occurrence

LEAST = 1 << 12
"""Events that are worth a thread."""
MOST_UNSEEN = 1 << 20
"""Events that are kept for a thread that has not needed them; of more it learns at once."""
ROUNDS = 4
"""Steps in which the lengths of stretches are found."""
FADING = 0.7
"""How much weighs for the next block what those before have cost."""
DEAREST = 1.5
"""Most that learning of an event takes, compared with processing it: more is chance."""

_NOTHING: Any = np.zeros(0, np.int64)
Piece = EventBlock | list[Occurrence]
"""Events one after the other; single ones where a whole number has more than 64 bits."""


@dataclass(frozen=True, eq=False)
class Stretch:
    """Events that a thread has been given one after the other, and their numbers there.

    Attributes
    ----------
    first: how many events from outside came before.
    begun: the number of the first.
    events: how many they are. last: the time of the last one.
    made: the numbers of what has come of them.
    shift: from numbers there to those in the whole, where it is this thread that tells of it.
    """

    first: int
    begun: int
    events: int
    last: int
    made: Any
    shift: int = 0

    @cached_property
    def numbers(self) -> Any:
        """Of each event; None: one after the other, for nothing came of them."""
        if not len(self.made):
            return None
        causes = self.made - self.begun - np.arange(len(self.made)) - 1
        counts: Any = np.bincount(causes, minlength=self.events)
        return self.begun + np.arange(self.events) + np.cumsum(counts) - counts

    def numbers_of(self, events: Any) -> Any:
        """The numbers of events."""
        return self.begun + events - self.first if self.numbers is None else self.numbers[events - self.first]

    def events_of(self, numbers: Any) -> Any:
        """Which events they are, or have caused them."""
        if self.numbers is None:
            return self.first + numbers - self.begun
        return self.first + np.searchsorted(self.numbers, numbers, "right") - 1


class ToldStretch(NamedTuple):
    """What a thread has told of its stretch, which is None if it did not come to it; and the error that ended it."""

    stretch: Stretch | None
    found: Sequence[EventBlock | list[Occurrence]]
    wrong: WorkbenchError | None = None


class StretchThread:
    """The rules in one of the threads.

    Attributes
    ----------
    engine: that runs them.
    stretches: what it has been given, as long as it may be named.
    unseen: what it has not been given since, each with how many events came before.
    repeated, own: seconds that the last block took it to learn of events of others, and for its own; and of how many.
    """

    def __init__(self, engine: CompiledRules, split: TimeSplit) -> None:
        self.engine, self.split = engine, split
        self.stretches: list[Stretch] = []
        self.unseen: list[tuple[int, Piece]] = []
        self.repeated, self.own = (0.0, 0), (0.0, 0)

    def run(self, before: Sequence[tuple[int, Piece]], first: int, block: EventBlock, *, sources: bool) -> ToldStretch:
        """Learn of what comes before a stretch, and process it."""
        try:
            self.learn(before, block.texts)
        except WorkbenchError as error:
            return ToldStretch(None, [], error)
        begun, began = self.engine.count, thread_time()
        found, wrong = list[EventBlock | list[Occurrence]](), None
        try:
            for each in self.engine.parts_of(block, partial(composite_block, sources=sources), self.engine.as_block):
                found.append(each)
        except WorkbenchError as error:  # what came before it is there
            wrong = error
        self.own = thread_time() - began, len(block)
        stretch = stretch_of(first, begun, block, list(map(_numbers_of, found)))
        self.stretches.append(stretch)
        return ToldStretch(stretch, found, wrong)

    def learn(self, pieces: Sequence[tuple[int, Piece]], texts: Mapping[int, str]) -> None:
        """Put events where they are looked for. What comes of them is told by another thread."""
        began, count = thread_time(), 0
        self._ask(nothing=not self.split.fed)
        for first, piece in pieces:
            begun = self.engine.count
            if isinstance(piece, EventBlock):
                given = replace(piece, texts=texts)  # its own are known
                made = list(self.engine.parts_of(given, _numbers, _numbers_of))
            else:
                made = [_numbers_of(self.engine.process(event)) for event in piece]
            self.stretches.append(stretch_of(first, begun, piece, made))
            count += len(piece)
        self._ask(nothing=False)
        self.repeated = thread_time() - began, count

    def _ask(self, *, nothing: bool) -> None:
        """Ask rules about events, or nothing: then only what is looked for is kept."""
        now, T = self.engine.memory.T, self.engine.program.T
        for ends, begins in (at.RULES_END, at.RULES), (at.INDEXES_END, at.INDEXES), (at.WATCHED, at.KEPT):
            now[:, ends] = T[:, begins if nothing else ends]

    def since(self, time: int) -> list[tuple[int, Piece]]:
        """What is unseen, from a time on."""
        found = list[tuple[int, Piece]]()
        for first, piece in self.unseen:
            late = _before(piece, time)
            if late < len(piece):
                some = piece.part(late, len(piece)) if isinstance(piece, EventBlock) else piece[late:]
                found.append((first + late, some))
        return found

    def whole(self, numbers: Any, told: Sequence[Stretch]) -> Any:
        """The numbers in the whole of numbers here, by the stretches of all threads that tell of them."""
        found = numbers.copy()  # what came before there were threads has the same
        for mine, stretch in _parted(numbers, self.stretches, [each.begun for each in self.stretches]):
            events = stretch.events_of(numbers[mine])
            behind = numbers[mine] - stretch.numbers_of(events)
            for some, other in _parted(events, told, [each.first for each in told]):
                found[mine[some]] = other.numbers_of(events[some]) + other.shift + behind[some]
        return found


class Stretches:
    """A rule set by time.

    Parameters
    ----------
    engines: one for each thread, with all rules, which know the same.
    dear: which part of the time for an event it takes to learn of it.
    count: how many events there have been, composites among them.
    """

    def __init__(
        self, engines: Sequence[CompiledRules], split: TimeSplit, manager: ThreadManager, dear: float, count: int
    ) -> None:
        self.threads = [StretchThread(each, split) for each in engines]
        self.split, self.dear, self.count = split, dear, count
        self._manager, self._events, self._leader = manager, 0, 0
        self._told: list[Stretch] = []
        self._repeated: Any = np.zeros(2)
        self._own: Any = np.zeros(2)
        self._open: Stretch | None = None
        self._pushed: list[Occurrence] = []
        self._made: list[int] = []

    def block(self, block: EventBlock, *, sources: bool) -> Iterator[EventBlock | list[Occurrence]]:
        """What comes of a block, stretch by stretch."""
        self._settle()
        for i, thread in enumerate(self.threads):
            thread.engine.running.lend(block.texts, keeps=i == 0)
        order, ends = self.cuts(block)
        parts = [(self._events + a, block.part(a, b)) for a, b in pairwise([0, *ends])]
        runs = []
        for place, thread in enumerate(order[: len(parts)]):
            first, own = parts[place]
            thread.unseen += parts[:place]
            before = thread.since(int(own.times[0]) - self.split.repeated)
            thread.unseen = list(parts[place + 1 :])
            runs.append(partial(thread.run, before, first, own, sources=sources))
        for thread in order[len(parts) :]:
            thread.unseen += parts
        self._leader = self.threads.index(order[len(parts) - 1])
        told = self._together(runs)
        self._events += len(block)
        found = [self._placed(*each) for each in zip(order, told, strict=False)]
        self._account(order[: len(parts)], int(block.times[-1]))
        for parts_told, (_, _, wrong) in zip(found, told, strict=False):
            yield from parts_told
            if wrong is not None:
                raise wrong

    def _together(self, runs: Sequence[Callable[[], ToldStretch]]) -> list[ToldStretch]:
        """What threads tell at the same time."""
        others = [self._manager.start(run) for run in runs[1:]]
        try:
            first = runs[0]()
        finally:
            waited = [each.wait_for() for each in others]
        return [first, *waited]

    def _placed(self, thread: StretchThread, told: ToldStretch) -> list[EventBlock | list[Occurrence]]:
        """What a thread tells, with the numbers that it has in the whole."""
        if told.stretch is None:
            return []
        stretch = replace(told.stretch, shift=self.count - told.stretch.begun)
        self._told.append(stretch)
        self.count += stretch.events + sum(map(len, told.found))
        found = list[EventBlock | list[Occurrence]]()
        for each in told.found:
            if isinstance(each, EventBlock):
                sources = None if each.sources is None else self._whole(thread, stretch, each.sources)
                found.append(replace(each, numbers=_numbers_of(each) + stretch.shift, sources=sources))
            else:
                found.append([self._single(thread, stretch, one) for one in each])
        return found

    def _whole(self, thread: StretchThread, stretch: Stretch, numbers: Any) -> Any:
        """The numbers in the whole of what a stretch names."""
        found: Any = numbers + stretch.shift
        old = np.flatnonzero(numbers < stretch.begun)
        if len(old):
            found[old] = thread.whole(numbers[old], self._told)
        return found

    def _single(self, thread: StretchThread, stretch: Stretch, one: Occurrence) -> Occurrence:
        sources = self._whole(thread, stretch, np.array(one.sources, np.int64)).tolist()
        return replace(one, number=one.number + stretch.shift, sources=tuple(sources))

    # --- who does how much ------------------------------------------------------------------------------

    def cuts(self, block: EventBlock) -> tuple[list[StretchThread], list[int]]:
        """Whose turn it is, and where the stretches of the first of them end: so that these take the same time."""
        order = self.threads[self._leader :] + self.threads[: self._leader]
        for many in range(min(len(order), len(block) // LEAST), 1, -1):
            sizes: Any = np.full(many, len(block) / many)
            for _ in range(ROUNDS):
                begins = (np.cumsum(sizes) - sizes).astype(np.int64)
                more = [self.dear * self._repeats(*each, block) for each in zip(order, begins.tolist(), strict=False)]
                sizes = (len(block) + sum(more)) / many - np.array(more)
                if sizes.min() < LEAST / 2:
                    break
            ends = [*np.cumsum(sizes)[:-1].astype(np.int64).tolist(), len(block)]
            if sizes.min() >= LEAST / 2 and all(a < b for a, b in pairwise([0, *ends])):
                return order, ends
        return order, [len(block)]

    def _repeats(self, thread: StretchThread, place: int, block: EventBlock) -> int:
        """Of how many events a thread has to learn that begins at a place."""
        time = int(block.times[place]) - self.split.repeated
        late = _before(block, time)
        if late:
            return max(0, place - late)
        return place + sum(len(piece) - _before(piece, time) for _, piece in thread.unseen)

    def _account(self, order: Sequence[StretchThread], now: int) -> None:
        """Learn what repeating costs, and forget what is not named any more."""
        self._repeated = FADING * self._repeated + np.sum([each.repeated for each in order], axis=0)
        self._own = FADING * self._own + np.sum([each.own for each in order], axis=0)
        if self._repeated[1] >= LEAST and self._own[0] > 0:
            seconds = self._repeated[0] / self._repeated[1], self._own[0] / self._own[1]
            self.dear = min(DEAREST, seconds[0] / seconds[1])
        since = now - self.split.repeated
        self._told = [each for each in self._told if each.last >= since]
        for thread in self.threads:
            thread.stretches = [each for each in thread.stretches if each.last >= since]
            thread.unseen = thread.since(since)
            if sum(len(piece) for _, piece in thread.unseen) > MOST_UNSEEN:
                thread.learn(thread.unseen, {})
                thread.unseen = []

    # --- one by one -------------------------------------------------------------------------------------

    def event(self, event: Occurrence) -> list[Occurrence]:
        """What comes of an event."""
        thread = self.threads[self._leader]
        if self._open is None:
            begun = thread.engine.count
            self._open = Stretch(self._events, begun, 0, event.time, _NOTHING, self.count - begun)
        made = thread.engine.process(event)
        self._pushed.append(event)
        self._made += [each.number for each in made]
        self.count += 1 + len(made)
        found = [self._single(thread, self._open, each) for each in made]
        if len(self._pushed) >= LEAST:
            self._settle()
        return found

    def _settle(self) -> None:
        """Events that came one by one are a stretch."""
        if self._open is None:
            return
        first, begun, shift, leader = self._open.first, self._open.begun, self._open.shift, self.threads[self._leader]
        piece: Piece = self._pushed
        with suppress(LargeNumberError):
            piece = event_block(leader.engine.rules, self._pushed, leader.engine.texts.put)
        stretch = stretch_of(first, begun, piece, [np.array(self._made, np.int64)])
        leader.stretches.append(stretch)
        self._told.append(replace(stretch, shift=shift))
        self._events += len(piece)
        for thread in self.threads:
            thread.unseen += [] if thread is leader else [(first, piece)]
        self._open, self._pushed, self._made = None, [], []
        self._account([], stretch.last)


def stretch_of(first: int, begun: int, piece: Piece, made: Sequence[Any]) -> Stretch:
    """The stretch that events are, given the numbers of what has come of them."""
    last = int(piece.times[-1]) if isinstance(piece, EventBlock) else piece[-1].time
    return Stretch(first, begun, len(piece), last, np.concatenate([_NOTHING, *made]))


def _before(piece: Piece, time: int) -> int:
    """How many events lie before a time."""
    if isinstance(piece, EventBlock):
        return int(np.searchsorted(piece.times, time))
    return bisect_left(piece, time, key=lambda event: event.time)


def _parted(values: Any, stretches: Sequence[Stretch], begins: Sequence[int]) -> Iterator[tuple[Any, Stretch]]:
    """The places of the values of each stretch, by where these begin."""
    places: Any = np.searchsorted(np.array(begins, np.int64), values, "right") - 1
    for i in sorted(set(places[places >= 0].tolist())):
        yield np.flatnonzero(places == i), stretches[i]


def _numbers(made: Published, program: RuleProgram, _: Any) -> Any:
    return RunColumns(made, program).numbers()


def _numbers_of(found: EventBlock | Sequence[Occurrence]) -> Any:
    """The numbers of composites."""
    return found.numbers if isinstance(found, EventBlock) else np.array([each.number for each in found], np.int64)
