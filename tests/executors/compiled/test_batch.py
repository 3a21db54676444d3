"""Many traces: on the CPU, and as kernels on numba's CUDA simulator (in a process of its own)."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import workbench as wb
from workbench.errors import DomainError, EngineMissing, InputError, Overflow, PipelineError
from workbench.executors.compiled.gpu.available import libm_refusal
from workbench.executors.compiled.gpu.batch import Batch

ROOT = Path(__file__).resolve().parents[3]
TEXT = """
pipeline p(x: int, b: bool, y: 0..9) -> int, 0..9, (bool, int) {
    sums = decimate(x, 3) + trim(x, 2)
    capacity queue(sums.left) = 2
    capacity queue(sums.right) = 30
    pair = (b, window(x, 10, cumulate(max)))
    capacity queue(pair.left) = 30
    capacity queue(pair.right) = 30
    return sums, keep_last(filter(y, even(y))), pair
}
"""


def traces(steps: int = 30, count: int = 7) -> dict[str, Any]:
    random = np.random.default_rng(5)
    return {
        "x": random.integers(-9, 9, (steps, count)),
        "b": random.random((steps, count)) < 0.5,
        "y": random.integers(0, 10, (steps, count)),
    }


BEGIN = """
import sys, numpy as np, workbench as wb
sys.path.insert(0, sys.argv[1])
from tests.executors.compiled.test_batch import TEXT, compared, traces
from workbench.executors.compiled.gpu.batch import Batch
from workbench.errors import Overflow, Refused
pipeline = wb.parse(TEXT).get().pipeline
"""
IN_PIECES = """
batch = Batch(pipeline, device="gpu", at_once=3)
compared(batch)
print(batch.device)
full = wb.parse("pipeline q(x: int) -> int { third = decimate(x, 3)  both = third + x"
                "  capacity queue(both.left) = 0  capacity queue(both.right) = 6  return both }").get().pipeline
try:
    Batch(full, device="gpu").run(np.zeros((12, 3), np.int64))
except Overflow as error:
    print(error.what)
try:
    Batch(wb.parse("pipeline p(x: int) -> int { return x + decimate(x, 2) }").get(), device="gpu")
except Refused as error:
    print(error.what)
"""
AT_ONCE = """
compared(Batch(pipeline, device="gpu"))
there = wb.parse("pipeline r(x: int) -> int { return cumulate(x, +) }").get().pipeline
kept = Batch(there, device="gpu").run(np.ones((3, 2), np.int64), keep=True)["out"]
print(kept.fields[0].copy_to_host()[: kept.counts[1], 1])
last = wb.parse("pipeline l(x: int) -> int { return keep_last(x) }").get().pipeline
for steps in (0, 1, 20):
    for end in (True, False):
        made = Batch(last, device="gpu").run(np.arange(2 * steps).reshape(steps, 2), end=end)["out"]
        print(made.events(0), made.events(1))
late = wb.parse("pipeline p(x: int, y: int) -> int { return x + trim(y, 2) }").get().pipeline
here = np.ones((9, 3), np.bool_)
here[3:6, 1] = False
x = np.arange(27).reshape(9, 3)
for keep in (False, True):
    made = Batch(late, device="gpu").run({"x": x, "y": x}, {"x": here | True, "y": here}, keep=keep)["out"]
    fields = [field.copy_to_host() if keep else field for field in made.fields]
    print([fields[0][:count, trace].tolist() for trace, count in enumerate(made.counts)])
"""


def compared(batch: Batch) -> None:
    """All outputs are those of the reference executor, with and without events in every step."""
    streams = traces()
    pipeline = wb.parse(TEXT).get().pipeline
    sometimes = np.random.default_rng(6).random((30, 7)) < 0.8
    for present in ({}, {"x": sometimes}):
        made = batch.run(streams, present)
        for trace in range(7):
            reference = wb.executors.Reference(pipeline)
            expected: dict[str, list[object]] = {name: [] for name in made}
            for step in range(30):
                events = {name: array[step, trace].item() for name, array in streams.items()}
                if present and not sometimes[step, trace]:
                    del events["x"]
                for name, values in reference.step(events).outputs.items():
                    expected[name] += values
            for name, values in reference.end().items():
                expected[name] += values
            assert {name: found.events(trace) for name, found in made.items()} == expected


def test_one_after_the_other_on_the_cpu() -> None:
    batch = Batch(wb.parse(TEXT).get().pipeline, device="cpu")
    assert batch.device == "the CPU"
    compared(batch)


def on_the_simulator(program: str) -> list[str]:
    """The lines that a program prints for which the simulator is a GPU."""
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-W", "error", "-c", BEGIN + program, str(ROOT)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=ROOT)
    assert not done.returncode, done.stderr
    return done.stdout.splitlines()


def test_kernels_on_the_simulator() -> None:
    assert on_the_simulator(IN_PIECES) == [
        "numba's CUDA simulator",
        "trace 0, step 10: queue 'both.right' of pipeline q overflows: its capacity is 6",
        "pipeline p has queues that grow also where all inputs come together, those of add.queue: a GPU cannot",
    ]


@pytest.mark.slow
def test_all_traces_at_once_on_the_simulator() -> None:
    assert on_the_simulator(AT_ONCE) == [
        "[1 2 3]",
        *("[] []", "[] []", "[0] [1]", "[] []", "[38] [39]", "[] []"),  # its one input ends once
        *["[[6, 12, 18, 24, 30, 36, 42], [8, 23, 29, 35], [10, 16, 22, 28, 34, 40, 46]]"] * 2,
    ]


def test_errors_name_the_trace() -> None:
    batch = Batch(
        wb.parse("pipeline p(x: 0..9) -> int checked 20 { return cumulate(cast(x, int checked 20), +) }")
        .get()
        .pipeline,
        device="cpu",
    )
    streams = np.zeros((5, 4), np.int64)
    streams[:, 2] = 9
    with pytest.raises(Overflow, match="trace 2, step 2: processor 'cumulate'"):
        batch.run(streams)
    streams[3, 1] = 10
    with pytest.raises(DomainError, match="trace 1, step 3: 10 on input 'x'"):
        batch.run(streams)


def test_shapes() -> None:
    batch = Batch(wb.parse(TEXT).get().pipeline, device="cpu")
    with pytest.raises(PipelineError, match="none is given for b"):
        batch.run({"x": np.zeros((3, 2), np.int64)})
    with pytest.raises(PipelineError, match="steps by traces"):
        batch.run({**traces(), "x": np.zeros((3, 2), np.int64)})
    with pytest.raises(PipelineError, match="steps by traces"):
        batch.run(traces(), {"x": np.ones((3, 2), np.bool_)})
    with pytest.raises(PipelineError, match="has no input 'z'"):
        batch.run({**traces(), "z": np.zeros((30, 7), np.int64)})
    with pytest.raises(PipelineError, match="needs 1 arrays; 2 are given"):
        batch.run({**traces(), "x": (np.zeros((30, 7), np.int64),) * 2})
    with pytest.raises(InputError, match="there is no device 'tpu'"):
        Batch(wb.parse(TEXT).get().pipeline, device="tpu")  # type: ignore[arg-type]
    with pytest.raises(PipelineError, match="at least one trace"):
        Batch(wb.parse(TEXT).get().pipeline, at_once=0)


@pytest.mark.parametrize(
    ("text", "refused"), [("exp(x)", True), ("pow(x, 2) > 1", True), ("sqrt(x) / floor(x)", False)]
)
def test_a_gpu_refuses_what_it_rounds_otherwise(text: str, refused: bool) -> None:
    program = wb.parse(f"pipeline p(x: float) -> any {{ return {text} }}").get()
    assert (libm_refusal(wb.executors.Compiled(program).system) is not None) == refused


def test_lists_of_lists() -> None:
    batch = Batch(wb.parse("pipeline p(x: int) -> int { return cumulate(x, +) }").get().pipeline, device="cpu")
    assert batch.run([[1, 10], [2, 20]])["out"].events(1) == [10, 30]
    with pytest.raises(PipelineError, match="differ in length"):
        batch.run([[1, 10], [2]])


@pytest.mark.skipif("NUMBA_ENABLE_CUDASIM" in os.environ, reason="the simulator is a GPU")
def test_without_a_gpu() -> None:
    from workbench.executors.compiled.gpu.cuda import device_name

    if device_name():
        pytest.skip("there is one")
    pipeline = wb.parse("pipeline p(x: int) -> int { return x }").get().pipeline
    assert Batch(pipeline).device == "the CPU, since no NVIDIA GPU answers"
    with pytest.raises(EngineMissing, match="no NVIDIA GPU answers"):
        Batch(pipeline, device="gpu")
