"""Benchmark: from a file to an answer in a file, in CPU seconds of the whole command, beside DuckDB on one thread.

    python experiments/bench_logs.py [--rows 5000000] [--rounds 3]

Both read two columns of whole numbers and write one; where SQL can say the query, what is written is compared. A round
runs every command once, so that what else the machine does meets all of them; the least of the rounds counts. Start-up
is in all figures but those "after start", which are of the rows beyond the first twentieth; machine code that is
already there is in ours. The reference executor gets that twentieth, of which the first twentieth is taken for its
start. `alone` is the reference executor on lists of numbers, without a file and without a start. At the end: the log of
Parquet ten times over, which shows what a start is worth; other formats; and the seconds to the first row of a pipe.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

TEXT = """
pipeline plus(x: int, y: int) -> int { return x + y }
pipeline window(x: int, y: int) -> int { return window(x, 3, cumulate(+)) }
machine alarms(x: int, y: int) -> int {
    var number: int = 0
    state calm: number
    state alarm: number
    calm -> alarm when x > 900 and y > 500 / number := number + 1
    alarm -> calm when x < 100 or y < 50
}
pipeline formula(x: int, y: int) -> bool { return since(x < 990, y > 500) or historically(x + y < 1990) }
function digits(x) = x mod 100
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline slices(x: int, y: int) -> int { return slice_last(x + y, digits, total).value }
"""
SQL = {
    "plus": "select x + y as out from log",
    "window": "select out from (select sum(x) over (rows 2 preceding)::bigint as out, row_number() over () as n"
    " from log) where n > 2",
}
QUERIES = ("plus", "window", "alarms", "formula", "slices")
FORMATS = {"csv": "(format csv, header)", "parquet": "(format parquet)"}
OTHERS = ("tsv", "jsonl", "arrow", "arrows", "csv.gz", "csv.zst")
DUCK = """
import duckdb, sys
duckdb.sql("set threads = 1")
duckdb.sql("create view log as select * from '{source}'")
duckdb.sql("copy ({query}) to '{target}' {options}")
"""
ALONE = """
import random, time, workbench as wb
columns = {{name: [random.randrange(1000) for _ in range({count})] for name in "xy"}}
running, begun = wb.executors.Reference(wb.read_file("log.pipe").get("{query}").pipeline), time.process_time()
running.run(columns)
print(time.process_time() - begun)
"""
PART = 20
"""The reference executor gets so many times fewer rows."""
LONGER = 10


def made(folder: Path, rows: int) -> None:
    """The logs."""
    numbers = np.random.default_rng(1)
    table = pa.table({name: numbers.integers(0, 1000, rows) for name in "xy"})
    for name, part in (("log", 1), ("part", PART), ("few", PART**2)):
        csv.write_csv(table.slice(0, rows // part), folder / f"{name}.csv")
        parquet.write_table(table.slice(0, rows // part), folder / f"{name}.parquet")
    (folder / "log.pipe").write_text(TEXT, encoding="utf-8")


def ran(query: str, backend: str, source: str, target: str) -> list[str]:
    """What Python is given to run a query."""
    asked = ["-m", "workbench.cli.main", "run", f"log.pipe:{query}", "--backend", backend]
    return [*asked, "--input", source, "--output", target]


def commands(what: str, form: str, rows: int) -> Iterator[tuple[str, list[str]]]:
    """Name, and what Python is given."""
    if what in SQL:
        query = DUCK.format(source=f"log.{form}", query=SQL[what], target=f"duckdb.{form}", options=FORMATS[form])
        yield "duckdb", ["-c", query]
    yield "compiled", ran(what, "compiled", f"log.{form}", f"compiled.{form}")
    yield "begun", ran(what, "compiled", f"part.{form}", f"begun.{form}")
    yield "reference", ran(what, "reference", f"part.{form}", f"reference.{form}")
    yield "few", ran(what, "reference", f"few.{form}", f"few_out.{form}")
    yield "alone", ["-c", ALONE.format(count=rows // PART, query=what)]


def spent(arguments: list[str], folder: Path) -> float:
    """CPU seconds of a command, or what it says that they are."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run([sys.executable, *arguments], cwd=folder, env=env, check=True, stdout=subprocess.PIPE)
    if done.stdout:
        return float(done.stdout)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def same(folder: Path, form: str) -> bool:
    """Whether DuckDB and the compiled executor wrote the same."""
    read = csv.read_csv if form == "csv" else parquet.read_table
    one, other = (read(folder / f"{name}.{form}")["out"].combine_chunks() for name in ("duckdb", "compiled"))
    return bool(one.equals(other))


def queries(folder: Path, rows: int, rounds: int) -> None:
    """Each query from each format."""
    print("| query | format | DuckDB, million rows a CPU s | numba | after start | reference | after start | alone |")
    print("|---|---|---|---|---|---|---|---|")
    for what in QUERIES:
        for form in FORMATS:
            best: dict[str, float] = {}
            for _ in range(rounds):
                for who, arguments in commands(what, form, rows):
                    best[who] = min(spent(arguments, folder), best.get(who, 1e9))
            if what in SQL and not same(folder, form):
                raise SystemExit(f"{what}: DuckDB and numba write different things")
            part = rows / PART
            duckdb = f"{rows / best['duckdb'] / 1e6:.3g}" if what in SQL else "-"
            beyond = (rows - part) / max(best["compiled"] - best["begun"], 1e-3)
            later = (part - part / PART) / max(best["reference"] - best["few"], 1e-3)
            figures = [rows / best["compiled"], beyond, part / best["reference"], later, part / best["alone"]]
            print(f"| {what} | {form} | {duckdb} | {' | '.join(f'{each / 1e6:.3g}' for each in figures)} |", flush=True)


def longer(folder: Path, rows: int, rounds: int) -> None:
    """Each query from ten files of Parquet."""
    print("\n| query, ten times the log, from Parquet | million rows a CPU s |\n|---|---|")
    for what in QUERIES:
        asked = ran(what, "compiled", "log.parquet", "compiled.parquet") + ["--input", "log.parquet"] * (LONGER - 1)
        best = min(spent(asked, folder) for _ in range(rounds))
        print(f"| {what} | {LONGER * rows / best / 1e6:.3g} |", flush=True)


def formats(folder: Path, rows: int, rounds: int) -> None:
    """Other formats of the same log, from and to each."""
    print("\n| `plus` from and to | million rows a CPU s |\n|---|---|")
    text = "pipeline same(x: int, y: int) -> x: int, y: int { return x, y }"
    (folder / "same.pipe").write_text(text, encoding="utf-8")
    for form in OTHERS:
        copied = ran("same", "compiled", "log.parquet", f"log.{form}")
        spent([each.replace("log.pipe", "same.pipe") for each in copied], folder)
        asked = ran("plus", "compiled", f"log.{form}", f"compiled.{form}")
        best = min(spent(asked, folder) for _ in range(rounds))
        print(f"| {form} | {rows / best / 1e6:.3g} |", flush=True)


def first_row(folder: Path, rounds: int) -> None:
    """Seconds from the start to the first row that comes out of a pipe that stays open."""
    print("\n| backend | first row after, s |\n|---|---|")
    for backend in ("reference", "compiled"):
        seconds = []
        for _ in range(rounds):
            begun = time.perf_counter()
            command = [sys.executable, *ran("plus", backend, "-", "-")]
            with subprocess.Popen(command, cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
                assert process.stdin is not None
                assert process.stdout is not None
                process.stdin.write(b"x,y\n1,2\n")
                process.stdin.flush()
                if [process.stdout.readline(), process.stdout.readline()] != [b"out\n", b"3\n"]:
                    raise SystemExit(f"{backend}: another first row")
                seconds.append(time.perf_counter() - begun)
                process.stdin.close()
        print(f"| {backend} | {min(seconds):.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder, args.rows)
        queries(folder, args.rows, args.rounds)
        longer(folder, args.rows, args.rounds)
        formats(folder, args.rows, args.rounds)
        first_row(folder, args.rounds)


if __name__ == "__main__":
    main()
