"""Throughput and load with and without the threading patterns, on loads whose cost for each event is a parameter."""

from __future__ import annotations

import hashlib
import os
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

import workbench as wb
from workbench.builder import Builder
from workbench.lab import Limits, Output, Region, Suite, fails, median, ok, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data

CORES = os.cpu_count() or 1
suite = Suite(
    "threads2017",
    "Event stream processing with multiple threads: throughput and load",
    """
Hallé, Khoury, Gaboury measure throughput (events a second of wall-clock time) and the load lambda (section 5.1: how
busy the cores are, 1 being all of them) of queries with and without the threading patterns. Their Table 1, on queries
of the 2016 Competition on Runtime Verification:

| query | events/s, one thread | events/s, several | gain | load, one thread | load, several |
|---|---|---|---|---|---|
| Auction bidding | 28,449.5 | 30,487.8 | 1.07 | 0.601 | 0.345 |
| Candidate selection | 28.8 | 127.9 | 4.44 | 0.315 | 0.906 |
| Endless bashing | 511.8 | 742.5 | 1.45 | 0.374 | 0.593 |
| Spontaneous Pingu creation | 742.1 | 782.4 | 1.05 | 0.308 | 0.467 |
| Turn around | 16.6 | 30.9 | 1.86 | 0.353 | 0.772 |

Here the work for each event is made to measure. Work that holds Python's lock (a loop) cannot run in two threads at
once; work that gives it up (a hash of a large buffer) can, where there are cores; work that waits needs no core. The
variants are run in turn, short and many times in one process. Of throughput the fastest run of each counts: the others
are slowed down by whoever else uses the machine. What a limit of 0 costs is the median over pairs of runs. The load is
that of this process: its CPU time by wall-clock time and number of cores.
""",
)
SECONDS = 0.05
"""Work in one run."""
TURNS = 9
"""How often each variant is run."""
WIDTH = 4

Run = Callable[[Iterable[int], "wb.executors.ThreadManager | None"], Sequence[Any]]
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


def load(kind: Callable[[int], int], microseconds: int) -> wb.functions.Function:
    """A function of one event that takes so long."""
    if kind is wait:
        return wb.functions.user_function(
            lambda a: a + wait(microseconds), result=wb.INT, name=f"wait_{microseconds}us"
        )
    amount, taken = 4096, 0.0
    while taken < 2e-3:
        amount *= 2
        start = time.thread_time()
        kind(amount)
        taken = time.thread_time() - start
    taken = min(_timed(lambda: kind(amount), time.thread_time) for _ in range(5))
    rounds = max(1, round(amount * microseconds * 1e-6 / taken))
    return wb.functions.user_function(
        lambda a: a + 0 * kind(rounds), result=wb.INT, name=f"{kind.__name__}_{microseconds}us"
    )


# --- patterns -----------------------------------------------------------------------------------------------------


def pipeline(*processors: wb.Processor) -> wb.Pipeline:
    """A chain."""
    builder = Builder("chain")
    stream = builder.input("x", wb.INT)
    for processor in processors:
        stream = builder.add(processor, [stream])
    return builder.build(stream)


def streamed(running: wb.executors.Reference, events: Iterable[int]) -> list[Any]:
    """The output of a whole stream."""
    found: list[Any] = running.run(events)["out"]
    return found


WORK = {"holds the lock": loop, "gives it up": digest, "waits": wait}


def patterns(work: wb.functions.Function) -> dict[str, tuple[int, Run]]:
    """For each pattern, how often it does the work for an event, and how it is run."""
    apply = wb.processors.ApplyFunction(work)
    one, two = pipeline(apply), pipeline(apply, apply)
    certificate = wb.certify(one)

    def window(events: Iterable[int], manager: wb.executors.ThreadManager | None) -> Sequence[Any]:
        flat = pipeline(wb.processors.Window(WIDTH, apply))
        placement = wb.executors.Placement(copies={"window"})
        return streamed(
            wb.executors.Threaded(flat, manager, placement) if manager else wb.executors.Reference(flat), events
        )

    def pull_group(events: Iterable[int], manager: wb.executors.ThreadManager | None) -> Sequence[Any]:
        if manager is None:
            return list(wb.executors.Reference(one).connect(x=wb.executors.Reference(one).connect(x=events)))
        with wb.executors.PullGroup(one, manager) as group:
            return list(wb.executors.Reference(one).connect(x=group.connect(x=events)))

    def pipelined(events: Iterable[int], manager: wb.executors.ThreadManager | None) -> Sequence[Any]:
        if manager is None:
            return list(wb.executors.Reference(one).connect(x=events))
        return list(wb.executors.Pipelined(one, manager, certificate).connect(x=events))

    def executor(events: Iterable[int], manager: wb.executors.ThreadManager | None) -> Sequence[Any]:
        if manager is None:
            return streamed(wb.executors.Reference(two), events)
        return streamed(wb.executors.Threaded(two, manager, wb.executors.Placement((two.nodes[1].name,))), events)

    return {
        f"window of {WIDTH}, NonBlocking": (WIDTH, window),
        "two stages, PullGroup": (2, pull_group),
        "one stage, Pipelined": (1, pipelined),
        "two stages, Threaded": (2, executor),
    }


# --- experiments ----------------------------------------------------------------------------------------------------

PATTERNS = tuple(patterns(wb.functions.ABS))


@suite.experiment(
    Region(pattern=PATTERNS, work=list(WORK), cost=[100, 1000, 5000]), limits=Limits(seconds=120),
    outputs={
        "rate": Output("events a second without a wrapper", "1/s"),
        **{f"gain_{n}": Output(f"throughput with {n} threads, relative to that", measured=True) for n in (1, 2)},
        **{f"load_{n}": Output(f"the load with {n} threads", measured=True) for n in ("none", 1, 2)},
    },
)  # fmt: skip
def throughput(pattern: str, work: str, cost: int) -> dict[str, Any]:
    """A pattern with thread managers of several limits, on work of so many microseconds for each event."""
    times, run = patterns(load(WORK[work], cost))[pattern]
    count = max(8, round(SECONDS / (cost * 1e-6 * times)))
    taken: dict[int | None, list[tuple[float, float]]] = {limit: [] for limit in (None, 1, 2)}
    for _ in range(TURNS):
        outputs = []
        for limit, runs in taken.items():
            wall, cpu = time.perf_counter(), time.process_time()
            if limit is None:
                outputs.append(list(run(range(count), None)))
            else:
                with wb.executors.ThreadManager(limit) as manager:
                    outputs.append(list(run(range(count), manager)))
            runs.append((time.perf_counter() - wall, time.process_time() - cpu))
        assert all(found == outputs[0] for found in outputs), "threads changed the output"
    fastest = {limit: min(runs) for limit, runs in taken.items()}
    loads = {f"load_{limit or 'none'}": cpu / (CORES * wall) for limit, (wall, cpu) in fastest.items()}
    gains = {f"gain_{limit}": fastest[None][0] / fastest[limit][0] for limit in (1, 2)}
    return {"rate": count / fastest[None][0], **gains, **loads}


SUM = "sum over a window of 100, NonBlocking"


def sum_in_window(events: Iterable[int], manager: wb.executors.ThreadManager | None) -> Sequence[Any]:
    """A window that need not fold its events anew (the paper's Figure 5): with threads it must not do so either."""
    flat = pipeline(wb.processors.Window(100, wb.processors.Cumulate(wb.functions.ADD)))
    return streamed(wb.executors.Threaded(flat, manager) if manager else wb.executors.Reference(flat), events)


@suite.experiment(
    Region(pattern=(*PATTERNS, SUM), cost=[0, 10, 50]).excluding(lambda pattern, cost: pattern == SUM and cost > 0),
    limits=Limits(seconds=120), repeat=3,
    overhead=Output("CPU time with a manager of limit 0, relative to no wrapper, less 1", "%", measured=True),
)  # fmt: skip
def limit_of_0(pattern: str, cost: int) -> dict[str, Any]:
    """What a pattern costs that is given no thread; at cost 0 the work for each event is one addition."""
    work = load(loop, cost) if cost else wb.functions.Function("next", 1, lambda a: a + 1)
    times, run = (1, sum_in_window) if pattern == SUM else patterns(work)[pattern]
    count = max(50, round(SECONDS / 2 / (cost * 1e-6 * times))) if cost else 10_000
    manager = wb.executors.ThreadManager(0)
    ratios = []
    for turn in range(6 * TURNS):  # in pairs, each first in turn: a machine that changes its speed changes both
        taken: dict[wb.executors.ThreadManager | None, float] = {}
        for given in (None, manager) if turn % 2 else (manager, None):
            taken[given] = _timed(partial(run, range(count), given), time.process_time)
        ratios.append(taken[manager] / taken[None])
    return {"overhead": 100 * (statistics.median(ratios) - 1)}


def _timed(work: Callable[[], object], clock: Callable[[], float]) -> float:
    start = clock()
    work()
    return clock() - start


# --- what they tell -------------------------------------------------------------------------------------------------

suite.table(
    "throughput", of=throughput, rows=["work", "pattern"], columns="cost",
    cells={"events/s": median("rate"), "x, 1 thread": median("gain_1"), "x, 2 threads": median("gain_2")},
    title="Throughput without threads, and what 1 and 2 threads make of it, by microseconds of work for each event",
)  # fmt: skip
suite.table(
    "load", of=throughput, rows=["work", "pattern"], columns="cost",
    cells={"none": median("load_none"), "1": median("load_1"), "2": median("load_2")},
    title="Load without threads, and with 1 and 2",
)  # fmt: skip
suite.table(
    "limit-of-0", of=limit_of_0, rows="pattern", columns="cost", cells={"%": median("overhead")},
    title="CPU time that a limit of 0 costs, in percent, by microseconds of work for each event",
)  # fmt: skip
suite.plot("gain", of=throughput, x="cost", y=median("gain_2"), series="pattern", where={"work": "waits"}, log="x",
           title="Gain of 2 threads where the work waits")  # fmt: skip


def gains(data: Data, work: str, pattern: str) -> dict[int, float]:
    """By cost, what the better of 1 and 2 threads gains."""
    rows = data.rows(throughput, work=work, pattern=pattern)
    return {row["cost"]: max(row["gain_1"], row["gain_2"]) for row in rows}


@suite.claim("Two stages take the time of the slower one, max(T1, T2), where the work waits (section 4.3)")
def overlapped(data: Data) -> Judgement:
    found = gains(data, "waits", "two stages, PullGroup")
    slow = {cost: gain for cost, gain in found.items() if cost >= 1000}
    return (ok if min(slow.values()) > 1.6 else fails)(f"x {min(slow.values()):.2f} to {max(slow.values()):.2f} of 2")


@suite.claim("A window pushes into all its copies at once, T + C instead of nT + C, where the work waits (section 4.2)")
def at_once(data: Data) -> Judgement:
    found = gains(data, "waits", f"window of {WIDTH}, NonBlocking")
    best = max(found.values())
    return (ok if best > 1.3 else fails)(f"up to x {best:.2f} with 2 threads beside the caller's")


@suite.claim("Work that gives Python's lock up gains from a second core")
def cores(data: Data) -> Judgement:
    """By pattern, the best gain at 1 and 5 milliseconds for each event."""
    best = {p: max(g for c, g in gains(data, "gives it up", p).items() if c >= 1000) for p in PATTERNS}
    words = ", ".join(f"{pattern} x {gain:.2f}" for pattern, gain in best.items())
    return ok(words) if min(best.values()) > 1.3 else warns(f"{words}: was a second core free?")


@suite.claim("Work that holds Python's lock gains nothing")
def held(data: Data) -> Judgement:
    most = max(statistics.median(gains(data, "holds the lock", pattern).values()) for pattern in PATTERNS)
    return ok(f"at most x {most:.2f}") if most < 1.15 else warns(f"x {most:.2f}: a busy machine gives two threads more")


@suite.claim("A limit of 0 costs less than 3 percent")
def nothing(data: Data) -> Judgement:
    found: dict[tuple[str, int], list[float]] = {}
    for row in data.rows(limit_of_0):
        found.setdefault((row["pattern"], row["cost"]), []).append(row["overhead"])
    (pattern, cost), worst = max(((key, statistics.median(v)) for key, v in found.items()), key=lambda item: item[1])
    words = f"at most {worst:.1f} %, {pattern}, {f'{cost} µs' if cost else 'one addition'} for each event"
    return (ok if worst < 3 else fails)(words)
