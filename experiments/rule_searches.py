"""What it takes to look for the predicates of a rule: as they are written, as is chosen, and in the best order of all.

The rule of this module: how many composites there must be is counted from the columns, and no engine is asked. CPU
microseconds an event, in one process, the lines of a load in turns, the least of several runs; machine code is made
before. `before` is without any choice: each predicate is looked for where it is written.

    python -m experiments.rule_searches [--events 20000] [--window 2000] [--repeats 5] [--only NAME] [--json]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from time import process_time
from typing import Any, NamedTuple

import numpy as np

from experiments.rule_loads import EventLog, uniform_log
from experiments.rule_timing import BLOCK
from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.executors.compiled.rules.run_source import RunSource
from workbench.tesla.check import rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.engines.search_order import RuleSearches, SearchGroup
from workbench.tesla.engines.set_plan import SetPlan

TYPES, VALUES = "ABXC", 50_000
Fits = Callable[[dict[str, Any], dict[str, Any]], Any]
"""Of the columns of candidates, and the values of a trigger: which fit."""


class SearchLoad(NamedTuple):
    """What a rule looks for; of each predicate the type, whether it is `each`, one event or `not`, and what fits."""

    parts: str
    predicates: Sequence[tuple[str, str, Fits]]


def _same(values: int) -> Fits:
    return lambda one, other: one["att"] % values == other["att"] % values


def _sevens(one: dict[str, Any], other: dict[str, Any]) -> Any:
    return (one["value"] + other["value"]) % 7 == 3


def _rarely(one: dict[str, Any], other: dict[str, Any]) -> Any:
    return (one["value"] + other["value"]) % 1000 == 7


def _any(one: dict[str, Any], _: dict[str, Any]) -> Any:
    return one["value"] > 0


SCANNED, RARE = "(value + $v) % 7 == 3", "(value + $v) % 1000 == 7"
LOADS = {
    "rare last": SearchLoad(
        f"each A({SCANNED}) within W from C and last X(att == $k) within W from C",
        [("A", "each", _sevens), ("X", "one", _same(VALUES))],
    ),
    "rare first": SearchLoad(
        f"last X(att == $k) within W from C and each A({SCANNED}) within W from C",
        [("A", "each", _sevens), ("X", "one", _same(VALUES))],
    ),
    "negation last": SearchLoad(
        f"last A({RARE}) within W from C and not X(att % 10 == $k % 10) within W from C",
        [("A", "one", _rarely), ("X", "not", _same(10))],
    ),
    "two loops": SearchLoad(
        f"each A({SCANNED}) within W from C and each B(att == $k) within W from C",
        [("A", "each", _sevens), ("B", "each", _same(VALUES))],
    ),
    "inner loop": SearchLoad(
        f"each A(att % 50 == $k % 50) within W from C and each B({RARE}) within W from C",
        [("A", "each", _same(50)), ("B", "each", _rarely)],
    ),
    "three, the cheapest last": SearchLoad(
        f"last A({RARE}) within W from C and last B({RARE}) within W from C and last X(att == $k) within W from C",
        [("A", "one", _rarely), ("B", "one", _rarely), ("X", "one", _same(VALUES))],
    ),
    "all found": SearchLoad(
        "last A(att % 10 == $k % 10) within W from C and last B(att % 10 == $k % 10) within W from C",
        [("A", "one", _same(10)), ("B", "one", _same(10))],
    ),
    "all told": SearchLoad(
        f"each A({SCANNED}) within W from C and not X(att == $k) within W from C",
        [("A", "each", _sevens), ("X", "not", _same(VALUES))],
    ),
    "windows told": SearchLoad(
        "each A within V from C and not X(att == $k) within V from C",
        [("A", "each", _any), ("X", "not", _same(VALUES))],
    ),
}  # fmt: skip


class AsWritten(RunSource):
    """Each predicate is looked for where it is written."""

    may_choose = False


def in_order(number: int) -> type[RunSource]:
    """Sources that look in one order, of those there are."""

    class InOrder(RunSource):
        def _orders_of(self, group: SearchGroup) -> Sequence[Sequence[int]]:
            return [group.orders[number % len(group.orders)]]

    return InOrder


def text_of(load: SearchLoad, log: EventLog, window: int) -> str:
    """The rule."""
    parts = load.parts.replace("W", str(window)).replace("V", str(window // 50))
    return f"{log.declarations}declare CE(v: int)\nfrom C[$v = value, $k = att] and {parts} emit CE(v = $v)"


def expected(load: SearchLoad, log: EventLog, window: int) -> int:
    """How many composites there are."""
    window = window if "W" in load.parts else window // 50
    columns, found = {**log.attributes}, 0
    for place in np.flatnonzero(log.types == TYPES.index("C")):
        before = slice(max(0, place - window), place)
        candidates = {name: column[before] for name, column in columns.items()}
        trigger, count = {name: column[place] for name, column in columns.items()}, 1
        for type, policy, fits in load.predicates:
            fit = int(np.sum(fits(candidates, trigger) & (log.types[before] == TYPES.index(type))))
            count *= {"each": fit, "one": int(fit > 0), "not": int(fit == 0)}[policy]
        found += count
    return found


def taken(program: RuleProgram, log: EventLog) -> tuple[float, int]:
    """CPU seconds for the log, and how many composites there are."""
    engine = CompiledRules(program.plan.rules, {}, EngineSettings(), True, program)
    seconds, count = 0.0, 0
    for at in range(0, len(log), BLOCK):
        block = log.part(at, at + BLOCK).block(engine.rules)
        began = process_time()
        found: Any = list(engine.process_block(block))
        seconds += process_time() - began
        count += sum(map(len, found))
    return seconds, count


def measured(name: str, events: int, window: int, repeats: int) -> dict[str, Any]:
    """CPU microseconds an event, by lines."""
    load, log = LOADS[name], uniform_log(events, len(TYPES), VALUES, TYPES, "value", "att")
    plan, meant = SetPlan(rules(text_of(load, log, window))), expected(load, log, window)
    orders = max(len(group.orders) for group in RuleSearches(plan, 0).groups.values())
    sources: dict[str, Any] = {"before": AsWritten, "chosen": RunSource}
    sources |= {f"order {number}": in_order(number) for number in range(orders)}
    least = dict.fromkeys(sources, float("inf"))
    for _ in range(repeats + 1):  # machine code is made the first time
        for line, source in sources.items():
            # what has been learned stands in the program: each run begins with a new one
            seconds, count = taken(RuleProgram(plan, EngineSettings(), source), log)
            assert count == meant, f"{name}, {line}: {count} composites, not {meant}"
            least[line] = min(least[line], 1e6 * seconds / events)
    best = min((line for line in sources if line.startswith("order")), key=lambda line: least[line])
    return {
        "load": name, "orders": orders, "composites": meant, "before": least["before"], "written": least["order 0"],
        "chosen": least["chosen"], "best": least[best], "worst": max(least[each] for each in sources if " " in each),
    }  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description="what it takes to look for the predicates of a rule, by their order")
    parser.add_argument("--events", type=int, default=20_000)
    parser.add_argument("--window", type=int, default=2_000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=LOADS)
    parser.add_argument("--json", action="store_true", help="a line of JSON for each load")
    args = parser.parse_args()
    for name in [args.only] if args.only else LOADS:
        found = measured(name, args.events, args.window, args.repeats)
        if args.json:
            print(json.dumps(found), flush=True)
            continue
        told = ", ".join(f"{each} {found[each]:.3g}" for each in ("before", "written", "chosen", "best", "worst"))
        print(f"{name}: {told} us an event; {found['orders']} orders, {found['composites']:,} composites", flush=True)


if __name__ == "__main__":
    main()
