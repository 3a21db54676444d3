"""How many events engines of rules keep up with, and how long they take: figures 5.1 to 5.4 of Di Pilla's thesis."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np

from experiments.rule_loads import ThesisLoad
from experiments.rule_timing import ONE_BY_ONE, PUSHED, engines, fed, queued, totals, warmed
from workbench.lab import Limits, Output, Region, Suite, fails, median, ok, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.lab.table import Beside

suite = Suite(
    "trex2016",
    "Rules at a rate: the load of the thesis on T-Rex, its drop rate and time of completion",
    """
Di Pilla (sections 5.3.1 to 5.3.4) feeds an engine with events of 195 types at a rate: 650 rules, ten identical ones of
each of 65, `from SE_0(x == 1) and each SE_1(x == 1) within t1 from SE_0 and each SE_2(x == 1) within t2 from SE_1`,
where t1 and t2 are uniform within a second of their mean; a minute of events, 600 to 4,000 a second with windows of 10
seconds, and 1,500 a second with windows of 3 to 12. The **time of completion** is that of the whole minute with an
unbounded queue. The **drop rate** is the part of the events that come when a queue of a tenth of a second's events is
full. Here the engine has a core to itself whatever else the machine does, and nothing runs in real time: an event is
served for the CPU time that it takes, which is measured, on a clock of the queue's own. `compiled` takes what waits as
a block of columns, `compiled pushed` one event after the other. At full size a queue is followed for three times the
longest window: after two all windows are full, and the rest of the minute is taken to be as the third was.

**How many composites there must be.** Three events match a rule if their types do, with a probability of 1 in 195 to
the third, and if they lie in its windows. Counting all triples of a minute's events that do, over the distribution of
windows, gives 94.6 million composites for all rules at 600 a second: `ThesisLoad.mean`. T-Rex, on a stream and windows
of its own, had 94,182,090 (and 0.437e9, 1.47e9, 3.49e9, 27.9e9 at 1,000, 1,500, 2,000 and 4,000: the mean is 0.438e9,
1.478e9, 3.504e9, 28.03e9). Of a stream at hand the number is counted by prefix sums, and engines have to meet it.

`full` is the load of the thesis. `small` has each rule once and a quarter of a minute.

T-Rex took 32.7 CPU seconds for the load at 600 a second and 10 seconds (347 ns a composite), and 2.4 with windows of 3
seconds, measured elsewhere. The thesis's own figures are pictures, of which the words remain: T-Rex2 is four times as
fast as T-Rex, on 8 threads, and at 600 a second neither drops anything.
""",
    depends=["experiments/rule_loads.py", "experiments/rule_timing.py"],
)
SIZES = {"small": {"seconds": 15, "copies": 1}, "full": {"seconds": 60, "copies": 10}}
BUDGET = {"small": 2.0, "full": 8.0}
"""CPU seconds after which an engine is stopped, and what it would take is estimated."""
TREX = {600: 94_182_090, 1000: 0.437e9, 1500: 1.47e9, 2000: 3.49e9, 4000: 27.9e9}
"""Rate to the composites of T-Rex, with windows of 10 seconds."""
AXES = ("size", "rate", "window", "line")


def sweep(lines: list[str]) -> Region:
    """The rates of figures 5.1 and 5.2, and the windows of figures 5.3 and 5.4; `aip`, the slowest, has small loads."""
    some = [line for line in lines if line != "aip"]
    full = Region(size=["full"], rate=list(TREX), window=[10], line=some)
    full += Region(size=["full"], rate=[1500], window=[3, 6, 9, 12], line=some)
    small = Region(size=["small"], rate=[600, 1500, 4000], window=[10], line=lines)
    return small + Region(size=["small"], rate=[1500], window=[3, 6], line=lines) + full


def of(size: str, rate: int, window: int) -> ThesisLoad:
    return ThesisLoad(rate, window, **SIZES[size])


@suite.experiment(
    Region(size=list(SIZES), rate=list(TREX), window=[10])
    + Region(size=list(SIZES), rate=[1500], window=[3, 6, 9, 12]),
    limits=Limits(seconds=300), persistent=True,
    mean=Output("composites on average"), exact=Output("composites of the stream at hand", kind=int),
    deviation=Output("by how many standard deviations that one is off"),
)  # fmt: skip
def composites(size: str, rate: int, window: int) -> dict[str, Any]:
    """How many composites there must be: computed on average, counted for the stream at hand, and for 20 others."""
    load, streams = of(size, rate, window), []
    for seed in range(20):
        other = replace(load, seed=seed)
        log = other.log()
        streams.append(load.copies * sum(int(chain.matches(log).sum()) for chain in other.chains()))
    exact, mean = int(load.load().expected.sum()), load.mean()
    return {"mean": mean, "exact": exact, "deviation": (exact - mean) / float(np.std(streams))}


@suite.experiment(
    sweep([each for each in engines(PUSHED) if each != "gpu"]), limits=Limits(seconds=900, memory_mb=4096),
    persistent=True,
    seconds=Output("CPU time for all, estimated from the composites where `part` is below 1", "s"),
    ns=Output("CPU time for a composite", "ns"), part=Output("part of the composites that was made"),
)  # fmt: skip
def completion(size: str, rate: int, window: int, line: str) -> dict[str, Any]:
    """Time of completion (figures 5.2 and 5.4)."""
    load = of(size, rate, window).load()
    found = totals(fed(warmed(load, line), line, load.log, BUDGET[size]))
    expected = int(load.expected[: found.events].sum())
    assert found.composites == expected, f"{line} has {found.composites} composites, not {expected}"
    part = expected / int(load.expected.sum())
    return {"seconds": found.seconds / part, "ns": 1e9 * found.seconds / found.composites, "part": part}


@suite.experiment(
    sweep([each for each in engines(PUSHED) if each != "gpu"]), limits=Limits(seconds=900, memory_mb=4096),
    persistent=True,
    dropped=Output("events that were dropped", "%"), busy=Output("part of the time in which the engine was busy", "%"),
)  # fmt: skip
def drops(size: str, rate: int, window: int, line: str) -> dict[str, Any]:
    """Drop rate with a queue of a tenth of a second's events (figures 5.1 and 5.3).

    What is dropped causes nothing later, so an engine that is overloaded has fewer composites to make.
    """
    load, span = of(size, rate, window).load(), (window + 1) * rate
    blocks = line not in ONE_BY_ONE and PUSHED not in line
    return queued(warmed(load, line), load.log, rate, blocks=blocks, steady=2 * span, most=3 * span)


# --- what they tell --------------------------------------------------------------------------------------------------

CELLS = {"s": median("seconds"), "ns a composite": median("ns"), "part": median("part")}
suite.table("composites", of=composites, rows=["size", "rate", "window"], title="How many composites there must be",
            cells={"on average": median("mean"), "counted": median("exact"), "deviations": median("deviation")},
            beside=[Beside("T-Rex", AXES[:3], {("full", rate, 10): had for rate, had in TREX.items()},
                           source="on a stream and windows of its own")])  # fmt: skip
suite.table("completion", of=completion, rows=["size", "rate", "window", "line"], cells=CELLS,
            title="Time of completion")  # fmt: skip
suite.table("drops", of=drops, rows=["size", "rate", "window", "line"], title="Drop rate",
            cells={"dropped": median("dropped"), "busy": median("busy")})  # fmt: skip
for size in SIZES:
    for name, axis, where in (("rate", "rate", {"window": 10}), ("window", "window", {"rate": 1500})):
        chosen: dict[str, Any] = {"size": size, **where}
        suite.plot(f"completion-by-{name}-{size}", of=completion, x=axis, y=median("seconds"), series="line", log="y",
                   where=chosen, title=f"Time of completion by {name} ({size})")  # fmt: skip
        suite.plot(f"drops-by-{name}-{size}", of=drops, x=axis, y=median("dropped"), series="line",
                   where=chosen, title=f"Drop rate by {name} ({size})")  # fmt: skip


@suite.claim("The numbers of composites are those that follow from the load")
def numbers(data: Data) -> Judgement:
    """Engines are held to the exact number of their stream, which is within four standard deviations of the mean."""
    worst = max(abs(row["deviation"]) for row in data.rows(composites, status="ok"))
    return (ok if worst < 4 else fails)(f"at most {worst:.1f} standard deviations off")


@suite.claim("T-Rex's own composites at 600 to 4,000 events a second are within one percent of the mean")
def of_trex(data: Data) -> Judgement:
    rows = data.rows(composites, size="full", window=10)
    worst = max(abs(TREX[row["rate"]] / row["mean"] - 1) for row in rows)
    return (ok if worst < 0.01 else fails)(f"at most {100 * worst:.2f} % off")


@suite.claim("At 600 events a second nothing is dropped (figure 5.1)")
def none_dropped(data: Data) -> Judgement:
    """T-Rex keeps up there; here `compiled` as a whole, and one event at a time from Python beside it."""
    (own,) = data.rows(drops, status="ok", size="full", rate=600, window=10, line="compiled")
    rows = data.rows(drops, status="ok", size="full", rate=600, window=10)
    dropped = {row["line"]: row["dropped"] for row in rows}
    words = ", ".join(f"{line} {each:.1f} %" for line, each in dropped.items())
    why = "; Python takes longer to make each composite an object than T-Rex for it" * (max(dropped.values()) > 0)
    return (ok if own["dropped"] == 0 else warns)(words + why)


@suite.claim("At 4,000 events a second, where T-Rex loses most (figure 5.1), blocks of columns lose less than half")
def overloaded(data: Data) -> Judgement:
    (own,) = data.rows(drops, status="ok", size="full", rate=4000, window=10, line="compiled")
    rows = data.rows(drops, status="ok", size="full", rate=4000, window=10)
    dropped = {row["line"]: row["dropped"] for row in rows}
    words = ", ".join(f"{line} {each:.0f} %" for line, each in dropped.items())
    return (ok if own["dropped"] < 50 else warns)(words)


@suite.claim("The load at 600 events a second takes a tenth of T-Rex's 32.7 CPU seconds")
def faster(data: Data) -> Judgement:
    (found,) = data.rows(completion, status="ok", size="full", rate=600, window=10, line="compiled")
    return (ok if found["seconds"] < 3.27 else warns)(f"{found['seconds']:.2f} s, {32.7 / found['seconds']:.0f} times")


@suite.claim("Drop rate and time of completion tell the same: what takes longer drops more (section 5.3.4)")
def together(data: Data) -> Judgement:
    seconds = {tuple(row[axis] for axis in AXES): row["seconds"] for row in data.rows(completion, status="ok")}
    found = [(*(row[axis] for axis in AXES), row["dropped"]) for row in data.rows(drops, status="ok")]
    words, wrong = [], 0
    for size, line in sorted({(row[0], row[3]) for row in found}):
        both = sorted(
            (seconds[row[:4]], row[4]) for row in found if (row[0], row[3]) == (size, line) and row[:4] in seconds
        )
        wrong += sum(one[1] > other[1] + 1 for one, other in pairwise(both))
        words.append(f"{line} ({size}): " + ", ".join(f"{taken:.0f} s {drop:.0f} %" for taken, drop in both))
    return ok("; ".join(words)) if not wrong else warns("; ".join(words))
