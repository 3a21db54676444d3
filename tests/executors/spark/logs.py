"""Logs made at random, and what the reference executor makes of them key by key: the expected value of every test."""

import csv
import json
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import workbench as wb
from workbench.core.pipeline import Pipeline
from workbench.language import parse

SUMS = "pipeline p(x: int, q: bool) -> y: int, z: bool { s = cumulate(x, +) return decimate(s, 3), trim(q, 2) }"
LAST = "pipeline p(x: int, q: bool) -> y: int { return keep_last(x) }"

Row = tuple[str, int, int | None, bool | None]
"""The key, a time, and an event or none for each of the inputs x and q."""


def pipeline(text: str = SUMS) -> Pipeline:
    return parse(text).get("p").pipeline


def rows_of(count: int = 1000, keys: int = 5, seed: int = 1) -> list[Row]:
    chosen = random.Random(seed)
    return [
        (
            f"u{chosen.randrange(keys)}",
            i,
            chosen.choice([None, chosen.randrange(-9, 9)]),
            chosen.choice([None, True, False]),
        )
        for i in range(count)
    ]


def expected(rows: Sequence[Row], runs: Pipeline, *, end: bool = True) -> list[tuple[Any, ...]]:
    """Key, step and outputs, as a loop over the keys gives them."""
    found: list[tuple[Any, ...]] = []
    for key in sorted({row[0] for row in rows}):
        running = wb.executors.Reference(runs)
        for step, (_, _, x, q) in enumerate(row for row in rows if row[0] == key):
            found += _shown(key, step, running.step({n: v for n, v in (("x", x), ("q", q)) if v is not None}).outputs)
        if end:
            found += _shown(key, running.steps, running.end())
    return sorted(found, key=str)


def _shown(key: str, step: int, outputs: Any) -> list[tuple[Any, ...]]:
    most = max(map(len, outputs.values()))
    return [(key, step, *(v[i] if i < len(v) else None for v in outputs.values())) for i in range(most)]


def write_csv(path: Path, rows: Sequence[Row], time: int | None = None) -> None:
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["k", "other", "t", "x", "q"])
        writer.writerows(
            [k, "-", t, "" if x is None else x, "" if q is None else str(q).lower()] for k, t, x, q in rows
        )
    if time is not None:
        os.utime(path, (time, time))


def write_jsonl(path: Path, rows: Sequence[Row]) -> None:
    with open(path, "w") as file:
        for k, t, x, q in rows:
            file.write(json.dumps({"k": k, "t": t, "x": x} | ({} if q is None else {"q": q})) + "\n")
