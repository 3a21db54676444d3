"""Workloads on which engines for complex events agree: ours beside DuckDB and Flink in one job, others quoted."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np

from experiments.rule_loads import MAXIMUM, RuleLoad, anchor_r5, anchor_w1, anchor_w2
from experiments.rule_timing import BLOCK, PUSHED, cost, engines, fed, found_matches, totals, warmed
from workbench.errors import EngineMissing, Refused
from workbench.lab import Limits, Output, Region, Suite, fails, median, ok, only
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.tesla.occurrence import Occurrence

suite = Suite(
    "cep_anchors",
    "Engines for complex events side by side",
    """
One event a tick, attributes uniform in 1..50000 (`experiments/rule_loads.py`).

- **W1**: three types; A, then B, then C with the same attribute, all matches that span less than 100,000 ticks.
- **W2**: thirty types; A, then B, then C, no attribute compared, all matches that span less than 100 or 1,000 ticks.
- **R5**: the rule of Cugola and Margara: the last B within 100,000 ticks before C, the last A within 100,000 before
  that, the same attribute, and the sum of the values of all such A.

An event costs CPU time of the process on one core, from when the events are in memory as the engine takes them until
all matches are there: of our engines as composite events (what compiles them has run before), of DuckDB as rows of a
table (a self-join of the whole log; ASOF for `last`), of Flink as calls of a function. Flink's includes the warming up
of its JVM, which a million events would make less of; its start is not in it. DuckDB looks at the whole log at once, so
it is no engine for streams, but says what columns can give. Flink is not asked for W2 with 1,000 ticks: it had not
ended after 150 CPU seconds.

`compact` asks for matches of W2 without composites. CORE takes 6.3 µs an event to find the first, whatever the
window, Esper 976 ns a match, a hard-wired loop 2.4.

Others, measured on another day on two shared cores, microseconds an event, whole process: W1 Flink 29.6 (a million
events), CORE 13.2, Siddhi 12.9 partitioned and 847 as a join, Esper 10.1, DuckDB 0.49, a hard-wired loop with an index
0.066. W2 with 100 ticks: Flink 54.1, CORE 5.6, Siddhi 6.6, Esper 2.4, DuckDB 0.25, a hard-wired loop 0.006. A match of
W2: Esper 590 to 980 ns, CORE 4,300 (as text), a hard-wired loop 2.4. R5: T-Rex 4,507 with `each`, 3,696 with `last`.
""",
    depends=["experiments/rule_loads.py", "experiments/rule_timing.py", "experiments/FlinkAnchors.java"],
)
LOADS = {
    "W1": anchor_w1,
    "W2, 100 ticks": anchor_w2,
    "W2, 1000 ticks": lambda count: anchor_w2(count, 1000),
    "R5": anchor_r5,
}
ANCHORS = {
    ("W1", 100_000): 2_492, ("W1", 300_000): 17_264, ("W2, 100 ticks", 100_000): 18_272,
    ("W2, 100 ticks", 300_000): 53_503, ("W2, 1000 ticks", 100_000): 1_814_217, ("R5", 100_000): 1_823,
}  # fmt: skip
"""Numbers of matches that several engines agree on."""
SUM = {("R5", 100_000): 54_544_225}
OURS = [each for each in engines(PUSHED) if each != "gpu"]


def known(workload: str, rows: int) -> dict[str, Any]:
    found = {"matches": ANCHORS.get((workload, rows)) or int(LOADS[workload](rows).expected.sum())}
    return found | ({"total": SUM[workload, rows]} if (workload, rows) in SUM else {})


@suite.experiment(
    Region(rows=[100_000, 300_000, 1_000_000], workload=list(LOADS), engine=[*OURS, "DuckDB", "Flink"])
    .excluding(lambda rows, workload, engine: "1000" in workload and (rows > 100_000 or engine == "Flink")),
    limits=Limits(seconds=600, memory_mb=6000), expected=known,
    matches=Output("matches", kind=int), total=Output("total of the sums, -1 where there are none", kind=int),
    us=Output("CPU time for an event", "µs"), ns=Output("CPU time for a match", "ns"),
)  # fmt: skip
def anchors(rows: int, workload: str, engine: str) -> dict[str, Any]:
    """A workload from its beginning, windows not yet full."""
    load = LOADS[workload](rows)
    others = {"DuckDB": by_duckdb, "Flink": by_flink}
    run = others.get(engine, partial(by_ours, engine))
    matches, total, seconds = run(load, workload)
    return {"matches": matches, "total": total, "us": 1e6 * seconds / rows, "ns": 1e9 * seconds / max(1, matches)}


@suite.experiment(
    Region(workload=["W1", "W2, 100 ticks", "R5"], engine=OURS), limits=Limits(seconds=600, memory_mb=6000),
    us=Output("CPU time for an event", "µs"), composites=Output("composites", kind=int),
)  # fmt: skip
def filled(workload: str, engine: str) -> dict[str, Any]:
    """A workload once its windows are full, over 100,000 events."""
    fill = LOADS[workload](1).fill
    found = cost(LOADS[workload](fill + 100_000), engine, budget=60)
    return {"us": found["us"], "composites": found["composites"]}


@suite.experiment(
    Region(asked=["first", "columns"], window=[100, 1000, 10_000, 100_000, 1_000_000])
    .excluding(lambda asked, window: asked == "columns" and window > 10_000),
    limits=Limits(seconds=600, memory_mb=6000), us=Output("CPU time for an event", "µs"),
    ns=Output("CPU time for a match that is told", "ns"), matches=Output("matches that are told", kind=int),
)  # fmt: skip
def compact(asked: str, window: int) -> dict[str, Any]:
    """W2 without composites, the last events of a million: the first match of each trigger, or columns."""
    load, measured = anchor_w2(MAXIMUM, window), 6 * BLOCK
    found = found_matches(load, asked, MAXIMUM - measured)
    expected = load.expected[MAXIMUM - measured :]
    assert found.composites == int((expected > 0).sum() if asked == "first" else expected.sum())
    return {"us": 1e6 * found.seconds / measured, "ns": 1e9 * found.seconds / found.composites,
            "matches": found.composites}  # fmt: skip


def by_ours(engine: str, load: RuleLoad, workload: str) -> tuple[int, int, float]:
    """Matches, total of their sums, CPU seconds."""
    kept: list[Occurrence] | None = [] if workload == "R5" else None
    found = totals(fed(warmed(load, engine), engine, load.log, kept=kept))
    total = -1 if kept is None else sum(int(each.values[1] or 0) for each in kept)
    return found.composites, total, found.seconds


# --- DuckDB ----------------------------------------------------------------------------------------------------------

W1 = """
SELECT a.time AS first, b.time AS second, c.time FROM c
JOIN b ON b.att = c.att AND b.time < c.time AND b.time > c.time - 100000
JOIN a ON a.att = b.att AND a.time < b.time AND a.time > c.time - 100000
"""
W2 = """
SELECT a.time AS first, b.time AS second, c.time FROM c
JOIN (SELECT *, time // {w} AS part FROM b UNION ALL SELECT *, time // {w} + 1 FROM b) AS b
    ON b.part = c.time // {w} AND b.time < c.time AND b.time > c.time - {w}
JOIN (SELECT *, time // {w} AS part FROM a UNION ALL SELECT *, time // {w} + 1 FROM a) AS a
    ON a.part = c.time // {w} AND a.time < b.time AND a.time > c.time - {w}
"""
R5 = """
WITH summed AS (
    SELECT *, sum(CASE WHEN type = 0 THEN value END) OVER (
        PARTITION BY att ORDER BY time RANGE BETWEEN 100000 PRECEDING AND 1 PRECEDING) AS s0 FROM log),
seconds AS (SELECT * FROM summed WHERE type = 1)
SELECT c.att AS key, s0 FROM c
ASOF JOIN seconds AS b ON c.att = b.att AND c.time > b.time ASOF JOIN a ON b.att = a.att AND b.time > a.time
WHERE b.time >= c.time - 100000 AND a.time >= b.time - 100000
"""
QUERIES = {"W1": W1, "W2, 100 ticks": W2.format(w=100), "W2, 1000 ticks": W2.format(w=1000), "R5": R5}


def by_duckdb(load: RuleLoad, workload: str) -> tuple[int, int, float]:
    """One thread; the log is a table, the matches become one."""
    import duckdb

    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.register("given", {"type": load.log.types, "time": load.log.times, **load.log.attributes})
        connection.execute("CREATE TABLE log AS SELECT * FROM given")
        for type, name in enumerate("abc"):
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM log WHERE type = {type}")
        began = process_time()
        connection.execute(f"CREATE TABLE found AS {QUERIES[workload]}")
        seconds = process_time() - began
        total = "sum(s0)" if workload == "R5" else "-1"
        found = connection.execute(f"SELECT count(*), {total} FROM found").fetchone()
    assert found is not None
    return int(found[0]), int(found[1]), seconds


# --- Flink -----------------------------------------------------------------------------------------------------------


def by_flink(load: RuleLoad, workload: str) -> tuple[int, int, float]:
    """Flink's library for complex events in a process of its own, parallelism 1.

    Raises
    ------
    EngineMissing: its jars, or a Java compiler, are not there.
    Refused: it cannot say the rule.
    """
    if workload == "R5":
        raise Refused("Flink's patterns have no `last` for a step, and no sums of events that are not in the match")
    package = find_spec("pyflink")
    jars = [str(each / "lib" / "*") for each in map(Path, package.submodule_search_locations or ())] if package else []
    if not jars or shutil.which("javac") is None:
        raise EngineMissing("Flink is not there", hint="pip install apache-flink-libraries, and a JDK with javac")
    keys = load.log.attributes["att"] if workload == "W1" else np.zeros(len(load.log), int)
    with tempfile.TemporaryDirectory() as folder:
        path, window = f"{folder}/events", str(load.fill)
        np.stack([load.log.types, keys], axis=1).astype(">i4").tofile(path)
        source = Path(__file__).with_name("FlinkAnchors.java")
        compiler = ["javac", "-cp", ":".join(jars), "-d", folder, str(source)]
        java = ["java", "-Xmx3g", "-cp", ":".join([*jars, folder]), "FlinkAnchors", path, str(len(load.log)), window]
        subprocess.run(compiler, check=True, capture_output=True)
        told = subprocess.run(java, check=True, capture_output=True, text=True).stdout.split()
    return int(told[-2]), -1, float(told[-1])


# --- what they tell --------------------------------------------------------------------------------------------------

suite.table(
    "anchors", of=anchors, rows=["workload", "rows", "engine"],
    cells={"µs an event": median("us"), "ns a match": median("ns"), "matches": only("matches"),
           "MB": median("peak_mb")},
    title="From the beginning",
    doc="MB is the peak of the whole process, with Python and the log in it.",
)  # fmt: skip
suite.table("filled", of=filled, rows=["workload", "engine"], cells={"µs an event": median("us"),
            "composites": only("composites")}, title="When the windows are full, 100,000 events")  # fmt: skip
suite.table(
    "compact", of=compact, rows=["window", "asked"], title="W2 where no composites are wanted",
    cells={"µs an event": median("us"), "ns a match": median("ns"), "matches": only("matches")},
)  # fmt: skip
suite.plot("compact", of=compact, x="window", y=median("us"), series="asked", log="xy",
           title="Microseconds an event of W2 where no composites are wanted")  # fmt: skip
suite.plot("anchors", of=anchors, x="workload", y=median("us"), series="engine", kind="bar", log="y",
           where={"rows": 100_000}, title="Microseconds an event, 100,000 events")  # fmt: skip


@suite.claim("All engines find what is expected")
def agree(data: Data) -> Judgement:
    """Numbers of matches, and of R5 the total of the sums."""
    rows = [row for row in data.rows(anchors) if row["matches"] is not None]
    totals_of_r5 = {(row["rows"], row["total"]) for row in rows if row["workload"] == "R5"}
    wrong = [row for row in rows if row["status"] == "wrong verdict"]
    if wrong or len(totals_of_r5) > len({count for count, _ in totals_of_r5}):
        return fails(f"{len(wrong)} do not; totals of R5: {sorted(totals_of_r5)}")
    return ok(f"{len(rows)} of {len(rows)}; totals of R5: {sorted(totals_of_r5)}")
