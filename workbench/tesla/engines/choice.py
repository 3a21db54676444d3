"""Which engine is to run rules on a log: what each would cost, by a model whose constants are measured on the machine.

The rule of this module: it decides what runs, and no result. The first events of the log are given to the engines in
Python, and what they cost is carried on to as many events as there are; machine code costs what it takes to load or to
make it, and then a part of what Python takes.

Source: Cugola and Margara, the conclusion: which algorithm is best depends on the rules and the load.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from statistics import median
from time import process_time
from typing import Any, Literal

from workbench.errors import Refused, WorkbenchError
from workbench.extensions import later
from workbench.tesla.engines.engine import EngineSettings, RuleEngine
from workbench.tesla.engines.rule_plan import RulePlan
from workbench.tesla.engines.rule_split import some_rules
from workbench.tesla.engines.table import rule_engine
from workbench.tesla.occurrence import Facts, Occurrence
from workbench.tesla.rule_set import RuleSet

AUTO = "auto"
"""What stands for the engine that fits the rules and the log."""
FEW = 4096
"""So many events are not worth a choice."""
WORTH = 1.5
"""Machine code is thought of where others take so many times what loading it takes: to look for it takes some, too."""
PUSH = 3e-6
"""Seconds for an event that is given by itself to machine code."""
STRETCHES = 16
"""Parts of the sample, which are timed by themselves."""
EventsGiven = Literal["columns", "singly", "keyed"]
"""How events come: as columns where an engine takes these, one by one, or each to the engine of its key."""
MakesNamed = Callable[[str], RuleEngine]
CLEARLY = 1.3
"""So many times as fast is taken for faster."""
MOST_TOLD = 8
"""Rules that are named."""
RULES_APART = later("workbench.executors.compiled.rules.mixed", "rules_apart")
SAMPLE, ENOUGH = 1024, 0.25
"""Events that engines are tried on, as long as they take no more seconds."""


@dataclass(frozen=True)
class EngineCosts:
    """What machine code costs, in processor seconds: `workbench doctor --calibrate` measures it.

    Attributes
    ----------
    load: until it runs, where it has been kept.
    make, make_line: to make it, and for each line of the rules' code.
    event: for each event.
    speed: how many times faster it does what `cdp` does.
    row: for each event that is made an object for the engines in Python.
    """

    load: float = 0.3
    make: float = 0.9
    make_line: float = 0.001
    event: float = 4e-7
    speed: float = 30.0
    row: float = 2.8e-6


@dataclass(frozen=True)
class EngineChoice:
    """What has been chosen.

    Attributes
    ----------
    why: in words.
    seconds: what each engine would take; of those that were thought of.
    """

    engine: str
    why: str
    seconds: Mapping[str, float] = field(default_factory=dict)


def chosen_engine(
    rules: RuleSet, facts: Facts, settings: EngineSettings, sample: Sequence[Occurrence], events: int | None,
    given: EventsGiven = "columns", make: MakesNamed | None = None,
) -> EngineChoice:  # fmt: skip
    """The engine that is expected to take the least processor time.

    Parameters
    ----------
    sample: the first events of the log.
    events: how many there are, about; None: they come as somebody writes them, and nobody knows.
    given: how events come.
    make: starts an engine by its name; None: it is of the rules.
    """
    make = make or partial(_started, rules, facts, settings)
    if settings.threads > 1:
        return EngineChoice("compiled", "only machine code has several threads")
    if events is None:
        why = _refusal(make, "singly")
        return EngineChoice("cdp", why) if why else EngineChoice("compiled", "it begins at once, and gets faster")
    if events < FEW:
        return EngineChoice("cdp", f"there are few events, about {events:,}")
    costs = engine_costs()
    tried = _tried(rules, make, sample, events)
    seconds = {name: found + events * costs.row for name, found in tried.items()}
    best = min(seconds, key=lambda name: seconds[name])
    if seconds[best] > WORTH * costs.load:
        if why := _refusal(make, given):
            if given == "columns" and (both := _both(rules, facts, settings, sample, events, tried["cdp"])):
                name, seconds[name], split = both
                if seconds[name] < seconds[best]:
                    return EngineChoice(name, f"{split}; {_told(seconds)}", seconds)
            return EngineChoice(best, f"{why}; {_told(seconds)}", seconds)
        fast = events * (costs.event if given == "columns" else costs.row + PUSH) + tried["cdp"] / costs.speed
        seconds["compiled"] = _compiled(make("compiled"), costs, fast, seconds["cdp"])
        best = min(seconds, key=lambda name: seconds[name])
    return EngineChoice(best, _told(seconds), seconds)


def _tried(rules: RuleSet, make: MakesNamed, sample: Sequence[Occurrence], events: int) -> dict[str, float]:
    """What the engines in Python take that have such rules."""
    found = {"cdp": carried_on(rules, make("cdp"), sample, events)}
    with suppress(Refused):
        found["aip"] = carried_on(rules, make("aip"), sample, events)
    return found


def _both(
    rules: RuleSet, facts: Facts, settings: EngineSettings, sample: Sequence[Occurrence], events: int, slow: float
) -> tuple[str, float, str] | None:
    """The engines that have all rules between them, what they take, and which of them has which rule; None: no two.

    Parameters
    ----------
    slow: what `cdp` takes for all rules.
    """
    apart: Mapping[int, str] = RULES_APART(rules, settings)
    if not apart:
        return None
    others, types = some_rules(rules, apart), {type for place in apart for type in rules.rules[place].types}
    some = [each for each in sample if each.type in types]
    count = events * len(some) // max(1, len(sample))
    tried = _tried(others, partial(_started, others, facts, settings), some, count)
    other = "aip" if CLEARLY * tried.get("aip", slow) < tried["cdp"] else "cdp"
    try:
        made: Any = _started(rules, facts, settings, f"compiled+{other}")
    except Refused:
        return None
    costs, rest = engine_costs(), max(1e-9, slow - tried["cdp"])
    fast = _compiled(made.compiled, costs, events * costs.event + rest / costs.speed, rest)
    return f"compiled+{other}", fast + tried[other] + count * costs.row, _shares(rules, apart, other)


def _shares(rules: RuleSet, apart: Mapping[int, str], other: str) -> str:
    """Which engine has which rules."""
    count = len(rules.rules) - len(apart)
    told = [f"{rules.rules[place].name} ({why})" for place, why in apart.items()]
    return f"compiled for {count} of the rules, {other} for {', '.join(told[:MOST_TOLD])}" + ", ..." * (
        len(told) > MOST_TOLD
    )


def _started(rules: RuleSet, facts: Facts, settings: EngineSettings, name: str) -> RuleEngine:
    return rule_engine(rules, name, facts, settings)


def _refusal(make: MakesNamed, given: EventsGiven) -> str:
    """Why there can be no machine code; empty if there can."""
    if given == "keyed":
        return "an engine for each key is none for machine code"
    if find_spec("llvmlite") is None:
        return "llvmlite is not installed, which makes machine code"
    try:
        made = make("compiled")
    except Refused as error:
        return error.what
    return "tables are too large to be kept" if given == "singly" and getattr(made, "by_blocks", False) else ""


def _compiled(engine: RuleEngine, costs: EngineCosts, fast: float, slow: float) -> float:
    """What machine code takes that takes so long for the log, where `cdp` takes so long: this runs while it is made."""
    if getattr(engine, "kept", True):
        return costs.load + fast
    made = costs.make + costs.make_line * getattr(engine, "lines", 0)
    waited = min(made, slow)
    return waited + made + costs.load + fast * (1 - waited / slow)


def carried_on(rules: RuleSet, engine: RuleEngine, sample: Sequence[Occurrence], events: int) -> float:
    """What an engine in Python takes for so many events, of which these are the first.

    As long as windows fill, an event may cost more than the one before it. How much more is the median over any two
    stretches of the sample, for single ones are slow by chance; so it goes on until the longest window is full.
    """
    size = max(1, len(sample) // STRETCHES)
    taken, ends, seen = list[float](), process_time() + ENOUGH, 0
    for first in range(0, len(sample), size):
        began, count = process_time(), 0
        with suppress(WorkbenchError):  # it comes again, when it counts
            for event in sample[first : first + size]:
                engine.process(event)
                count += 1
                if process_time() > ends:
                    break
        seen += count
        if count < size and taken:
            break
        taken.append((process_time() - began) / max(1, count))
    now = median(taken[-STRETCHES // 4 :]) if taken else 0.0
    slopes = [(other - one) / (j - i) / size for (i, one), (j, other) in combinations(enumerate(taken), 2)]
    growth = median(slopes) if slopes else 0.0
    if growth * seen < now / 3:  # which may be chance
        return events * now
    more = max(0, min(events, filled(rules, sample)) - seen)
    return events * now + growth * more * (events - seen - more / 2)


def filled(rules: RuleSet, sample: Sequence[Occurrence]) -> int:
    """How many events the longest window has, if they come as often as the first ones."""
    length = sample[-1].time - sample[0].time if sample else 0
    found = 0
    for rule in rules.rules:
        plan = RulePlan(rule, rules.declarations)
        reaches = [plan.horizon(step) for step in plan.steps[1:] if not step.fact]
        if None in reaches:
            return 1 << 62
        found = max([found, *(reach or 0 for reach in reaches)])
    return found * len(sample) // length if length else 1 << 62


def _told(seconds: Mapping[str, float]) -> str:
    return ", ".join(f"{name} about {value:.2g} s" for name, value in sorted(seconds.items(), key=lambda each: each[1]))


# --- constants ------------------------------------------------------------------------------------------


def costs_path() -> Path:
    """Where what has been measured is kept: in the user's cache."""
    base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "workbench" / "rule_costs.json"


def engine_costs() -> EngineCosts:
    """What has been measured on this machine, or else on another one."""
    with suppress(OSError, ValueError, TypeError):
        if costs_path().is_file():  # a pipe would wait for who writes
            return EngineCosts(**json.loads(costs_path().read_text()))
    return EngineCosts()


def keep_costs(costs: EngineCosts) -> Path:
    """Keep what has been measured; where."""
    path = costs_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(costs)) + "\n")
    return path
