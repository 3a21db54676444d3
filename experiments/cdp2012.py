"""What an event costs engines of rules, by what the rules are like: figures 8 to 16 of Cugola and Margara."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from experiments.cdp_claims import CLAIMS
from experiments.device_models import DEVICES, scanning_cost
from experiments.rule_loads import RuleLoad, Scenario, banded, constants_load, uniform_log
from experiments.rule_timing import PUSHED, SCANNING, cost, engines, fed, filled, reached, started, totals
from workbench.lab import Limits, Output, Region, Suite, median, only

suite = Suite(
    "cdp2012",
    "Rules by what they are like: the base scenario of the paper on CDP, and what is changed in it",
    """
Cugola and Margara (section 6) change one parameter of a base scenario (table 1) after the other: rule R5, a sequence of
3 states with an aggregate, windows of 100,000 ticks, an event a tick, attributes with 50,000 values. An engine gets
events until the windows are full, then the average of the next ones is taken: up to 100,000, or as many as there is
time for. Every number of composites is held against what sorting and prefix sums tell of the same columns.

`full` has the sizes of the paper; in `tenth` windows and numbers of values are a tenth of what is written, so that as
many events fit each other. A line is an engine, how it is used, and the selection policy. `scanning` is without
indexes, as the paper's algorithms are: the same work, as machine code (`compiled scanning`), or in Python instead of
C++ (`aip` and `cdp`, at a tenth of the size), where what counts is the form of curves and not their height. The engines
by themselves have indexes and know sums of windows. `pushed` is given one event at a time.

The figures' numbers are lost in our copy of the paper, of which the words remain: a GPU (GTX 460) 25 to 30 times faster
than CDP in the base scenario, never below 0.017 ms an event, worth it from windows of 4,000 on, 35 times at 250,000;
CDP slightly faster than AIP; 2.5 times on six cores. T-Rex on this scenario, measured elsewhere (CPU microseconds an
event): 7.8, 117, 4,507 and 22,646 for windows of 1,000, 10,000, 100,000 and 250,000 with `each`, 7.9, 109, 3,696 and
10,014 with `last`; for 1, 10, 50 and 200 rules 10, 345, 932 and 2,848 with `each`, 10, 310, 889 and 2,644 with `last`.

`gpu` is `--backend gpu`, which is refused where there is no device. What one would cost the paper's way, one trigger
after the other, is *modelled*, not measured: see `gpu_model`.
""",
    depends=["experiments/device_models.py", "experiments/rule_loads.py", "experiments/rule_timing.py"],
)
SIZES = {"tenth": 10, "full": 1}
EVENTS = {"tenth": 20_000, "full": 300_000}
"""That are measured at most."""
BUDGET = {"tenth": 1.0, "full": 2.0}
"""CPU seconds for them."""
LINES = [f"{name} {policy}" for name in engines(SCANNING, PUSHED) for policy in ("each", "last")]
OURS = [line for line in LINES if not line.startswith("gpu")]
IN_PYTHON = ("aip", "cdp")
LIMITS = Limits(seconds=900, memory_mb=4096)
COST = {
    "us": Output("CPU time for an event", "µs"),
    "events": Output("events that were measured", kind=int),
    "composites": Output("composites that they caused", kind=int),
}


def measured(size: str, line: str, **changed: Any) -> dict[str, Any]:
    """The cost of an event in a scenario, its window and values as in the paper."""
    return cost(scenario(size, line, **changed), line.rpartition(" ")[0], BUDGET[size])


def scenario(size: str, line: str, window: int = 100_000, values: int = 50_000, **changed: Any) -> RuleLoad:
    less = SIZES[size]
    given = {**changed, "window": window // less, "values": max(1, values // less)}
    return Scenario(line.rpartition(" ")[2], **given).load(EVENTS[size])


def region(lines: list[str] = LINES, *, many: bool = False, **axes: Any) -> Region:
    """At full size what does not scan in Python; what scans is compared at a tenth of it.

    Parameters
    ----------
    many: there are many rules or matches: what is in Python has a tenth of the size only.
    """
    python = [line for line in lines if line.startswith(IN_PYTHON)]
    full = [line for line in lines if line not in python or not (many or SCANNING in line)]
    tenth = [line for line in lines if SCANNING in line or (many and line in python)]
    parts = [Region(size=[size], line=of, **axes) for size, of in (("full", full), ("tenth", tenth)) if of]
    return sum(parts[1:], parts[0])


@suite.experiment(region(), limits=LIMITS, persistent=True, outputs=COST)
def base(size: str, line: str) -> dict[str, Any]:
    """The base scenario (figure 8)."""
    return measured(size, line)


@suite.experiment(region(states=[2, 3, 4, 5]), limits=LIMITS, persistent=True, outputs=COST)
def length(size: str, line: str, states: int) -> dict[str, Any]:
    """Sequences of so many states, and as many types (figure 9)."""
    return measured(size, line, states=states)


@suite.experiment(
    region(window=[1_000, 2_500, 5_000, 10_000, 25_000, 50_000, 100_000, 250_000]),
    limits=LIMITS, persistent=True, outputs=COST,
)  # fmt: skip
def windows(size: str, line: str, window: int) -> dict[str, Any]:
    """Windows of so many ticks (figure 10)."""
    return measured(size, line, window=window)


@suite.experiment(
    region([line for line in OURS if SCANNING not in line and not line.startswith(IN_PYTHON)],
           window=[1_000, 10_000, 100_000, 250_000]),
    limits=LIMITS, persistent=True, outputs=COST,
)  # fmt: skip
def alike(size: str, line: str, window: int) -> dict[str, Any]:
    """Not in the paper: windows of so many ticks, and half as many values: an event has as many matches in each."""
    return measured(size, line, window=window, values=window // 2)


@suite.experiment(
    region(values=[1_000, 5_000, 10_000, 20_000, 50_000, 100_000])
    + region([line for line in LINES if line.endswith("last")], values=[10, 100]),
    limits=LIMITS, persistent=True, outputs=COST,
)  # fmt: skip
def values_(size: str, line: str, values: int) -> dict[str, Any]:
    """Attributes with so many values (figure 11, where they are 10,000 and more).

    With `each` a trigger has 110,000 matches where there are 100 values and 11 million where there are 10, which no
    engine has use for: these are asked of `last` only.
    """
    return measured(size, line, values=values)


@suite.experiment(region(aggregates=[0, 1, 2, 3]), limits=LIMITS, persistent=True, outputs=COST)
def aggregates_(size: str, line: str, aggregates: int) -> dict[str, Any]:
    """So many aggregates, to each of which a third of the events is relevant (figure 12)."""
    return measured(size, line, aggregates=aggregates)


@suite.experiment(
    region([line for line in OURS if not line.startswith(IN_PYTHON) and PUSHED not in line],
           rules=[1, 10, 50, 200], threads=[1, 2]),
    limits=LIMITS, persistent=True,
    events_s=Output("events a second of wall-clock time", "1/s"),
)  # fmt: skip
def threads_(size: str, line: str, rules: int, threads: int) -> dict[str, Any]:
    """Rules dealt out to so many threads, each with an engine of its own, as in the paper (figure 13).

    Of engines in Python only one runs at a time.
    """
    name, load = line.rpartition(" ")[0], scenario(size, line, rules=rules, groups=10)
    head, *bodies = load.text.split("\nfrom ")
    texts = ["\nfrom ".join([head, *bodies[at::threads]]) + "\n" for at in range(min(threads, rules))]
    running = [filled(RuleLoad(text, load.log, load.fill, None, load.triggers), name) for text in texts]
    some = load.log.part(load.fill, len(load.log))
    made: list[int] = []

    def run(engine: Any) -> None:
        made.append(totals(fed(engine, name, some)).composites)

    workers = [threading.Thread(target=run, args=(engine,)) for engine in running]
    began = time.perf_counter()
    for each in workers:
        each.start()
    for each in workers:
        each.join()
    taken = time.perf_counter() - began
    assert sum(made) == load.expected[load.fill : load.fill + len(some)].sum()
    return {"events_s": len(some) / taken}


@suite.experiment(region(many=True, rules=[1, 10, 20, 50, 100, 200]), limits=LIMITS, persistent=True, outputs=COST)
def rules_(size: str, line: str, rules: int) -> dict[str, Any]:
    """So many rules, of which an event is relevant to a tenth (figure 14)."""
    return measured(size, line, rules=rules, groups=10)


@suite.experiment(region(many=True, rules=[20, 50, 100, 150, 200, 250]), limits=LIMITS, persistent=True, outputs=COST)
def simple(size: str, line: str, rules: int) -> dict[str, Any]:
    """So many rules, of which an event is relevant to a hundredth, and attributes with 1,000 values (figure 15)."""
    return measured(size, line, rules=rules, groups=100, values=1_000)


@suite.experiment(
    region([line for line in LINES if line.endswith("each")], many=True, accepted=[0.0001, 0.001, 0.01, 0.1, 0.9]),
    limits=LIMITS, persistent=True, outputs=COST,
)  # fmt: skip
def accepted_(size: str, line: str, accepted: float) -> dict[str, Any]:
    """Many matches, of which a condition on the aggregate accepts this part (figure 16).

    The paper does not say how windows and parameters were relaxed. Here windows are half as long, and there are as many
    values that a trigger has about 70 matches.
    """
    return measured(size, line, window=50_000, values=2_000, accepted=accepted)


@suite.experiment(
    region([line for line in OURS if SCANNING not in line and not line.startswith("aip")],
           window=[1_000, 10_000, 100_000, 250_000]),
    limits=LIMITS, persistent=True, outputs=COST,
)  # fmt: skip
def bands(size: str, line: str, window: int) -> dict[str, Any]:
    """Not in the paper: no equation, but values that lie within 25 of the trigger's, a thousandth of them."""
    name, _, policy = line.rpartition(" ")
    window //= SIZES[size]
    return cost(banded(window + EVENTS[size], window, policy), name, BUDGET[size])


@suite.experiment(
    region([line for line in OURS if SCANNING not in line and not line.startswith("aip")],
           keys=[10, 100, 1_000, 50_000]),
    limits=LIMITS, persistent=True, outputs=COST,
)  # fmt: skip
def groups(size: str, line: str, keys: int) -> dict[str, Any]:
    """Not in the paper: the same values, of events with the same key, of which there are so many."""
    name, _, policy = line.rpartition(" ")
    window = 100_000 // SIZES[size]
    return cost(banded(window + EVENTS[size], window, policy, keys=keys), name, BUDGET[size])


Refuses = Callable[[Any, Any], Any]
REFUSING: dict[str, tuple[tuple[str, Refuses], ...]] = {
    "compared": (("value - $v > 0", lambda one, other: one[0] > other[0]),
                 ("att - $k > 48000", lambda one, other: one[1] - other[1] > 48_000)),
    "remainders": (("(value + $v) % 7 != 8", lambda one, other: (one[0] + other[0]) % 7 != 8),
                   ("(att + $k) % 1000 == 7", lambda one, other: (one[1] + other[1]) % 1000 == 7)),
}  # fmt: skip
"""Two constraints, the second of which refuses most, and what they say of columns of `value` and `att`."""


@suite.experiment(
    region(["cdp each", "compiled each"], constraints=list(REFUSING), first=["most", "least"]),
    limits=LIMITS, persistent=True, outputs=COST,
)  # fmt: skip
def ordered(size: str, line: str, constraints: str, first: str) -> dict[str, Any]:
    """Not in the paper: two constraints in a window of 2,000; which refuses most is written first, or last."""
    window, log = 2_000, uniform_log(2_000 + min(EVENTS[size], 20_000), 2, 50_000, "AC", "value", "att")
    asked = REFUSING[constraints][:: -1 if first == "most" else 1]
    columns: Any = np.stack([log.attributes["value"], log.attributes["att"]])
    expected: Any = np.zeros(len(log), int)
    for place in np.flatnonzero(log.types == 1):
        before = slice(max(0, place - window), place)
        fits = [holds(columns[:, before], columns[:, place]) for _, holds in asked]
        expected[place] = np.sum((log.types[before] == 0) & fits[0] & fits[1])
    text = f"""{log.declarations}declare CE(first: int)
    from C[$v = value, $k = att] and each A({", ".join(text for text, _ in asked)}) within {window} from C
    emit CE(first = TIME(A))"""
    return cost(RuleLoad(text, log, window, expected, (1,)), line.rpartition(" ")[0], BUDGET[size])


@suite.experiment(
    Region(size=["full"], line=["compiled last", "compiled pushed last"], rules=[1_000, 10_000])
    + Region(size=["tenth"], line=["cdp last"], rules=[1_000]),
    limits=LIMITS, persistent=True, outputs=COST, load_s=Output("CPU time until the rules could run", "s"),
)  # fmt: skip
def constants_(size: str, line: str, rules: int) -> dict[str, Any]:
    """So many rules, a thousandth of which names the constant that an event has: no figure of the paper's.

    Loading is reading, checking and planning, without what it takes to compile the kernel, which is kept.
    """
    name = line.rpartition(" ")[0]
    load = constants_load(rules, 10_000 // SIZES[size], EVENTS[size])
    began = time.process_time()
    started(load.rules, name)
    load_s = time.process_time() - began
    return {**cost(load, name, BUDGET[size]), "load_s": load_s}


@suite.experiment(
    Region(window=[1_000, 10_000, 100_000, 250_000]), limits=LIMITS, persistent=True,
    ns=Output("CPU time of a look at memory that hangs on the one before", "ns"),
)  # fmt: skip
def memory(window: int) -> dict[str, Any]:
    """Not in the paper: what it takes to reach memory, if there is as much of it as what engines keep of a window.

    That is taken to be a line of the processor's cache, 64 bytes, for each of its events.
    """
    return {"ns": 1e9 * reached(64 * window)}


# --- a model of a GPU ------------------------------------------------------------------------------------------------


@suite.experiment(
    Region(device=list(DEVICES), policy=["each", "last"], window=[1_000, 4_000, 10_000, 100_000, 250_000],
           rules=[1, 10, 50, 200]),
    persistent=True, us=Output("modelled time for an event", "µs"), launches=Output("kernels that are started"),
    mb=Output("megabytes that are moved in its memory and to it"),
)  # fmt: skip
def gpu_model(device: str, policy: str, window: int, rules: int) -> dict[str, Any]:
    """A **model**: starts, copies and words moved in the base scenario, without indexes; with rules as in figure 14.

    A trigger starts a kernel for each column and one for the aggregate; each moves the column's window through memory
    once for each sequence so far. What is emitted is copied to the host; where the columns of all rules do not fit into
    memory, those of the rule are copied to it before. The times of the GTX 460's copies and starts are chosen so that
    small windows cost 17 µs, as the paper has it; the rest are the data sheets'. Those of the H100 are assumed.
    """
    return scanning_cost(DEVICES[device], policy, window, rules)


# --- what they tell --------------------------------------------------------------------------------------------------

FIGURES: Mapping[str, tuple[Any, str, str, str]] = {
    "figure-9": (length, "states", "", "Length of sequences"),
    "figure-10": (windows, "window", "xy", "Size of windows"),
    "alike": (alike, "window", "xy", "Size of windows, with as many matches in each"),
    "figure-11": (values_, "values", "xy", "Number of values"),
    "figure-12": (aggregates_, "aggregates", "", "Number of aggregates"),
    "figure-14": (rules_, "rules", "xy", "Number of rules, a tenth relevant"),
    "figure-15": (simple, "rules", "xy", "Number of simple rules, a hundredth relevant"),
    "figure-16": (accepted_, "accepted", "xy", "Part of matches that is accepted"),
    "bands": (bands, "window", "xy", "Bands instead of equations: size of windows"),
    "groups": (groups, "keys", "xy", "Bands beside equations: number of keys"),
}
CELL = {"µs": median("us")}
suite.table("figure-8", of=base, rows=["size", "line"], cells={**CELL, "events": only("events"),
            "composites": only("composites")}, title="Base scenario: microseconds an event")  # fmt: skip
for key, (experiment, axis, log, title) in FIGURES.items():
    suite.table(key, of=experiment, rows=["size", "line"], columns=axis, cells=CELL,
                title=f"{title}: microseconds an event")  # fmt: skip
    for size in ("tenth", "full"):
        suite.plot(f"{key}-{size}", of=experiment, x=axis, y=median("us"), series="line", where={"size": size},
                   log=log or "y", title=f"{title} ({size})")  # fmt: skip
suite.table("constants", of=constants_, rows=["size", "line"], columns="rules",
            cells={**CELL, "loading, s": median("load_s")},
            title="Rules with constants, a thousandth relevant: microseconds an event")  # fmt: skip
suite.table("figure-13", of=threads_, rows=["size", "line", "rules"], columns="threads",
            cells={"events/s": median("events_s")}, title="Threads: events a second of wall-clock time")  # fmt: skip
suite.table("gpu-model", of=gpu_model, rows=["device", "policy", "window"], columns="rules", cells=CELL,
            title="A model of a GPU: microseconds an event")  # fmt: skip
suite.plot("gpu-model", of=gpu_model, x="window", y=median("us"), series="device", log="xy",
           where={"policy": "each", "rules": 1}, title="A model of a GPU: size of windows")  # fmt: skip
for statement, judge in CLAIMS:
    suite.claim(statement)(judge)
