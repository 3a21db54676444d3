"""Benchmark: from a file to an answer in a file, in CPU seconds of the whole command, beside DuckDB on one thread.

    python experiments/bench_logs.py [--rows 5000000] [--rounds 3]

Both read two columns of whole numbers and write one; what is written is compared. A round runs every command once, so
that what else the machine does meets all of them; the least of the rounds counts. Start-up is in all figures, and
machine code that is already there in ours. The reference executor gets a twentieth of the rows.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

TEXT = """
pipeline plus(x: int, y: int) -> int { return x + y }
pipeline window(x: int, y: int) -> int { return window(x, 3, cumulate(+)) }
"""
SQL = {
    "plus": "select x + y as out from log",
    "window": "select out from (select sum(x) over (rows 2 preceding)::bigint as out, row_number() over () as n"
    " from log) where n > 2",
}
FORMATS = {"csv": "(format csv, header)", "parquet": "(format parquet)"}
DUCK = """
import duckdb, sys
duckdb.sql("set threads = 1")
duckdb.sql("create view log as select * from '{source}'")
duckdb.sql("copy ({query}) to '{target}' {options}")
"""
PART = 20
"""The reference executor gets so many times fewer rows."""


def made(folder: Path, rows: int) -> None:
    """The logs."""
    numbers = np.random.default_rng(1)
    table = pa.table({name: numbers.integers(0, 1000, rows) for name in "xy"})
    for name, part in (("log", table), ("part", table.slice(0, rows // PART))):
        csv.write_csv(part, folder / f"{name}.csv")
        parquet.write_table(part, folder / f"{name}.parquet")
    (folder / "log.pipe").write_text(TEXT, encoding="utf-8")


def commands(what: str, form: str) -> Iterator[tuple[str, list[str], int]]:
    """Name, what Python is given, and what part of the rows it gets."""
    query = DUCK.format(source=f"log.{form}", query=SQL[what], target=f"duckdb.{form}", options=FORMATS[form])
    yield "duckdb", ["-c", query], 1
    for backend, log, part in (("numba", "log", 1), ("reference", "part", PART)):
        asked = ["-m", "workbench.cli.main", "run", f"log.pipe:{what}", "--backend", backend]
        yield backend, [*asked, "--input", f"{log}.{form}", "--output", f"{backend}.{form}"], part


def spent(arguments: list[str], folder: Path) -> float:
    """CPU seconds of a command."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def same(folder: Path, form: str) -> bool:
    """Whether DuckDB and the compiled executor wrote the same."""
    read = csv.read_csv if form == "csv" else parquet.read_table
    one, other = (read(folder / f"{name}.{form}")["out"].combine_chunks() for name in ("duckdb", "numba"))
    return bool(one.equals(other))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(
        "| query | format | DuckDB, million rows a CPU s | numba | of DuckDB | reference |\n|---|---|---|---|---|---|"
    )
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder, args.rows)
        for what in SQL:
            for form in FORMATS:
                best: dict[str, float] = {}
                for _ in range(args.rounds):
                    for who, arguments, part in commands(what, form):
                        speed = args.rows / part / spent(arguments, folder) / 1e6
                        best[who] = max(speed, best.get(who, 0.0))
                if not same(folder, form):
                    raise SystemExit(f"{what}: DuckDB and numba write different things")
                figures = [best["duckdb"], best["numba"], best["numba"] / best["duckdb"], best["reference"]]
                print(f"| {what} | {form} | {' | '.join(f'{figure:.3g}' for figure in figures)} |")


if __name__ == "__main__":
    main()
