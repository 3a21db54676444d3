"""Rules in several threads by key: each thread runs all rules on the events of some keys.

The rule of this module: the output is that of one thread, in its order. All composites of an event are in one part, in
order. Composites of a deadline follow all events up to its time; deadlines at one time are ordered by rule, and those
of one rule by trigger, whichever part they are in.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np

from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.numbering import NumberedPiece, PartNumbers, causes_of, starts_of
from workbench.executors.threaded.manager import ThreadManager
from workbench.tesla.engines.key_buckets import KeyBuckets
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block, join_blocks
from workbench.tesla.lookback import longest_lookback
from workbench.tesla.occurrence import Occurrence

T = TypeVar("T")


class PartOutput(NamedTuple):
    """The output of a part for a block.

    Attributes
    ----------
    order: the offsets in the block of the part's events.
    block: the composites, or None.
    piece: the part's events and late composites, in its own numbering.
    entries: permutation from the part's events, followed by late composites, to the entries of the piece.
    offsets: for each composite, how many events of the block precede it.
    late: for each composite, whether a deadline causes it.
    due, rules, triggers: of late composites, the time and rule of the deadline, and the event of its trigger.
    """

    order: Any
    block: EventBlock | None
    piece: NumberedPiece
    entries: Any
    offsets: Any
    late: Any
    due: Any
    rules: Any
    triggers: Any


class RulesByKey:
    """A rule set that is divided by key.

    Parameters
    ----------
    parts: engines of the whole rule set, one for each thread.
    owners: for each bucket of keys, the number of its part.
    """

    def __init__(
        self, parts: Sequence[CompiledRules], buckets: KeyBuckets, owners: Any, manager: ThreadManager
    ) -> None:  # fmt: skip
        rules, trex = parts[0].rules, parts[0].settings.trex
        self._parts, self._buckets, self._owners, self._manager = parts, buckets, owners, manager
        self._numbers = [PartNumbers(longest_lookback(rules.rules, trex)) for _ in parts]
        self._rules = {rule.name: number for number, rule in enumerate(rules.rules)}
        self._waiting = [number for number, rule in enumerate(rules.rules) if rule.absence is not None]
        self._count = self._events = 0

    def run(self, events: EventBlock | list[Occurrence], times: Any, *, sources: bool) -> Iterator[EventBlock]:
        """Yield the composites of events, which are a list if a number has more than 64 bits."""
        if isinstance(events, EventBlock):
            owners = self._buckets.owners_of(events, self._owners, self._in_threads)
        else:
            owners = self._owners[[self._buckets.bucket_of_event(each) for each in events]]
        run_part = partial(self._run_part, events, owners, times, int(times[-1]) - 1, sources)
        yield from self._merge(self._manager.run_all(self._for_parts(run_part)), times, sources)

    def advance(self, time: int) -> Iterator[EventBlock]:
        """Yield the composites that the clock causes up to a time."""
        nothing: Any = np.zeros(0, np.int64)
        if self._waiting:
            run_part = partial(self._run_part, [], nothing, nothing, time, True)
            yield from self._merge(self._manager.run_all(self._for_parts(run_part)), nothing, True)

    def _for_parts(self, function: Callable[[int], T]) -> list[Callable[[], T]]:
        """Return a call of the function for the number of each part."""
        return [partial(function, number) for number in range(len(self._parts))]

    def _in_threads(self, function: Callable[[int, int], None]) -> None:
        count = len(self._parts)
        self._manager.run_all(self._for_parts(lambda number: function(number, count)))

    def _run_part(
        self, events: EventBlock | list[Occurrence], owners: Any, times: Any, until: int, sources: bool, number: int
    ) -> PartOutput:
        """Let a part process its own events, and the deadlines up to a time."""
        part, order = self._parts[number], np.flatnonzero(owners == number)
        sources, first_number, pieces = sources or bool(self._waiting), part.count, list[Any]()
        if isinstance(events, EventBlock):
            pieces += part.run_block(events.take(order), sources=sources) if len(order) else ()
        else:
            pieces += (part.process(events[offset]) for offset in order.tolist())
        if self._waiting:
            pieces += part.run_until(until, sources=sources)
        return self._place(number, order, first_number, self._join_blocks(pieces), times)

    def _join_blocks(self, pieces: Sequence[EventBlock | list[Occurrence]]) -> EventBlock | None:
        rules, put = self._parts[0].rules, self._parts[0].texts.put
        try:
            blocks = [
                each if isinstance(each, EventBlock) else event_block(rules, each, put) for each in pieces if each
            ]
        except LargeNumberError as error:
            raise LargeNumberError(error.what, hint="one thread has it: leave out --threads") from error
        blocks = [replace(each, texts={}) for each in blocks]
        return join_blocks(blocks) if len(blocks) > 1 else blocks[0] if blocks else None

    # --- the order of the whole -------------------------------------------------------------------------

    def _merge(self, outputs: Sequence[PartOutput], times: Any, sources: bool) -> Iterator[EventBlock]:
        """Number the output of the parts, and merge it in the order of publication."""
        positions, late, *more = (
            np.concatenate([getattr(each, name) for each in outputs])
            for name in ("offsets", "late", "due", "rules", "triggers")
        )
        order = np.lexsort([*reversed(more), late, positions]) if late.any() else positions.argsort(kind="stable")
        numbers: Any = np.empty(len(order), np.int64)
        numbers[order] = self._count + positions[order] + np.arange(len(order))
        before = self._count + np.bincount(positions, minlength=len(times) + 1).cumsum()
        own = np.split(numbers, np.cumsum([len(each.offsets) for each in outputs[:-1]]))
        runs = self._for_parts(lambda part: self._number(part, outputs[part], own[part], before, sources))
        blocks = [each for each in self._manager.run_all(runs) if each is not None]
        self._count, self._events = self._count + len(times) + len(order), self._events + len(times)
        if blocks:
            whole = join_blocks(blocks) if len(blocks) > 1 else blocks[0]
            yield replace(whole.take(order), texts=self._parts[0].texts.by_code)

    def _place(self, number: int, order: Any, first_number: int, block: EventBlock | None, times: Any) -> PartOutput:
        """Locate the composites of a part in the block; `first_number` is its number of the block's first event."""
        numbers: Any = np.zeros(0, np.int64) if block is None else block.numbers
        causes, nothing = causes_of(numbers, first_number), np.zeros_like(numbers)
        positions = order[causes] + 1 if len(order) else nothing
        starts, events = starts_of(causes, first_number, len(order)), self._events + order
        piece = NumberedPiece(starts, events, np.empty_like(starts), self._last(number, times))
        output = PartOutput(
            order, block, piece, slice(None), positions, nothing.astype(bool), nothing, nothing, nothing
        )
        if self._waiting and block is not None:
            output = self._place_late(output, block, causes, times)
        self._numbers[number].add(output.piece)
        if output.late.any() and block is not None and block.starts is not None and block.sources is not None:
            triggers = block.sources[block.starts[output.triggers[output.late]]]
            output.triggers[output.late] = self._numbers[number].events_of(triggers)
        return output

    def _place_late(self, output: PartOutput, block: EventBlock, causes: Any, times: Any) -> PartOutput:
        """Mark the composites that deadlines cause; `triggers` is the index of the one that the deadline emits."""
        ids = np.array([self._rules[name] for name in block.rule_names])[block.rules]
        here: Any = np.arange(len(ids))
        begins = np.maximum.accumulate(np.where(np.isin(ids, self._waiting), here, -1))
        late = (begins >= 0) & (causes[begins] == causes)
        due = np.where(late, block.times, 0)
        positions = np.where(late, np.searchsorted(times, due, "right"), output.offsets)
        assert block.numbers is not None
        starts = np.concatenate([output.piece.starts, block.numbers[late]])
        entries = starts.argsort(kind="stable")
        events = np.concatenate([output.piece.events, self._events + positions[late]])[entries]
        return output._replace(
            piece=NumberedPiece(starts[entries], events, np.empty_like(starts), output.piece.last), entries=entries,
            offsets=positions, late=late, due=due, rules=np.where(late, ids[begins], 0),
            triggers=np.where(late, begins, 0),
        )  # fmt: skip

    def _number(self, part: int, output: PartOutput, numbers: Any, before: Any, sources: bool) -> EventBlock | None:
        """Renumber the output of a part for the whole run.

        Parameters
        ----------
        numbers: final numbers of the part's composites.
        before: for each event of the block, the number of earlier ones, events of this block not counted.
        """
        of_events = output.order + before[output.order]
        output.piece.numbers[:] = np.concatenate([of_events, numbers[output.late]])[output.entries]
        if output.block is None:
            return None
        if not sources:
            return replace(output.block, numbers=numbers, starts=None, sources=None)
        return replace(output.block, numbers=numbers, sources=self._numbers[part].of_whole(output.block.sources))

    def _last(self, number: int, times: Any) -> int:
        """Return the time of the last event, as far as it is known."""
        pieces = self._numbers[number].pieces
        return int(times[-1]) if len(times) else pieces[-1].last if pieces else 0
