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
from pathlib import Path
from typing import Any

import numba
import numpy as np
from bench_run_cases import CASES, SOURCE, TRACE, Case, hand_figure_5a

import workbench as wb
from workbench.core.domain import BOOL
from workbench.core.pipeline import Pipeline
from workbench.executors.compiled.execute import columns
from workbench.executors.compiled.execute.executor import Compiled

ROOT = Path(__file__).resolve().parent.parent
REPEAT = 15
"""Runs of which the best counts."""
TURNS = 15
"""Runs of one thread and of two, in turns."""


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


class Work:
    """A case that is ready to run: the columns of its inputs, the executor, and the loop by hand."""

    def __init__(self, case: Case, events: Any) -> None:
        self.executor, self._loop = Compiled(pipeline_of(case.name)), machine(case.hand)
        self.columns = {name: events < 500 if domain == BOOL else events for name, domain in self.executor.flat.inputs}
        for number, name in enumerate(list(self.columns)[1:], 1):  # not the same as the first
            self.columns[name] = np.roll(self.columns[name], number)
        form = self.executor.form.results[0][1][-case.columns :]
        self._state: Any = np.zeros(512, np.int64)
        self._made = [np.empty(2 * events.size, columns.dtype(domain)) for domain in form]

    def by_hand(self) -> list[Any]:
        """What the loop by hand makes of the events: a column for each field of the output."""
        count = self._loop(self._state, *self.columns.values(), *self._made)
        return [column[:count] for column in self._made]


def agree(case: Case, events: Any) -> None:
    """Compiled, by hand and reference: the same outputs."""
    work, few = Work(case, events), 1 << 12
    made = work.executor.feed(work.columns)["out"]
    for ours, theirs in zip(made.fields[-case.columns :], work.by_hand(), strict=True):
        assert ours.tolist() == theirs.tolist(), case.name
    first = {name: column[:few].tolist() for name, column in work.columns.items()}
    want = wb.executors.Reference(pipeline_of(case.name)).run(first, end=False)["out"]
    work.executor.reset()
    assert work.executor.run(first, end=False)["out"] == want, case.name


def best(work: Callable[[], object], events: int) -> float:
    """Million events a second of one run."""
    start = time.process_time()
    work()
    return events / (time.process_time() - start) / 1e6


def anew(reference: wb.executors.Reference, streams: Any) -> None:
    """A run from the start."""
    reference.reset()
    reference.run(streams)


def measured(case: Case, events: Any) -> Row:
    """One row."""
    if case.trace:
        events = events[: case.trace]
    agree(case, events)
    work = Work(case, events)
    rounds = max(1, (1 << 21) // events.size)

    def ours() -> None:
        for _ in range(rounds):
            if case.trace:
                work.executor.reset()
            work.executor.feed(work.columns, reuse=True)

    def hand() -> None:
        for _ in range(rounds):
            work.by_hand()

    ours()
    hand()
    pairs = [(best(ours, rounds * events.size), best(hand, rounds * events.size)) for _ in range(REPEAT)]
    reference, few = (
        wb.executors.Reference(pipeline_of(case.name)),
        {n: c[:20_000].tolist() for n, c in work.columns.items()},
    )
    slow = max(best(lambda: anew(reference, few), 20_000) for _ in range(5))
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


def report(rows: list[Row], pair: dict[str, tuple[float, float]], stream: tuple[int, float, float], chunk: int) -> str:
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
        " four and of the temporal ones, 500 times the wide window, 30 times the others.",
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
    pair, stream = threads(events), long_stream(events)
    text = report(rows, pair, stream, given.chunk)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    data = {"pipelines": [asdict(r) for r in rows], "threads": pair, "stream": stream}
    (given.out / "data.json").write_text(json.dumps(data, indent=1) + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
