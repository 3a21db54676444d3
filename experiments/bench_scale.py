"""Benchmark: how the cost of a check grows with N, Q, k and the length of the pipeline.

    python experiments/bench_scale.py [--out reports/bench_scale] [--limit 60]

Three parts, all in CPU seconds of everything that a check takes, Python and model checker:

- the sweeps of TIME 2021, section 5: every pipeline for Q = 1..4, N = 2..5 and k = 2..5, with each property;
- the same pipelines at N = 256 and Q = 64;
- chains of window sums in sequence, and forks whose branches are summed; with a plot (needs matplotlib: the extra
  `lab`).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import workbench as wb
from workbench.errors import DomainError, TypingError
from workbench.verify.verdict import Verdict

ROOT = Path(__file__).resolve().parent.parent
MODELS = ROOT / "models" / "time2021"
FILES = (
    "passthrough",
    "output_if_smaller_than_k",
    "product_of_1_and_kth",
    "product_on_window_of_3",
    "sum_of_doubles",
    "sum_of_odds",
    "sum_of_ones_on_window",
)
PROPERTIES = {
    "no full queues": wb.no_full_queues(),
    "liveness": wb.liveness(),
    "bounded liveness (3)": wb.bounded_liveness(3),
    "no overflow": wb.no_overflow(),
}
LENGTHS = (1, 2, 5, 10, 20, 50, 100)


@dataclass
class Row:
    """One check."""

    part: str
    what: str
    property: str
    n: int
    q: int
    verdict: str
    cpu: float


def timed(decide: Callable[..., Verdict], *asked: object) -> tuple[str, float]:
    """The outcome and the CPU seconds of a check."""
    start = time.process_time()
    verdict = decide(*asked)
    return str(verdict.outcome), time.process_time() - start + verdict.cpu_seconds


def models(ks: tuple[int, ...]) -> Iterator[tuple[str, wb.Pipeline]]:
    """The paper's pipelines, for every k where they have one."""
    for file in FILES:
        source = wb.read_file(MODELS / f"{file}.pipe")
        if "k" in source.parameters():
            yield from ((f"{file}, k = {k}", source.get(k=k).pipeline) for k in ks)
        else:
            yield file, source.get().pipeline


def sweeps() -> Iterator[Row]:
    """Every combination for which the pipeline's constants are in the domain."""
    for (what, pipeline), n, q in itertools.product(models((2, 3, 4, 5)), range(2, 6), range(1, 5)):
        for name, prop in PROPERTIES.items():
            try:
                verdict, cpu = timed(wb.check, pipeline, prop, wb.Settings(n=n, q=q))
            except (DomainError, TypingError):
                continue
            yield Row("sweeps", what, name, n, q, verdict, cpu)


def large(limit: float) -> Iterator[Row]:
    """N = 256, Q = 64."""
    settings = wb.Settings(n=256, q=64, seconds=limit)
    for what, pipeline in models((3,)):
        for name, prop in PROPERTIES.items():
            verdict, cpu = timed(wb.check, pipeline, prop, settings)
            yield Row("N = 256, Q = 64", what, name, 256, 64, verdict, cpu)
        for mode in ("stepwise", "sequence"):
            verdict, cpu = timed(wb.equivalent, pipeline, pipeline, mode, settings)
            yield Row("N = 256, Q = 64", what, f"equals itself, {mode}", 256, 64, verdict, cpu)


def chains(limit: float) -> Iterator[Row]:
    """Window sums in sequence; a fork into n branches that are summed."""
    for length in LENGTHS:
        for what, pipeline in (("window sums in sequence", in_sequence(length)), ("branches summed", forked(length))):
            for name in ("liveness", "no overflow"):
                settings = wb.Settings(n=4, q=2, seconds=limit)
                verdict, cpu = timed(wb.check, pipeline, PROPERTIES[name], settings)
                yield Row("chains", f"{length} {what}", name, 4, 2, verdict, cpu)


def in_sequence(length: int) -> wb.Pipeline:
    """So many window sums of 3, one behind the other."""
    builder = wb.Builder("chain")
    stream = builder.input("x")
    for _ in range(length):
        stream = wb.Window(3, wb.Cumulate(wb.ADD))(stream)
    return builder.build(stream)


def forked(length: int) -> wb.Pipeline:
    """The sum of so many copies of the input, each trimmed by one event more or less than its neighbour."""
    builder = wb.Builder("fork")
    x = builder.input("x")
    total = wb.Trim(1)(x)
    for number in range(length):
        total = total + (x if number % 2 else wb.Trim(1)(x))
    return builder.build(total)


def plot(rows: list[Row], path: Path) -> None:
    """Cost against length, as SVG, with the slopes of growth in proportion and with the square."""
    import matplotlib

    matplotlib.use("svg")
    from matplotlib import pyplot

    matplotlib.rcParams["svg.hashsalt"] = "workbench"  # the same data give the same file
    figure, axes = pyplot.subplots(figsize=(6.4, 4.2))
    lines: dict[tuple[str, str], list[tuple[int, float]]] = {}
    for row in rows:
        length, _, what = row.what.partition(" ")
        lines.setdefault((what, row.property), []).append((int(length), row.cpu))
    colours = dict(zip(dict.fromkeys(what for what, _ in lines), ("#2f6f9f", "#c2571a"), strict=False))
    for (what, name), points in lines.items():
        style = "-" if name == "liveness" else "--"
        axes.loglog(*zip(*points, strict=True), style, color=colours[what], marker="o", ms=3.5, label=f"{what}, {name}")
    first, last = LENGTHS[0], LENGTHS[-1]
    for power, text in ((1, "∝ n"), (2, "∝ n²")):
        axes.loglog((first, last), (0.002, 0.002 * (last / first) ** power), ":", color="#999999", lw=1)
        axes.annotate(text, (last, 0.002 * (last / first) ** power), color="#777777", ha="right", va="bottom")
    axes.set_xlabel("n: window sums in sequence, or branches of the fork")
    axes.set_ylabel("CPU seconds of the whole check")
    axes.grid(True, which="major", color="#e4e4e4", lw=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(frameon=False, fontsize=8)
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})
    pyplot.close(figure)


def summary(rows: list[Row]) -> Iterator[str]:
    """What each part comes to."""
    for part in dict.fromkeys(row.part for row in rows):
        inside = [row for row in rows if row.part == part]
        decided = [row for row in inside if row.verdict != "unknown"]
        slowest = max(inside, key=lambda row: row.cpu)
        yield (
            f"- {part}: {len(inside)} checks, {len(decided)} decided, {sum(r.cpu for r in inside):.1f} s in total, "
            f"{sorted(r.cpu for r in inside)[len(inside) // 2]:.3f} s the median, {slowest.cpu:.2f} s the slowest "
            f"({slowest.what}, {slowest.property}, N = {slowest.n}, Q = {slowest.q})"
        )


def report(rows: list[Row]) -> str:
    """The benchmark as Markdown; of the sweeps only the slowest."""
    lines = [
        "# How the cost of a check grows",
        "",
        f"Command: `python experiments/bench_scale.py`, {time.strftime('%Y-%m-%d')}, "
        f"Python {platform.python_version()}, {os.cpu_count()} cores. CPU seconds, one run each.",
        "",
        *summary(rows),
        "",
        "| part | what | property | N | Q | verdict | CPU, s |",
        "|---|---|---|---|---|---|---|",
    ]
    slow = sorted((row for row in rows if row.part == "sweeps"), key=lambda row: -row.cpu)[:10]
    lines += [
        f"| {r.part} | {r.what} | {r.property} | {r.n} | {r.q} | {r.verdict} | {r.cpu:.3f} |"
        for r in [*slow, *(row for row in rows if row.part != "sweeps")]
    ]
    picture = ["", "![how the cost of chains and forks grows](chains.svg)", ""]
    return "\n".join([*lines, *picture, "Of the sweeps the ten slowest are listed; data.json has all.", ""])


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "bench_scale")
    parser.add_argument("--limit", type=float, default=60.0, metavar="S", help="seconds for each large check")
    args = parser.parse_args()
    wb.check(in_sequence(1), wb.liveness())  # start the worker
    rows = []
    for row in itertools.chain(sweeps(), large(args.limit), chains(args.limit)):
        rows.append(row)
        if row.part != "sweeps":
            print(f"  {row.what}, {row.property}: {row.verdict} {row.cpu:.3f} s", file=sys.stderr)
    args.out.mkdir(parents=True, exist_ok=True)
    plot([row for row in rows if row.part == "chains"], args.out / "chains.svg")
    (args.out / "README.md").write_text(report(rows), encoding="utf-8")
    (args.out / "data.json").write_text(json.dumps([asdict(row) for row in rows], indent=1), encoding="utf-8")
    print(f"{args.out / 'README.md'}", *summary(rows), sep="\n")


if __name__ == "__main__":
    main()
