"""Experiment: what `--backend auto` chooses on random workloads of rules, beside what each engine takes.

    python experiments/rule_choice.py [--workloads 10] [--seed 1] [--fresh]

A workload is a rule set of one to twelve rules and a CSV file of 2,000 to 400,000 events, both from a seed. Every
engine runs it as a process of its own, and its processor seconds are taken. The kernel of rules has been compiled
before, and is kept; with `--fresh` it is not, and each run compiles it.
"""

from __future__ import annotations

import argparse
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

from workbench.executors.compiled.rules.engine import CompiledRules
from workbench.tesla.check import parse_rules as checked_rules
from workbench.tesla.engines.engine import EngineSettings
from workbench.tesla.occurrence import Occurrence

ENGINES = ("cdp", "aip", "compiled", "auto")
TYPES = "declare A(x: int, y: int) declare B(x: int, y: int) declare C(x: int, y: int) declare P(x: int, y: int)\n"


def rule_text(rng: random.Random, number: int, window: int) -> str:
    """A rule of two or three parts, joined by an equation or not."""
    trigger, *others = rng.sample("ABC", rng.choice((2, 3)))
    joined = rng.random() < 0.7
    parts = [f"from {trigger}[$x = x](y < {rng.choice((5, 30, 100))})"]
    for other in others:
        constraint = "x == $x" if joined else f"y < {rng.choice((2, 5, 20))}, x > $x"
        parts.append(
            f"and {rng.choice(('each', 'first', 'last'))} {other}({constraint}) within {window} from {trigger}"
        )
    if rng.random() < 0.3:
        parts.append(f"and $s = SUM({others[0]}(x == $x).y within {window} from {trigger})")
    value = "$s" if "$s" in parts[-1] else f"{others[0]}.y"
    return f"rule r{number}: {' '.join(parts)} limit 20 emit P(x = $x, y = {value})\n"


def workload(seed: int, folder: Path) -> tuple[Path, Path, str]:
    """The rules and the log of a seed, and a line about them."""
    rng = random.Random(seed)
    rules, window = rng.choice((1, 2, 4, 12)), rng.choice((20, 200, 2000))
    events, values = rng.choice((2_000, 20_000, 100_000, 400_000)), rng.choice((10, 1000, 50_000))
    text, log = folder / f"{seed}.tesla", folder / f"{seed}.csv"
    text.write_text(TYPES + "".join(rule_text(rng, i, window) for i in range(rules)))
    with log.open("w") as file:
        file.write("type,time,x,y\n")
        for i in range(events):
            file.write(f"{rng.choice('ABC')},{i},{rng.randrange(values)},{rng.randrange(100)}\n")
    return text, log, f"{rules} rules, window {window}, {values} values, {events:,} events"


def compile_kernel() -> None:
    """Have machine code be kept."""
    engine = CompiledRules(checked_rules(TYPES), {}, EngineSettings())
    engine.use_machine_code()
    engine.process(Occurrence("A", 0, (0, 0)))


def taken(text: Path, log: Path, engine: str, cache: Path, limit: float) -> tuple[float, str]:
    """Processor seconds of a run, and what is said of the choice."""
    command = [sys.executable, "-m", "workbench.cli.main", "run", str(text), "--input", str(log), "--backend", engine]
    environment = {**os.environ, "XDG_CACHE_HOME": str(cache)}
    before = os.times()
    try:
        done = subprocess.run(
            [*command, "--output", os.devnull, "--format", "csv"], env=environment, capture_output=True, text=True,
            timeout=limit, check=True,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return float("inf"), ""
    after = os.times()
    said = [line for line in done.stderr.splitlines() if "engine " in line]
    spent = after.children_user + after.children_system - before.children_user - before.children_system
    return spent, said[0] if said else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workloads", type=int, default=10)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--fresh", action="store_true")
    parser.add_argument("--limit", type=float, default=300.0, help="seconds, after which an engine is given up")
    given = parser.parse_args()
    near = 0
    if not given.fresh:
        compile_kernel()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for seed in range(given.seed, given.seed + given.workloads):
            text, log, told = workload(seed, folder)
            cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
            cache = folder / f"cache{seed}" if given.fresh else cache
            seconds = {engine: taken(text, log, engine, cache, given.limit) for engine in ENGINES}
            best = min(seconds[engine][0] for engine in ENGINES[:-1])
            ratio = seconds["auto"][0] / best
            near += ratio <= 1.3
            shown = ", ".join(f"{engine} {value:.2f}" for engine, (value, _) in seconds.items())
            print(f"{told}: {shown}; {ratio:.2f} times the best; {seconds['auto'][1]}", flush=True)
    print(f"within 1.3 times of the best: {near} of {given.workloads}")


if __name__ == "__main__":
    main()
