"""Benchmark: running pipelines as machine code, beside hand-written loops, the reference executor and BeepBeep.

    python experiments/bench_run.py [--chunk 262144] [--out reports/bench_run]

Million events per CPU second of one core, the best of several runs, taken in turns: a chunk of events through the
compiled executor, then the same chunk through a loop that was written by hand for this pipeline and compiled with the
same numba. Before anything is measured the outputs of all three are compared. BeepBeep's figures are those of
BeepBeep 3 on the JVM, single-threaded, measured once on another day: the goals' yardstick, no side by side comparison.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numba
import numpy as np

import workbench as wb
from workbench.backends.compiled_run import Compiled
from workbench.core.pipeline import Pipeline

ROOT = Path(__file__).resolve().parent.parent
REPEAT = 15
"""Runs of which the best counts."""
TURNS = 15
"""Runs of one thread and of two, in turns."""
TRACE = 98_304
"""Events of a trace of Figure 2a, whose queue grows with it."""

SOURCE = f"""
pipeline passing(x: int) -> int {{ return passthrough(x) }}
pipeline doubling(x: int) -> int {{ return x * 2 }}
pipeline sum(x: int) -> int {{ return cumulate(x, +) }}
pipeline decimation(x: int) -> int {{ return decimate(x, 10) }}
pipeline window_3(x: int) -> int {{ return window(x, 3, cumulate(+)) }}
pipeline window_100(x: int) -> int {{ return window(x, 100, cumulate(+)) }}
pipeline window_max_100(x: int) -> int {{ return window(x, 100, cumulate(max)) }}
pipeline even_ones(x: int) -> int {{ return filter(x, even(x)) }}

# Each trace has {TRACE} events, so that the queue is bounded.
pipeline figure_2a(x: int) -> int {{
    capacity queue(add.left) = 0
    capacity queue(add.right) = {TRACE * 2 // 3}
    third = decimate(x, 3)
    return third + x
}}

pipeline figure_5a(x: int) -> int {{
    capacity queue(kept.data) = 1
    capacity queue(kept.condition) = 0
    count = cumulate(turn(x, 1), +)
    kept  = filter(count, even(trim(count, 1)))
    return cumulate(kept, +)
}}

# Enough work for two threads: sums of squares and products of three windows.
pipeline work(x: int) -> int {{
    a = window(x * x mod 1000003, 5, cumulate(+))
    b = window(x mod 1009 * x mod 1000003, 5, cumulate(+))
    both = a * b
    capacity queue(both.left) = 0
    capacity queue(both.right) = 0
    return cumulate(both mod 1000003, +)
}}
"""


# --- the same computations by hand: state, events, outputs -> how many outputs ------------------------------


def hand_passing(_: Any, x: Any, y: Any) -> int:
    for i in range(x.size):
        y[i] = x[i]
    return len(x)


def hand_doubling(_: Any, x: Any, y: Any) -> int:
    for i in range(x.size):
        y[i] = 2 * x[i]
    return len(x)


def hand_sum(state: Any, x: Any, y: Any) -> int:
    total = state[0]
    for i in range(x.size):
        total += x[i]
        y[i] = total
    state[0] = total
    return len(x)


def hand_decimation(state: Any, x: Any, y: Any) -> int:
    n = 0
    for i in range((10 - state[0]) % 10, x.size, 10):
        y[n] = x[i]
        n += 1
    state[0] = (state[0] + x.size) % 10
    return n


def hand_window_3(state: Any, x: Any, y: Any) -> int:
    n, a, b, seen = 0, state[0], state[1], state[2]
    for i in range(x.size):
        if seen >= 2:
            y[n] = a + b + x[i]
            n += 1
        else:
            seen += 1
        a, b = b, x[i]
    state[0], state[1], state[2] = a, b, seen
    return n


def hand_window_100(state: Any, x: Any, y: Any) -> int:
    n, total, seen, oldest = 0, state[100], state[101], state[102]
    for i in range(x.size):
        total += x[i] - state[oldest]
        state[oldest] = x[i]
        oldest = oldest + 1 if oldest < 99 else 0
        if seen >= 99:
            y[n] = total
            n += 1
        else:
            seen += 1
    state[100], state[101], state[102] = total, seen, oldest
    return n


def hand_window_max_100(state: Any, x: Any, y: Any) -> int:
    """A deque of falling values (the textbook's way, for max only); state: 128 values, 128 places, then counters."""
    n, now, head, tail = 0, state[256], state[257], state[258]
    for i in range(x.size):
        while tail > head and state[(tail - 1) & 127] <= x[i]:
            tail -= 1
        state[tail & 127] = x[i]
        state[128 + (tail & 127)] = now
        tail += 1
        if state[128 + (head & 127)] <= now - 100:
            head += 1
        if now >= 99:
            y[n] = state[head & 127]
            n += 1
        now += 1
    state[256], state[257], state[258] = now, head, tail
    return n


def hand_even_ones(_: Any, x: Any, y: Any) -> int:
    n = 0
    for i in range(x.size):
        y[n] = x[i]
        n += x[i] & 1 == 0
    return n


def hand_figure_2a(_: Any, x: Any, y: Any) -> int:
    n = 0
    for i in range(0, x.size, 3):
        y[n] = x[i] + x[n]
        n += 1
    return n


def hand_figure_5a(state: Any, x: Any, y: Any) -> int:
    n, count, total = 0, state[0], state[1]
    for _ in range(x.size):
        count += 1
        if count > 1 and count & 1 == 0:
            total += count - 1
            y[n] = total
            n += 1
    state[0], state[1] = count, total
    return n


@dataclass(frozen=True)
class Case:
    """A pipeline, the loop by hand, and what BeepBeep did."""

    name: str
    hand: Callable[[Any, Any, Any], int]
    beepbeep: float | None
    factor: int
    """How many times BeepBeep's figure is the goal."""
    trace: int | None = None
    """Events after which it starts afresh."""


CASES = (
    Case("passing", hand_passing, 67, 10),
    Case("doubling", hand_doubling, 44, 10),
    Case("sum", hand_sum, 40, 10),
    Case("decimation", hand_decimation, 50, 10),
    Case("window_3", hand_window_3, 6.9, 30),
    Case("window_100", hand_window_100, 0.19, 500),
    Case("window_max_100", hand_window_max_100, None, 1),
    Case("figure_2a", hand_figure_2a, 15, 30, TRACE),
    Case("figure_5a", hand_figure_5a, 5.9, 30),
    Case("even_ones", hand_even_ones, 13, 30),
)


@dataclass
class Row:
    """Million events per CPU second."""

    name: str
    compiled: float
    hand: float
    reference: float
    beepbeep: float | None
    goal: float | None


def pipeline_of(name: str) -> Pipeline:
    """One of the pipelines."""
    found: Pipeline = wb.parse(SOURCE).get(name).pipeline
    return found


def machine(function: Callable[..., int]) -> Any:
    """A loop by hand, compiled as the generated ones are."""
    return numba.njit(nogil=True, error_model="numpy")(function)


def agree(case: Case, events: Any) -> None:
    """Compiled, by hand and reference: the same outputs."""
    ours, by_hand, reference = (
        Compiled(pipeline_of(case.name)),
        machine(case.hand),
        wb.Reference(pipeline_of(case.name)),
    )
    state: Any
    y: Any
    state, y = np.zeros(512, np.int64), np.empty(events.size, np.int64)
    n = by_hand(state, events, y)
    want = reference.run(events[: 1 << 12].tolist(), end=False)["out"]
    made = ours.feed(events)["out"].array
    assert made.tolist() == y[:n].tolist(), case.name
    assert made[: len(want)].tolist() == want, case.name


def best(work: Callable[[], object], events: int) -> float:
    """Million events a second of one run."""
    start = time.process_time()
    work()
    return events / (time.process_time() - start) / 1e6


def measured(case: Case, events: Any) -> Row:
    """One row."""
    if case.trace:
        events = events[: case.trace]
    agree(case, events)
    executor, by_hand = Compiled(pipeline_of(case.name)), machine(case.hand)
    state: Any
    y: Any
    state, y = np.zeros(512, np.int64), np.empty(events.size, np.int64)
    rounds = max(1, (1 << 21) // events.size)

    def ours() -> None:
        for _ in range(rounds):
            if case.trace:
                executor.reset()
            executor.feed(events, reuse=True)

    def hand() -> None:
        for _ in range(rounds):
            by_hand(state, events, y)

    ours()
    hand()
    pairs = [(best(ours, rounds * events.size), best(hand, rounds * events.size)) for _ in range(REPEAT)]
    reference, few = wb.Reference(pipeline_of(case.name)), events[:20_000].tolist()
    slow = max(best(lambda: (reference.reset(), reference.run(few)), len(few)) for _ in range(5))
    goal = case.beepbeep * case.factor if case.beepbeep else None
    return Row(case.name, max(a for a, _ in pairs), max(b for _, b in pairs), slow, case.beepbeep, goal)


def threads(events: Any) -> dict[str, tuple[float, float]]:
    """How many times as fast two threads are as one: two executors, and two bare loops of compiled code.

    The second tells what the machine gives at that time: 2 when both cores are free, 1 when others take one.
    """
    executors = [Compiled(pipeline_of("work")) for _ in range(2)]
    bare = machine(hand_figure_5a)
    results: Any = [np.empty(events.size, np.int64) for _ in range(2)]
    for executor in executors:
        executor.feed(events)

    def work(number: int) -> None:
        for _ in range(20):
            executors[number].reset()
            executors[number].feed(events, reuse=True)

    def control(number: int) -> None:
        state: Any = np.zeros(2, np.int64)
        for _ in range(60):
            bare(state, events, results[number])

    control(0)
    ours, bound = [], []
    for _ in range(TURNS):
        ours.append(speed_up(work))
        bound.append(speed_up(control))
    return {"executors": (statistics.median(ours), max(ours)), "bare loops": (statistics.median(bound), max(bound))}


def speed_up(work: Callable[[int], None]) -> float:
    """Wall time of two pieces of work one after the other, over that in two threads."""
    start = time.perf_counter()
    work(0)
    work(1)
    alone = time.perf_counter() - start
    workers = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    start = time.perf_counter()
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    return alone / (time.perf_counter() - start)


def long_stream(events: Any) -> tuple[int, float, float]:
    """A stream of 1e9 events, fed in pieces: events, CPU seconds, and by how many megabytes the process grew."""
    executor = Compiled(pipeline_of("sum"))
    executor.feed(events, reuse=True)
    before, start, pieces = resident(), time.process_time(), 10**9 // events.size
    for _ in range(pieces):
        executor.feed(events, reuse=True)
    return pieces * events.size, time.process_time() - start, resident() - before


def resident() -> float:
    """Megabytes of memory that this process has."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 1e6


def lengths() -> list[tuple[int, float, float]]:
    """The reference executor on chains of processors: how many, and million events and firings a second."""
    found = []
    events = list(range(10_000))
    for count in (1, 2, 4, 8, 16, 32):
        text = "x"
        for _ in range(count):
            text = f"passthrough({text})"
        executor = wb.Reference(wb.parse(f"pipeline chain(x: int) -> int {{ return {text} }}").get().pipeline)
        rates = []
        for _ in range(5):
            executor.reset()
            rates.append(best(partial(executor.run, events), len(events)))
        rate = statistics.median(rates)
        found.append((count, rate, rate * count))
    return found


def report(
    rows: list[Row],
    pair: dict[str, tuple[float, float]],
    stream: tuple[int, float, float],
    chains: list[tuple[int, float, float]],
    chunk: int,
) -> str:
    """The whole benchmark as Markdown."""
    lines = [
        "# Running pipelines as machine code",
        "",
        f"Command: `python experiments/bench_run.py --chunk {chunk}`, {time.strftime('%Y-%m-%d')},"
        f" numba {numba.__version__}, Python {platform.python_version()}, {os.cpu_count()} cores,"
        " shared with other work.",
        f"Million events per CPU second of one core, the best of {REPEAT} runs in turns, {chunk} events fed at a time"
        f" (Figure 2a: traces of {TRACE}).",
        "BeepBeep 3's figures are from another day (JVM, million events per CPU second); the goal is 10 times the first"
        " four, 500 times the wide window, 30 times the others.",
        "",
        "| pipeline | compiled | by hand | of it | BeepBeep 3 | times | goal | reached | reference executor |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        cells = [r.name, f"{r.compiled:.0f}", f"{r.hand:.0f}", f"{r.compiled / r.hand:.0%}"]
        if r.beepbeep is None or r.goal is None:
            cells += [""] * 4
        else:
            reached = "yes" if r.compiled >= r.goal else "**no**"
            cells += [f"{r.beepbeep:g}", f"{r.compiled / r.beepbeep:.0f}", f"{r.goal:.0f}", reached]
        lines.append(f"| {' | '.join([*cells, f'{r.reference:.2f}'])} |")
    lines += [
        "",
        "Two executors of equal work in two threads are"
        f" **{pair['executors'][0]:.2f} times** as fast as one after the other (wall time, the median of {TURNS} runs;"
        f" the best: {pair['executors'][1]:.2f}). Two bare compiled loops, in turns with them:"
        f" {pair['bare loops'][0]:.2f} (the best: {pair['bare loops'][1]:.2f}). That is what the machine gave:"
        f" {os.getloadavg()[0]:.1f} processes wanted its {os.cpu_count()} cores.",
        "",
        f"`sum` over a stream of {stream[0]:.2g} events, fed in pieces: {stream[1]:.1f} CPU seconds; the process took"
        f" {stream[2]:.1f} MB more memory after it than after the first piece.",
        "",
        "The reference executor on chains of passthroughs: a cost per event and processor.",
        "",
        "| processors | million events/s | million firings/s |",
        "|---|---|---|",
        *(f"| {count} | {rate:.2f} | {firings:.2f} |" for count, rate, firings in chains),
        "",
        "The pipelines:",
        "",
        "```",
        SOURCE.strip(),
        "```",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--chunk", type=int, default=1 << 18, help="events fed at a time")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_run")
    parser.add_argument("--only", default="", help="the names of some pipelines, with commas")
    given = parser.parse_args()
    events = np.random.default_rng(1).integers(0, 1000, given.chunk)
    rows = []
    for case in CASES:
        if not given.only or case.name in given.only.split(","):
            rows.append(measured(case, events))
            print(f"  {rows[-1]}", file=sys.stderr)
    if given.only:
        return 0
    pair, stream, chains = threads(events), long_stream(events), lengths()
    text = report(rows, pair, stream, chains, given.chunk)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    data = {"pipelines": [asdict(r) for r in rows], "threads": pair, "stream": stream, "chains": chains}
    (given.out / "data.json").write_text(json.dumps(data, indent=1) + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
