"""Benchmark: what the threading patterns gain and cost, on loads whose cost for each event is a parameter.

    python experiments/bench_threads.py [--seconds 0.05] [--repeat 11] [--out reports/bench_threads]

Throughput is events by wall-clock time; the load is the paper's lambda (section 5.1): CPU time of the process by
wall-clock time and number of cores, between 0 and 1. Work that holds Python's lock (a loop) cannot run in two threads
at once; work that gives it up (a hash of a large buffer) can, where there are cores; work that waits needs no core. The
variants of a row are run in turn, short and many times, and the fastest run of each counts: the others are slowed down
by whoever else uses the machine. What a limit of 0 costs is told by CPU time, in a table of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.processors.stream import Builder

ROOT = Path(__file__).resolve().parent.parent
CORES = os.cpu_count() or 1
COSTS = (100, 1000, 5000)
"""Microseconds for each event."""
CHEAP = (0, 10, 50)
"""The same, where it is measured what the wrappers cost; 0: an addition."""
LIMITS = (None, 1, 2)
"""Limits of the thread manager; None: the pipeline without any wrapper."""
WIDTH = 4

Run = Callable[[Iterable[int], "wb.ThreadManager | None"], Sequence[Any]]
"""Runs a pattern over events, wrapped if there is a manager; the output."""


# --- loads ------------------------------------------------------------------------------------------------------


def loop(rounds: int) -> int:
    """Work that holds Python's lock."""
    found = 1
    for _ in range(rounds):
        found = (found * 5 + 1) & 0xFFFF
    return found


BUFFER = bytes(1 << 24)


def digest(size: int) -> int:
    """Work that gives Python's lock up."""
    return hashlib.sha256(memoryview(BUFFER)[:size]).digest()[0]


def wait(microseconds: int) -> int:
    """Work that needs no core: an answer that is waited for."""
    time.sleep(microseconds * 1e-6)
    return 0


def load(kind: Callable[[int], int], microseconds: int) -> wb.Function:
    """A function of one event that takes so long."""
    if kind is wait:
        return wb.user_function(lambda a: a + wait(microseconds), result=wb.INT, name=f"wait_{microseconds}us")
    amount, taken = 4096, 0.0
    while taken < 2e-3:
        amount *= 2
        start = time.thread_time()
        kind(amount)
        taken = time.thread_time() - start
    taken = min(_timed(lambda: kind(amount), time.thread_time) for _ in range(5))
    rounds = max(1, round(amount * microseconds * 1e-6 / taken))
    return wb.user_function(lambda a: a + 0 * kind(rounds), result=wb.INT, name=f"{kind.__name__}_{microseconds}us")


# --- patterns -----------------------------------------------------------------------------------------------------


def pipeline(*processors: wb.Processor) -> wb.Pipeline:
    """A chain."""
    builder = Builder("chain")
    stream = builder.input("x", wb.INT)
    for processor in processors:
        stream = builder.add(processor, [stream])
    return builder.build(stream)


def streamed(running: wb.Reference, events: Iterable[int]) -> list[Any]:
    """The output of a whole stream."""
    found: list[Any] = running.run(events)["out"]
    return found


def patterns(work: wb.Function) -> dict[str, tuple[int, Run]]:
    """For each pattern, how often it does the work for an event, and how it is run."""
    apply = wb.ApplyFunction(work)
    one, two = pipeline(apply), pipeline(apply, apply)
    certificate = wb.certify(one)

    def window(events: Iterable[int], manager: wb.ThreadManager | None) -> Sequence[Any]:
        inner = wb.NonBlocking(apply, manager) if manager else apply
        return streamed(wb.Reference(pipeline(wb.Window(WIDTH, inner))), events)

    def pull_group(events: Iterable[int], manager: wb.ThreadManager | None) -> Sequence[Any]:
        if manager is None:
            return list(wb.Reference(one).connect(x=wb.Reference(one).connect(x=events)))
        with wb.PullGroup(one, manager) as group:
            return list(wb.Reference(one).connect(x=group.connect(x=events)))

    def pipelined(events: Iterable[int], manager: wb.ThreadManager | None) -> Sequence[Any]:
        if manager is None:
            return list(wb.Reference(one).connect(x=events))
        return list(wb.Pipelined(one, manager, certificate).connect(x=events))

    def executor(events: Iterable[int], manager: wb.ThreadManager | None) -> Sequence[Any]:
        if manager is None:
            return streamed(wb.Reference(two), events)
        return streamed(wb.Threaded(two, manager, wb.Placement((two.nodes[1].name,))), events)

    return {
        f"window of {WIDTH}, NonBlocking": (WIDTH, window),
        "two stages, PullGroup": (2, pull_group),
        "one stage, Pipelined": (1, pipelined),
        "two stages, Threaded": (2, executor),
    }


# --- measuring ------------------------------------------------------------------------------------------------------


@dataclass
class Row:
    """One pattern on one load: a figure for each limit."""

    pattern: str
    lock: str
    microseconds: int
    throughput: Mapping[str, float]
    load: Mapping[str, float]
    median: Mapping[str, float]
    """The median of the throughputs, where `throughput` is the greatest."""

    def gain(self, limit: str) -> float:
        """Throughput, relative to no wrapper."""
        return self.throughput[limit] / self.throughput["None"]


def _timed(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


def measured(name: str, lock: str, work: wb.Function, microseconds: int, seconds: float, repeat: int) -> Row:
    """One row."""
    times, run = patterns(work)[name]
    count = max(8, round(seconds / (microseconds * 1e-6 * times)))
    wall: dict[str, list[float]] = {str(limit): [] for limit in LIMITS}
    cpu: dict[str, list[float]] = {str(limit): [] for limit in LIMITS}
    for _ in range(repeat):
        outputs = []
        for limit in LIMITS:
            began, spent = time.perf_counter(), time.process_time()
            if limit is None:
                outputs.append(list(run(range(count), None)))
            else:
                with wb.ThreadManager(limit) as manager:
                    outputs.append(list(run(range(count), manager)))
            wall[str(limit)].append(time.perf_counter() - began)
            cpu[str(limit)].append(time.process_time() - spent)
        assert all(found == outputs[0] for found in outputs), name
    fastest = {limit: min(range(repeat), key=taken.__getitem__) for limit, taken in wall.items()}
    return Row(
        name,
        lock,
        microseconds,
        {limit: count / wall[limit][run] for limit, run in fastest.items()},
        {limit: cpu[limit][run] / (CORES * wall[limit][run]) for limit, run in fastest.items()},
        {limit: count / statistics.median(taken) for limit, taken in wall.items()},
    )


def overhead(name: str, microseconds: int, repeat: int) -> float:
    """What a limit of 0 costs: CPU time with the wrapper, relative to without."""
    if microseconds:
        work = load(loop, microseconds)
    else:
        work = wb.Function("next", 1, lambda a: a + 1)
    times, run = patterns(work)[name]
    count = 6000 if not microseconds else max(50, round(0.05 / (microseconds * 1e-6 * times)))
    manager = wb.ThreadManager(0)
    plain, wrapped = [], []
    for _ in range(repeat):
        plain.append(_timed(lambda: run(range(count), None), time.process_time))
        wrapped.append(_timed(lambda: run(range(count), manager), time.process_time))
    return min(wrapped) / min(plain) - 1


# --- report ---------------------------------------------------------------------------------------------------------


def report(rows: Sequence[Row], costs: Mapping[str, Mapping[int, float]], given: argparse.Namespace, busy: str) -> str:
    """The whole benchmark as Markdown."""
    limits = [str(limit) for limit in LIMITS]
    lines = [
        "# Threads",
        "",
        f"Command: `python experiments/bench_threads.py --seconds {given.seconds:g} --repeat {given.repeat}`,"
        f" {time.strftime('%Y-%m-%d')}, Python {platform.python_version()}, {CORES} cores.",
        f"Others used the machine meanwhile: its load average was {busy}, so that the figures of work that needs",
        "cores are rough, and may be too low (no core was free) or too high (two threads get a larger share of a busy",
        "machine than one). Those of work that waits depend on that least.",
        "",
        "Events a second (the fastest run), and what that is relative to no wrapper; in the last columns the load, 1",
        "being all cores.",
        "",
        "| pattern | Python's lock | work, µs | none | limit 1 | limit 2 | load: none | 1 | 2 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        shown = [f"{row.throughput['None']:.0f}"]
        shown += [f"{row.throughput[limit]:.0f} ({row.gain(limit):.2f})" for limit in limits[1:]]
        shown += [f"{row.load[limit]:.2f}" for limit in limits]
        lines.append(f"| {row.pattern} | {row.lock} | {row.microseconds} | {' | '.join(shown)} |")
    lines += [
        "",
        "What a limit of 0 costs against no wrapper, CPU time. In the first column the work is an addition.",
        "",
        f"| pattern | {' | '.join(f'{cost} µs' if cost else 'an addition' for cost in CHEAP)} |",
        "|---" * (1 + len(CHEAP)) + "|",
    ]
    for name, found in costs.items():
        lines.append(f"| {name} | " + " | ".join(f"{100 * extra:+.1f} %" for extra in found.values()) + " |")
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.05, help="work in one run")
    parser.add_argument("--repeat", type=int, default=11)
    parser.add_argument("--only-overhead", action="store_true")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_threads")
    given = parser.parse_args()
    averages = [os.getloadavg()[0]]
    names = list(patterns(wb.ABS))
    costs: dict[str, dict[int, float]] = {}
    for name in names:
        costs[name] = {cost: overhead(name, cost, given.repeat) for cost in CHEAP}
        print(f"  {name}: {costs[name]}", file=sys.stderr)
    if given.only_overhead:
        return 0
    rows = []
    for kind, lock in ((loop, "held"), (digest, "given up"), (wait, "given up, waits")):
        for cost in COSTS:
            work = load(kind, cost)
            for name in names:
                rows.append(measured(name, lock, work, cost, given.seconds, given.repeat))
                print(f"  {rows[-1]}", file=sys.stderr)
                averages.append(os.getloadavg()[0])
    text = report(rows, costs, given, f"{min(averages):.1f} to {max(averages):.1f}")
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    data = {"rows": [asdict(row) for row in rows], "limit 0": costs, "load average": averages}
    (given.out / "data.json").write_text(json.dumps(data, indent=1) + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
