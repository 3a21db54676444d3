"""What several parts of an engine publish, in the order in which one engine publishes it, with its numbers.

The rule of this module: what an event causes stands behind it, in the order of the rules that it triggers, each with
all that follows of it. What a deadline causes stands behind all events up to its time, by deadline, rule and trigger;
what it brings about for the same deadline follows it. Two parts never have rules that feed each other, or events of one
match, so that each part has its own in this order already.

A part numbers the events that it has seen. What has these numbers in the whole is written down block by block, and
forgotten when no match can name it any more.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import Published


class PlacedBlock:
    """A block of events, and what one part has published of it.

    Parameters
    ----------
    begun: the part's number of the first event in it.
    order: the places in the block of the events that the part was given; None: all of them.
    times: of all events in the block.
    first: how many events from outside came before.

    Attributes
    ----------
    ids: the part's numbers of what it has published.
    before: how many events of the block come before each of these.
    by: the rule that began the chain of each one. late: whether a deadline did, `due` then; None: no deadline did.
    numbers: in the whole.
    """

    def __init__(self, made: Published, begun: int, order: Any, times: Any, first: int, program: RuleProgram) -> None:
        words, offsets, _ = made
        self.begun, self.order, self.first = begun, order, first
        here = np.arange(len(offsets))
        self.ids = words[offsets + at.ID]
        begins = np.maximum.accumulate(np.where(words[offsets + at.CAUSE] < 0, here, 0))
        self._chains = offsets[begins]
        self.by = words[self._chains + at.RULE]
        late = [rule for rule in program.asked if program.plan.plans[rule].absent is not None]
        self.late = np.isin(self.by, late) if late else None
        self.due = np.where(self.late, words[self._chains + at.WHEN], 0) if late else None
        self.before = self.ids - begun - here
        if order is not None:
            events = order[np.maximum(self.before - 1, 0)] + 1 if len(order) else self.before
            self.before = events if not late else np.where(self.late, np.searchsorted(times, self.due, "right"), events)
        self.numbers = self.ids
        self.all_before = self.before
        self.base = 0
        self.last = int(times[-1]) if len(times) else None

    def keys(self, made: Published, history: PartHistory, program: RuleProgram) -> list[Any]:
        """By what it is placed behind the same events: whether a deadline began it, which, of what rule and trigger."""
        rules = len(program.plan.plans)
        nothing: Any = np.zeros(len(self.ids), np.int64)
        if self.late is None:
            return [nothing, nothing, self.by, nothing]
        changes = np.diff(self.before, prepend=0) | np.diff(self.due, prepend=0) | np.diff(self.late, prepend=False)
        stretch = (changes != 0).cumsum() * rules
        ranks = np.maximum.accumulate(stretch + self.by) - stretch  # what follows is not placed before it
        if self.order is not None:  # of several parts with this rule, it is said by the event that led to its trigger
            late = np.flatnonzero(self.late)
            places = self._chains[late] + at.RECORD + program.R[self.by[late], at.GIVEN]
            nothing[late] = history.each(made.words[places], "events")
        return [self.late, self.due, ranks, nothing]

    def _placed(self, numbers: Any) -> tuple[Any, Any, Any]:
        """Of the part's numbers: the places in what it has published, whether they are there, else those of events."""
        places = np.searchsorted(self.ids, numbers)
        there = np.minimum(places, max(0, len(self.ids) - 1))
        hits = self.ids[there] == numbers if len(self.ids) else np.zeros(len(numbers), bool)
        events = np.where(hits, 0, numbers - self.begun - places)
        return there, hits, events if self.order is None or not len(self.order) else self.order[events]

    def whole(self, numbers: Any) -> Any:
        """The numbers in the whole of the part's numbers."""
        there, hits, events = self._placed(numbers)
        found = self.base + events + np.searchsorted(self.all_before, events, "right")
        return np.where(hits, self.numbers[there], found) if len(self.ids) else found

    def events(self, numbers: Any) -> Any:
        """Which events from outside they are, or have caused them; not of what deadlines have caused."""
        there, hits, events = self._placed(numbers)
        return self.first + (np.where(hits, self.before[there] - 1, events) if len(self.ids) else events)


class EventsBefore:
    """All events that came before parts began, which have one number in the whole and in each of them.

    Parameters
    ----------
    count: how many there are, composites among them.
    last: the time of the last one.
    """

    begun = 0

    def __init__(self, count: int, last: int | None) -> None:
        self.count, self.last = count, last

    def whole(self, numbers: Any) -> Any:
        """As of a block."""
        return numbers

    def events(self, numbers: Any) -> Any:
        """As of a block: they lie before the first one, in the order of their numbers."""
        return numbers - self.count


class PartHistory:
    """The blocks of a part, as long as what is in them may be named.

    Parameters
    ----------
    reach: how long before its time the events of a match lie; None: for ever.
    """

    def __init__(self, reach: int | None) -> None:
        self.reach = reach
        self.blocks: list[Any] = []

    def add(self, block: PlacedBlock | EventsBefore) -> None:
        """The newest one."""
        now = self.blocks[-1].last if self.blocks else None
        if self.reach is not None and now is not None:
            oldest = now - self.reach
            self.blocks = [each for each in self.blocks if each.last is None or each.last >= oldest]
        if block.last is None and self.blocks:
            block.last = self.blocks[-1].last
        self.blocks.append(block)

    def each(self, numbers: Any, what: str) -> Any:
        """What blocks say (`whole`, `events`) of the part's numbers."""
        begins = np.array([block.begun for block in self.blocks])
        found, blocks = np.empty_like(numbers), np.searchsorted(begins, numbers, "right") - 1
        for i in np.unique(blocks).tolist():
            mine = np.flatnonzero(blocks == i)
            found[mine] = getattr(self.blocks[i], what)(numbers[mine])
        return found


def joined_parts(found: Sequence[Published]) -> Published:
    """What has been published bit by bit."""
    if len(found) == 1:
        return found[0]
    nothing: Any = np.zeros(0, np.int64)
    begins = np.cumsum([0, *(len(each.words) for each in found)])
    words = np.concatenate([nothing, *(each.words for each in found)])
    offsets = [each.offsets + begin for each, begin in zip(found, begins.tolist(), strict=False)]
    return Published(words, np.concatenate([nothing, *offsets]))


def merged(
    made: Sequence[Published], histories: Sequence[PartHistory], base: int, program: RuleProgram, *, sources: bool
) -> Published:
    """All of what parts have published of a block, which is the newest in their histories.

    Parameters
    ----------
    base: the number of the block's first event.
    sources: whether numbers of sources are those in the whole; else they mean nothing.
    """
    blocks = [history.blocks[-1] for history in histories]
    lengths = [len(each.words) for each in made]
    words = np.concatenate([each.words for each in made])
    shifts = np.cumsum([0, *lengths[:-1]])
    offsets = np.concatenate([each.offsets + shift for each, shift in zip(made, shifts, strict=True)])
    before = np.concatenate([block.before for block in blocks])
    if all(block.late is None for block in blocks):  # parts are in this order already, which such a sort makes use of
        order = (before * len(program.plan.plans) + np.concatenate([block.by for block in blocks])).argsort(
            kind="stable"
        )
    else:
        given = zip(made, histories, strict=True)
        keys = [history.blocks[-1].keys(each, history, program) for each, history in given]
        order = np.lexsort([*[*map(np.concatenate, zip(*keys, strict=True))][::-1], before])
    numbers: Any = np.empty(len(order), np.int64)
    all_before = before[order]
    numbers[order] = base + all_before + np.arange(len(order))
    words[offsets + at.ID] = numbers
    ends = np.cumsum([len(block.ids) for block in blocks]).tolist()
    for block, history, end in zip(blocks, histories, ends, strict=True):
        first = end - len(block.ids)
        block.numbers, block.all_before, block.base = numbers[first:end], all_before, base
        if sources and first < end:
            places = _sources(words, offsets[first:end], program)
            words[places] = history.each(words[places], "whole")
    return Published(words, offsets[order])


def _sources(words: Any, offsets: Any, program: RuleProgram) -> Any:
    """Where the numbers of sources stand."""
    rules = words[offsets + at.RULE]
    begins = at.RECORD + program.R[rules, at.GIVEN]
    lengths = program.R[rules, at.SIZE] - begins
    ends = np.cumsum(lengths)
    return np.repeat(offsets + begins - ends + lengths, lengths) + np.arange(int(ends[-1]))
