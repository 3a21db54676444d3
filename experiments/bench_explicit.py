"""Benchmark: the explicit engine, in states a second and beside NuSMV on the same models.

    python experiments/bench_explicit.py [--limit 60] [--out reports/bench_explicit]

All times are CPU seconds of one core, the least of three runs. The rates are those of the compiled search alone,
from the first state to the last; what compiling costs stands beside it. One table tells what small checks cost and what
the first use on a machine does, another what the machine's memory allows, measured in the same run. NuSMV (BDDs,
through pynusmv) decides the same questions on the same cone.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.processors.held.group import flatten
from workbench.smv.engines.engine import EngineLimits
from workbench.verify.answer.prepare import prepare
from workbench.verify.ask.labels import property_from
from workbench.verify.decide.deciders import get_decider
from workbench.verify.decide.explicit.decider import ExplicitDecider
from workbench.verify.decide.explicit.machine import CompiledSearch, version
from workbench.verify.decide.explicit.space import Space
from workbench.verify.decide.part import Part
from workbench.verify.decide.table import get_engine

ROOT = Path(__file__).resolve().parent.parent
SOURCE = """
# Every content of the window is a state.
pipeline one<k = 24>(x: int) -> int { return window(x, k, cumulate(+)) }

# Two windows that hold the same events, and so use twice the bits for the same states.
pipeline two<k = 20>(x: int) -> int { return window(x, k, cumulate(+)) + window(x, k, cumulate(*)) }

# Three of them: more bits than a word has.
pipeline three<k = 20>(x: int) -> int { return two(x) + window(x, k, cumulate(max)) }

# One input waits for the other; the queue may hold any events.
pipeline waiting(x: bool, y: bool) -> bool { return x and y }

# Products: what BDDs are bad at.
pipeline products(x: int, y: int) -> int {
    a = cumulate(x * y, +)
    b = cumulate(a * a + y, *)
    return a * b + cumulate(b * y, +)
}
"""
MB = 1 << 14
"""Megabytes that a search may take."""
REPEAT = 3


@dataclass
class Row:
    """One model."""

    model: str
    prop: str
    n: int
    q: int
    bits: int
    moves: int
    states: int
    compile: float
    search: float
    verdict: str
    nusmv: str
    nusmv_seconds: float

    @property
    def states_a_second(self) -> float:
        """Different states."""
        return self.states / self.search

    @property
    def steps_a_second(self) -> float:
        """Steps taken, every move of every state."""
        return self.states * self.moves / self.search


CASES: tuple[tuple[str, dict[str, int], str, int, int], ...] = (
    ("one", {"k": 20}, "always (out >= 0)", 2, 2),
    ("one", {"k": 24}, "always (out >= 0)", 2, 2),
    ("one", {"k": 12}, "always (out >= 0)", 4, 2),
    ("two", {"k": 20}, "always (out >= 0)", 2, 2),
    ("two", {"k": 23}, "always (out >= 0)", 2, 2),
    ("three", {"k": 20}, "always (out >= 0)", 2, 2),
    ("waiting", {}, "always (out or x or y)", 2, 20),
    ("products", {}, "always (out >= 0)", 4, 1),
    ("products", {}, "always (out >= 0)", 64, 0),
)


def part_of(name: str, params: dict[str, int], text: str, n: int, q: int) -> Part:
    """The question about one of the models."""
    settings = wb.Settings(n=n, q=q)
    pipeline = wb.parse(SOURCE).get(name, **params).pipeline
    prop = property_from(wb.properties.parse_property(text))
    return prepare(flatten(pipeline.resolve(settings.domain)), prop, settings).main


def searched(space: Space) -> tuple[float, float, int]:
    """Seconds to compile and to find all states, and how many there are."""
    start = time.process_time()
    search = CompiledSearch(space, MB)
    compiled = time.process_time()
    while not search.complete:
        search.advance(1 << 16)
    return compiled - start, time.process_time() - compiled, search.size


def measured(name: str, params: dict[str, int], text: str, n: int, q: int, limit: float) -> Row:
    """One row."""
    part = part_of(name, params, text, n, q)
    space = Space(part.model.system, part.assume, [part.model.overflow, part.model.wraps])
    runs = [searched(space) for _ in range(REPEAT)]
    compiling, searching, states = min(r[0] for r in runs), min(r[1] for r in runs), runs[0][2]
    ours = ExplicitDecider(plain_seconds=0.0).decide(part, EngineLimits(), count_states=True)
    theirs = get_decider("pynusmv").decide(part, EngineLimits(seconds=limit), count_states=True)
    said = {role: answer.truth for role, answer in theirs.answers.items()}
    for role, truth in said.items():
        assert truth is None or truth is ours.answers[role].truth, f"{name}: {role}"
    if theirs.reachable_states is not None:
        assert ours.reachable_states == theirs.reachable_states, name
    count = "" if theirs.reachable_states is None else ", same count"
    verdict = {True: "true", False: "false", None: "undecided"}[ours.answers["property"].truth]
    nusmv = {True: "true", False: "false", None: f"> {limit:.0f} s"}[said["property"]] + count
    shown = f"{name}({', '.join(f'{k}={v}' for k, v in params.items())})" if params else name
    bits, moves = space.layout.bits, len(space.moves.chosen)
    return Row(shown, text, n, q, bits, moves, states, compiling, searching, verdict, nusmv, theirs.cpu_seconds)


SMALL = "part_of('one', {'k': 8}, 'always (out >= 0)', 2, 2)"
"""A model of 510 states."""


def small_checks() -> Iterator[tuple[str, float]]:
    """What a small check costs in a new process: in Python, and as machine code if that is wanted."""
    code = (
        "import sys, time; sys.path.insert(0, sys.argv[1]); from experiments.bench_explicit import part_of;"
        "from workbench.smv.engines.engine import EngineLimits;"
        "from workbench.verify.decide.explicit.decider import ExplicitDecider;"
        f"part = {SMALL}; start = time.process_time();"
        "ExplicitDecider(eval(sys.argv[2])).decide(part, EngineLimits()); print(time.process_time() - start)"
    )
    with tempfile.TemporaryDirectory() as folder:
        for what, seconds in (
            ("as it is decided (in Python)", "0.5"),
            ("as machine code, the first time on a machine", "0.0"),
            ("as machine code, later, in a new process", "0.0"),
        ):
            done = subprocess.run(
                [sys.executable, "-c", code, str(ROOT), seconds],
                env={**os.environ, "XDG_CACHE_HOME": folder},
                capture_output=True,
                text=True,
                check=True,
                cwd=ROOT,
            )
            yield what, float(done.stdout)


def memory() -> Iterator[tuple[str, str]]:
    """What the machine's memory allows: the search does one random access a step, and touches what it fills."""
    import numpy as np

    for megabytes in (1, 16, 128, 1024):
        table: Any = np.ones(megabytes << 17, np.int64)
        places = np.random.default_rng(1).integers(0, table.size, 1 << 22)
        times = []
        for _ in range(REPEAT):
            start = time.process_time()
            table.take(places)
            times.append(time.process_time() - start)
        yield f"random reads from {megabytes} MiB", f"{places.size / min(times) / 1e6:.0f} million a second"
    start = time.process_time()
    np.empty(1 << 27, np.int64)[::512] = 1
    yield "first touch of memory", f"{time.process_time() - start:.2f} s a GiB"


def report(rows: list[Row], costs: list[tuple[str, float]], bounds: list[tuple[str, str]], limit: float) -> str:
    """The whole benchmark as Markdown."""
    lines = [
        "# The explicit engine",
        "",
        f"Command: `python experiments/bench_explicit.py --limit {limit:g}`, {time.strftime('%Y-%m-%d')}, numba"
        f" {version()}, {get_engine('pynusmv').version()}, Python {platform.python_version()}, {os.cpu_count()} cores.",
        "CPU seconds of one core, the least of three runs. States are different states; steps are states times moves.",
        "NuSMV answers the same questions; its seconds are those of its process.",
        "",
        "| model | N | Q | bits | moves | states | compile, s | search, s | million states/s | million steps/s "
        "| answer | NuSMV | NuSMV, s |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        lines.append(
            f"| {r.model} | {r.n} | {r.q} | {r.bits} | {r.moves} | {r.states} | {r.compile:.2f} | {r.search:.2f} "
            f"| {r.states_a_second / 1e6:.1f} | {r.steps_a_second / 1e6:.1f} | {r.verdict} | {r.nusmv} "
            f"| {r.nusmv_seconds:.2f} |"
        )
    lines += ["", "| what the check of a model of 510 states costs | CPU, s |", "|---|---|"]
    lines += [f"| {what} | {seconds:.2f} |" for what, seconds in costs]
    lines += ["", "| this machine's memory, in this run | |", "|---|---|"]
    lines += [f"| {what} | {rate} |" for what, rate in bounds]
    lines += ["", "The models:", "", "```", SOURCE.strip(), "```"]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=float, default=60.0, help="seconds for NuSMV on each model")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_explicit")
    given = parser.parse_args()
    measured("one", {"k": 4}, "always (out >= 0)", 2, 2, given.limit)  # the loops are compiled once
    rows = []
    for case in CASES:
        rows.append(measured(*case, given.limit))
        print(f"  {rows[-1]}", file=sys.stderr)
    costs, bounds = list(small_checks()), list(memory())
    text = report(rows, costs, bounds, given.limit)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    data = [{**asdict(r), "states_a_second": r.states_a_second, "steps_a_second": r.steps_a_second} for r in rows]
    (given.out / "data.json").write_text(
        json.dumps({"models": data, "small": dict(costs), "memory": dict(bounds)}, indent=1) + "\n"
    )
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
