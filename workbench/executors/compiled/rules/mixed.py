"""A rule set on two engines: what machine code has runs as that, and the other rules in Python.

The rule of this module: rules that feed each other are on one side, and what is told is what one engine tells, in its
order (`placing`). Only events of types that its rules look at are made objects for the side in Python.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from types import SimpleNamespace
from typing import Any

import numpy as np

from workbench.errors import Refused, WorkbenchError
from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.engine import SOME, CompiledRules, see_block
from workbench.executors.compiled.rules.outputs import composite_block, composites
from workbench.executors.compiled.rules.placing import (
    PartHistory,
    PlacedBlock,
    joined_parts,
    longest_reach,
    merged,
)
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.running import FAR
from workbench.executors.compiled.rules.runs import Published, kept
from workbench.executors.compiled.rules.threads import WholeState
from workbench.executors.compiled.rules.transfer import recorded
from workbench.tesla.engines.engine import EngineSettings, RuleCost
from workbench.tesla.engines.facts import changing_tables
from workbench.tesla.engines.publisher import see_event
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.engines.rule_split import rule_split, some_rules
from workbench.tesla.engines.set_plan import SetPlan
from workbench.tesla.engines.table import rule_engine
from workbench.tesla.event_block import EventBlock, LargeNumberError
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet


def refusal(rules: RuleSet, settings: EngineSettings) -> str:
    """Why there is no machine code of rules; empty if there is."""
    try:
        RuleProgram(SetPlan(rules, indexed=settings.indexed), settings)
    except Refused as error:
        return "; ".join(filter(None, [error.what, str(error.where or "")]))
    return ""


def rules_apart(rules: RuleSet, settings: EngineSettings) -> Mapping[int, str]:
    """The places of the rules that machine code does not have, or that are connected with such, and why; none are all.

    Empty, too, where the others could not run without them.
    """
    found = dict[int, str]()
    for group in rule_split(rules).groups:
        if not refusal(some_rules(rules, group), settings):
            continue
        alone = {place: refusal(some_rules(rules, [place]), settings) for place in group}
        names = ", ".join(f"'{rules.rules[place].name}'" for place, why in alone.items() if why)
        found |= {place: why or f"connected with {names}" for place, why in alone.items()}
    return found if len(found) < len(rules.rules) else {}


def mixed_rules(rules: RuleSet, facts: Facts, settings: EngineSettings, other: str) -> MixedRules:
    """The engine `compiled` for the rules that it has, and the other one for those that it refuses.

    Raises
    ------
    Refused: there are no such rules, or they cannot be told apart.
    """
    hint = f"choose one engine for all rules: --engine compiled, or --engine {other}"
    apart = rules_apart(rules, settings)
    if not apart:
        raise Refused(f"machine code has all the rules, or none that could run without '{other}'", hint=hint)
    if changing_tables(facts):
        raise Refused("facts in a database that may change are for one engine", hint=f"{hint}, or add --facts-fixed")
    return MixedRules(rules, facts, settings, apart, other)


class MixedRules(WholeState):
    """Rules as machine code, and others beside them.

    Parameters
    ----------
    apart: the places of the rules for the other engine: none of them feeds another one, or is fed by it.
    other: its name.
    code: as `CompiledRules` has it.

    Attributes
    ----------
    compiled: what runs as machine code.
    """

    parted, hint = "on two engines", "name one: --engine compiled or --engine cdp"

    def __init__(
        self, rules: RuleSet, facts: Facts, settings: EngineSettings, apart: Collection[int], other: str = "cdp",
        code: bool | None = None,
    ) -> None:  # fmt: skip
        self.rules = rules
        sides = [[i for i in range(len(rules.rules)) if (i in apart) == slow] for slow in (False, True)]
        self.compiled = CompiledRules(some_rules(rules, sides[0]), facts, settings, code)
        self._other: Any = rule_engine(some_rules(rules, sides[1]), other, facts, settings)
        self._plans = [RulePlan(rule, rules.declarations, indexed=settings.indexed) for rule in rules.rules]
        self._sides = [(np.array(side), [self._plans[i] for i in side]) for side in sides]
        self._layout: Any = _layout(rules, self._plans)
        watched = {type for i in sides[1] for type in rules.rules[i].types}
        self._watched = np.array([name in watched for name in rules.events], bool)
        self._histories = [PartHistory(longest_reach(self._plans)) for _ in sides]
        self._large: list[dict[int, tuple[Any, ...]]] = [{}, {}]
        self.now: int | None = None
        self.passed: int | None = None
        self.count, self._events = 0, 0

    @property
    def texts(self) -> TextCodes:
        """The texts that it knows by their numbers."""
        return self.compiled.texts

    def fast(self, events: int) -> bool:
        """Whether a block of so many is taken as columns: each side sees to its own."""
        return events > 0

    # --- events -----------------------------------------------------------------------------------------

    def process(self, event: Occurrence) -> list[Occurrence]:
        """The composites that an event causes."""
        see_event(event, self.rules, self.now, self.passed)
        if abs(event.time) >= FAR:
            raise LargeNumberError(f"a time of {event.time} is too large", hint="use dates, or smaller numbers")
        self.now = event.time
        mine = bool(self._watched[self.rules.events.index(event.type)])
        slow = self._told(1, [event], self._other) if mine else self._until(1, event.time - 1)
        runs = self._told(0, [event], self.compiled), slow
        found, wrong = self._together(runs, np.arange(int(mine)), np.array([event.time], np.int64), sources=True)
        if wrong is not None:
            raise wrong
        return self._as_events(found, {})

    def process_block(self, block: EventBlock, *, sources: bool = False) -> Iterator[EventBlock | list[Occurrence]]:
        """The composites that a block of events causes, in the order of publication: see `CompiledRules`."""
        if not len(block):
            return
        see_block(block, self.now, self.passed)
        self.now = int(block.times[-1])
        order = np.flatnonzero(self._watched[block.types])
        parts = (block.taken(order[first : first + SOME]) for first in range(0, len(order), SOME))
        objects = (event for part in parts for event in part.occurrences(self.rules))
        slow = chain(self._told(1, objects, self._other), self._until(1, self.now - 1))
        fast = self.compiled.parts_of(block, kept, partial(self._recorded, 0))
        found, wrong = self._together((fast, slow), order, block.times, sources=sources)
        if any(self._large):
            yield self._as_events(found, block.texts)
        else:
            yield composite_block(found, self._layout, self._known(block.texts), sources=sources)
        if wrong is not None:
            raise wrong

    def advance(self, time: int) -> list[Occurrence]:
        """The composites that the clock causes up to a time."""
        nothing: Any = np.zeros(0, np.int64)
        fast = self.compiled.parts_until(time, kept, partial(self._recorded, 0))
        found, wrong = self._together((fast, self._until(1, time)), nothing, nothing, sources=True)
        if wrong is not None:
            raise wrong
        self.passed = time if self.passed is None else max(time, self.passed)
        self.now = self.passed if self.now is None else max(self.now, self.passed)
        return self._as_events(found, {})

    def _told(self, side: int, events: Iterable[Occurrence], engine: Any) -> Iterator[Published]:
        """What an engine tells of single events; what comes before an error, too."""
        found = list[Occurrence]()
        try:
            for event in events:
                found += engine.process(event)
        finally:
            yield self._recorded(side, found)

    def _until(self, side: int, time: int) -> Iterator[Published]:
        yield self._recorded(side, self._other.advance(time))

    def _recorded(self, side: int, found: Sequence[Occurrence]) -> Published:
        return recorded(self.compiled.running, self._sides[side][1], found, self._large[side])

    def _together(
        self, runs: Iterable[Iterable[Published]], order: Any, times: Any, *, sources: bool
    ) -> tuple[Published, WorkbenchError | None]:
        """What both sides publish, as one engine publishes it; where one of them fails, what came before."""
        self._large = [{}, {}]
        engines = self.compiled, self._other
        begun = [engine.count for engine in engines]
        made, errors = zip(*map(_caught, runs), strict=True)
        failed = [(engine.now or 0, i) for i, (engine, wrong) in enumerate(zip(engines, errors, strict=True)) if wrong]
        end, first = min(failed, default=(0, None))
        given = [each if first in (None, i) else _before(each, end) for i, each in enumerate(made)]
        for i, (each, order_of) in enumerate(zip(given, (None, order), strict=True)):
            begins = each.offsets + at.RULE
            each.words[begins] = self._sides[i][0][each.words[begins]]
            self._histories[i].add(PlacedBlock(each, begun[i], order_of, times, self._events, self._layout, alone=True))
        found = merged(given, self._histories, self.count, self._layout, sources=sources)
        self._events += len(times)
        self.count += len(times) + len(found.offsets)
        return found, None if first is None else errors[first]

    def _as_events(self, made: Published, texts: Mapping[int, str]) -> list[Occurrence]:
        """Composites one by one, also those with numbers that words have no room for."""
        found = composites(made, self._layout, self._known(texts))
        values = dict[int, tuple[Any, ...]]()
        for large, history in zip(self._large, self._histories, strict=True):
            if large:
                whole = history.each(np.array(list(large), np.int64), "whole")
                values |= zip(whole.tolist(), large.values(), strict=True)
        return [replace(each, values=values[each.number]) if each.number in values else each for each in found]

    def _known(self, texts: Mapping[int, str]) -> Mapping[int, str]:
        return ChainMap(texts, self.compiled.running.known)  # type: ignore[arg-type]  # neither is written to

    def profile(self) -> Sequence[RuleCost]:
        """What each rule has cost."""
        found = {cost.rule: cost for engine in (self.compiled, self._other) for cost in engine.profile()}
        return [found[rule.name] for rule in self.rules.rules if rule.name in found]


def _layout(rules: RuleSet, plans: Sequence[RulePlan]) -> SimpleNamespace:
    """What is to be known of a program in order to read what it publishes."""
    R: Any = np.zeros((len(plans) + 1, at.RULE_WORDS), np.int64)
    for row, plan in zip(R, plans, strict=False):
        given = len(plan.emitted.attributes)
        row[at.EMITS], row[at.GIVEN] = rules.events.index(plan.rule.emits), given
        row[at.SIZE] = at.RECORD + given + len(plan.event_slots)
    return SimpleNamespace(plan=SimpleNamespace(rules=rules, plans=plans), R=R, asked=range(len(plans)))


def _before(made: Published, time: int) -> Published:
    """What has been published of a side up to the time at which the other one failed."""
    return Published(made.words, made.offsets[made.words[made.offsets + at.WHEN] <= time])


def _caught(parts: Iterable[Published]) -> tuple[Published, WorkbenchError | None]:
    """What has been published, and the error with which it ends."""
    found = list[Published]()
    try:
        found.extend(parts)
    except WorkbenchError as error:
        return joined_parts(found), error
    return joined_parts(found), None
