"""How much memory a delay needs."""

import workbench as wb
from workbench.lab import Limits, Output, Region, Suite, fails, median, ok, only

suite = Suite("delays", "The memory of a delay")


def start():
    """Start the engine once, unmeasured."""
    wb.check(wb.parse("pipeline p(x: int) -> int { return x + trim(x, 1) }").get(), "no-overflow")


@suite.experiment(
    Region(k=range(1, 6), n=[2, 16]),
    limits=Limits(seconds=60, memory_mb=1000),
    persistent=True,
    warm_up=start,
    expected=lambda k: {"capacity": k},
    capacity=Output("smallest capacity of the queue before the sum", "events", int),
)
def delay(k, n):
    """The smallest queue of x + trim(x, k): the events that wait for the one k later."""
    source = wb.parse(f"pipeline delay(x: int) -> int {{ return x + trim(x, {k}) }}")
    found = wb.buffers(source.get().pipeline, wb.Settings(n=n))
    return {"capacity": found.queues[0].capacity}


suite.table(
    "capacities", of=delay, rows="k", columns="n", title="Capacity by delay",
    cells={"events": only("capacity"), "CPU, ms": median("cpu_seconds").as_("ms", 1000)},
)  # fmt: skip
suite.plot("cost", of=delay, x="k", y=median("cpu_seconds"), series="n", title="CPU time by delay")


@suite.claim("The memory of a delay does not depend on N")
def independent(data):
    by_k = {}
    for row in data.rows(delay):
        by_k.setdefault(row["k"], set()).add(row["capacity"])
    return ok() if all(len(capacities) == 1 for capacities in by_k.values()) else fails(f"{by_k}")


@suite.macro("capacity for the longest delay", "events")
def longest(data):
    return max(row["capacity"] for row in data.rows(delay))
