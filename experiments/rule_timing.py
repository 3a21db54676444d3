"""Running engines of rules on loads: what an event costs once the windows are full, and whether the counts are right.

The rule of this module: only what engines do is timed, in CPU seconds of this process; logs lie in memory as the engine
takes them. An engine is named as in the table, and how it is used is written behind it: `cdp scanning` has no indexes,
`compiled pushed` is given one event at a time where it would take a block of columns.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from experiments.rule_loads import EventLog, RuleLoad
from workbench.executors.table import rule_engines
from workbench.tesla.engines.engine import EngineSettings, RuleEngine, rule_engine
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

SCANNING, PUSHED = " scanning", " pushed"
ONE_BY_ONE = ("aip", "cdp")
"""The engines of the papers, which know no blocks."""
BLOCK, ONE_AFTER_ANOTHER = 16_384, 256
"""Events of a stretch: as a block of columns, or one by one."""
FEWEST = 64
"""Of which the types, and so the triggers, are about as often as they are drawn."""
WARMING = 3.0
"""CPU seconds that are enough for machine code to be there."""


def engines(*forms: str) -> list[str]:
    """The engines of the table, each without and with these forms, then `gpu`; `pushed` where there is a choice."""
    known = [each for each in rule_engines() if each != "gpu"]
    named = [each + form for form in ("", *forms) for each in known if form != PUSHED or each not in ONE_BY_ONE]
    return [*sorted(named, key=lambda each: known.index(each.split()[0])), "gpu"]


def started(rules: RuleSet, name: str) -> RuleEngine:
    """An engine in one of its forms; one that has machine code has it from the beginning."""
    made: Any = rule_engine(rules, name.split()[0], settings=EngineSettings(indexed=SCANNING not in name))
    if hasattr(made, "use_machine_code"):
        made.use_machine_code()
    engine: RuleEngine = made
    return engine


class Fed(NamedTuple):
    """A stretch of a log that an engine has got: how many events, composites and CPU seconds."""

    events: int
    composites: int
    seconds: float


def fed(
    engine: RuleEngine, name: str, log: EventLog, budget: float = float("inf"), kept: list[Occurrence] | None = None
) -> Iterator[Fed]:
    """Feed a log to an engine, stretch by stretch, until it ends or this much CPU time is used.

    With a budget the first stretch is short, and so are others where an event costs so much that they would be over it.

    Parameters
    ----------
    kept: gets the composites, untimed.
    """
    taken = getattr(engine, "process_block", None) if PUSHED not in name else None
    most, at, used = BLOCK if taken else ONE_AFTER_ANOTHER, 0, 0.0
    while at < len(log) and used < budget:
        affordable = at * (budget - used) / max(used, 1e-9) if at else 0.0
        stretch = most if budget == float("inf") else int(min(max(most // 32, FEWEST, affordable), most))
        part = log.part(at, at + stretch)
        if taken:
            block: Any = part.block(engine.rules)
            count, held, began = 0, list[Any](), process_time()
            for made in taken(block):
                count += len(made)
                if kept is not None:
                    held.append(made)
            ended = process_time()
            if kept is not None:
                kept += [each for found in held for each in found.occurrences(engine.rules)]
        else:
            events = list(part.occurrences())
            began = process_time()
            made = [composite for event in events for composite in engine.process(event)]
            ended = process_time()
            count = len(made)
            if kept is not None:
                kept += made
        found = Fed(len(part), count, ended - began)
        at, used = at + stretch, used + found.seconds
        yield found


@dataclass
class ServedQueue:
    """A queue of a tenth of a second's events in front of an engine; an event that finds it full is dropped.

    The engine has a core to itself whatever else the machine does: an event is served for the CPU time that it takes,
    on a clock of the queue's own, so that nobody waits for the time of events to come.

    Parameters
    ----------
    log: its times count microseconds.
    blocks: an engine that is free takes all that wait as a block of columns; else one event.

    Attributes
    ----------
    free: when the engine will be, in seconds of the log; `busy`: for how many seconds it has not been.
    """

    engine: RuleEngine
    log: EventLog
    rate: int
    blocks: bool = False
    dropped: int = 0
    free: float = 0.0
    busy: float = 0.0

    def __post_init__(self) -> None:
        self._waiting: deque[int] = deque()
        self._times = (self.log.times * 1e-6).tolist()
        self._events = [] if self.blocks else list(self.log.occurrences())

    def add(self, at: int) -> None:
        """The event at a place comes."""
        self.serve(self._times[at])
        if len(self._waiting) < self.rate // 10:
            self._waiting.append(at)
        else:
            self.dropped += 1

    def serve(self, until: float = float("inf")) -> None:
        """What waits is served, as far as that begins up to a time."""
        while self._waiting and (begun := max(self.free, self._times[self._waiting[0]])) <= until:
            some = [self._waiting.popleft()]
            while self.blocks and self._waiting and self._times[self._waiting[0]] <= begun:
                some.append(self._waiting.popleft())
            spent = self._spent(some)
            self.free, self.busy = begun + spent, self.busy + spent

    def _spent(self, some: list[int]) -> float:
        if not self.blocks:
            (at,) = some
            began = process_time()
            self.engine.process(self._events[at])
            return process_time() - began
        taken: Any = self.engine
        block = self.log.where(np.array(some)).block(self.engine.rules)
        began = process_time()
        for _ in taken.process_block(block):
            pass
        return process_time() - began


def queued(
    engine: RuleEngine, log: EventLog, rate: int, *, blocks: bool = False, steady: int = 0, most: int | None = None
) -> dict[str, Any]:  # fmt: skip
    """The part of the events that are dropped, and of the time in which the engine is busy, in percent.

    Parameters
    ----------
    blocks: see `ServedQueue`.
    most: how many events are served; the others are taken to be as those from the event `steady` on.
    """
    queue, count = ServedQueue(engine, log, rate, blocks), min(most or len(log), len(log))
    dropped = busy = 0.0
    for at in range(count):
        if at == steady:
            dropped, busy = queue.dropped, queue.busy
        queue.add(at)
    queue.serve()
    more = (len(log) - count) / max(1, count - steady)
    dropped, busy = (now + more * (now - before) for now, before in ((queue.dropped, dropped), (queue.busy, busy)))
    return {"dropped": 100 * dropped / len(log), "busy": min(100.0, 100 * busy / max(queue.free, len(log) / rate))}


def found_matches(load: RuleLoad, asked: str, first: int) -> Fed:
    """What it takes to find matches without composites, from a place in a log on.

    Parameters
    ----------
    asked: `first` (of each trigger), or `columns`.
    """
    from workbench.executors.compiled.rules.matches import CompiledMatches

    text = load.text.replace("  emit", "limit 1\n  emit") if asked == "first" else load.text
    made = replace(load, text=text).rules
    before, log = load.log.part(0, first), load.log.part(first, len(load.log))
    before = before.where(~np.isin(before.types, load.triggers))  # these leave nothing behind
    for _ in range(2):  # machine code is loaded the first time
        engine = CompiledMatches(made, {}, EngineSettings(), numbers=True)
        engine.engine.use_machine_code()
        _found(engine, before)
        count, seconds = _found(engine, log)
    return Fed(len(log), count, seconds)


def _found(engine: Any, log: EventLog) -> tuple[int, float]:
    """How many matches are told of a log, and in how many CPU seconds."""
    count, seconds = 0, 0.0
    for at in range(0, len(log), BLOCK):
        block = log.part(at, at + BLOCK).block(engine.engine.rules)
        began = process_time()
        count += sum(map(len, engine.matches(block)))
        seconds += process_time() - began
    return count, seconds


def warmed(load: RuleLoad, name: str) -> RuleEngine:
    """An engine whose machine code is there, if it has any: another one has run the beginning of the log."""
    if name.split()[0] not in ONE_BY_ONE:
        totals(fed(started(load.rules, name), name, load.log.part(0, 2 * BLOCK), WARMING))
    return started(load.rules, name)


def totals(stretches: Iterator[Fed]) -> Fed:
    """All of them together."""
    return Fed(*(sum(column) for column in zip(*stretches, strict=True)))


def filled(load: RuleLoad, name: str) -> RuleEngine:
    """An engine whose windows are full.

    Events that do nothing but trigger rules leave nothing behind where nothing is consumed: the engine is not given
    those that come before it is measured, which saves what it takes to scan for them.
    """
    engine = warmed(load, name)
    before = load.log.part(0, load.fill)
    for _ in fed(engine, name, before.where(~np.isin(before.types, load.triggers))):
        pass
    return engine


def cost(load: RuleLoad, name: str, budget: float) -> dict[str, Any]:
    """What an event costs after the windows have filled, over as many events as the budget of CPU seconds allows."""
    engine = filled(load, name)
    found = totals(fed(engine, name, load.log.part(load.fill, len(load.log)), budget))
    expected = int(load.expected[load.fill : load.fill + found.events].sum())
    assert found.composites == expected, f"{name} has {found.composites} composites, not {expected}"
    return {
        "us": 1e6 * found.seconds / found.events, "events": found.events, "composites": found.composites,
    }  # fmt: skip


def reached(size: int) -> float:
    """Seconds for a look at so many bytes, each of which tells where the next one is, in random order."""
    import numba

    lines = size // 64
    order = np.random.default_rng(1).permutation(lines)
    places: Any = np.zeros(size // 8, np.int64)
    places[8 * order] = 8 * np.roll(order, -1)

    def walk(places: Any, steps: int) -> int:
        at = 0
        for _ in range(steps):
            at = places[at]
        return at

    walked, steps = numba.njit(walk), 2_000_000
    walked(places, lines)
    began = process_time()
    walked(places, steps)
    return (process_time() - began) / steps
