"""Benchmark: rules on Spark, beside what Spark itself takes to read, shuffle, sort and write the same events.

    python -m experiments.bench_spark_rules [--events 2000000 10000000] [--rules 1 10] [--engine compiled]

CPU seconds per million events of all processes (Java's and Python's), over a log of Parquet: the types of rule R5 of
Cugola and Margara, and attributes with 1,000 values. An event is relevant to one rule; ten rules have ten times the
types. The floor is the same events of the same file, brought together by key, sorted by time and written, in the same
session; the rules write a composite for about a third of the events, in the order of one engine. Before, both have run
on a smaller log (Java compiles, Python starts, machine code is made and kept), and how many composites there are is
held against what is counted from the columns.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet

from experiments.bench_spark import FLOOR, OURS, PIECE, ROOT, WARM, Cost, Processes
from experiments.rule_loads import EventChain, EventLog
from workbench.executors.spark.run import SETTINGS, run_batch
from workbench.executors.spark.session import start_session
from workbench.runner.options import make_start
from workbench.runner.rules.spark_run import SparkRuleRun
from workbench.tesla.check import parse_rules
from workbench.tesla.rule_set import RuleSet

KEYS, WINDOW = 1_000, 100_000


def chains(count: int) -> list[EventChain]:
    """The rules, no two of which share a type."""
    return [EventChain((at, count + at, 2 * count + at), (WINDOW, WINDOW), "last", "att") for at in range(count)]


def made(count: int) -> RuleSet:
    """The rules as a program: R5 for each three types."""
    names = type_names(count)
    types = "".join(f"declare {name}(att: int, value: int)\n" for name in names)
    written = "".join(chain.text(names, 1) for chain in chains(count))
    return parse_rules(f"{types}declare CE(key: int, s0: int)\n{written}", f"r5 x {count}")


def type_names(count: int) -> list[str]:
    """The types of so many rules."""
    return [f"{name}{at}" for name in "ABC" for at in range(count)]


def log(path: Path, events: int, count: int) -> int:
    """Write the log, piece by piece, an event a tick; how many composites there must be."""
    chosen, names = np.random.default_rng(1), pa.array(type_names(count))
    drawn = {name: chosen.integers(1, most, events) for name, most in (("att", KEYS + 1), ("value", 1_000))}
    kinds, times = chosen.integers(0, len(names), events), np.arange(events)
    schema = pa.schema([("type", pa.string()), ("time", pa.int64()), ("att", pa.int64()), ("value", pa.int64())])
    with pa.parquet.ParquetWriter(path, schema) as writer:
        for first in range(0, events, PIECE):
            part = slice(first, first + PIECE)
            columns = [names.take(pa.array(kinds[part])), times[part], *(each[part] for each in drawn.values())]
            writer.write_table(pa.table(columns, schema=schema))
    whole = EventLog(tuple(names.to_pylist()), kinds, times, drawn)
    return sum(int(chain.matches(whole).sum()) for chain in chains(count))


def ways(spark: Any, path: Path, count: int, engine: str) -> dict[str, Callable[[str], None]]:
    """What writes into a folder, by the ways of making it."""

    def floor(folder: str) -> None:
        read = spark.read.parquet(str(path)).select("type", "time", "att", "value")
        read.repartition("att").sortWithinPartitions("att", "time").write.parquet(folder)

    def ours(folder: str) -> None:
        start = make_start([str(path)], Path(folder), {"backend": "spark", "engine": engine, "format": "parquet"})
        run_batch(SparkRuleRun(made(count), start), spark, "parquet")

    return {FLOOR: floor, OURS: ours}


def compared(spark: Any, folder: Path, events: int, count: int, repeat: int, engine: str) -> list[Cost]:
    """Both ways on a log, one after the other, the cheapest of some runs each."""
    path, out = folder / "log.parquet", folder / "out"
    expected = log(path, events, count)
    runs: dict[str, list[Cost]] = {FLOOR: [], OURS: []}
    for _ in range(repeat):
        for way, run in ways(spark, path, count, engine).items():
            processes, began = Processes(), time.perf_counter()
            try:
                run(str(out))
            finally:
                seconds, (java, python) = time.perf_counter() - began, processes.taken()
            rows = pa.parquet.ParquetDataset(out).read(columns=[]).num_rows
            assert rows == (expected if way == OURS else events), f"{way}: {rows} rows"
            shutil.rmtree(out)
            runs[way].append(Cost("parquet", events, KEYS, way, seconds, java, python, processes.largest))
    found = [min(each, key=lambda cost: cost.per_million) for each in runs.values()]
    told = ", ".join(f"{cost.way} {cost.per_million:.2f} (Python's {cost.python / events * 1e6:.2f})" for cost in found)
    ratio = found[1].per_million / found[0].per_million
    print(f"{events:12,} events {count:3} rules: {told}  ratio {ratio:.2f}", flush=True)
    return found


def report(rows: list[tuple[int, list[Cost]]], about: dict[str, Any], out: Path) -> None:
    """Markdown and the numbers."""
    out.mkdir(parents=True, exist_ok=True)
    numbers = [{"rules": count, **vars(cost)} for count, found in rows for cost in found]
    (out / "rows.json").write_text(json.dumps({**about, "rows": numbers}, indent=1) + "\n")
    lines = [
        "# Rules on Spark\n",
        f"Command: `{about['command']}`, {about['date']}, PySpark {about['pyspark']},"
        f" Python {platform.python_version()}, {os.cpu_count()} cores, load {about['load']:.1f} at the start.\n",
        f"CPU seconds per million events, of Java and Python together (Python's in brackets). `{FLOOR}` reads the same"
        f" events, brings them together by one of {KEYS:,} keys, sorts and writes them; `{OURS}` writes the composites"
        " in the order of one engine.\n",
        f"| events | rules | {FLOOR} | {OURS} | ratio | seconds of each | largest worker, MB |",
        "|---|---|---|---|---|---|---|",
    ]
    for count, (floor, ours) in rows:
        lines.append(
            f"| {ours.events:,} | {count} | {floor.per_million:.2f} | {ours.per_million:.2f}"
            f" ({ours.python / ours.events * 1e6:.2f}) | {ours.per_million / floor.per_million:.2f}"
            f" | {floor.seconds:.1f}, {ours.seconds:.1f} | {ours.worker_mb:.0f} |"
        )
    lines.append(f"\nOne of the rules:\n\n```\n{chains(1)[0].text(type_names(1), 1)}```")
    (out / "README.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[2_000_000, 10_000_000])
    parser.add_argument("--rules", type=int, nargs="+", default=[1, 10])
    parser.add_argument("--engine", default="compiled")
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_spark_rules")
    args = parser.parse_args()
    import pyspark

    several = " ".join(f"--{name} {' '.join(map(str, getattr(args, name)))}" for name in ("events", "rules"))
    about = {
        "command": f"python -m experiments.bench_spark_rules {several} --engine {args.engine} --repeat {args.repeat}",
        "date": time.strftime("%Y-%m-%d"), "load": os.getloadavg()[0], "pyspark": pyspark.__version__,
    }  # fmt: skip
    rows: list[tuple[int, list[Cost]]] = []
    folder = Path(tempfile.mkdtemp(prefix="bench_spark_rules"))
    try:
        spark = start_session(args.master, **SETTINGS)
        spark.conf.set("spark.sql.shuffle.partitions", str(2 * spark.sparkContext.defaultParallelism))
        for count in args.rules:
            compared(spark, folder, WARM, count, 1, args.engine)
            for events in args.events:
                rows.append((count, compared(spark, folder, events, count, args.repeat, args.engine)))
                report(rows, about, args.out)
        spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
