"""Delta-dataflow measured: threads, work, how much has news, other executors; and sensors that are late.

workbench lab run zimmerman2006
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from experiments.bench_dataflow import chain, clocked, drained, side_by_side, timed, working
from experiments.zimmerman_systems import COUNTIES, Rows, disease, traced
from workbench.errors import EngineMissing
from workbench.lab import Limits, Output, Region, Suite, fails, median, ok, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data

suite = Suite(
    "zimmerman2006",
    "A parallel algorithm for correlating event streams: threads, changes, and sensors that are late",
    """
Zimmerman and Chandy (2006, section 4) tell one figure: the same computations ran 1.5 times as fast with two computation
threads on two processors. Here work is hashing a buffer, which gives up Python's lock, in chains of vertices; in
`machine` vertices and scheduler are machine code, and work is divisions of great numbers.

`news`: how many vertices run where a part of the sources has news, against every vertex in every phase.

`late` is their open question (section 6): events reach the system some time after they happened, and it waits that long
before it takes a phase for complete. What comes later still is news of the phase in which it comes. The system is that
of disease rates; an alarm is false on a day on which more counties have one than with perfect sensors, missed where
fewer have.
""",
)
DEPTH, PHASES = 8, 256


@suite.experiment(
    Region(threads=[1, 2], work=[5, 20, 100, 500], depth=[2, DEPTH], width=[1, 4]),
    limits=Limits(seconds=300, memory_mb=2000), repeat=3,
    wall=Output("wall time of a vertex and phase", unit="us"), cpu=Output("CPU time of them", unit="us"),
    bare=Output("wall time where threads only hash", unit="us"),
)  # fmt: skip
def speedup(threads: int, work: int, depth: int, width: int) -> dict[str, float]:
    """Chains of vertices that hash, so many side by side."""
    return _threads("hash", threads, work, depth, width)


@suite.experiment(
    Region(threads=[1, 2], work=[5, 20, 50], depth=[DEPTH]),
    limits=Limits(seconds=300, memory_mb=2000), repeat=3,
    wall=Output("wall time of a vertex and phase", unit="us"), cpu=Output("CPU time of them", unit="us"),
    bare=Output("wall time where threads only hash", unit="us"),
)  # fmt: skip
def machine(threads: int, work: int, depth: int) -> dict[str, float]:
    """A chain of vertices of machine code that compute."""
    return _threads("compute", threads, work, depth)


def _threads(what: str, threads: int, work: int, depth: int, width: int = 1) -> dict[str, float]:
    from workbench.executors.threaded.manager import ThreadManager

    with ThreadManager(threads - 1) as manager:
        running, count = working(what, depth, work, manager, width), max(PHASES, 400_000 // (work * depth * width))
        if what == "compute":
            timed(running, manager, PHASES, work)  # the first stream makes the code
        found = timed(running, manager, count, work)
    return dict(zip(("wall", "cpu", "bare"), found, strict=True))


@suite.experiment(
    Region(rate=[0.001, 0.01, 0.1, 1.0], width=[1000], depth=[5]),
    limits=Limits(seconds=600, memory_mb=4000),
    executions=Output("vertices that ran", kind=int), every=Output("every vertex in every phase", kind=int),
    cpu=Output("CPU time of a phase", unit="us"), whole=Output("that of the reference executor", unit="us"),
)  # fmt: skip
def news(rate: float, width: int, depth: int) -> dict[str, float]:
    """Chains side by side, of which a part has news in a phase."""
    from workbench.executors.dataflow.executor import Dataflow
    from workbench.executors.reference.executor import Reference

    program, told = side_by_side(width, depth), max(1, round(width * rate))
    count = 50 if told == width else 400
    steps = [{f"x{(k * 7 + j) % width}": k for j in range(told)} for k in range(count)]
    running = Dataflow(program)
    seconds = clocked(partial(drained, running.streamed(steps)), time.process_time)
    reference = clocked(partial(drained, Reference(program).emitted(iter(steps))), time.process_time)
    return {
        "executions": running.executions.total() - running.phases, "every": count * width * depth,
        "cpu": seconds / count * 1e6, "whole": reference / count * 1e6,
    }  # fmt: skip


def in_bytewax(length: int, count: int) -> Iterator[Any]:
    """The same chain as a flow of Bytewax: what comes out, when all has.

    Raises
    ------
    EngineMissing: it is not installed.
    """
    if find_spec("bytewax") is None:
        raise EngineMissing("Bytewax is not there", hint="pip install bytewax")
    operators, testing = import_module("bytewax.operators"), import_module("bytewax.testing")
    flow = import_module("bytewax.dataflow").Dataflow("chain")
    stream = operators.input("log", flow, testing.TestingSource(range(count), batch_size=1))
    for i in range(length):
        stream = operators.map(f"vertex{i}", stream, lambda value: value)
    found: list[int] = []
    operators.output("out", stream, testing.TestingSink(found))

    def run() -> Iterator[int]:
        testing.run_main(flow)
        yield from found

    return run()


@suite.experiment(
    Region(
        executor=["reference", "threaded", "dataflow", "a phase at a time", "compiled", "bytewax"], length=[10, 100]
    ),
    limits=Limits(seconds=600, memory_mb=2000), repeat=3,
    cpu=Output("CPU time of a vertex and phase that do nothing", unit="us"),
)  # fmt: skip
def beside(executor: str, length: int) -> dict[str, float]:
    """A chain of vertices that do nothing; Bytewax, where it is installed, has batches of one event.

    Of what compiles the first stream is not counted: it makes the code.
    """
    from workbench.executors.dataflow.executor import Dataflow
    from workbench.executors.reference.executor import Reference
    from workbench.executors.threaded.executor import Threaded
    from workbench.executors.threaded.manager import ThreadManager

    program, count = chain(length), 100_000 // length
    steps = [{"x": k} for k in range(count)]
    with ThreadManager(1) as manager:
        runs: dict[str, Callable[[], Iterator[Any]]] = {
            "reference": lambda: Reference(program).emitted(iter(steps)),
            "threaded": lambda: Threaded(program, manager).emitted(iter(steps)),
            "dataflow": lambda: Dataflow(program).streamed(steps),
            "a phase at a time": lambda: Dataflow(program, batch=1).streamed(steps),
            "bytewax": lambda: in_bytewax(length, count),
        }
        if executor == "compiled":
            compiled = Dataflow(program, compiled=True)
            for _ in range(2):
                drained(compiled.streamed(steps * 12))
            runs["compiled"] = lambda: compiled.streamed(steps)
        run = runs[executor]()
        seconds = clocked(partial(drained, run), time.process_time)
    return {"cpu": seconds / count / length * 1e6}


def delayed(rows: Rows, delay: float, wait: float, seed: int) -> Rows:
    """The rows as they are seen by who waits so many days, where reports take that long on average."""
    chance = random.Random(seed)
    seen: Rows = [{"day": True} for _ in rows]
    told = dict.fromkeys(COUNTIES, -1)
    reports = sorted(
        (day + max(0.0, chance.expovariate(1 / delay) - wait) if delay else float(day), day, county)
        for day, row in enumerate(rows) for county in COUNTIES if county in row
    )  # fmt: skip
    for moment, day, county in reports:
        place = -int(-moment // 1)  # the first phase that is not complete by then
        if place < len(rows) and told[county] < day:  # what is older than what is known is of no use
            seen[place][county], told[county] = rows[day][county], day
    return seen


def alarms(rows: Rows) -> list[int]:
    """How many counties have an alarm, by day."""
    _, found = traced("disease", rows)
    days, now = list[int](), 0
    for carried in found:
        now = carried["out"][-1] if "out" in carried else now
        days.append(int(now))
    return days


@suite.experiment(
    Region(delay=[0.1, 0.5, 1.0], wait=[0.0, 0.5, 1.0, 2.0, 4.0, 8.0], sample=range(5)),
    limits=Limits(seconds=300, memory_mb=2000), persistent=True,
    late=Output("reports that come too late for their phase, of all", unit="%"),
    false=Output("days with a false alarm", kind=int), missed=Output("days with an alarm that is missed", kind=int),
    days=Output("days with an alarm where sensors are perfect", kind=int),
)  # fmt: skip
def late(delay: float, wait: float, sample: int) -> dict[str, Any]:
    """Reports that take `delay` days on average (exponential), for who waits `wait` days."""
    rows = disease(seed=sample)
    seen = delayed(rows, delay, wait, sample)
    true, found = alarms(rows), alarms(seen)
    pairs = [(day, county) for day, row in enumerate(rows) for county in COUNTIES if county in row]
    there = sum(seen[day].get(county) == rows[day][county] for day, county in pairs)
    return {
        "late": 100 * (1 - there / len(pairs)),
        "false": sum(b > a for a, b in zip(true, found, strict=True)),
        "missed": sum(b < a for a, b in zip(true, found, strict=True)), "days": sum(map(bool, true)),
    }  # fmt: skip


suite.table(
    "speedup", of=speedup, rows=("work", "depth", "width"), columns="threads",
    title="Microseconds of a vertex and phase",
    cells={"wall": median("wall"), "CPU": median("cpu"), "bare threads": median("bare")},
)  # fmt: skip
suite.table(
    "machine", of=machine, rows="work", columns="threads", title="Microseconds of a vertex and phase in machine code",
    cells={"wall": median("wall"), "CPU": median("cpu"), "bare threads": median("bare")},
)  # fmt: skip
suite.table(
    "news", of=news, rows="rate", title="What has news is run",
    cells={"executions": median("executions"), "every vertex, every phase": median("every"),
           "us a phase": median("cpu"), "reference": median("whole")},
)  # fmt: skip
suite.table(
    "beside", of=beside, rows="executor", columns="length", cells={"us": median("cpu")}, title="Other executors"
)
suite.table(
    "late", of=late, rows=("delay", "wait"), title="How long to wait for how few false alarms",
    cells={"late, %": median("late"), "false": median("false"), "missed": median("missed"), "of": median("days")},
)  # fmt: skip
suite.plot("waits", of=late, x="wait", series="delay", y=median("false"), title="Days with a false alarm")


@suite.claim("Two threads are 1.5 times as fast as one, as the paper has it, where a vertex takes 20 us and more")
def two_threads(data: Data) -> Judgement:
    return _faster(data, speedup, (20, 100, 500), 1.5, width=1)


@suite.claim("They are 1.8 times as fast where these vertices are machine code")
def two_machine_threads(data: Data) -> Judgement:
    return _faster(data, machine, (20, 50), 1.8)


def _faster(data: Data, of: Callable[..., object], works: tuple[int, ...], least: float, **point: int) -> Judgement:
    found = {}
    for work in works:
        rows = (data.rows(of, work=work, depth=DEPTH, threads=n, **point) for n in (1, 2))
        one, two = ([row["wall"] for row in each] for each in rows)
        if not one or not two or None in one or None in two:
            return warns("not measured")
        found[work] = sorted(one)[len(one) // 2] / sorted(two)[len(two) // 2]
    said = ", ".join(f"{ratio:.2f} at {work} us" for work, ratio in found.items())
    return ok(said) if min(found.values()) >= least else warns(f"{said}; `bare` says what the machine gave")


@suite.claim("What runs is proportional to what has news")
def proportional(data: Data) -> Judgement:
    rows = data.rows(news, status="ok")
    wrong = [row for row in rows if abs(row["executions"] / row["every"] / row["rate"] - 1) > 0.01]
    return fails(f"{wrong[0]}") if wrong else ok(f"{len(rows)} rates")


@suite.claim("Who waits longer has fewer wrong days, and almost none who waits eight times the longest mean delay")
def waiting_pays(data: Data) -> Judgement:
    """Of reports that take one day on average, one in 3,000 takes more than eight."""
    rows = data.rows(late, status="ok")
    if not rows:
        return warns("not measured")
    by_wait = {
        wait: sum(r["false"] + r["missed"] for r in rows if r["wait"] == wait) for wait in {r["wait"] for r in rows}
    }
    said = ", ".join(f"{wrong} wrong days waiting {wait} days" for wait, wrong in sorted(by_wait.items()))
    counts = [wrong for _, wrong in sorted(by_wait.items())]
    return ok(said) if counts == sorted(counts, reverse=True) and counts[-1] < counts[0] / 100 else fails(said)
