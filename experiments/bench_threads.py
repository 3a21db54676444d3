"""Benchmark: whole commands with `--threads 2`, reading and writing included, in seconds of the clock.

    python experiments/bench_threads.py [--rounds 3] [--only "no keys,hash"] [--rows 20,100] [--folder FOLDER]

Each case runs with one thread, as two such commands at the same time, which says what the machine has for two threads
of this work (`ceiling`), and with two threads (`times`), in turns; the least of the rounds counts. What two threads
write is compared with what one has written, byte by byte. `after start` is without what the same command takes for a
log of 65,536 rows, with as many threads. Without a name it is a window of 3 over `x + y`, with keys a running sum. With
`--folder` the logs are kept there for the next time.
"""

from __future__ import annotations

import argparse
import contextlib
import filecmp
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import csv, parquet

TEXT = """
pipeline three(x: int, y: int) -> int { return window(x + y, 3, cumulate(+)) }
pipeline sums(x: int) -> int { return cumulate(x, +) }
pipeline sum_of_100(x: int, y: int) -> int { return window(x + y, 100, cumulate(+)) }
pipeline maximum_of_100(x: int, y: int) -> int { return window(x + y, 100, cumulate(max)) }
function mixed(a, b) = (a * 31 + b) mod 1000003
pipeline hash_of_20(x: int, y: int) -> int { return window(x + y, 20, cumulate(mixed, 0)) }
machine alarm(x: int) -> int {
    var number: int = 0
    state calm: number
    state high: number
    calm -> high when x > 900 / number := number + 1
    high -> calm when x < 500
}
pipeline alarms_of_100(x: int, y: int) -> int { return window(x - y, 100, alarm) }
pipeline held(x: int) -> bool {
    return since(x < 990, x > 500) and once(x > 1500) or historically(since(x < 1400, x < 100))
}
pipeline formula_of_40(x: int, y: int) -> bool { return window(x + y, 40, held) }
"""
CHUNK = 1 << 20
"""Rows that are made at a time; a row group each."""
SMALL = 1 << 16
"""Rows of a log for the start."""


@dataclass(frozen=True)
class Case:
    """What is run.

    Attributes
    ----------
    rows: millions of them.
    keys: how many keys, of which kind; none: without.
    written: the format that is written, where it is not the one that is read.
    """

    rows: int
    form: str
    query: str = "three"
    keys: str = ""
    written: str = ""

    @property
    def name(self) -> str:
        """As the table has it."""
        what = f"{self.keys} keys" if self.keys else "no keys" if self.query == "three" else self.query
        to = f" to {self.written}" if self.written else ""
        return f"{self.rows} million rows of {self.form}{to}, {what}"

    def log(self, small: bool = False) -> str:
        """The file that is read."""
        return f"{self.keys or 'none'} {self.rows}{' small' * small}.{self.form}"

    def command(self, output: str, threads: int, small: bool = False) -> list[str]:
        """What Python is given."""
        asked = ["-m", "workbench.cli.main", "run", f"log.pipe:{self.query}", "--backend", "compiled"]
        asked += ["--threads", str(threads), "--input", self.log(small)]
        return [*asked, *(["--key", "user"] if self.keys else []), "--output", f"{output}.{self.written or self.form}"]


HEAVY = ("hash_of_20", "alarms_of_100", "formula_of_40")
"""What takes 25 ns a step and more, so that blocks of it are computed at the same time."""
CASES = (
    *(Case(rows, form) for rows in (5, 20, 100) for form in ("parquet", "csv")),
    *(Case(20, form, query) for query in HEAVY for form in ("parquet", "csv")),
    *(Case(100, "parquet", query) for query in HEAVY),
    *(Case(20, "parquet", query) for query in ("sum_of_100", "maximum_of_100")),
    *(Case(rows, "parquet", "sums", keys) for rows in (5, 20) for keys in ("1000 int", "1000 text")),
    Case(20, "csv", "sums", "1000 int"),
    Case(100, "parquet", "sums", "1000 int"),
    Case(20, "csv", written="csv.zst"),
)


def make(folder: Path, case: Case) -> None:
    """The log of a case, and its small one."""
    (folder / "log.pipe").write_text(TEXT, encoding="utf-8")
    for small in (False, True):
        path = folder / case.log(small)
        if path.exists():
            continue
        with write_log(path, case) as writer:
            for part in parts(case, SMALL if small else case.rows * 1_000_000):
                writer.write_table(part)


def write_log(path: Path, case: Case) -> Any:
    """What writes it."""
    schema = next(parts(case, 1)).schema
    return parquet.ParquetWriter(path, schema) if case.form == "parquet" else csv.CSVWriter(path, schema)


def parts(case: Case, rows: int) -> Iterator[pa.Table]:
    """So many rows."""
    random = np.random.default_rng(1)
    for start in range(0, rows, CHUNK):
        count = min(CHUNK, rows - start)
        columns = {}
        if case.keys:
            number, kind = case.keys.split()
            users = random.integers(0, int(number), count)
            names = pa.array([f"user{key}" for key in range(int(number))])
            columns["user"] = pa.array(users) if kind == "int" else names.take(users)
        columns |= {name: random.integers(0, 1000, count) for name in ("x" if case.keys else "xy")}
        yield pa.table(columns)


def seconds(folder: Path, *commands: list[str]) -> float:
    """Seconds of the clock until all of these have ended."""
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    begun = time.perf_counter()
    started = [subprocess.Popen([sys.executable, *c], cwd=folder, env=env, stderr=subprocess.PIPE) for c in commands]
    said = [each.communicate()[1] for each in started]
    taken = time.perf_counter() - begun
    if any(each.returncode for each in started):
        raise SystemExit(b"".join(said).decode())
    return taken


def measured(folder: Path, case: Case, rounds: int) -> list[float]:
    """One thread, two commands, two threads; the starts of one thread and of two."""
    commands = [
        [case.command("one", 1)], [case.command("one", 1), case.command("other", 1)], [case.command("two", 2)],
        [case.command("one small", 1, small=True)], [case.command("two small", 2, small=True)],
    ]  # fmt: skip
    for each in commands[0], commands[2]:  # machine code is made, and the log is in memory
        seconds(folder, *each)
    best = [float("inf")] * len(commands)
    for _ in range(rounds):
        best = [min(least, seconds(folder, *each)) for least, each in zip(best, commands, strict=True)]
    written = case.written or case.form
    if not filecmp.cmp(folder / f"one.{written}", folder / f"two.{written}", shallow=False):
        raise SystemExit(f"{case.name}: two threads write something else than one")
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", default="", help="cases whose names have one of these in them, with commas")
    parser.add_argument("--rows", default="", help="logs of so many million rows, with commas")
    parser.add_argument("--folder", type=Path, help="where logs are kept")
    args = parser.parse_args()
    rows = [int(each) for each in args.rows.split(",") if each]
    print(f"load {os.getloadavg()[0]:.1f}")
    print("| log | one thread | two commands at once | two threads | ceiling | times | after start |")
    print("|---|---|---|---|---|---|---|")
    with contextlib.ExitStack() as stack:
        folder = args.folder or Path(stack.enter_context(tempfile.TemporaryDirectory()))
        folder.mkdir(exist_ok=True)
        for case in CASES:
            if (rows and case.rows not in rows) or not any(each.strip() in case.name for each in args.only.split(",")):
                continue
            make(folder, case)
            one, both, two, *start = measured(folder, case, args.rounds)
            figures = [one, both, two, 2 * one / both, one / two, (one - start[0]) / (two - start[1])]
            print(f"| {case.name} | {' | '.join(f'{each:.2f}' for each in figures)} |", flush=True)
            if args.folder is None:
                (folder / case.log()).unlink()


if __name__ == "__main__":
    main()
