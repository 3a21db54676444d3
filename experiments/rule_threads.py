"""What a second thread gains for rules: one thread, two runs at once, and two threads, side by side.

The rule of this module: seconds are those of the clock, the least of several runs, so the machine has to have two cores
with nothing else to do. Two runs at once, each with a process of its own, say what two cores are worth for this work:
twice the time of one run, divided by that of both. Only keys may gain more, for they leave each thread half of what one
has to remember. Composites are counted in all of them, and are the same.

    python -m experiments.rule_threads [--only LOAD,LOAD] [--repeats 3] [--no-commands] [--json]

In memory, logs are given in blocks of columns, as large as those of a Parquet file; machine code has been made before.
Commands read Parquet, run and write Parquet, all of it timed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from experiments.rule_loads import SEED, EventLog, Scenario, anchor_r5
from workbench.executors.compiled.rules.by_time import RulesByTime
from workbench.executors.compiled.rules.threads import ThreadedRules
from workbench.tesla.check import parse_rules
from workbench.tesla.engines.engine import EngineSettings, rule_engine

BLOCK = 1 << 18
"""Events that are given at once."""


class ThreadLoad(NamedTuple):
    """Rules and a log."""

    text: str
    log: EventLog


def drawn(count: int, names: list[str], values: int = 50_000) -> EventLog:
    """An event a tick, of any of the types, with two attributes from 1 to `values`."""
    rng = np.random.default_rng(SEED)
    kinds = rng.integers(0, len(names), count)
    return EventLog(
        tuple(names), kinds, np.arange(count), {each: rng.integers(1, values + 1, count) for each in ("att", "value")}
    )


def keyed(count: int, window: int) -> ThreadLoad:
    """Rule R5 with its sum, in windows of so many ticks, with half as many keys: all windows have as many matches."""
    text = anchor_r5(1, window, values=window // 2).text
    return ThreadLoad(text, drawn(count, ["A", "B", "C"], window // 2))


def indexed(count: int, many: int) -> ThreadLoad:
    """So many rules as R5 of thirty types, an event relevant to a tenth: Cugola and Margara, figure 14."""
    load = Scenario(policy="last", rules=many, groups=10).load(1)
    return ThreadLoad(load.text.replace(", other: int", ""), drawn(count, list(load.log.names)))


def unequal(count: int, many: int, window: int = 10_000) -> ThreadLoad:
    """So many rules without keys: the last event of a window whose value is near the trigger's."""
    names = [f"{kind}{group}" for kind in "AC" for group in range(10)]
    log, lines = drawn(count, names), list[str]()
    for i in range(many):
        asked = f"value >= $v - {20 + i}, value <= $v + {20 + i}"
        lines.append(f"from C{i % 10}[$v = value] and last A{i * 7 % 10}({asked}) within {window} from C{i % 10}")
    text = "\n".join(f"{line} emit CE(first = TIME(A{i * 7 % 10}))" for i, line in enumerate(lines))
    return ThreadLoad(f"{log.declarations}declare CE(first: int)\n{text}\n", log)


def nested(count: int, window: int = 1_000) -> ThreadLoad:
    """A rule that looks at what others emit, and no key that holds them together."""
    log = drawn(count, ["A", "B", "C"])
    text = f"""{log.declarations}declare Near(value: int) declare Rise(low: int, high: int)
rule near: from B[$v = value] and last A(value >= $v - 500, value <= $v + 500) within {window} from B
emit Near(value = $v)
rule rise: from Near[$v = value] and last Near(value < $v) as Low within {window} from Near
  and $n = COUNT(C(value > $v) within {window} from Near) where $n > 2
emit Rise(low = Low.value, high = $v)
"""
    return ThreadLoad(text, log)


LOADS: dict[str, Callable[[], ThreadLoad]] = {
    "keys, 100,000 ticks": lambda: keyed(5_000_000, 100_000),
    "keys, 1,000 ticks": lambda: keyed(5_000_000, 1_000),
    "50 rules": lambda: indexed(5_000_000, 50),
    "200 rules": lambda: indexed(5_000_000, 200),
    "200 rules, 1 M": lambda: indexed(1_000_000, 200),
    "1 inequality": lambda: unequal(5_000_000, 1),
    "50 inequalities": lambda: unequal(1_000_000, 50),
    "hierarchy": lambda: nested(5_000_000),
}


def ran(load: ThreadLoad, block: Any, threads: int) -> tuple[float, int, str]:
    """Seconds that an engine takes for a log in memory, how many composites come of it, and what it shares out."""
    engine: Any = rule_engine(parse_rules(load.text), "compiled", settings=EngineSettings(threads=threads))
    made, began = 0, time.perf_counter()
    for first in range(0, len(block), BLOCK):
        for found in engine.process_block(block.part(first, first + BLOCK)):
            made += len(found)
    seconds = time.perf_counter() - began
    if threads == 1:
        return seconds, made, ""
    partition = engine.partition if isinstance(engine, ThreadedRules) else None
    return seconds, made, "nothing" if partition is None else "time" if isinstance(partition, RulesByTime) else "keys"


def warmed(load: ThreadLoad, block: Any) -> None:
    """Load machine code, and touch memory."""
    engine: Any = rule_engine(parse_rules(load.text), "compiled")
    for _ in engine.process_block(block.part(0, BLOCK)):
        pass


def alone(name: str, repeats: int) -> None:
    """One of two runs at once: begins when it is told to, each time."""
    load = LOADS[name]()
    block = load.log.block(parse_rules(load.text))
    warmed(load, block)
    for _ in range(repeats):
        print("ready", flush=True)
        input()
        print(ran(load, block, 1)[0], flush=True)


def both(name: str, repeats: int) -> float:
    """Seconds of two runs at once, the slower one's."""
    command = [sys.executable, "-m", "experiments.rule_threads", "--alone", name, "--repeats", str(repeats)]
    workers = [subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    least = float("inf")
    for _ in range(repeats):
        for each in workers:
            assert each.stdout is not None
            assert each.stdout.readline().strip() == "ready"
        for each in workers:
            assert each.stdin is not None
            each.stdin.write("\n")
            each.stdin.flush()
        least = min(least, max(float(each.stdout.readline()) for each in workers if each.stdout is not None))
    for each in workers:
        each.communicate()
    return least


def commands(load: ThreadLoad, folder: Path, repeats: int) -> list[float]:
    """Seconds of whole commands, in one thread and in two."""
    import pyarrow as pa
    from pyarrow import parquet

    log = load.log
    types = pa.DictionaryArray.from_arrays(pa.array(log.types.astype(np.int32)), pa.array(list(log.names)))
    parquet.write_table(pa.table({"type": types, "time": log.times, **log.attributes}), folder / "log.parquet")
    (folder / "rules.tesla").write_text(load.text)
    least = [float("inf")] * 2
    env = {
        name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"
    }  # starts would be long
    for _ in range(repeats):
        for i in range(2):
            command = [
                sys.executable, "-m", "workbench.cli.main", "run", str(folder / "rules.tesla"),
                "--input", str(folder / "log.parquet"), "--output", str(folder / f"out{i}.parquet"),
                "--backend", "compiled", "--threads", str(i + 1),
            ]  # fmt: skip
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True, env=env)
            least[i] = min(least[i], time.perf_counter() - began)
    one, two = (parquet.read_table(folder / f"out{i}.parquet") for i in range(2))
    assert one.equals(two), "two threads tell something else"
    return least


def measured(name: str, repeats: int, folder: Path | None) -> dict[str, Any]:
    """All lines of a load."""
    load = LOADS[name]()
    block, events = load.log.block(parse_rules(load.text)), len(load.log)
    least, made, shared = {1: float("inf"), 2: float("inf")}, set[int](), ""
    warmed(load, block)
    for _ in range(repeats):
        for threads in (1, 2):
            seconds, count, shared = ran(load, block, threads)
            least[threads] = min(least[threads], seconds)
            made.add(count)
    assert len(made) == 1, f"{name}: {made} composites"
    del block
    at_once = both(name, repeats)
    found = {
        "load": name, "events": events, "composites": made.pop(), "shared": shared,
        "one_ns": 1e9 * least[1] / events, "two_ns": 1e9 * least[2] / events,
        "ceiling": 2 * least[1] / at_once, "gain": least[1] / least[2],
    }  # fmt: skip
    if folder is not None:
        one, two = commands(load, folder, max(2, repeats - 1))
        found |= {"command_1_s": one, "command_2_s": two, "command_gain": one / two}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description="what a second thread gains for rules")
    parser.add_argument("--only", help="loads, with semicolons between them")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--no-commands", action="store_true", help="only what runs in memory")
    parser.add_argument("--json", action="store_true", help="a line of JSON for each load")
    parser.add_argument("--alone", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.alone:
        alone(args.alone, args.repeats)
        return
    print(f"load {os.getloadavg()[0]:.1f}; ns an event by the clock, least of {args.repeats}", file=sys.stderr)
    for name in args.only.split(";") if args.only else LOADS:
        with tempfile.TemporaryDirectory() as folder:
            found = measured(name, args.repeats, None if args.no_commands else Path(folder))
        if args.json:
            print(json.dumps(found), flush=True)
            continue
        line = (
            f"{name:26} one {found['one_ns']:6.1f}  two {found['two_ns']:6.1f} by {found['shared']:5}"
            f"  gain {found['gain']:.2f} of {found['ceiling']:.2f} (two runs at once)"
        )
        if "command_gain" in found:
            line += (
                f"  commands {found['command_1_s']:.2f} and {found['command_2_s']:.2f} s, {found['command_gain']:.2f}"
            )
        print(f"{line}  {found['composites']:,} composites", flush=True)


if __name__ == "__main__":
    main()
