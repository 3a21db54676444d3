"""The engine `compiled` in several threads: events are partitioned by key, or each block is cut into time slices.

The rule of this module: composites, their order, numbers and sources are those of one thread. The first events decide
how to divide, for the whole run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from typing import Any

import numpy as np

from workbench.errors import InputError
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules.by_key import RulesByKey
from workbench.executors.compiled.rules.by_time import REPLAY_COST, RulesByTime
from workbench.executors.compiled.rules.compiling import SHORT_RUN, is_cached
from workbench.executors.compiled.rules.costs import add_costs
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.expressions import text_literals
from workbench.executors.threaded.manager import ThreadManager
from workbench.tesla.engines.engine import EngineSettings, FixedRules, RuleCost
from workbench.tesla.engines.facts import changing_tables
from workbench.tesla.engines.key_buckets import KeyBuckets
from workbench.tesla.engines.publisher import check_event, check_time
from workbench.tesla.engines.rule_split import RuleSplit, rule_split
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

KEY_COST = 0.05
"""The fraction of one thread's time spent to partition events by key and to merge the output."""


def make_compiled_rules(rules: RuleSet, facts: Facts, settings: EngineSettings) -> CompiledRules | ThreadedRules:
    """Build the engine `compiled`, with the number of threads in the settings where events can be divided."""
    split = rule_split(rules) if settings.threads > 1 else None
    if split is None or not (split.keys or _can_slice(split, settings)):
        return CompiledRules(rules, facts, settings, waits=True)
    if changing_tables(facts):
        hint = "promise that they do not: --facts-fixed; or leave out --threads"
        raise InputError("facts in a database that may change need a single thread", hint=hint)
    return ThreadedRules(rules, facts, settings, split)


def _can_slice(split: RuleSplit, settings: EngineSettings) -> bool:
    """Whether blocks can be cut into slices; profiling would count replayed events twice."""
    return not (split.time.reason or settings.profiled)


class ThreadedRules(FixedRules):
    """A rule set that runs in several threads.

    Attributes
    ----------
    partition: the division of events; None before the first one.
    """

    runs_in = "several threads"
    by_blocks = False

    def __init__(self, rules: RuleSet, facts: Facts, settings: EngineSettings, split: RuleSplit) -> None:
        self.rules, self.settings, self.split = rules, settings, split
        self.texts = TextCodes(text_literals(rules))
        self.texts.lasting = True  # the histories of all parts refer to them
        self._parts = [CompiledRules(rules, facts, settings, texts=self.texts) for _ in range(settings.threads)]
        self._manager = ThreadManager(settings.threads - 1)
        self.partition: RulesByKey | RulesByTime | None = None
        self._now: int | None = None
        self._passed: int | None = None
        self._seen = 0

    def process(self, event: Occurrence) -> list[Occurrence]:
        """Return the composites that an event causes."""
        check_event(event, self.rules, self._now, self._passed)
        try:
            events: EventBlock | list[Occurrence] = event_block(self.rules, [event], self.texts.put)
        except LargeNumberError:
            events = [event]
        return self._single(self._run(events, sources=True))

    def takes_block(self, events: int) -> bool:
        """Whether a block of this many events is taken at once."""
        return events > 0

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterator[EventBlock | list[Occurrence]]:
        """Yield the composites of a block, in the order of publication."""
        if not len(block):
            return
        check_time(int(block.times[0]), self._now, self._passed)
        back = np.flatnonzero(np.diff(block.times) < 0)
        ordered = block.part(0, int(back[0]) + 1) if len(back) else block
        self.texts.put(list(block.texts.values()))
        yield from self._run(ordered, sources=sources)
        if len(back):
            check_time(int(block.times[len(ordered)]), self._now, self._passed)

    def _run(self, events: EventBlock | list[Occurrence], *, sources: bool) -> Iterator[EventBlock | list[Occurrence]]:
        self._seen += len(events)
        if self._seen > SHORT_RUN or (not self.settings.plain and is_cached()):
            for part in self._parts:
                part.use_machine_code()
        self.partition = self.partition or self._choose(events if isinstance(events, EventBlock) else None)
        times = events.times if isinstance(events, EventBlock) else np.array([each.time for each in events])
        self._now = int(times[-1])
        yield from self.partition.run(events, times, sources=sources)

    def advance(self, time: int) -> list[Occurrence]:
        """Return the composites that the clock causes up to a time."""
        self.partition = self.partition or self._choose(None)
        composites = self._single(self.partition.advance(time))
        self._passed = time if self._passed is None else max(time, self._passed)
        return composites

    def _single(self, parts: Iterator[EventBlock | list[Occurrence]]) -> list[Occurrence]:
        return [each for part in parts for each in (part if isinstance(part, list) else part.occurrences(self.rules))]

    def _choose(self, block: EventBlock | None) -> RulesByKey | RulesByTime:
        """Choose the division that minimizes the load of the busiest thread, as estimated from the first block."""
        buckets, threads = KeyBuckets(self.rules, self.split.keys, self.texts.put), self.settings.threads
        owners, max_load = buckets.assign(block, threads)
        if _can_slice(self.split, self.settings):
            span = int(block.times[-1]) - int(block.times[0]) if block is not None else 0
            repeated = min(1.0, self.split.time.lookback / span) if span else 1.0
            if not self.split.keys or (1 + REPLAY_COST * (threads - 1) * repeated) / threads < max_load + KEY_COST:
                return RulesByTime(self._parts, self.split.time, self._manager)
        return RulesByKey(self._parts, buckets, owners, self._manager)

    def profile(self) -> Sequence[RuleCost]:
        """Return the cost of each rule."""
        costs: list[Any] = [part.profile() for part in self._parts]
        return reduce(lambda one, other: add_costs(other, one), costs)
