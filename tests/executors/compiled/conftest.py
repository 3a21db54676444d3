"""A process in which numba's device is replaced by one that runs PTX on the CPU."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
START = """
import contextlib, gc, io, json, sys, traceback
gc.disable()  # numba's compiler makes many objects and few cycles: to look for these is a quarter of the time
sys.path[:0] = [sys.argv[1], sys.argv[1] + "/experiments"]
from tests.executors.compiled import ptx_device
ptx_device.install()
import numpy as np, workbench as wb
from workbench.executors.compiled.gpu.batch import Batch
from workbench.executors.compiled.gpu.parallel import ParallelGpu

def same(pipeline, *columns):
    gpu, reference = Batch(pipeline, device="gpu"), wb.executors.Reference(pipeline)
    for x in columns:
        ours = gpu.run(x)
        for trace in range(x.shape[1]):
            reference.reset()
            for name, events in reference.run(x[:, trace].tolist()).items():
                assert ours[name].events(trace) == events, (pipeline.name, name, trace)
    return gpu

for line in sys.stdin:
    ptx_device.compiled.clear()
    error, names = "", dict(globals())
    with contextlib.redirect_stdout(io.StringIO()) as told:
        try:
            exec(json.loads(line), names)
        except BaseException:
            error = traceback.format_exc()
    print(json.dumps([told.getvalue(), error]), flush=True)
"""

needs_compiler = pytest.mark.skipif(
    find_spec("numba_cuda") is None or "NUMBA_ENABLE_CUDASIM" in os.environ,
    reason="needs numba-cuda, with NVIDIA's compiler: pip install 'numba-cuda[cu13]'",
)
Run = Callable[[str], str]


@pytest.fixture(scope="session")
def run() -> Iterator[Run]:
    """What a program prints. All run in one other process, in which numba's device is replaced."""
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    command = [sys.executable, "-c", START, str(ROOT)]
    with subprocess.Popen(command, env=env, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:

        def printed(program: str) -> str:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write(json.dumps(program).encode() + b"\n")
            process.stdin.flush()
            text, error = json.loads(process.stdout.readline())
            assert not error, error
            return str(text)

        yield printed
        process.kill()
