"""Benchmark: engines of rules side by side, block by block in turns, in CPU time of one core.

    python -m experiments.bench_rules [--engines compiled,cdp] [--loads W1,R5,...] [--events 400000]

Every engine gets the same block before any gets the next one, so that what else the machine does meets all of them. A
block counts once the windows are full; the first quarter of the blocks in order of their cost is averaged. Composites
are counted, and their number is held to what must come of the load. Where several engines are named, the last column
has their ratios to the last one; `cdp` takes minutes for some loads unless there are few events.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping

import numpy as np

from experiments.rule_loads import (
    RuleLoad,
    Scenario,
    ThesisLoad,
    anchor_r5,
    anchor_w1,
    anchor_w2,
    banded,
    constants_load,
)
from experiments.rule_timing import Fed, fed, warmed

LOADS: Mapping[str, Callable[[int], RuleLoad]] = {
    "W1": anchor_w1,
    "R5": anchor_r5,
    "W2": anchor_w2,
    "dense": lambda count: anchor_w2(count // 4, 1_000),
    "thesis": lambda count: ThesisLoad(600, seconds=max(20, count // 10_000)).load(),
    "each": lambda count: Scenario("each", rules=200, groups=10).load(count // 4),
    "last": lambda count: Scenario("last", rules=200, groups=10).load(count // 4),
    "constants": lambda count: constants_load(10_000, 10_000, count // 4),
    "long": lambda count: Scenario("each", values=1_000).load(count // 4),
    "sums": lambda count: Scenario("last", values=100).load(count // 4),
    "accepted": lambda count: Scenario("each", window=50_000, values=2_000, accepted=0.01).load(count // 4),
    "bands": lambda count: banded(100_000 + count // 10, 100_000, "each"),
    "keyed bands": lambda count: banded(100_000 + count // 10, 100_000, "last", keys=10),
}
"""Name to a load of about so many events, of which those that fill the windows are not measured."""
COUNTED_BY_COMPOSITES = ("dense", "thesis")
"""Loads whose cost is that of their composites."""


def run_in_turns(load: RuleLoad, engines: list[str]) -> Mapping[str, list[Fed]]:
    """Feed a load to engines, and measure the blocks behind those that fill its windows."""
    streams = {name: fed(warmed(load, name), name, load.log) for name in engines}
    found: dict[str, list[Fed]] = {name: [] for name in engines}
    done, composites = 0, dict.fromkeys(engines, 0)
    for blocks in zip(*streams.values(), strict=True):
        for name, block in zip(engines, blocks, strict=True):
            composites[name] += block.composites
            if done >= load.fill:
                found[name].append(block)
        done += blocks[0].events
    assert set(composites.values()) == {load.expected.sum()}, composites
    return found


def least(blocks: list[Fed], *, by_composites: bool) -> float:
    """Nanoseconds for an event, or for a composite, in the fastest quarter of the blocks."""
    costs = sorted(1e9 * each.seconds / (each.composites if by_composites else each.events) for each in blocks)
    return float(np.mean(costs[: max(1, len(costs) // 4)]))


def main() -> int:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engines", default="compiled", help="names, the last one the measure of the others")
    parser.add_argument("--loads", default=",".join(LOADS))
    parser.add_argument("--events", type=int, default=400_000)
    given = parser.parse_args()
    engines = given.engines.split(",")
    print("load", "unit", *engines, "ratio", sep="\t")
    for name in given.loads.split(","):
        by_composites = name in COUNTED_BY_COMPOSITES
        found = run_in_turns(LOADS[name](given.events), engines)
        costs = [least(found[each], by_composites=by_composites) for each in engines]
        unit = "ns a composite" if by_composites else "ns an event"
        ratios = ", ".join(f"{cost / costs[-1]:.2f}" for cost in costs[:-1])
        print(name, unit, *(f"{cost:.1f}" for cost in costs), ratios, sep="\t", flush=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
