"""How the cost of checking and running grows with N, Q, k, the length of the pipeline and of the trace."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import workbench as wb
from workbench.lab import Limits, Output, Region, Suite, fails, maximum, median, ok, only, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.verify.ask.equivalence import EquivalenceMode

suite = Suite(
    "scaling",
    "How the cost of checking and running grows",
    """
Times are CPU time of the whole process tree, for everything that a check takes: crawling, printing, model checking,
and replaying what shows the verdict. The engine is `auto`, and has been started before.
""",
    depends=["models/time2021"],
)
FILES = (
    "passthrough", "output_if_smaller_than_k", "product_of_1_and_kth", "product_on_window_of_3", "sum_of_doubles",
    "sum_of_odds", "sum_of_ones_on_window",
)  # fmt: skip
PROPERTIES = {
    "no full queues": wb.properties.no_full_queues(),
    "liveness": wb.properties.liveness(),
    "bounded liveness (3)": wb.properties.bounded_liveness(3),
    "no overflow": wb.properties.no_overflow(),
}
MODES: dict[str, EquivalenceMode] = {"equals itself, stepwise": "stepwise", "equals itself, sequence": "sequence"}
LIMITS = Limits(seconds=60, cpu_seconds=20, memory_mb=4096)
VERDICT = {"verdict": Output("what was decided", kind=str), "engine": Output("who decided", kind=str)}


@cache
def pipeline(file: str, name: str | None = None, k: int = 3) -> wb.Pipeline:
    """A pipeline of models/time2021."""
    from pathlib import Path

    source = wb.read_file(Path(__file__).resolve().parent.parent / "models" / "time2021" / f"{file}.pipe")
    parameters = {"k": k} if name is None and "k" in source.parameters() else {}
    found: wb.Pipeline = source.get(name, **parameters).pipeline
    return found


def load() -> None:
    """Start the engine."""
    wb.check(pipeline("sum_of_odds"), wb.properties.liveness())


def told(verdict: wb.Verdict) -> dict[str, Any]:
    """A verdict as outputs."""
    return {"verdict": str(verdict.outcome), "engine": verdict.engine}


@suite.experiment(
    Region(query=FILES, asked=[*PROPERTIES, *MODES], size=[4, 16, 64, 256]),
    limits=LIMITS, persistent=True, warm_up=load, outputs=VERDICT,
)  # fmt: skip
def bounds(query: str, asked: str, size: int) -> dict[str, Any]:
    """A property of the paper's pipelines at N = size and Q = size / 4."""
    settings = wb.Settings(n=size, q=size // 4)
    own = pipeline(query)
    if asked in MODES:
        return told(wb.equiv(own, own, MODES[asked], settings))
    return told(wb.check(own, PROPERTIES[asked], settings))


@suite.experiment(
    Region(n=[2, 4, 16, 64, 256, 1024, 4096]), limits=LIMITS, repeat=3, persistent=True, warm_up=load, outputs=VERDICT
)
def window_sums(n: int) -> dict[str, Any]:
    """Sequence equivalence of the two window sums of 3, the paper's hardest comparison (117 s at its N)."""
    window, trims = (pipeline("window_sum_of_3", name) for name in ("window_sum_of_3", "trim_sum_of_3"))
    return told(wb.equiv(window, trims, "sequence", wb.Settings(n=n, q=2)))


@suite.experiment(
    Region(width=[2, 4, 8, 16, 32], asked=["liveness", "no overflow"]),
    limits=LIMITS, repeat=3, persistent=True, warm_up=load, outputs=VERDICT,
)  # fmt: skip
def widths(width: int, asked: str) -> dict[str, Any]:
    """A window of that width over a running sum, N = 4: every content of the window is a state."""
    return told(wb.check(in_sequence(1, width), PROPERTIES[asked], wb.Settings(n=4, q=2)))


@suite.experiment(
    Region(shape=["window sums in sequence", "branches summed"], length=[1, 2, 5, 10, 20, 50, 100],
           asked=["liveness", "no overflow"]),
    limits=LIMITS, persistent=True, warm_up=load, outputs=VERDICT,
)  # fmt: skip
def lengths(shape: str, length: int, asked: str) -> dict[str, Any]:
    """Window sums one behind the other, and forks whose branches are summed; N = 4, Q = 2."""
    made = in_sequence(length) if shape == "window sums in sequence" else forked(length)
    return told(wb.check(made, PROPERTIES[asked], wb.Settings(n=4, q=2)))


def in_sequence(length: int, width: int = 3) -> wb.Pipeline:
    """So many window sums, one behind the other."""
    builder = wb.Builder("chain")
    stream = builder.input("x")
    for _ in range(length):
        stream = wb.processors.Window(width, wb.processors.Cumulate(wb.functions.ADD))(stream)
    return builder.build(stream)


def forked(length: int) -> wb.Pipeline:
    """The sum of so many copies of the input, each trimmed by one event more or less than its neighbour."""
    builder = wb.Builder("fork")
    x = builder.input("x")
    total = wb.processors.Trim(1)(x)
    for number in range(length):
        total = total + (x if number % 2 else wb.processors.Trim(1)(x))
    return builder.build(total)


WANTED: dict[str, Callable[[int], int]] = {
    "passthrough": lambda events: events,
    "output_if_smaller_than_k": lambda _: 3,
    "product_of_1_and_kth": lambda events: -(-events // 3),
    "product_on_window_of_3": lambda events: events - 2,
    "sum_of_doubles": lambda events: events,
    "sum_of_odds": lambda events: events // 2,
    "sum_of_ones_on_window": lambda events: events - 2,
}
"""How many events come out (models/time2021 says why)."""


@suite.experiment(
    Region(query=FILES, events=[1000, 3000, 10000, 30000]), limits=LIMITS, repeat=3,
    expected=lambda query, events: {"outputs_count": WANTED[query](events)} if query in WANTED else None,
    outputs={"outputs_count": Output("events that came out", kind=int), "rate": Output("events a second", "1/s")},
)  # fmt: skip
def execution(query: str, events: int) -> dict[str, Any]:
    """Running a pipeline on the reference executor, on Python numbers."""
    import time

    own = pipeline(query)
    begin = time.process_time()
    found = wb.executors.Reference(own).run({"x": range(events)})["out"]
    return {"outputs_count": len(found), "rate": events / (time.process_time() - begin)}


CPU = median("cpu_seconds")
CELLS = {"CPU, s": CPU, "verdict": only("verdict")}
suite.table(
    "bounds", of=bounds, rows=["query", "asked"], columns="size", cells=CELLS,
    title="N and Q together: N = size, Q = size / 4",
)  # fmt: skip
suite.table(
    "window-sums", of=window_sums, rows="n", cells={**CELLS, "engine": only("engine")},
    title="Domain size: two window sums of 3, sequence equivalence",
)  # fmt: skip
suite.table(
    "widths", of=widths, rows="width", columns="asked", cells=CELLS,
    title="Window width k (N = 4)",
)  # fmt: skip
suite.table(
    "lengths", of=lengths, rows=["shape", "length"], columns="asked", cells=CELLS,
    title="Length of the pipeline (N = 4, Q = 2)",
)  # fmt: skip
suite.table(
    "execution", of=execution, rows="query", columns="events",
    cells={"events/s": median("rate"), "MB": maximum("peak_mb")}, title="The reference executor by length of the trace",
)  # fmt: skip
suite.plot("domain", of=window_sums, x="n", y=CPU, log="xy", title="CPU time by domain size")
suite.plot("length", of=lengths, x="length", y=CPU, series="shape", log="xy", where={"asked": "no overflow"},
           title="CPU time by length of the pipeline, no overflow")  # fmt: skip
suite.plot("length-liveness", of=lengths, x="length", y=CPU, series="shape", log="xy", where={"asked": "liveness"},
           title="CPU time by length of the pipeline, liveness")  # fmt: skip
suite.plot("rates", of=execution, x="events", y=median("rate"), series="query", log="xy",
           title="Events a second by length of the trace")  # fmt: skip


@suite.claim("Checking does not slow down by more than ten times from N = 4 to N = 4096")
def domains(data: Data) -> Judgement:
    """Of the two window sums; the paper took 117 s for them."""
    at = {n: sorted(r["cpu_seconds"] for r in data.rows(window_sums, n=n)) for n in (4, 4096)}
    factor = at[4096][1] / at[4][1]
    return (ok if factor < 10 else fails)(f"x {factor:.1f}, to {at[4096][1]:.3f} s")


@suite.claim("Every pipeline of a hundred processors and more is decided within ten seconds")
def long(data: Data) -> Judgement:
    rows = data.rows(lengths, length=100)
    slowest = max(row["cpu_seconds"] for row in rows)
    undecided = [row for row in rows if row["status"] != "ok" or row["verdict"] == "unknown"]
    return (
        fails(f"{len(undecided)} undecided, {slowest:.1f} s") if undecided or slowest > 10 else ok(f"{slowest:.1f} s")
    )


@suite.claim("Running takes time in proportion to the length of the trace")
def linear(data: Data) -> Judgement:
    slower = []
    for query in FILES:
        rate = {n: sorted(r["rate"] for r in data.rows(execution, query=query, events=n))[1] for n in (3000, 30000)}
        if rate[30000] < 0.5 * rate[3000]:
            slower.append(f"{query} x {rate[3000] / rate[30000]:.1f}")
    return warns(f"slower on longer traces: {', '.join(slower)}") if slower else ok()
