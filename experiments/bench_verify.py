"""Benchmark: every problem of the peer exporter's tables, on our models, with the same NuSMV 2.5.4.

    python experiments/bench_verify.py [--engine pynusmv] [--out reports/bench_verify]

The peer is symbolic-beepbeep, the published successor of TIME 2021's exporter. Its figures are quoted, not
re-measured here: CPU seconds on two shared cores, static variable order, 120 s of wall time as the limit. Ours are
CPU seconds of everything that a check takes, Python and model checker, measured in this run.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import workbench as wb
from workbench.core.pipeline import Pipeline
from workbench.verify.engines import get_engine
from workbench.verify.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models" / "time2021"
LIMIT = 120.0
"""Seconds at which the peer's time-outs are counted."""

FILES = {
    "Passthrough": "passthrough",
    "Output if smaller than k": "output_if_smaller_than_k",
    "Product of 1 and k-th": "product_of_1_and_kth",
    "Product on window of 3": "product_on_window_of_3",
    "Sum of doubles": "sum_of_doubles",
    "Sum of odds": "sum_of_odds",
    "Sum of 1s on window": "sum_of_ones_on_window",
}

# CPU seconds and verdict of the peer; None is a time-out at 120 s.
PEER_A = {
    "Passthrough": (0.01, 0.01, 0.01),
    "Output if smaller than k": (0.08, 0.12, 0.15),
    "Product of 1 and k-th": (0.31, 0.25, 0.37),
    "Product on window of 3": (0.12, 0.09, 0.18),
    "Sum of doubles": (0.08, 0.10, 0.11),
    "Sum of odds": (1.0, 3.5, 4.5),
    "Sum of 1s on window": (3.7, 1.0, 7.3),
}
PEER_B = {
    "Passthrough": (0.01, 0.01, 0.01, 0.01),
    "Output if smaller than k": (0.04, 0.09, 0.15, 0.27),
    "Product of 1 and k-th": (0.10, 0.74, 11.2, None),
    "Product on window of 3": (0.11, 0.10, 0.11, 0.09),
    "Sum of doubles": (0.07, 0.11, 0.10, 0.16),
    "Sum of odds": (0.79, 1.3, 16.7, None),
    "Sum of 1s on window": (4.0, 3.9, 3.8, 3.2),
}
PEER_C = {
    "Passthrough": (0.01, 0.03),
    "Product on window of 3": (0.63, 3.0),
    "Product of 1 and k-th": (None, None),
    "Sum of 1s on window": (None, None),
    "Sum of odds": (None, None),
    "Window sum of 2, two implementations": (0.29, 0.41),
    "Window sum of 3, two implementations": (16.6, None),
    "Passthrough against delay": (0.03, 0.08),
}
PAIRS = {
    "Window sum of 2, two implementations": ("window_sum_of_2", "window_sum_of_2", "trim_sum_of_2"),
    "Window sum of 3, two implementations": ("window_sum_of_3", "window_sum_of_3", "trim_sum_of_3"),
    "Passthrough against delay": ("passthrough_against_delay", "passthrough_against_delay", "delay"),
}
SMALLEST_N = {"Sum of doubles": 3, "Sum of 1s on window": 4, "Output if smaller than k": 4}
"""Models with a constant that needs a larger domain than a table's N; the table then uses this one."""


@dataclass
class Row:
    """One problem: ours beside the peer's."""

    table: str
    query: str
    problem: str
    n: int
    q: int
    verdict: str
    cpu: float
    wall: float
    peer: float | None

    @property
    def peer_seconds(self) -> float:
        """The peer's CPU seconds, its time-outs at the limit."""
        return LIMIT if self.peer is None else self.peer


def load(name: str, pipeline: str | None = None) -> Pipeline:
    """A pipeline of models/time2021."""
    loaded: Pipeline = wb.read_file(MODELS / f"{name}.pipe").get(pipeline).pipeline
    return loaded


def measured(call: Callable[[], Verdict], repeat: int) -> tuple[Verdict, float, float]:
    """A verdict with the median of its CPU and wall seconds; the Python side is included."""
    cpu, wall = [], []
    for _ in range(repeat):
        start, began = time.process_time(), time.perf_counter()
        verdict = call()
        cpu.append(time.process_time() - start + verdict.cpu_seconds)
        wall.append(time.perf_counter() - began)
    return verdict, statistics.median(cpu), statistics.median(wall)


Problem = tuple[str, str, str, int, int, float | None, Callable[[], Verdict]]


def problems(engine: str) -> Iterator[Problem]:
    """Every problem of the three tables, and the two scaling ones."""
    plain = {
        "no full queues": wb.no_full_queues(),
        "liveness": wb.liveness(),
        "bounded liveness": wb.bounded_liveness(3),
    }
    peer: float | None
    for query, peers in PEER_A.items():
        for (name, prop), peer in zip(plain.items(), peers, strict=True):
            yield "a", query, name, 4, 2, peer, _check(query, prop, wb.Settings(n=4, q=2, engine=engine))
    for query, by_q in PEER_B.items():
        for q, peer in enumerate(by_q, 1):
            settings = wb.Settings(n=5, q=q, engine=engine)
            yield "b", query, "no full queues", 5, q, peer, _check(query, plain["no full queues"], settings)
    for query, pair in PEER_C.items():
        for mode, peer in zip(("stepwise", "sequence"), pair, strict=True):
            n = SMALLEST_N.get(query, 2)
            yield "c", query, mode, n, 2, peer, _compare(query, mode, wb.Settings(n=n, q=2, engine=engine))


def _check(query: str, prop: object, settings: wb.Settings) -> Callable[[], Verdict]:
    pipeline = load(FILES[query])
    return lambda: wb.check(pipeline, prop, settings)


def _compare(query: str, mode: str, settings: wb.Settings) -> Callable[[], Verdict]:
    file, left, right = PAIRS.get(query, (FILES.get(query, ""), None, None))
    a, b = load(file, left), load(file, right)
    return lambda: wb.equivalent(a, b, mode, settings)


def run(engine: str, repeat: int) -> list[Row]:
    """All rows, with progress on standard error."""
    wb.check(load("passthrough"), wb.liveness(), wb.Settings(engine=engine))  # start the worker
    rows = []
    for table, query, problem, n, q, peer, call in problems(engine):
        verdict, cpu, wall = measured(call, repeat)
        rows.append(Row(table, query, problem, n, q, str(verdict.outcome), cpu, wall, peer))
        print(f"  ({table}) {query}, {problem}, Q={q}: {verdict.outcome} {cpu:.3f} s", file=sys.stderr)
    return rows


def scaling(engine: str) -> list[tuple[str, Verdict, float]]:
    """Sequence equivalence of the two window sums of 3 as the domain grows."""
    found = []
    for n in (2, 16, 256, 4096):
        call = _compare("Window sum of 3, two implementations", "sequence", wb.Settings(n=n, q=2, engine=engine))
        verdict, cpu, _ = measured(call, 3)
        found.append((f"window sums of 3, sequence, N={n}, Q=2", verdict, cpu))
    return found


def report(rows: list[Row], grown: list[tuple[str, Verdict, float]], engine: str) -> str:
    """The whole benchmark as Markdown."""
    ours, peers = sum(r.cpu for r in rows), sum(r.peer_seconds for r in rows)
    lines = [
        "# Verification benchmark",
        "",
        f"Command: `python experiments/bench_verify.py --engine {engine}`, {time.strftime('%Y-%m-%d')},"
        f" {get_engine(engine).version()}, Python {platform.python_version()}, {os.cpu_count()} cores.",
        "CPU seconds, median; ours include crawling, printing, checking, and replaying the counterexample.",
        f"The peer's figures are quoted (see the program's text); its time-outs count as {LIMIT:.0f} s.",
        "",
        f"**Total: {ours:.2f} s against {peers:.1f} s, {peers / ours:.0f} times less; slowest problem "
        f"{max(r.cpu for r in rows):.3f} s.**",
        "",
        "| table | query | problem | N | Q | verdict | ours, s | peer, s |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in rows:
        peer = "> 120" if r.peer is None else f"{r.peer:g}"
        lines.append(f"| {r.table} | {r.query} | {r.problem} | {r.n} | {r.q} | {r.verdict} | {r.cpu:.3f} | {peer} |")
    lines += ["", "| as the domain grows | verdict | CPU, s |", "|---|---|---|"]
    lines += [f"| {name} | {verdict.outcome} | {cpu:.3f} |" for name, verdict, cpu in grown]
    noted = [f"{query} (N={n})" for query, n in SMALLEST_N.items() if n > 2 and query in PEER_C]
    lines += [
        "",
        f"Table (c) is for N=2; models with a constant that 0..1 does not have use more: {', '.join(noted)}.",
    ]
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--engine", default="pynusmv")
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_verify")
    given = parser.parse_args()
    rows, grown = run(given.engine, given.repeat), scaling(given.engine)
    text = report(rows, grown, given.engine)
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    data = [{**vars(r), "peer_counted": r.peer_seconds} for r in rows]
    (given.out / "data.json").write_text(json.dumps(data, indent=1) + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
