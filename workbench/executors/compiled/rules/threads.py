"""A rule set that runs as machine code in several threads: its rules are shared out, or its events by their keys.

The rule of this module: what is told is what one thread tells, and in its order (`placing`). Until there is machine
code one thread does all of it (`BeforeThreads`); then what is shared out is measured, and stays where it is.
"""

from __future__ import annotations

from collections import ChainMap, deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from time import thread_time
from typing import Any, NoReturn

import numpy as np

from workbench.core.domain import FLOAT, INT
from workbench.errors import InputError, Refused, WorkbenchError
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.engine import PATIENCE, SOME, STRETCH, CompiledRules, added_costs, see_block
from workbench.executors.compiled.rules.outputs import composite_block, composites
from workbench.executors.compiled.rules.placing import (
    EventsBefore,
    PartHistory,
    PlacedBlock,
    joined_parts,
    longest_reach,
    merged,
)
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.runs import Published, kept
from workbench.executors.compiled.rules.transfer import held_events, recorded, returnable, to_memory
from workbench.executors.compiled.rules.words import ODD
from workbench.executors.threaded.manager import ThreadManager
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.facts import changing_tables
from workbench.tesla.engines.publisher import Publisher, see_event
from workbench.tesla.engines.rule_split import RuleSplit, rule_split, shared
from workbench.tesla.engines.runner import DueAbsence
from workbench.tesla.event_block import EventBlock, LargeNumberError, event_block
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet
from workbench.tesla.values import as_float

SAMPLE = 1 << 13
"""Events, of the first ones or the last ones before there is code, of which it is measured what rules cost."""
BUNDLES = 8
"""Groups of rules for each thread of which it is measured one by one, at most."""
BUCKETS = 1 << 10
"""Keys are told apart so far, and shared out by how many events they have."""


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


class WholeState:
    """What engines refuse whose state lies in parts.

    Attributes
    ----------
    parted, hint: how the rules run, and what helps.
    """

    parted, hint = "in several threads", "leave --threads out"

    def add(self, rules: RuleSet | str) -> NoReturn:
        """Refused, as all that has to do with the state as a whole."""
        raise Refused(f"rules that run {self.parted} are not changed or saved", hint=self.hint)

    remove = restore = add

    def replace(self, name: str, rules: RuleSet | str) -> NoReturn:
        """Refused."""
        self.add(rules)

    def snapshot(self) -> NoReturn:
        """Refused."""
        self.add("")


class RuleThreads(WholeState):
    """Parts of a rule set, or of what happens, each a `CompiledRules` in a thread of its own.

    Parameters
    ----------
    split: how.
    code: whether there is machine code from the beginning, or never; None: when it is worth while.

    Attributes
    ----------
    owners: of each bucket of keys the part that has its events; None where parts differ in their rules.
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
        see_event(event, self.rules, self.now, self.passed)
        try:
            block = event_block(self.rules, [event], self.texts.put)
        except LargeNumberError:
            return self._singly(event)
        return composites(self._happened(block, sources=True), self.program, self._known)

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterator[EventBlock | list[Occurrence]]:
        """The composites that a block of events causes, in the order of publication: see `CompiledRules`."""
        first = 0
        while first < len(block) and not self.fast(len(block) - first):
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
            made = self._happened(rest, sources=sources)
            yield composite_block(made, self.program, self._known, sources=sources)

    def fast(self, events: int) -> bool:
        """Whether a block of so many is processed by threads; else they are best given one by one."""
        return self._first is None or self._first.fast(events)

    def advance(self, time: int) -> list[Occurrence]:
        """The composites that the clock causes up to a time."""
        if self._first is not None and self._first.loop is None:
            return self._first.advance(time)
        self._share(None)
        orders = [None if self.owners is None else _NOTHING] * len(self.parts)
        runs = [partial(_until, part, time) for part in self.parts]
        found = self._together(runs, orders, _NOTHING, sources=True)
        self.passed = time if self.passed is None else max(time, self.passed)
        self.now = self.passed if self.now is None else max(self.now, self.passed)
        return composites(found, self.program, self._known)

    def _happened(self, block: EventBlock, *, sources: bool) -> Published:
        self._share(block)
        for part in self.parts:
            part.running.lend(block.texts, keeps=part is self.parts[0])
        self.now = int(block.times[-1])
        if self.owners is None:
            runs = [partial(_of_block, part, block) for part in self.parts]
            return self._together(runs, [None] * len(self.parts), block.times, sources=sources)
        owners = self.owners[self._buckets(block)]
        orders = [np.flatnonzero(owners == i) for i in range(len(self.parts))]
        given = [block.taken(order) for order in orders]
        runs = [partial(_of_block, part, some, self.now - 1) for part, some in zip(self.parts, given, strict=True)]
        return self._together(runs, orders, block.times, sources=sources)

    def _singly(self, event: Occurrence) -> list[Occurrence]:
        """The composites of an event that has no room in words."""
        self._share(None)
        self.now = event.time
        times, parts = np.array([event.time], np.int64), range(len(self.parts))
        orders: list[Any] = [None for _ in parts]
        if self.owners is None:
            runs = [partial(_of_event, part, event) for part in self.parts]
        else:
            owner = self._owner(event)
            orders = [np.arange(int(i == owner)) for i in parts]
            runs = [
                partial(_of_event, part, event) if i == owner else partial(_until, part, event.time - 1)
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
        first, threads = self._first, self.settings.threads
        rules = self._rule_shares(block) if len(self.split.groups) > 1 else []
        worst = max((cost for _, cost in rules), default=1.0)
        if self.split.keys:
            counts = np.bincount(self._buckets(block), minlength=BUCKETS) if block is not None else np.zeros(BUCKETS)
            counts = counts + (1 + counts.sum()) / BUCKETS / 10
            shares = shared(counts.tolist(), threads)
            if max(counts[share].sum() for share in shares) / counts.sum() < worst:
                self.owners = np.zeros(BUCKETS, np.int64)
                for i, share in enumerate(shares):
                    self.owners[share] = i
        programs = [self.program.of(some) for some, _ in rules] if self.owners is None else [self.program] * threads
        parts = [self._part(program) for program in programs]
        self._histories = [PartHistory(longest_reach(self.program.plan.plans)) for _ in parts]
        if first.exact is not None and not self._taken_over(first.exact, parts):
            first.ready, self.owners = False, None
            return
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
        return rule in part.program.asked if self.owners is None else self._owner(due.trigger) == i

    def _part(self, program: Any) -> CompiledRules:
        code = self._code is not False
        return CompiledRules(self.rules, self.facts, self.settings, code, program, self.texts)

    def _rule_shares(self, block: EventBlock | None) -> list[tuple[list[int], float]]:
        """The places of rules for each thread, and which part of all the work that is."""
        groups = [list(group) for group in self.split.groups]
        most = BUNDLES * self.settings.threads
        if len(groups) > most:
            works = [float(sum(len(self.program.plan.plans[rule].steps) for rule in group)) for group in groups]
            groups = [[rule for i in some for rule in groups[i]] for some in shared(works, most)]
        works = self._measured(groups, block)
        return [
            (sorted(rule for i in some for rule in groups[i]), sum(works[i] for i in some) / sum(works))
            for some in shared(works, self.settings.threads)
        ]

    def _measured(self, groups: Sequence[Sequence[int]], block: EventBlock | None) -> list[float]:
        """What groups of rules cost, in seconds; where nothing can be measured, how many rules they are."""
        if block is not None and self._code is not False:
            sample = block.part(0, SAMPLE)
            parts = [self._part(self.program.of(group)) for group in groups]
            try:
                _of_block(self._part(self.program), block.part(0, 1))  # now there is machine code
                return [_seconds(part, sample) for part in parts]
            except WorkbenchError:
                pass  # it comes again
        return [float(len(group)) for group in groups]

    def _buckets(self, block: EventBlock) -> Any:
        """The bucket of each event's key; events without one may be in any."""
        found: Any = np.arange(len(block)) % BUCKETS
        for y, name in enumerate(block.names):
            key = self.split.keys.get(name)
            mine = np.flatnonzero(block.types == y) if key is not None else _NOTHING
            if key is not None and len(mine):
                declared, places = self.rules.declarations[name], block.places[mine]
                column = block.columns[y][declared.positions[key]]
                buckets = _scattered(column.values[places], number=declared.domains[key] in (INT, FLOAT))
                found[mine] = buckets if column.nulls is None else np.where(column.nulls[places], 0, buckets)
        return found

    def _owner(self, event: Occurrence) -> int:
        """The part that an event with a large number belongs to."""
        declared, key = self.rules.declarations[event.type], self.split.keys.get(event.type)
        value = None if key is None else event.values[declared.positions[key]]
        if isinstance(value, str):
            value = self.texts.put([value])[0]
        elif isinstance(value, int | float) and not isinstance(value, bool):
            value = as_float(value)
        buckets = _scattered(np.array([0 if value is None else value]), number=isinstance(value, float))
        return int(self.owners[0 if value is None else buckets[0]])

    # --- the rest ---------------------------------------------------------------------------------------

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost."""
        found = {cost.rule: cost for cost in (self._first.profile() if self._first is not None else self._before)}
        for cost in (cost for part in self.parts for cost in part.profile()):
            found[cost.rule] = added_costs(cost, found[cost.rule]) if cost.rule in found else cost
        return [found[rule.name] for rule in self.rules.rules if rule.name in found]


_NOTHING: Any = np.zeros(0, np.int64)


def _scattered(values: Any, *, number: bool) -> Any:
    """The buckets of keys; numbers that are equal as floats have the same, and those that are none have the first."""
    if number:
        values = values.astype(np.float64) + 0.0
        return np.where(values == values, _hashed(values.view(np.uint64)), 0)
    return _hashed(values.astype(np.int64).view(np.uint64))


def _hashed(words: Any) -> Any:
    mixed = (words ^ (words >> np.uint64(32))) * np.uint64(ODD)
    return (mixed >> np.uint64(64 - BUCKETS.bit_length() + 1)).astype(np.int64)


def _taken(made: Published, program: RuleProgram, texts: Any) -> Published:
    """What is the last, or else large."""
    return kept(made, program, texts) if made.runs or len(made.words) > at.MUCH_OUTPUT else made


def _words(part: CompiledRules) -> Callable[[Sequence[Occurrence]], Published]:
    """What puts what `cdp` tells of a part in words."""
    return partial(recorded, part.running, part.program.plan.plans)


def _of_block(part: CompiledRules, block: EventBlock, until: int | None = None) -> Published:
    """What a part publishes of a block, and up to a time."""
    found = list(part.parts_of(block, _taken if until is None else kept, _words(part))) if len(block) else []
    if until is not None:
        found += part.parts_until(until, kept, _words(part))
    return joined_parts(found)


def _until(part: CompiledRules, time: int) -> Published:
    return joined_parts(list(part.parts_until(time, kept, _words(part))))


def _of_event(part: CompiledRules, event: Occurrence) -> Published:
    return _words(part)(part.process(event))


def _seconds(part: CompiledRules, block: EventBlock) -> float:
    began = thread_time()
    _of_block(part, block)
    return thread_time() - began
