"""A rule set that runs as machine code in several threads: its rules are shared out, or its events, by keys or by time.

The rule of this module: what is told is what one thread tells, and in its order (`placing`). Until there is machine
code one thread does all of it (`BeforeThreads`); then what is shared out is measured, and stays where it is.
"""

from __future__ import annotations

from collections import ChainMap, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, NoReturn

import numpy as np

from workbench.errors import InputError, Refused
from workbench.executors.compiled.rules.engine import PATIENCE, SOME, STRETCH, CompiledRules, added_costs, see_block
from workbench.executors.compiled.rules.outputs import composite_block, composites
from workbench.executors.compiled.rules.placing import (
    EventsBefore,
    PartHistory,
    PlacedBlock,
    joined_parts,
    merged,
)
from workbench.executors.compiled.rules.runs import Published
from workbench.executors.compiled.rules.shares import SAMPLE, ShareCosts, of_block, of_clock, of_event, of_some
from workbench.executors.compiled.rules.stretches import Stretches
from workbench.executors.compiled.rules.transfer import held_events, returnable, to_memory
from workbench.executors.threaded.manager import ThreadManager
from workbench.tesla.engines.absences import DueAbsence
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.facts import changing_tables
from workbench.tesla.engines.key_buckets import KeyBuckets
from workbench.tesla.engines.publisher import Publisher, check_event
from workbench.tesla.engines.rule_split import RuleSplit, rule_split
from workbench.tesla.engines.total_order import longest_reach
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

EVEN = 1.2
"""Where the thread that has most has so many times its share at most, no better way is looked for."""


def compiled_rules(rules: RuleSet, facts: Facts, settings: EngineSettings) -> CompiledRules | RuleThreads:
    """The engine `compiled`, in as many threads as it is asked for where rules can be split (`rule_split`)."""
    split = rule_split(rules) if settings.threads > 1 else None
    if split is None or split.reason:
        return CompiledRules(rules, facts, settings)
    if changing_tables(facts):
        hint = "promise that they do not: --facts-fixed; or leave --threads out"
        raise InputError("facts in a database that may change are for one thread", hint=hint)
    return RuleThreads(rules, facts, settings, split)


class BeforeThreads(CompiledRules):
    """All the rules in one thread, as long as there is no machine code.

    Attributes
    ----------
    ready: whether there is, and the state can be said in words.
    """

    ready = False

    def _return(self) -> None:
        assert self._exact is not None
        coded = self._coded(0)
        self.ready = coded and returnable(self._exact)
        self._patience = PATIENCE + len(held_events(self._exact)) if coded else STRETCH

    @property
    def exact(self) -> Publisher | None:
        """What has happened; None where that is nothing."""
        return self._exact


class RuleThreads:
    """Parts of a rule set, or of what happens, each a `CompiledRules` in a thread of its own.

    Parameters
    ----------
    split: how.
    code: whether there is machine code from the beginning, or never; None: when it is worth while.

    Attributes
    ----------
    owners: of each bucket of keys the part that has its events; None where it is not keys that are shared out.
    stretches: what runs where it is time.
    """

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, split: RuleSplit, code: bool | None = None
    ) -> None:
        self.rules, self.facts, self.settings, self.split = rules, facts, settings, split
        self._code = False if settings.plain else code
        self._first: BeforeThreads | None = BeforeThreads(rules, facts, settings, code)
        self.program, self.texts = self._first.program, self._first.texts
        self.by_blocks = self._first.by_blocks
        self.now: int | None = None
        self.passed: int | None = None
        self.count, self._events = 0, 0
        self._before: Sequence[RuleCost] = ()
        self._recent = deque[Occurrence](maxlen=SAMPLE)
        self.parts: list[CompiledRules] = []
        self.owners: Any = None
        self.stretches: Stretches | None = None
        self._keys = KeyBuckets(rules, split.keys, self.texts.put)
        self._manager = ThreadManager(settings.threads - 1)

    # --- events -----------------------------------------------------------------------------------------

    def process(self, event: Occurrence) -> list[Occurrence]:
        """The composites that an event causes."""
        if self._first is not None and self._first.loop is None:
            found = self._first.process(event)
            self._recent.append(event)
            if self._first.ready:
                self._share(self._sample())
            return found
        check_event(event, self.rules, self.now, self.passed)
        self._share(None)
        if self.stretches is not None:
            self.now = event.time
            return self.stretches.event(event)
        try:
            block = event_block(self.rules, [event], self.texts.put)
        except LargeNumberError:
            return self._singly(event)
        return composites(self._happened(block, sources=True), self.program, self._known)

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterator[EventBlock | list[Occurrence]]:
        """The composites that a block of events causes, in the order of publication: see `CompiledRules`."""
        first = 0
        while first < len(block) and not self.takes_block(len(block) - first):
            some, found = block.part(first, first + SOME), list[Occurrence]()
            for event in some.occurrences(self.rules):
                found += self.process(event)
                first += 1
                if self.parts:
                    break
            yield found
        if first < len(block):
            rest = block.part(first, len(block))
            see_block(rest, self.now, self.passed)
            self._share(rest)
            if self.stretches is not None:
                self.now = int(rest.times[-1])
                yield from self.stretches.block(rest, sources=sources)
                return
            made = self._happened(rest, sources=sources)
            yield composite_block(made, self.program, self._known, sources=sources)

    def takes_block(self, events: int) -> bool:
        """Whether a block of so many is processed by threads; else they are best given one by one."""
        return self._first is None or self._first.takes_block(events)

    def advance(self, time: int) -> list[Occurrence]:
        """The composites that the clock causes up to a time."""
        if self._first is not None and self._first.loop is None:
            return self._first.advance(time)
        self._share(None)
        orders = [None if self.owners is None else _NOTHING] * len(self.parts)
        runs = [partial(of_clock, part, time) for part in self.parts]
        timed = self.stretches is None  # what waits for nothing has nothing to tell when time goes on
        found = self._together(runs, orders, _NOTHING, sources=True) if timed else joined_parts([])
        self.passed = time if self.passed is None else max(time, self.passed)
        self.now = self.passed if self.now is None else max(self.now, self.passed)
        return composites(found, self.program, self._known)

    def _happened(self, block: EventBlock, *, sources: bool) -> Published:
        self._share(block)
        for part in self.parts:
            part.running.lend(block.texts, keeps=part is self.parts[0])
        self.now = int(block.times[-1])
        if self.owners is None:
            runs = [partial(of_block, part, block) for part in self.parts]
            return self._together(runs, [None] * len(self.parts), block.times, sources=sources)
        orders = self._orders(block)
        runs = [partial(of_some, part, block, order) for part, order in zip(self.parts, orders, strict=True)]
        return self._together(runs, orders, block.times, sources=sources)

    def _orders(self, block: EventBlock) -> list[Any]:
        """The places of the events that each part has."""
        owners = self._keys.owners_of(block, self.owners, self._in_threads)
        return [np.flatnonzero(owners == part) for part in range(len(self.parts))]

    def _in_threads(self, function: Callable[[int, int], None]) -> None:
        """Call a function for each of the threads' parts of something, at the same time."""
        parts = len(self.parts)
        others = [self._manager.start(partial(function, part, parts)) for part in range(1, parts)]
        try:
            function(0, parts)
        finally:
            for each in others:
                each.wait_for()

    def _singly(self, event: Occurrence) -> list[Occurrence]:
        """The composites of an event that has no room in words."""
        self._share(None)
        self.now = event.time
        times, parts = np.array([event.time], np.int64), range(len(self.parts))
        orders: list[Any] = [None for _ in parts]
        if self.owners is None:
            runs = [partial(of_event, part, event) for part in self.parts]
        else:
            owner = self.owners[self._keys.bucket_of_event(event)]
            orders = [np.arange(int(i == owner)) for i in parts]
            runs = [
                partial(of_event, part, event) if i == owner else partial(of_clock, part, event.time - 1)
                for i, part in enumerate(self.parts)
            ]
        return composites(self._together(runs, orders, times, sources=True), self.program, self._known)

    def _together(
        self, runs: Sequence[Callable[[], Published]], orders: Sequence[Any], times: Any, *, sources: bool
    ) -> Published:
        """What parts publish that run at the same time, as one publishes it."""
        begun = [part.count for part in self.parts]
        others = [self._manager.start(run) for run in runs[1:]]
        try:
            made = [runs[0]()]
        finally:
            waited = [each.wait_for() for each in others]
        made += waited
        for each, history, first, order in zip(made, self._histories, begun, orders, strict=True):
            history.add(PlacedBlock(each, first, order, times, self._events, self.program))
        found = merged(made, self._histories, self.count, self.program, sources=sources)
        self._events += len(times)
        self.count += len(times) + len(found.offsets)
        return found

    @property
    def _known(self) -> Mapping[int, str]:
        return ChainMap(*(part.running.known for part in self.parts))  # type: ignore[arg-type]

    # --- shares -----------------------------------------------------------------------------------------

    def _share(self, block: EventBlock | None) -> None:
        """Share the work out, by what the first events cost, and what one thread knows until now."""
        if self._first is None:
            return
        first, whole, threads = self._first, range(len(self.rules.rules)), self.settings.threads
        costs = ShareCosts(self.program, self._part, block if self._code is not False else None, self.split.time)
        longest, rules = dict[str, float](), [list(whole)]
        if self.split.keys:
            owners, most = self._keys.assign(block, threads)
            longest["keys"] = costs.of_keys(most)
        if not (self.split.time.reason or self.settings.profiled or self.by_blocks):  # nobody counts who looks at what
            longest["time"] = costs.of_time(block, threads)
        if len(self.split.groups) > 1 and min(longest.values(), default=1.0) > EVEN / threads:
            rules, longest["rules"] = costs.of_rules(self.split.groups, threads)
        chosen = min(longest, key=lambda each: longest[each], default="rules")
        if chosen == "keys":
            self.owners = owners
        parts = [self._part(self.program.of(some)) for some in (rules if chosen == "rules" else [whole] * threads)]
        self._histories = [PartHistory(longest_reach(self.rules, self.settings.trex)) for _ in parts]
        if first.exact is not None and not self._taken_over(first.exact, parts):
            first.ready, self.owners = False, None
            return
        if chosen == "time":
            self.stretches = Stretches(parts, self.split.time, self._manager, costs.dear, self.count)
        self._first, self.parts, self._before = None, parts, first.profile()
        self._recent.clear()

    def _sample(self) -> EventBlock | None:
        """The last events, of which it can be measured what rules cost."""
        with suppress(LargeNumberError):
            return event_block(self.rules, list(self._recent), self.texts.put)
        return None

    def _taken_over(self, exact: Publisher, parts: Sequence[CompiledRules]) -> bool:
        """Give parts what one thread knows; whether words suffice for it. More than they look at does no harm."""
        self.now, self.passed, self.count = exact.now, exact.passed, exact.count
        for i, part in enumerate(parts):
            if not to_memory(exact, part.running, partial(self._waits, i, part)):
                return False
            part.passed = exact.passed
            self._histories[i].add(EventsBefore(exact.count, exact.now))
        return True

    def _waits(self, i: int, part: CompiledRules, rule: int, due: DueAbsence) -> bool:
        """Whether it is this part that waits for something."""
        return (
            rule in part.program.asked
            if self.owners is None
            else self.owners[self._keys.bucket_of_event(due.trigger)] == i
        )

    def _part(self, program: Any) -> CompiledRules:
        code = self._code is not False
        return CompiledRules(self.rules, self.facts, self.settings, code, program, self.texts)

    # --- the rest ---------------------------------------------------------------------------------------

    def add(self, rules: RuleSet | str) -> NoReturn:
        """Refused, as all that has to do with the state as a whole."""
        raise Refused("rules that run in several threads are not changed or saved", hint="leave --threads out")

    remove = restore = add

    def replace(self, name: str, rules: RuleSet | str) -> NoReturn:
        """Refused."""
        self.add(rules)

    def snapshot(self) -> NoReturn:
        """Refused."""
        self.add("")

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost."""
        found = {cost.rule: cost for cost in (self._first.profile() if self._first is not None else self._before)}
        for cost in (cost for part in self.parts for cost in part.profile()):
            found[cost.rule] = added_costs(cost, found[cost.rule]) if cost.rule in found else cost
        return [found[rule.name] for rule in self.rules.rules if rule.name in found]


_NOTHING: Any = np.zeros(0, np.int64)
