"""The rules of models/tesla on logs that are made up: a million events each, what comes of them, and what it takes.

    python experiments/rule_models.py [--events 1000000] [--only fire,stocks] [--engine cdp] [--keep FOLDER]

Each log is made with a seed, in the order of time, for what its rules are about: rooms that burn now and then, cards
that are stolen, prices that fall and recover, sensors that fail. It is written as Parquet and run by the command; CPU
seconds are those of the whole command, reading and writing included.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

MODELS = Path(__file__).resolve().parents[1] / "models" / "tesla"
Columns = dict[str, Any]
Generator = np.random.Generator


def seconds(rng: Generator, n: int, mean: float) -> Any:
    """Times of events that come at random, so many microseconds apart on average."""
    return np.cumsum(rng.exponential(mean * 1e6, n)).astype(np.int64)


def fire(rng: Generator, n: int) -> Columns:
    """A temperature or, seldom, smoke in one of 200 areas; in an area that burns it is hot for minutes."""
    times, areas = seconds(rng, n, 0.05), rng.integers(0, 200, n)
    burning = (times // 300_000_000 * 7 + areas * 13) % 997 == 0
    smoke = rng.random(n) < np.where(burning, 0.05, 0.0005)
    values = np.where(burning, 60, 22) + rng.normal(0, 4, n)
    names = np.array([f"area{i}" for i in range(200)])[areas]
    return {
        "type": np.where(smoke, "Smoke", "Temp"), "time": times, "area": names,
        "value": pa.array(values, mask=smoke),
    }  # fmt: skip


def columns(rng: Generator, n: int) -> Columns:
    """A, B and C with one of 1,000 values, one a second."""
    kinds = rng.integers(0, 3, n)
    return {
        "type": np.array(["A", "B", "C"])[kinds], "time": np.arange(n) * 1_000_000, "p": rng.integers(0, 1000, n),
        "v": pa.array(rng.integers(0, 20, n), mask=kinds != 1),
    }  # fmt: skip


def scenario(rng: Generator, n: int) -> Columns:
    """The base scenario: three types, attributes in 1..50000, a tick each."""
    kinds, att, value = rng.integers(0, 3, n), rng.integers(1, 50001, n), rng.integers(1, 50001, n)
    return {"type": np.array(["A", "B", "C"])[kinds], "time": np.arange(n), "att": att, "value": value}


def iteration(rng: Generator, n: int) -> Columns:
    """Values that go up and down, ten a second at most."""
    return {"type": ["A"] * n, "time": seconds(rng, n, 20.0), "Val": rng.integers(0, 100, n)}


def cards(rng: Generator, n: int) -> Columns:
    """Payments of 20,000 cards; one in ten thousand cards is tried by a thief."""
    card, times = rng.integers(0, 20_000, n), seconds(rng, n, 1.0)
    amounts = np.round(rng.lognormal(3.3, 0.9, n), 2)
    home = card % 5
    away = rng.random(n) < 0.002
    countries = np.array(["AT", "CA", "DE", "FR", "IT"])[np.where(away, (home + 1) % 5, home)]
    for start in rng.integers(0, n - 10, n // 10_000):
        card[start : start + 3], amounts[start : start + 3] = card[start], [1.5, 2.5, 900.0]
    return {
        "type": ["Payment"] * n, "time": times, "card": np.char.add("card", card.astype(str)), "amount": amounts,
        "country": countries, "shop": np.char.add("shop", rng.integers(0, 500, n).astype(str)),
    }  # fmt: skip


def queue(rng: Generator, n: int) -> Columns:
    """Requests of 5,000 clients to a shop that fails for a minute in each hour."""
    times = seconds(rng, n, 0.05)
    failing = times // 60_000_000 % 60 == 30
    status = np.where(rng.random(n) < np.where(failing, 0.7, 0.01), 503, 200)
    return {
        "type": ["Request"] * n, "time": times, "client": np.char.add("c", rng.integers(0, 5000, n).astype(str)),
        "path": np.array(["/", "/queue", "/seats", "/buy"])[rng.choice(4, n, p=[0.5, 0.3, 0.17, 0.03])],
        "status": status,
    }  # fmt: skip


def stocks(rng: Generator, n: int) -> Columns:
    """Trades of 100 shares, whose prices walk at random and fall by some percent now and then."""
    symbol = rng.integers(0, 100, n)
    steps = rng.normal(0, 0.002, n) - 0.08 * (rng.random(n) < 0.0005) + 0.08 * (rng.random(n) < 0.0005)
    logs = np.zeros(n)
    for each in range(100):
        here = symbol == each
        logs[here] = np.cumsum(steps[here])
    return {
        "type": ["Trade"] * n, "time": seconds(rng, n, 0.5), "symbol": np.char.add("S", symbol.astype(str)),
        "price": np.round(100 * np.exp(logs), 2), "volume": rng.lognormal(5, 1, n).astype(np.int64),
    }  # fmt: skip


def silence(rng: Generator, n: int) -> Columns:
    """Readings of 300 sensors in 60 rooms, each every ten seconds; a room's gateway breaks for minutes."""
    times, sensors = seconds(rng, n, 10 / 300), rng.integers(0, 300, n)
    rooms = sensors % 60
    broken = (times // 200_000_000 * 31 + rooms * 17) % 1009 == 0
    keep = np.flatnonzero(~broken)
    keep = np.resize(keep, n)
    keep.sort()
    return {
        "type": ["Reading"] * n, "time": times[keep], "sensor": np.char.add("s", sensors[keep].astype(str)),
        "room": np.char.add("r", rooms[keep].astype(str)), "value": np.round(rng.normal(20, 2, n), 2),
    }  # fmt: skip


def trend(rng: Generator, n: int) -> Columns:
    """Readings of 500 machines."""
    return {
        "type": ["Reading"] * n, "time": seconds(rng, n, 0.1), "value": np.round(rng.normal(50, 5, n), 1),
        "machine": np.char.add("m", rng.integers(0, 500, n).astype(str)),
    }  # fmt: skip


def buses(rng: Generator, n: int) -> Columns:
    """Delays of 1,000 buses on 50 lines, most of them small."""
    return {
        "type": ["Late"] * n, "time": seconds(rng, n, 2.0), "bus": rng.integers(0, 1000, n),
        "minutes": rng.poisson(1.0, n),
    }  # fmt: skip


def transfers(rng: Generator, n: int) -> Columns:
    """Transfers from 100,000 accounts, most of them small; of some nobody knows the account."""
    return {
        "type": ["Transfer"] * n, "time": seconds(rng, n, 0.2), "account": rng.integers(0, 100_050, n),
        "amount": np.round(rng.lognormal(4, 1.5, n), 2),
        "country": np.array(["France", "Peru", "Atlantis"])[rng.choice(3, n, p=[0.6, 0.39, 0.01])],
    }  # fmt: skip


LOGS: dict[str, Callable[[Generator, int], Columns]] = {
    each.__name__: each
    for each in (fire, columns, scenario, iteration, cards, queue, stocks, silence, trend, buses, transfers)
}


def log_rows(name: str, n: int) -> list[dict[str, Any]]:
    """The log of a model as rows."""
    found: list[dict[str, Any]] = pa.table(LOGS[name](np.random.default_rng(7), n)).to_pylist()
    return found


def fact_rows() -> dict[str, list[dict[str, Any]]]:
    """Facts about the buses."""
    return {
        "Runs": [{"bus": bus, "line": f"line{bus % 50}"} for bus in range(1000)],
        "Stop": [
            {"line": f"line{i}", "position": p, "name": f"stop{i}.{p}"} for i in range(50) for p in range(1, 11)
        ],
    }  # fmt: skip


def facts(folder: Path) -> list[str]:
    """Files of facts about the buses."""
    for name, rows in fact_rows().items():
        parquet.write_table(pa.Table.from_pylist(rows), folder / f"{name}.parquet")
    return [word for name in fact_rows() for word in ("--facts", f"{name}={folder / name}.parquet")]


def bank(folder: Path) -> list[str]:
    """A database of accounts, with the indexes that `workbench rules plan` suggests."""
    path, rng = folder / "bank.db", np.random.default_rng(8)
    path.unlink(missing_ok=True)
    with closing(sqlite3.connect(path)) as made:
        made.executescript((MODELS / "bank.sql").read_text())
        limits = rng.integers(500, 5000, 100_000).tolist()
        made.executemany(
            "INSERT OR REPLACE INTO account VALUES (?, ?, ?)",
            ((i, f"owner{i // 2}", limit) for i, limit in enumerate(limits)),
        )
        made.commit()
    asked = [sys.executable, "-m", "workbench.cli.main", "rules", "plan", str(MODELS / "transfers.tesla")]
    subprocess.run([*asked, "--facts", str(path), "--create-indexes"], check=True, capture_output=True)
    return ["--facts", str(path)]


def run(name: str, n: int, engine: str, folder: Path) -> None:
    """One model on its log, and a line about it."""
    parquet.write_table(pa.table(LOGS[name](np.random.default_rng(7), n)), folder / "log.parquet")
    unit = [] if name == "scenario" else ["--time-unit", "us"]
    more = {"buses": facts, "transfers": bank}.get(name, lambda _: [])(folder)
    command = [
        sys.executable, "-m", "workbench.cli.main", "run", str(MODELS / f"{name}.tesla"), "--input",
        str(folder / "log.parquet"), "--output", str(folder / "out.parquet"), "--backend", engine, *unit, *more,
    ]  # fmt: skip
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    made = Counter(parquet.read_table(folder / "out.parquet", columns=["type"])["type"].to_pylist())
    shown = ", ".join(f"{count:,} {kind}" for kind, count in made.most_common())
    print(f"{name:10} {cpu:7.1f} s {1e6 * cpu / n:6.1f} us an event   {shown or 'nothing'}", flush=True)


def main() -> None:
    """All models, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--only", default=",".join(LOGS))
    parser.add_argument("--engine", default="cdp")
    parser.add_argument("--keep", type=Path, help="a folder for the logs")
    args = parser.parse_args()
    print(f"{args.events:,} events each, engine {args.engine}, load {os.getloadavg()[0]:.1f}")
    with tempfile.TemporaryDirectory() as scratch:
        folder = args.keep or Path(scratch)
        for name in args.only.split(","):
            run(name, args.events, args.engine, folder)


if __name__ == "__main__":
    main()
