"""Benchmark: many traces on a GPU, beside the bandwidth of its memory. For a machine with an NVIDIA GPU.

    python experiments/bench_gpu.py [--traces 100000] [--steps 10000] [--out reports/gpu]

Every pipeline runs over all traces, whose events are on the GPU already and whose outputs stay there, in arrays of
an earlier run. What is counted is the wall time until all has finished, the state set up included. Two numbers of
bytes are put over it: the events that must at least be read and written, and these with those that are read once more
for queues and windows, and with what lies in memory of them. Beside them: the device's own copy, and what it costs to
bring events there and back. A sample of the traces is compared with the compiled executor on the CPU first, which is
timed as well.
(NUMBA_ENABLE_CUDASIM=1 and small numbers try the script without a GPU.)
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import numpy as np
from bench_run_cases import text_of
from numba import cuda

import workbench as wb
from workbench.executors.compiled.code.loop import loop_code
from workbench.executors.compiled.gpu.batch import Batch
from workbench.executors.compiled.gpu.cuda import count_loads, device_name
from workbench.executors.compiled.lower.input_tape import tape_system
from workbench.executors.compiled.lower.system import dense

ROOT = Path(__file__).resolve().parent.parent
REPEAT = 5
SAMPLE = 20
"""Traces that are compared with the CPU."""
GOAL = 0.5


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
{text_of("figure_5a")}
"""


def least(work: Callable[[], object]) -> float:
    """The least wall seconds of some runs, after one that is not counted (it compiles)."""
    work()
    seconds = []
    for _ in range(REPEAT):
        cuda.synchronize()
        start = time.perf_counter()
        work()
        cuda.synchronize()
        seconds.append(time.perf_counter() - start)
    return min(seconds)


def words_of_a_step(pipeline: Any) -> tuple[float, float]:
    """How many events a step reads, and how many words of queues and windows it reads and writes in memory."""
    one = wb.executors.Compiled(pipeline)
    phases = one.phases("steady" if one.loops.steady.variables else "dense")
    tape = tape_system(one.system, dense(one.system))
    code = loop_code(tape.system, phases, target="gpu", pasts=tape.pasts)
    return count_loads(code, "xp") / len(phases), count_loads(code, "m") / len(phases)


def measured(name: str, text: str, events: Any, there: Any) -> dict[str, Any]:
    """One pipeline."""
    pipeline = wb.parse(text).get(name).pipeline
    batch, on_cpu = Batch(pipeline, device="gpu", at_once=events.shape[1]), Batch(pipeline, device="cpu")
    sample = np.ascontiguousarray(events[:, :SAMPLE])
    ours, theirs = Batch(pipeline, device="gpu").run(sample), on_cpu.run(sample)
    for trace in range(sample.shape[1]):
        assert ours["out"].events(trace) == theirs["out"].events(trace), f"{name}, trace {trace}"
    made = int(batch.run(there, keep=True, reuse=True)["out"].counts.sum())
    seconds = least(lambda: batch.run(there, keep=True, reuse=True))
    cpu = least(lambda: on_cpu.run(sample))
    read, kept = words_of_a_step(pipeline)
    moved = 8 * (min(read, 1) * events.size + made)
    return {
        "pipeline": name,
        "seconds": seconds,
        "events": events.size,
        "gigabytes": moved / 1e9,
        "all": 8 * ((read + kept) * events.size + made) / 1e9,
        "cpu": sample.size / cpu,
    }


def copies(events: Any, there: Any) -> dict[str, float]:
    """GB/s of copies on the device (read and written), to it and from it."""
    other, back = cuda.device_array(events.shape, np.int64), np.empty_like(events)
    return {
        "copy": 2 * events.nbytes / least(lambda: other.copy_to_device(there)) / 1e9,
        "send": events.nbytes / least(lambda: other.copy_to_device(events)) / 1e9,
        "fetch": events.nbytes / least(lambda: other.copy_to_host(back)) / 1e9,
    }


def report(rows: list[dict[str, Any]], rates: dict[str, float], shape: tuple[int, int]) -> str:
    """The whole benchmark as Markdown."""
    copied = rates["copy"]
    lines = [
        "# Many traces on a GPU",
        "",
        f"Command: `python experiments/bench_gpu.py --traces {shape[1]} --steps {shape[0]}`, {time.strftime('%F')},"
        f" {device_name()}, numba {numba.__version__}. {shape[1]} traces of {shape[0]} events of 64 bits.",
        "",
        f"The device copies {copied:.0f} GB/s (read and written). Events are brought to it at {rates['send']:.1f}"
        f" GB/s and fetched at {rates['fetch']:.1f} GB/s (from and to"
        " ordinary memory of numpy); that is not in the times below.",
        f"Times are the least of {REPEAT} runs. *At least* are the events that must be read and written, once; *all*"
        " counts what queues and windows read once more, and what they keep in memory, too. The goal is"
        f" {GOAL:.0%} of the copy. *CPU* is one core, with Python's part of it, on {SAMPLE} of the traces.",
        "",
        "| pipeline | seconds | million events/s | CPU | GB at least | GB/s | of the copy | GB, all | of the copy |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        rate, every = row["gigabytes"] / row["seconds"], row["all"] / row["seconds"]
        mark = "" if row["pipeline"] == "passing" else " reached" if rate >= GOAL * copied else " **no**"
        lines.append(
            f"| {row['pipeline']} | {row['seconds']:.4f} | {row['events'] / row['seconds'] / 1e6:.0f}"
            f" | {row['cpu'] / 1e6:.0f} | {row['gigabytes']:.2f} | {rate:.0f} | {rate / copied:.0%}{mark}"
            f" | {row['all']:.2f} | {every / copied:.0%} |"
        )
    return "\n".join([*lines, "", "The pipelines:", "", "```", source(shape[0]).strip(), "```"]) + "\n"


def main() -> int:
    """Run, print, and write the report and its data."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--traces", type=int, default=100_000)
    parser.add_argument("--steps", type=int, default=10_000)
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "gpu")
    given = parser.parse_args()
    if not device_name():
        print("no NVIDIA GPU answers; `workbench doctor` shows what was found", file=sys.stderr)
        return 2
    shape = given.steps, given.traces
    events = np.random.default_rng(1).integers(0, 1000, shape)
    there = cuda.to_device(events)
    rates = copies(events, there)
    print(f"  {rates}", file=sys.stderr, flush=True)
    rows = []
    for name in wb.parse(source(given.steps)).pipelines:
        rows.append(measured(name, source(given.steps), events, there))
        print(f"  {rows[-1]}", file=sys.stderr, flush=True)
        text = report(rows, rates, shape)  # written after each, so that what was measured is not lost
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "README.md").write_text(text)
        (given.out / "data.json").write_text(json.dumps({"rows": rows, "rates": rates}, indent=1) + "\n")
    print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
