"""Benchmark: many traces on a GPU, beside the bandwidth of its memory. For a machine with an NVIDIA GPU.

    python experiments/bench_gpu.py [--traces 100000] [--steps 10000] [--out reports/gpu]

Every pipeline runs over all traces, whose events are on the GPU already; what is counted is the time until it has
finished, its own arrays allocated included, and the bytes of events that it must at least read and write. Beside them:
the device's own copy of as many bytes, and what it costs to bring events there. A sample of the traces is compared with
the compiled executor on the CPU first. (NUMBA_ENABLE_CUDASIM=1 and small numbers try the script without a GPU.)
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numba import cuda

import workbench as wb
from workbench.backends.compiled_batch import Batch
from workbench.backends.compiled_cuda import found

ROOT = Path(__file__).resolve().parent.parent
REPEAT = 5


def source(steps: int) -> str:
    """The pipelines; the queue of Figure 2a holds what a trace of so many steps leaves in it."""
    return f"""
pipeline passing(x: int) -> int {{ return passthrough(x) }}
pipeline window_sum_3(x: int) -> int {{ return window(x, 3, cumulate(+)) }}
pipeline window_sum_100(x: int) -> int {{ return window(x, 100, cumulate(+)) }}
pipeline figure_2a(x: int) -> int {{
    capacity queue(add.left) = 0
    capacity queue(add.right) = {steps * 2 // 3 + 1}
    third = decimate(x, 3)
    return third + x
}}
pipeline figure_5a(x: int) -> int {{
    capacity queue(kept.data) = 1
    capacity queue(kept.condition) = 0
    count = cumulate(turn(x, 1), +)
    kept  = filter(count, even(trim(count, 1)))
    return cumulate(kept, +)
}}
"""


def least(work: Callable[[], object]) -> float:
    """The least wall seconds of some runs, after one that is not counted (it compiles)."""
    work()
    seconds = []
    for _ in range(REPEAT):
        start = time.perf_counter()
        work()
        cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def measured(name: str, text: str, events: Any, there: Any) -> dict[str, Any]:
    """One pipeline."""
    pipeline = wb.parse(text).get(name).pipeline
    batch = Batch(pipeline, device="gpu", at_once=events.shape[1])
    sample = np.ascontiguousarray(events[:, :20])
    ours, theirs = Batch(pipeline, device="gpu").run(sample), Batch(pipeline, device="cpu").run(sample)
    for trace in range(sample.shape[1]):
        assert ours["out"].events(trace) == theirs["out"].events(trace), f"{name}, trace {trace}"
    made = batch.run(there, keep=True)["out"].counts.sum()
    seconds = least(lambda: batch.run(there, keep=True))
    moved = 8 * (events.size + int(made))
    return {"pipeline": name, "seconds": seconds, "events": events.size, "gigabytes": moved / 1e9}


def report(rows: list[dict[str, Any]], copied: float, sent: float, shape: tuple[int, int]) -> str:
    """The whole benchmark as Markdown."""
    lines = [
        "# Many traces on a GPU",
        "",
        f"{found()}, {shape[1]} traces of {shape[0]} events of 64 bits, {time.strftime('%Y-%m-%d')}. The device copies"
        f" {copied:.0f} GB/s (read and written); events are brought to it at {sent:.1f} GB/s.",
        "",
        "| pipeline | seconds | thousand million events/s | GB read and written at least | GB/s | of the copy |",
        "|---|---|---|---|---|---|",
    ]
    for row in rows:
        rate = row["gigabytes"] / row["seconds"]
        lines.append(
            f"| {row['pipeline']} | {row['seconds']:.4f} | {row['events'] / row['seconds'] / 1e9:.2f}"
            f" | {row['gigabytes']:.2f} | {rate:.0f} | {rate / copied:.0%} |"
        )
    return "\n".join(lines) + "\n"


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "gpu")
    given = parser.parse_args()
    if not found():
        print("no NVIDIA GPU answers; `workbench doctor` says what was found", file=sys.stderr)
        return 2
    events = np.random.default_rng(1).integers(0, 1000, (given.steps, given.traces))
    sent = least(lambda: cuda.to_device(events))
    there, other = cuda.to_device(events), cuda.device_array(events.shape, np.int64)
    copied = least(lambda: other.copy_to_device(there))
    rows = []
    for name in wb.parse(source(given.steps)).pipelines:
        rows.append(measured(name, source(given.steps), events, there))
        print(f"  {rows[-1]}", file=sys.stderr)
    text = report(rows, 2 * events.nbytes / copied / 1e9, events.nbytes / sent / 1e9, (given.steps, given.traces))
    given.out.mkdir(parents=True, exist_ok=True)
    (given.out / "README.md").write_text(text)
    (given.out / "data.json").write_text(json.dumps({"rows": rows, "copy": copied, "send": sent}, indent=1) + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
