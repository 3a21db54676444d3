"""An engine on a part of the events of a log, and the sort keys of its composites among those of all events.

The rule of this module: a sort key is a byte string, and the composites of several such runs, sorted by it, are in the
order in which one engine publishes them. The effects of an event come after it. The effects of a deadline come after
all events of its time, in the order of the rules and of the triggers; further effects for the same deadline follow at
once, as in a single engine, where other waiting deadlines have later sort keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from workbench.errors import Refused
from workbench.tesla.engines.engine import RuleEngine, block_engine
from workbench.tesla.event_block import EventBlock
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

SortKey = bytes
"""The sort key of an external event: of the same length in all runs, or self-delimiting."""
SWEEP = 1024
"""Number of additional sort keys of triggers after which obsolete ones are removed."""


class PartialRun:
    """A run over a part of the events that shares no match with another part (`partition`).

    Parameters
    ----------
    engine: a new one, in its initial state.
    by_rule: whether the run has all events and a part of the rules: the effects of an event are then ordered by the
            rules that it triggers, each with all further effects.
    """

    def __init__(self, engine: RuleEngine, *, by_rule: bool = False) -> None:
        self.engine = engine
        self._rule_numbers = {each.name: i for i, each in enumerate(engine.rules.rules)} if by_rule else {}
        self._absent = {
            rule.name: (number, rule.trigger.type, rule.timeout)
            for number, rule in enumerate(engine.rules.rules)
            if rule.absence
        }
        self._kept = {trigger for _, trigger, _ in self._absent.values()}
        self._longest = max((timeout for _, _, timeout in self._absent.values()), default=0)
        self._count = 0
        self._sort_keys: dict[int, tuple[int, SortKey]] = {}
        self._sweep_at = SWEEP
        self._due: tuple[int, str, int] | None = None
        self._first, self._behind = b"", 0

    def process(self, event: Occurrence, sort_key: SortKey) -> list[tuple[SortKey, Occurrence]]:
        """Process an event, and return the composites that it causes with their sort keys, those of the clock first."""
        composites = self.engine.process(event)
        due = sum(each.time < event.time for each in composites)
        pairs = [(self._of_deadline(each), each) for each in composites[:due]]
        number = self._count + due
        first = triggered = make_time_prefix(event.time) + b"\0" + sort_key
        if self._rule_numbers:
            triggered += _number(0)
        self._keep(number, event, triggered + _number(0))
        for i, each in enumerate(composites[due:], 1):
            if self._rule_numbers and each.sources[0] == number:
                triggered = first + _number(self._rule_numbers[each.rule])
            pairs.append((triggered + _number(i), each))
            self._keep(each.number, each, pairs[-1][0])
        self._count += len(composites) + 1
        return pairs

    @property
    def in_blocks(self) -> bool:
        """Whether it processes events as columns; effects of the clock need sort keys one by one."""
        return not self._absent and block_engine(self.engine) is not None

    def process_block(self, block: EventBlock) -> Iterator[tuple[Any, Any, EventBlock | list[Occurrence]]]:
        """Yield the composites that a block of events causes, in non-empty parts.

        For each composite there are, as arrays, the index in the block of its causing event, and its position among
        that event's composites: with the event's time and sort key they form its sort key, as in `process`.
        """
        import numpy as np

        before, total, engine = self._count, 0, block_engine(self.engine)
        assert engine is not None
        last, behind = -1, 0
        for part in engine.process_block(block):
            numbers: Any = np.array([each.number for each in part]) if isinstance(part, list) else part.numbers
            if not len(part):
                continue
            total += len(part)
            # for each composite the index of the external event that caused it
            at: Any = numbers - before - np.arange(total - len(part) + 1, total + 1)
            begins = np.flatnonzero(np.diff(at, prepend=-1))  # start of another event's composites
            counted = np.arange(1, len(at) + 1) - np.repeat(begins, np.diff(begins, append=len(at)))
            if at[0] == last:
                counted[: begins[1] if len(begins) > 1 else len(at)] += behind
            last, behind = int(at[-1]), int(counted[-1])
            yield at, counted, part
        self._count += total + len(block)

    def advance(self, time: int) -> list[tuple[SortKey, Occurrence]]:
        """Move the clock to a time, and return the composites that this causes, with their sort keys."""
        composites = self.engine.advance(time)
        self._count += len(composites)
        return [(self._of_deadline(each), each) for each in composites]

    def _of_deadline(self, composite: Occurrence) -> SortKey:
        if composite.rule in self._absent:
            due = (composite.time, composite.rule, composite.sources[0])
            if due != self._due:
                self._begin(*due)
        self._behind += 1
        sort_key = self._first + _number(self._behind)
        self._keep(composite.number, composite, sort_key)
        return sort_key

    def _begin(self, time: int, rule: str, trigger: int) -> None:
        """Begin the effects of another trigger's deadline."""
        first = make_time_prefix(time) + b"\1" + self._absent[rule][0].to_bytes(4) + self._sort_keys[trigger][1]
        self._due = (time, rule, trigger)
        if not first < self._first:
            self._first, self._behind = first, 0

    def _keep(self, number: int, event: Occurrence, sort_key: SortKey) -> None:
        """Store the sort key of an event that may be the trigger of an absence."""
        if event.type in self._kept:
            self._sort_keys[number] = (event.time, sort_key)
            if len(self._sort_keys) > self._sweep_at:
                oldest = event.time - self._longest
                self._sort_keys = {n: each for n, each in self._sort_keys.items() if each[0] >= oldest}
                self._sweep_at = 2 * len(self._sort_keys) + SWEEP

    def state(self) -> list[Any]:
        """Return the state without that of the engine, for `set_state`."""
        triggers = [(number, time, sort_key.hex()) for number, (time, sort_key) in self._sort_keys.items()]
        return [self._count, triggers, self._due, self._first.hex(), self._behind]

    def set_state(self, state: Sequence[Any]) -> None:
        """Restore a saved state."""
        self._count, triggers, due, first, self._behind = state
        self._sort_keys = {number: (time, bytes.fromhex(sort_key)) for number, time, sort_key in triggers}
        self._due, self._first = None if due is None else tuple(due), bytes.fromhex(first)


def refuse_circles(rules: RuleSet, hint: str) -> None:
    """Raise Refused, with a hint, if one absence can cause another one, so that sort keys are unbounded."""
    for rule in rules.rules:
        if rule.absence and rule.trigger.type in rules.graph.find_effects([rule.emits]):
            what = f"rule '{rule.name}' leads back to itself, so that its composites have no position in the order"
            raise Refused(what, hint=hint)


def make_time_prefix(time: int) -> bytes:
    """Return the prefix of the sort keys of a time."""
    return (time + (1 << 63)).to_bytes(8)


def _number(number: int) -> bytes:
    return number.to_bytes(6)
