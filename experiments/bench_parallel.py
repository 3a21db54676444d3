"""Benchmark: one long stream in two threads, beside one.

    python experiments/bench_parallel.py [--steps 4194304] [--out reports/bench_parallel]

The same piece of a stream goes through `Compiled` and `Parallel`, in turns, by wall time; the outputs are compared
first. Two bare compiled loops, in the same turns, tell what the machine gives to two threads at that time: 2 when two
cores are free. The CPU time of both tells what blocks cost: scans are folded beforehand or corrected afterwards.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numba
import numpy as np
from bench_run_cases import text_of

import workbench as wb

ROOT = Path(__file__).resolve().parent.parent
TURNS = 15
THREADS = 2
GOAL = 1.7

NAMES = (
    "doubling", "sum", "decimation", "even_ones", "window_3", "window_100", "window_max_100", "tenth_sum", "figure_5a",
    "work",
)  # fmt: skip
SOURCE = text_of(*NAMES)


@dataclass
class Row:
    """Of one pipeline, medians of all turns.

    Attributes
    ----------
    one, two: million events a second, by wall time.
    ratio, best: how many times as fast two threads are, in the median and at best.
    cost: CPU time of both threads over that of one.
    bare: how many times as fast two bare loops are in two threads, in the same turns.
    blocks: what runs in blocks, as the executor counts them; 0 would mean that it did not.
    """

    name: str
    one: float
    two: float
    ratio: float
    best: float
    cost: float
    bare: float
    blocks: int


def _mixed(events: Any, rounds: int) -> int:  # what the machine gives: arithmetic on a few cache lines
    total = 1
    for _ in range(rounds):
        for i in range(events.size):
            total = (total * 31 + events[i]) & 0xFFFFFFFF
    return total


mixed: Any = numba.njit(nogil=True)(_mixed)


def timed(work: Callable[[], object]) -> tuple[float, float]:
    """Wall and CPU seconds."""
    wall, cpu = time.perf_counter(), time.process_time()
    work()
    return time.perf_counter() - wall, time.process_time() - cpu


def bare() -> float:
    """Wall time of two loops one after the other, over that of both at the same time."""
    few = np.arange(1000)
    both = [threading.Thread(target=mixed, args=(few, 5000)) for _ in range(2)]

    def at_once() -> None:
        for thread in both:
            thread.start()
        for thread in both:
            thread.join()

    alone, _ = timed(lambda: (mixed(few, 5000), mixed(few, 5000)))
    return alone / timed(at_once)[0]


def measured(name: str, events: Any) -> Row:
    """One pipeline."""
    pipeline = wb.parse(SOURCE).get(name).pipeline
    one, two = wb.executors.Compiled(pipeline), wb.executors.Parallel(pipeline, threads=THREADS)
    for _ in range(2):  # the second time from a state that is not the initial one
        ours, theirs = two.feed(events)["out"].array, one.feed(events)["out"].array
        assert ours.tobytes() == theirs.tobytes(), name
    for executor in (one, two):
        executor.feed(events, reuse=True)
    bare()
    singles, doubles, frees = [], [], []
    for _ in range(TURNS):
        singles.append(timed(lambda: one.feed(events, reuse=True)))
        doubles.append(timed(lambda: two.feed(events, reuse=True)))
        frees.append(bare())
    ratios = [a[0] / b[0] for a, b in zip(singles, doubles, strict=True)]
    million = events.size / 1e6
    return Row(
        name,
        million / statistics.median(wall for wall, _ in singles),
        million / statistics.median(wall for wall, _ in doubles),
        statistics.median(ratios),
        max(ratios),
        statistics.median(b[1] / a[1] for a, b in zip(singles, doubles, strict=True)),
        statistics.median(frees),
        two.blocks,
    )


def report(rows: list[Row], steps: int) -> str:
    """The whole benchmark as Markdown."""
    lines = [
        "# One long stream in two threads",
        "",
        f"Command: `python experiments/bench_parallel.py --steps {steps}`, {time.strftime('%Y-%m-%d')},"
        f" numba {numba.__version__}, Python {platform.python_version()}, {len(os.sched_getaffinity(0))} of"
        f" {os.cpu_count()} cores allowed, {os.getloadavg()[0]:.1f} processes wanted them.",
        f"Pieces of {steps} events; medians of {TURNS} turns, wall time. *Bare loops* is how many times as fast two"
        " loops of plain arithmetic were in two threads, in the same turns: what the machine gave. *CPU time* is that"
        f" of two threads over that of one. The goal is {GOAL} times on two free cores.",
        "",
        "| pipeline | one thread, million events/s | two | times | at best | bare loops | of them | CPU time | goal |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        reached = "reached" if r.ratio >= GOAL else "no" if r.bare >= GOAL else "no: the machine gave less"
        lines.append(
            f"| {r.name} | {r.one:.0f} | {r.two:.0f} | **{r.ratio:.2f}** | {r.best:.2f} | {r.bare:.2f}"
            f" | {r.ratio / r.bare:.0%} | {r.cost:.2f} | {reached} |"
        )
    return "\n".join([*lines, "", "The pipelines:", "", "```", SOURCE.strip(), "```"]) + "\n"


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=1 << 22)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_parallel")
    parser.add_argument("--only", default="", help="the names of some pipelines, with commas: no report is written")
    given = parser.parse_args()
    events = np.random.default_rng(1).integers(0, 1000, given.steps)
    rows = []
    for name in NAMES:
        if not given.only or name in given.only.split(","):
            rows.append(measured(name, events))
            print(f"  {rows[-1]}", file=sys.stderr)
    text = report(rows, given.steps)
    print(text)
    if given.only:
        return 0
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    (given.out / "data.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
