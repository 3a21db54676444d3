"""Benchmark: a running sum for each key of a log, in CPU seconds of the whole command, beside DuckDB on one thread.

    python experiments/bench_keys.py [--rows 5000000] [--rounds 3]

Both read a key and a number and write the key and the sum, from Parquet to Parquet; DuckDB in an order of its own, we
in that of the log. What is written is compared. A round runs every command once, and the least of the rounds counts.
Then the same with two threads, in seconds of the clock: that says something where nothing else runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from pyarrow import parquet

TEXT = "pipeline sums(x: int) -> int { return cumulate(x, +) }"
QUERY = "select user, sum(x) over (partition by user order by n rows unbounded preceding)::bigint as out from log"
LOGS = {"1000": 1_000, "a million": 1_000_000}
DUCK = """
import duckdb
duckdb.sql("set threads = 1")
duckdb.sql("create view log as select * from '{source}'")
duckdb.sql("copy ({query}) to 'duckdb.parquet' (format parquet)")
"""


def made(folder: Path, rows: int) -> None:
    """The logs: keys that are numbers and keys that are texts."""
    numbers = np.random.default_rng(1)
    (folder / "sums.pipe").write_text(TEXT, encoding="utf-8")
    for name, keys in LOGS.items():
        users = pa.array(numbers.integers(0, keys, rows))
        texts = pa.array([f"user{key}" for key in range(keys)]).take(users)
        rest = {"n": np.arange(rows), "x": numbers.integers(0, 1000, rows)}
        for kind, column in (("numbers", users), ("texts", texts)):
            parquet.write_table(pa.table({"user": column, **rest}), folder / f"{name} {kind}.parquet")


def command(log: str, *options: str) -> list[str]:
    """What Python is given."""
    asked = ["-m", "workbench.cli.main", "run", "sums.pipe", "--backend", "compiled", "--key", "user", *options]
    return [*asked, "--input", f"{log}.parquet", "--output", "numba.parquet"]


def same(folder: Path, log: str) -> bool:
    """Whether both wrote the same rows, ours in the order of the log."""
    summed = QUERY.removeprefix("select ").removesuffix(" from log")
    wanted = duckdb.sql(f"select user, out from (select n, {summed} from '{folder / log}.parquet') order by n")
    found = duckdb.sql(f"select user, out from '{folder / 'numba.parquet'}'")
    return bool(wanted.fetchnumpy()["out"].tolist() == found.fetchnumpy()["out"].tolist())


def spent(arguments: list[str], folder: Path) -> float:
    """CPU seconds of a command."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([sys.executable, *arguments], cwd=folder, env=env, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def waited(arguments: list[str], folder: Path) -> float:
    """Seconds of the clock."""
    start = time.perf_counter()
    subprocess.run([sys.executable, *arguments], cwd=folder, check=True)
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=5_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    args = parser.parse_args()
    print(f"load {os.getloadavg()[0]:.1f}")
    print("| keys | DuckDB, million rows a CPU s | numba | of DuckDB | 1 thread, s | 2 threads, s | times |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made(folder, args.rows)
        for log in (f"{keys} {kind}" for keys in LOGS for kind in ("numbers", "texts")):
            query = DUCK.format(source=f"{log}.parquet", query=QUERY)
            rounds = range(args.rounds)
            duck = min(spent(["-c", query], folder) for _ in rounds)
            ours = min(spent(command(log), folder) for _ in rounds)
            if not same(folder, log):
                raise SystemExit(f"{log}: DuckDB and numba write different things")
            one = min(waited(command(log), folder) for _ in rounds)
            two = min(waited(command(log, "--threads", "2"), folder) for _ in rounds)
            figures = [args.rows / duck / 1e6, args.rows / ours / 1e6, duck / ours, one, two, one / two]
            print(f"| {log} | {' | '.join(f'{figure:.3g}' for figure in figures)} |", flush=True)


if __name__ == "__main__":
    main()
