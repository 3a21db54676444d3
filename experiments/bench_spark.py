"""Benchmark: a pipeline per key of a log on Spark, beside what Spark itself takes to read, shuffle, sort and write it.

    python experiments/bench_spark.py [--events 1000000 10000000] [--keys 1000 1000000] [--formats parquet csv]

CPU seconds per million events of all processes (Java's and Python's), over a log made up with a seed: a user and a
number each. The floor is the same columns of the same file, brought together by user, sorted by user and place, and
written, in the same session; `through Arrow` is that with a Python function between that gives on what it gets. The
pipeline gives an output for each event, so that as much is written. Before, everything has run on a smaller log (Java
compiles meanwhile, and Python starts), and what comes out has been compared with the reference executor on some keys.
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
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

import workbench as wb
from workbench.executors.spark.choice import choose
from workbench.executors.spark.logs import read_log
from workbench.executors.spark.output import row_ports, write_rows
from workbench.executors.spark.run import SETTINGS
from workbench.executors.spark.session import start_session
from workbench.interrupts import descendants
from workbench.lab.measure.tree import cpu_with_ended, resident_mb

ROOT = Path(__file__).resolve().parent.parent
SOURCE = "pipeline totals(x: int) -> total: int { return cumulate(x, +) }"
PIECE = 1_000_000
"""Events that are made up at a time."""
WARM = 200_000
"""Those of the smaller log."""
FLOOR, ARROW, OURS = "Spark alone", "through Arrow", "workbench"


@dataclass
class Cost:
    """What a way costs: seconds, CPU seconds of Java and of Python, and the MB of the largest Python worker."""

    format: str
    events: int
    keys: int
    way: str
    seconds: float
    java: float
    python: float
    worker_mb: float

    @property
    def per_million(self) -> float:
        """CPU seconds for a million events."""
        return (self.java + self.python) / self.events * 1e6


def log(path: Path, events: int, keys: int) -> None:
    """The log, piece by piece."""
    chosen = np.random.default_rng(1)
    schema = pa.schema([("user", pa.string()), ("x", pa.int64())])
    options = pa.csv.WriteOptions(quoting_style="none")
    with (
        pa.parquet.ParquetWriter(path, schema)
        if path.suffix == ".parquet"
        else pa.csv.CSVWriter(path, schema, write_options=options)
    ) as writer:
        for first in range(0, events, PIECE):
            count = min(PIECE, events - first)
            numbers = pa.array(chosen.integers(0, keys, count)).cast(pa.string())
            users = pc.binary_join_element_wise("user", pc.utf8_lpad(numbers, 7, "0"), "")
            writer.write_table(pa.table([users, chosen.integers(0, 1000, count)], schema=schema))


def read(spark: Any, path: Path) -> Any:
    """The columns of the log, with the place of each row, as Spark itself reads them."""
    from pyspark.sql import functions as F

    if path.suffix == ".parquet":
        return spark.read.parquet(str(path)).select("user", F.col("_metadata.row_index").alias("place"), "x")
    rows = spark.read.schema("user string, x long").option("header", True).csv(str(path))
    return rows.select("user", F.monotonically_increasing_id().alias("place"), "x")


def given_on(batches: Iterator[Any]) -> Iterator[Any]:
    """What comes."""
    yield from batches


def ways(spark: Any, path: Path) -> dict[str, Callable[[], Any]]:
    """The rows that are written, by the ways of making them."""
    pipeline = wb.parse(SOURCE).get().pipeline

    def floor() -> Any:
        return read(spark, path).repartition("user").sortWithinPartitions("user", "place")

    return {
        FLOOR: floor,
        ARROW: lambda: floor().mapInArrow(given_on, "user string, place long, x long"),
        OURS: lambda: read_log(spark, str(path), pipeline, key="user").run(choose(pipeline)),
    }


def agree(spark: Any, path: Path) -> None:
    """The reference executor and Spark, on some of the keys: the same outputs in the same steps."""
    table = pa.parquet.read_table(path) if path.suffix == ".parquet" else pa.csv.read_csv(path)
    pipeline = wb.parse(SOURCE).get().pipeline
    chosen = random.Random(2).sample(pc.unique(table["user"]).to_pylist(), 20)
    made = ways(spark, path)[OURS]()
    rows = made.where(made.user.isin(chosen)).collect()
    for key in chosen:
        want = wb.executors.Reference(pipeline).run(table.filter(pc.equal(table["user"], key))["x"].to_pylist())[
            "total"
        ]
        found = sorted((row.step, row.total) for row in rows if row.user == key)
        assert found == list(enumerate(want)), key


class Processes:
    """The CPU seconds of the processes below this one, and the memory of the largest Python worker meanwhile."""

    def __init__(self) -> None:
        self.largest, self._over = 0.0, threading.Event()
        self._begun = self._seconds()
        self._watching = threading.Thread(target=self._watch)
        self._watching.start()

    def _java(self) -> tuple[list[int], list[int]]:
        """Those of Java, and the others."""
        found: tuple[list[int], list[int]] = [], []
        for pid in descendants(os.getpid()):
            try:
                name = Path(f"/proc/{pid}/comm").read_text()
            except OSError:  # it has ended
                continue
            found[name.strip() != "java"].append(pid)
        return found

    def _seconds(self) -> tuple[float, float]:
        java, others = self._java()
        return cpu_with_ended(java), cpu_with_ended([os.getpid(), *others])

    def _watch(self) -> None:
        while not self._over.wait(0.2):
            self.largest = max(self.largest, *(resident_mb([pid]) for pid in self._java()[1]), 0.0)

    def taken(self) -> tuple[float, float]:
        """The CPU seconds of Java and of Python since the beginning."""
        self._over.set()
        self._watching.join()
        # those of a worker that ends while nobody asks for it may be gone: that is no time won
        java, python = (max(after - before, 0.0) for after, before in zip(self._seconds(), self._begun, strict=True))
        return java, python


def measured(spark: Any, path: Path, events: int, keys: int, way: str) -> Cost:
    """One run of a way, written beside the log."""
    out = path.with_suffix(".out")
    processes, began = Processes(), time.perf_counter()
    try:
        rows = ways(spark, path)[way]()
        write_rows(rows, row_ports(rows), str(out), path.suffix[1:])
    finally:
        seconds, (java, python) = time.perf_counter() - began, processes.taken()
        shutil.rmtree(out, ignore_errors=True)
    return Cost(path.suffix[1:], events, keys, way, seconds, java, python, processes.largest)


def compared(
    spark: Any, folder: Path, format: str, events: int, keys: int, repeat: int, *, arrow: bool
) -> list[Cost]:  # fmt: skip
    """All ways on a log, the cheapest of some runs each."""
    path = folder / f"log.{format}"
    log(path, events, keys)
    found = []
    for way in ways(spark, path):
        if way == ARROW and not arrow:
            continue
        runs = [measured(spark, path, events, keys, way) for _ in range(repeat)]
        found.append(min(runs, key=lambda cost: cost.per_million))
    path.unlink()
    floor, ours = found[0].per_million, found[-1].per_million
    told = "  ".join(f"{cost.way} {cost.per_million:.2f}" for cost in found)
    print(f"{format:8} {events:12,} {keys:10,} keys: {told}  ratio {ours / floor:.2f}", flush=True)
    return found


def report(costs: list[Cost], about: dict[str, Any], out: Path) -> None:
    """Markdown and the numbers."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "rows.json").write_text(json.dumps({**about, "rows": [asdict(cost) for cost in costs]}, indent=1) + "\n")
    lines = [
        "# A pipeline per key of a log, on Spark\n",
        f"Command: `{about['command']}`, {about['date']}, PySpark {about['pyspark']},"
        f" Python {platform.python_version()}, {os.cpu_count()} cores, load {about['load']:.1f} at the start.\n",
        "CPU seconds per million events, of Java and Python together (Python's in brackets); the cheapest of"
        f" {about['repeat']} runs each. `{FLOOR}` reads the same columns, brings rows together by key, sorts and writes"
        f" them; `{ARROW}` is that with a Python function that gives on what it gets.\n",
        f"| format | events | keys | {FLOOR} | {ARROW} | {OURS} | ratio | largest worker, MB |",
        "|---|---|---|---|---|---|---|---|",
    ]
    alone, through = ([cost for cost in costs if cost.way == way] for way in (FLOOR, ARROW))
    every = [cost for cost in costs if cost.way == OURS]
    for floor, arrow, ours in itertools.zip_longest(alone, through, every):
        python = ours.python / ours.events * 1e6
        lines.append(
            f"| {ours.format} | {ours.events:,} | {ours.keys:,} | {floor.per_million:.2f}"
            f" | {f'{arrow.per_million:.2f}' if arrow else '-'}"
            f" | {ours.per_million:.2f} ({python:.2f}) | {ours.per_million / floor.per_million:.2f}"
            f" | {ours.worker_mb:.0f} |"
        )
    lines.append(f"\nThe pipeline:\n\n```\n{SOURCE}\n```")
    (out / "README.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=int, nargs="+", default=[1_000_000, 10_000_000])
    parser.add_argument("--keys", type=int, nargs="+", default=[1_000, 1_000_000])
    parser.add_argument("--formats", nargs="+", default=["parquet", "csv"])
    parser.add_argument("--master", default="local[2]")
    parser.add_argument("--repeat", type=int, default=2)
    parser.add_argument("--without-arrow", action="store_true", help=f"leave '{ARROW}' out")
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_spark")
    args = parser.parse_args()
    import pyspark

    folder = Path(tempfile.mkdtemp(prefix="bench_spark"))
    load, costs = os.getloadavg()[0], list[Cost]()
    several = {name: " ".join(map(str, getattr(args, name))) for name in ("events", "keys", "formats")}
    command = f"python experiments/bench_spark.py {' '.join(f'--{name} {given}' for name, given in several.items())}"
    command += " --without-arrow" * args.without_arrow
    about = {
        "command": f"{command} --repeat {args.repeat}", "date": time.strftime("%Y-%m-%d"), "load": load,
        "pyspark": pyspark.__version__, "repeat": args.repeat,
    }  # fmt: skip
    try:
        spark = start_session(args.master, **SETTINGS)
        spark.conf.set("spark.sql.shuffle.partitions", str(2 * spark.sparkContext.defaultParallelism))
        for format in args.formats:
            path = folder / f"warm.{format}"
            log(path, WARM, 1_000)
            agree(spark, path)
            for way in ways(spark, path):
                measured(spark, path, WARM, 1_000, way)
            for events in args.events:
                for keys in args.keys:
                    costs += compared(spark, folder, format, events, keys, args.repeat, arrow=not args.without_arrow)
                    report(costs, about, args.out)
        spark.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
