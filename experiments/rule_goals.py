"""What is asked of engines of rules: every goal beside what was measured, and beside what others take."""

from __future__ import annotations

import gc
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from experiments.rule_loads import (
    MAXIMUM,
    EventLog,
    RuleLoad,
    Scenario,
    ThesisLoad,
    anchor_r5,
    anchor_w1,
    anchor_w2,
    constants_load,
)  # fmt: skip
from experiments.rule_timing import BLOCK, PUSHED, cost, fed, found_matches, started, totals, warmed
from workbench.lab import Limits, Output, Region, Suite, minimum, ok, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.lab.measure.tree import resident_mb
from workbench.lab.table import Beside

SCENARIO = Path(__file__).resolve().parents[1] / "models" / "tesla" / "scenario.tesla"
suite = Suite(
    "rule_goals",
    "What is asked of engines of rules, and what they take",
    """
Every goal for rules in one table: CPU time on one core with `compiled`, whose machine code is there, and the figures of
others beside it, which were measured on another day on two shared cores, as whole processes, with `each` and `last` as
the goal says. The workloads are those of suites `cep_anchors` (W1, W2, R5), `cdp2012` (many rules) and `trex2016`,
which sweep what is one point here. Of three measurements the least is shown.

- **From Parquet to a file** is the whole command `workbench run`, its start included, which a million events share, or
  ten.
- **A million events in windows** of R5: 1,000,000 ticks, so that of an event a tick a third are A's, which are kept for
  two windows, and a third B's, for one. Memory is what the process has more than with an engine that has run on less;
  in the paper complex rules with as many take up to 100 MB on a GPU (section 5.5).
""",
    depends=["experiments/rule_loads.py", "experiments/rule_timing.py", "models/tesla/scenario.tesla"],
)


@dataclass(frozen=True)
class Goal:
    """Something that is asked for.

    Attributes
    ----------
    most: what it may be; None: nothing is asked, and it stands there for comparison.
    measure: what it is.
    others: what others take.
    """

    most: float | None
    measure: Callable[[], float]
    others: Mapping[str, float] = field(default_factory=dict)


def from_beginning(load: RuleLoad, line: str = "compiled") -> float:
    """Microseconds an event of a log as a whole."""
    found = totals(fed(warmed(load, line), line, load.log))
    assert found.composites == load.expected.sum()
    return 1e6 * found.seconds / found.events


def full(load: RuleLoad, line: str = "compiled") -> float:
    """Microseconds an event once windows are full."""
    us: float = cost(load, line, 5.0)["us"]
    return us


def matches(asked: str, window: int, *, each: bool) -> float:
    """W2 without composites, at the end of a million events: nanoseconds of each match, or microseconds an event."""
    load, measured = anchor_w2(MAXIMUM, window), 6 * BLOCK
    found = found_matches(load, asked, MAXIMUM - measured)
    expected = load.expected[MAXIMUM - measured :]
    assert found.composites == int((expected > 0).sum() if asked == "first" else expected.sum())
    return 1e9 * found.seconds / found.composites if each else 1e6 * found.seconds / measured


def of_thesis() -> float:
    """Nanoseconds for a composite of the thesis's load at 600 events a second."""
    load = ThesisLoad(600).load()
    found = totals(fed(warmed(load, "compiled"), "compiled", load.log))
    assert found.composites == load.expected.sum()
    return 1e9 * found.seconds / found.composites


def command(events: int) -> float:
    """Microseconds an event of R5 from Parquet to Parquet, the whole command; a smaller one has run before."""
    import pyarrow as pa
    from pyarrow import parquet

    taken = 0.0
    with tempfile.TemporaryDirectory() as folder:
        for count in (MAXIMUM // 10, events):
            rng, path = np.random.default_rng(1), f"{folder}/log{count}.parquet"
            columns = {
                "type": pa.array(list("ABC")).take(pa.array(rng.integers(0, 3, count))), "time": np.arange(count),
                "att": rng.integers(1, 50_001, count), "value": rng.integers(1, 50_001, count),
            }  # fmt: skip
            parquet.write_table(pa.table(columns), path, row_group_size=MAXIMUM)
            del columns
            out = f"{path}.out.parquet"
            words = ["-m", "workbench.cli.main", "run", str(SCENARIO), "--input", path, "--output", out]
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run([sys.executable, *words, "--backend", "compiled"], check=True, capture_output=True)
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            taken = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            assert parquet.read_metadata(out).num_rows > 0
    return 1e6 * taken / events


def memory(*, whole: bool) -> float:
    """Megabytes with a million events in the windows of R5: what the windows take, or the process."""
    load = anchor_r5(2 * BLOCK, MAXIMUM)
    totals(fed(warmed(load, "compiled"), "compiled", load.log))
    gc.collect()
    before = resident_mb([os.getpid()])
    engine, rng = started(load.rules, "compiled"), np.random.default_rng(1)
    for first in range(0, 3 * MAXIMUM, BLOCK):
        drawn = {name: rng.integers(1, 50_001, BLOCK) for name in ("att", "value")}
        log = EventLog(load.log.names, rng.integers(0, 3, BLOCK), np.arange(first, first + BLOCK), drawn)
        totals(fed(engine, "compiled", log))
    gc.collect()
    return resident_mb([os.getpid()]) - (0 if whole else before)


PEERS = {
    "W1": {"Flink": 29.6, "CORE": 13.2, "Siddhi": 12.9, "Esper": 10.1, "DuckDB": 0.49, "hard-wired loop": 0.066},
    "R5": {"T-Rex": 3696, "DuckDB": 0.43, "hard-wired loop": 0.061},
}
GOALS = {
    "W1, a million events, µs an event": Goal(0.15, lambda: from_beginning(anchor_w1(MAXIMUM)), PEERS["W1"]),
    "W1, windows full, µs an event": Goal(0.15, lambda: full(anchor_w1(400_000)), PEERS["W1"]),
    "R5 with `last`, windows full, µs an event": Goal(0.2, lambda: full(anchor_r5(500_000)), PEERS["R5"]),
    "R5, one event at a time from Python, µs an event": Goal(
        3.0, lambda: full(anchor_r5(500_000), "compiled" + PUSHED), {"T-Rex": 3696}),
    "R5, a million events from Parquet to a file, µs an event": Goal(0.3, lambda: command(MAXIMUM)),
    "R5, ten million events from Parquet to a file, µs an event": Goal(0.3, lambda: command(10 * MAXIMUM)),
    "R5, a million events in windows, MB": Goal(100, lambda: memory(whole=False)),
    "R5, a million events in windows, MB of the process": Goal(None, lambda: memory(whole=True)),
    "W2, 100 ticks, µs an event": Goal(
        None, lambda: from_beginning(anchor_w2(MAXIMUM)),
        {"Flink": 54.1, "CORE": 5.6, "Siddhi": 6.6, "Esper": 2.4, "DuckDB": 0.25, "hard-wired loop": 0.006}),
    "W2, 1,000 ticks, matches as columns, ns a match": Goal(
        5, lambda: matches("columns", 1_000, each=True), {"CORE": 4300, "Esper": 590, "hard-wired loop": 2.4}),
    "W2, 100,000 ticks, first match of each trigger, µs an event": Goal(
        0.1, lambda: matches("first", 100_000, each=False), {"CORE": 6.3}),
    "200 rules with `each`, a tenth relevant, µs an event": Goal(
        5, lambda: full(Scenario("each", rules=200, groups=10).load(300_000)), {"T-Rex": 2848}),
    "200 rules with `last`, a tenth relevant, µs an event": Goal(
        5, lambda: full(Scenario("last", rules=200, groups=10).load(300_000)), {"T-Rex": 2644}),
    "10,000 rules with constants, a thousandth relevant, µs an event": Goal(
        5, lambda: full(constants_load(10_000, 10_000, 300_000))),
    "650 rules of the thesis, 600 events a second, ns a composite": Goal(10, of_thesis, {"T-Rex": 347}),
}  # fmt: skip


@suite.experiment(
    Region(goal=list(GOALS)), repeat=3, limits=Limits(seconds=300, memory_mb=6000), value=Output("what was measured"),
)  # fmt: skip
def goals(goal: str) -> dict[str, Any]:
    """What is asked for, measured, each in a process of its own."""
    return {"value": GOALS[goal].measure()}


def beside(label: str, figures: Mapping[str, float | None], missing: str = "") -> Beside:
    """A column of known figures."""
    return Beside(label, ("goal",), {(name,): figure for name, figure in figures.items()}, missing=missing)


OTHERS = ("T-Rex", "Flink", "CORE", "Siddhi", "Esper", "DuckDB", "hard-wired loop")
suite.table(
    "goals", of=goals, rows="goal", cells={"measured": minimum("value")}, title="Goals",
    beside=[
        beside("goal", {name: each.most for name, each in GOALS.items()}, missing="none"),
        *(beside(who, {name: each.others[who] for name, each in GOALS.items() if who in each.others})
          for who in OTHERS),
    ],
)  # fmt: skip


def measured(data: Data) -> dict[str, float]:
    """Goal to the least of its measurements."""
    found: dict[str, float] = {}
    for row in data.rows(goals, status="ok"):
        found[row["goal"]] = min(row["value"], found.get(row["goal"], float("inf")))
    return found


@suite.claim("Every goal is reached")
def reached(data: Data) -> Judgement:
    found, asked = measured(data), {name: each.most for name, each in GOALS.items() if each.most is not None}
    missed = [f"{name}: {found[name]:.2f}, goal {most:g}" for name, most in asked.items() if found.get(name, 0) > most]
    words = f"{sum(name in found for name in asked) - len(missed)} of {len(asked)}"
    return (ok if not missed and found.keys() >= asked.keys() else warns)("; ".join([words, *missed]))


@suite.claim("No other engine for streams is faster")
def fastest(data: Data) -> Judgement:
    """DuckDB looks at the whole log at once, and the loop knows its one rule: neither is an engine for streams."""
    engines = [who for who in OTHERS if who not in ("DuckDB", "hard-wired loop")]
    times = {
        (name, who): GOALS[name].others[who] / value
        for name, value in measured(data).items() for who in engines if who in GOALS[name].others
    }  # fmt: skip
    (name, who), worst = min(times.items(), key=lambda item: item[1])
    return (ok if worst > 1 else warns)(f"at least {worst:.0f} times as fast: {who}, {name}")
