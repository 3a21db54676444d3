"""Benchmark: a pipeline per key of a log on Spark, beside the executors in one process.

    python experiments/bench_spark.py [--events 2000000] [--keys 1000] [--master 'local[2]'] [--out reports/bench_spark]

Events per second of wall time, and CPU seconds per million events of all processes (Java's and Python's), over a log
made up with a seed: a user and a whole number each. Before anything is measured, what Spark gives is compared with the
reference executor on some of the keys. The processes without Spark read the same Parquet file, sort it by key and feed
each key's events; they have one core, and Spark those of `--master`. The session is started before; how long that takes
is said.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import random
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import workbench as wb
from workbench.core.pipeline import Pipeline
from workbench.executors.spark.executors import choose
from workbench.executors.spark.keyed import run_located
from workbench.executors.spark.logs import read_log
from workbench.executors.spark.session import session
from workbench.lab.measure.tree import own_cpu

ROOT = Path(__file__).resolve().parent.parent
SOURCE = """
pipeline sums(x: int) -> total: int { return window(x, 10, cumulate(+)) }
pipeline alarm(x: int) -> peak: int { m = window(x, 10, cumulate(max)) return decimate(filter(m, m > 990), 5) }
"""
FEW = 200_000
"""Events for the reference executor, which takes some microseconds for each."""


@dataclass
class Row:
    """How fast a way is."""

    pipeline: str
    way: str
    events: int
    seconds: float
    cpu: float

    @property
    def rate(self) -> float:
        """Million events a second."""
        return self.events / self.seconds / 1e6

    @property
    def cost(self) -> float:
        """CPU seconds for a million events."""
        return self.cpu / self.events * 1e6


def log(folder: Path, events: int, keys: int) -> pa.Table:
    """The log, also in the folder as Parquet and CSV."""
    chosen = np.random.default_rng(1)
    key = chosen.integers(0, keys, events)
    names = pa.array([f"user{i:06}" for i in range(keys)])
    table = pa.table({"user": names.take(pa.array(key)), "x": chosen.integers(0, 1000, events)})
    pa.parquet.write_table(table, folder / "log.parquet", row_group_size=200_000)
    pa.csv.write_csv(table, folder / "log.csv", pa.csv.WriteOptions(quoting_style="none"))
    return table


def by_key(path: Path, limit: int | None = None) -> list[tuple[str, Any]]:
    """The events of each key, read from Parquet."""
    table = pa.parquet.read_table(path)
    table = table if limit is None else table.slice(0, limit)
    codes = table["user"].combine_chunks().dictionary_encode()
    order = np.argsort(codes.indices.to_numpy(), kind="stable")
    sorted_codes, values = codes.indices.to_numpy()[order], table["x"].to_numpy()[order]
    cuts = [0, *(np.flatnonzero(np.diff(sorted_codes)) + 1).tolist(), len(values)]
    names = codes.dictionary.to_pylist()
    return [(names[sorted_codes[a]], values[a:b]) for a, b in itertools.pairwise(cuts) if b > a]


def compiled(pipeline: Pipeline, path: Path) -> int:
    """One process, the compiled executor; how many outputs."""
    running, count = wb.Compiled(pipeline), 0
    for _, values in by_key(path):
        running.reset()
        count += sum(len(made) for made in running.feed(values).values())
    return count


def reference(pipeline: Pipeline, path: Path) -> int:
    """One process, the reference executor, on the first events of the log."""
    running, count = wb.Reference(pipeline), 0
    for _, values in by_key(path, FEW):
        running.reset()
        count += sum(map(len, running.run(values.tolist()).values()))
    return count


def on_spark(spark: Any, pipeline: Pipeline, path: Path, format: Any) -> Any:
    """The outputs, a DataFrame still to be computed."""
    found = read_log(spark, str(path), pipeline, key="user", format=format)
    return run_located(choose(pipeline), found)


def agree(spark: Any, pipeline: Pipeline, path: Path) -> None:
    """The reference executor and Spark, on some of the keys: the same outputs in the same steps."""
    chosen = random.Random(2).sample(by_key(path), 20)
    made = on_spark(spark, pipeline, path, "parquet")
    rows = made.where(made.user.isin([key for key, _ in chosen])).collect()
    output = pipeline.outputs[0][0]
    for key, values in chosen:
        want = wb.Reference(pipeline).run(values.tolist())[output]
        got = [row[output] for row in sorted((r for r in rows if r.user == key), key=lambda r: r.step)]
        assert got == want, key


def measured(name: str, way: str, events: int, work: Callable[[], object], repeat: int) -> Row:
    """The best of several runs."""
    rows = []
    for _ in range(repeat):
        began, cpu = time.perf_counter(), own_cpu()
        work()
        rows.append(Row(name, way, events, time.perf_counter() - began, own_cpu() - cpu))
    return min(rows, key=lambda row: row.seconds)


def report(rows: list[Row], about: dict[str, Any], out: Path) -> None:
    """Markdown and the numbers."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "rows.json").write_text(json.dumps({**about, "rows": [asdict(row) for row in rows]}, indent=1) + "\n")
    lines = [
        "# A pipeline per key of a log, on Spark\n",
        f"Command: `{about['command']}`, {about['date']}, PySpark {about['pyspark']},"
        f" Python {platform.python_version()}, {os.cpu_count()} cores, load {about['load']:.1f} at the start."
        f" {about['events']:,} events of {about['keys']:,} keys. The best of {about['repeat']} runs each."
        f" The session and its first job, which no row counts, took {about['start']:.0f} s.\n",
        "| pipeline | way | million events/s (wall) | CPU seconds per million events |",
        "|---|---|---|---|",
        *(f"| {r.pipeline} | {r.way} | {r.rate:.2f} | {r.cost:.2f} |" for r in rows),
        "\nThe reference executor was given the first "
        f"{min(FEW, about['events']):,} events only. Spark reads, shuffles, sorts and verifies the order; its outputs"
        " go nowhere (the `noop` sink).\n",
        f"The pipelines:\n\n```\n{SOURCE.strip()}\n```",
    ]
    (out / "README.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, default=2_000_000)
    parser.add_argument("--keys", type=int, default=1_000)
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_spark")
    args = parser.parse_args()
    import pyspark

    folder = Path(tempfile.mkdtemp(prefix="bench_spark"))
    load = os.getloadavg()[0]
    rows: list[Row] = []
    try:
        log(folder, args.events, args.keys)
        parquet, text = folder / "log.parquet", folder / "log.csv"
        began = time.perf_counter()
        spark = session(args.master, **{"spark.sql.execution.arrow.maxRecordsPerBatch": "20000"})
        spark.conf.set("spark.sql.shuffle.partitions", str(2 * spark.sparkContext.defaultParallelism))
        spark.range(10).repartition(2).collect()
        start = time.perf_counter() - began
        for name in ("sums", "alarm"):
            pipeline = wb.parse(SOURCE).get(name).pipeline
            agree(spark, pipeline, parquet)

            def drop(path: Path, format: str, pipeline: Pipeline = pipeline) -> None:
                on_spark(spark, pipeline, path, format).write.format("noop").mode("overwrite").save()

            ways: list[tuple[str, int, Callable[[], object]]] = [
                (f"Spark, {args.master}, Parquet", args.events, partial(drop, parquet, "parquet")),
                (f"Spark, {args.master}, CSV", args.events, partial(drop, text, "csv")),
                ("compiled, one process", args.events, partial(compiled, pipeline, parquet)),
                ("reference, one process", min(FEW, args.events), partial(reference, pipeline, parquet)),
            ]
            for way, events, work in ways:
                rows.append(measured(name, way, events, work, args.repeat))
                print(
                    f"{name:8} {way:28} {rows[-1].rate:8.2f} M events/s  {rows[-1].cost:8.2f} CPU s per M", flush=True
                )
        spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    command = f"python experiments/bench_spark.py --events {args.events} --keys {args.keys} --master '{args.master}'"
    about = {
        "command": command, "date": time.strftime("%Y-%m-%d"), "pyspark": pyspark.__version__, "events": args.events,
        "keys": args.keys, "load": load, "start": start, "repeat": args.repeat,
    }  # fmt: skip
    report(rows, about, args.out)


if __name__ == "__main__":
    main()
