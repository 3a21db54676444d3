"""Long streams in blocks: the same as in one piece, whatever the blocks are; and what is refused."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.builder import Builder
from workbench.conformance.compare.schedules import Schedule
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import INT, Integer, Overflowing
from workbench.core.function import ADD, EVEN, IF, Function
from workbench.core.pipeline import Pipeline
from workbench.errors import Overflow, PipelineError, Refused, WorkbenchError
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.parallel.executor import Parallel
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import flatten

ROOT = Path(__file__).resolve().parents[3]
EVENTS = np.random.default_rng(7).integers(-50, 50, 2000)


def parsed(expression: str, head: str = "x: int", result: str = "int") -> Pipeline:
    return wb.parse(f"pipeline p({head}) -> {result} {{ return {expression} }}").get().pipeline


def plainly(pipeline: Pipeline, **options: Any) -> Parallel:
    """The executor whose generated loops Python runs, in blocks of ten steps or more."""
    return Parallel(pipeline, **{"threads": 3, "shortest": 10, "warm_up_steps": -1, "machine": False} | options)


def shown(executor: Compiled, streams: Any) -> Any:
    """What comes out of a piece, and when; or the error."""
    try:
        made = executor.feed(streams, steps=True)
    except WorkbenchError as error:
        return type(error), str(error)
    return {name: (output.events(), output.steps.tolist()) for name, output in made.items()}


ROOM = "  capacity queue(add.left) = 100  capacity queue(add.right) = 0"
IN_BLOCKS = [
    "x", "x * 2", "filter(x, even(x))", "decimate(x, 7)", "trim(x, 30)",
    "window(x, 3, cumulate(+))", "window(x, 60, cumulate(+))", "window(x, 60, cumulate(max))",
    "window(decimate(x, 7), 20, cumulate(max))", f"x + trim(x, 100){ROOM}", f"x + trim(x, 3){ROOM}",
    "cumulate(x, +)", "cumulate(x, -)", "cumulate(x, max)", "cumulate(filter(x, x > 0), +)",
    "decimate(cumulate(x, +), 4)", "window(cumulate(x, +), 3, cumulate(max))",
    "cumulate(window(x, 3, cumulate(+)), min)",
    "decimate(cumulate(cumulate(window(cumulate(x, +), 3, cumulate(max)) mod 7, +) mod 11, +), 2)",
]  # fmt: skip


@pytest.mark.sampled(4)
@pytest.mark.parametrize("expression", IN_BLOCKS)
def test_blocks_do_not_show(expression: str) -> None:
    """Three pieces, of which the second is too short for blocks; the state goes on from each to the next."""
    pipeline = parsed(expression)
    one, several = Compiled(pipeline, warm_up_steps=-1, machine=False), plainly(pipeline)
    for first, last in ((0, 1000), (1000, 1007), (1007, 2000)):
        assert shown(several, EVENTS[first:last]) == shown(one, EVENTS[first:last])
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one.state, several.state, strict=True))
    assert several.blocks == 6


@given(data=st.data(), q=st.integers(0, 3), threads=st.integers(2, 4), seed=st.integers(0, 99))
@examples(150)
def test_random_pipelines(data: st.DataObject, q: int, threads: int, seed: int) -> None:
    """What comes out, when, and errors are those of the compiled executor, which is tested beside the reference."""
    pipeline = data.draw(pipelines(max_nodes=5, large=data.draw(st.booleans())))
    bounds = dict.fromkeys(flatten(pipeline).queues, q)
    try:
        several = plainly(pipeline, capacities=bounds, threads=threads)
    except Refused:
        return
    one, chosen = Compiled(pipeline, bounds, warm_up_steps=-1, machine=False), random.Random(seed)
    few = [step for step in data.draw(traces(pipeline, together=True, max_steps=12)) if step]
    for length in (chosen.randrange(200), chosen.randrange(200)) if few else ():
        steps = [chosen.choice(few) for _ in range(length)]
        streams = {name: [step[name] for step in steps] for name, _ in pipeline.inputs}
        assert shown(several, streams) == shown(one, streams)


def test_a_total_may_stand_on_either_side() -> None:
    """Also where the same operation is shown of other numbers."""
    builder = Builder("p")
    x = builder.input("x", INT)
    total = Cumulate(Function("swapped", 2, lambda a, b: b + a, start=0))(x)
    chosen = ApplyFunction(IF)(ApplyFunction(EVEN)(x), total, ApplyFunction(ADD)(x, x))
    pipeline = builder.build({"total": total, "chosen": chosen})
    assert shown(plainly(pipeline), {"x": EVENTS}) == shown(Compiled(pipeline, machine=False), {"x": EVENTS})


@pytest.mark.sampled(5)
@pytest.mark.parametrize("kind", Overflowing)
@pytest.mark.parametrize("function", ["+", "*", "min", "max"])
def test_numbers_of_finite_domains(kind: Overflowing, function: str) -> None:
    pipeline = parsed(f"cumulate(x, {function})").resolve(Integer(100, kind))
    one, several = Compiled(pipeline, warm_up_steps=-1, machine=False), plainly(pipeline)
    for stream in (np.arange(300) % 2, np.ones(300, np.int64), np.full(300, 99)):
        assert shown(several, stream) == shown(one, stream)
    assert kind is Overflowing.CHECKED or several.blocks


@pytest.mark.parametrize("kind", [Overflowing.SATURATING, Overflowing.CHECKED])
def test_differences_that_stop_at_0_are_refused(kind: Overflowing) -> None:
    with pytest.raises(Refused, match="Cumulate"):
        plainly(parsed("cumulate(x, -)").resolve(Integer(100, kind)))
    plainly(parsed("cumulate(x, -)").resolve(Integer(100)))


def test_machine_code() -> None:
    pipeline = parsed(
        "decimate(cumulate(x, +), 4), window(x, 60, cumulate(+)), cumulate(window(x, 9, cumulate(max)), +)",
        result="int, int, int",
    )
    one, several = Compiled(pipeline, warm_up_steps=-1), Parallel(pipeline, threads=2, warm_up_steps=-1)
    for stream in (np.resize(EVENTS, 300_000), np.resize(EVENTS, 200_001)):
        assert shown(several, stream) == shown(one, stream)
    assert several.blocks == 4


@pytest.mark.parametrize(
    ("expression", "large", "step"),
    [("cumulate(x, +)", {700: 2**63 - 1, 701: 5}, 700), ("x * x", {900: 2**32}, 900)],
)
def test_the_same_error_in_the_same_step(expression: str, large: dict[int, int], step: int) -> None:
    pipeline, stream = parsed(expression), np.full(1000, 1)
    for position, value in large.items():
        stream[position] = value
    one, several = Compiled(pipeline, warm_up_steps=-1, machine=False), plainly(pipeline)
    found = shown(several, stream)
    assert found == shown(one, stream)
    assert found[0] is Overflow
    assert f"step {step}: " in found[1]
    assert several.steps == 0  # what is fed happens completely or not at all
    assert shown(several, stream[:600]) == shown(one, stream[:600])


def test_a_block_that_overflows_by_itself() -> None:
    """From 0 on the second block leaves 64 bits; from where the first one ends it does not."""
    stream = np.concatenate([np.full(500, -(2**53)), np.full(500, 2**55)])
    stream[:500] *= 2
    pipeline = parsed("cumulate(x, +)")
    one, several = Compiled(pipeline, warm_up_steps=-1, machine=False), plainly(pipeline, threads=2)
    assert shown(several, stream) == shown(one, stream)
    assert several.blocks == 0


def test_sums_of_floats() -> None:
    pipeline, stream = parsed("cumulate(x, +)", "x: float", "float"), EVENTS / 7
    with pytest.raises(Refused, match=r"`Cumulate.*sums of floats depend on the order") as caught:
        plainly(pipeline)
    assert "reassociate=True" in caught.value.hint
    made = plainly(pipeline, reassociate=True).feed(stream)["out"].array
    expected = Compiled(pipeline, warm_up_steps=-1, machine=False).feed(stream)["out"].array
    assert np.allclose(made, expected, rtol=1e-12, atol=1e-12)
    inner = parsed("window(cumulate(x, +), 3, cumulate(max))", "x: float", "float")
    executor = plainly(inner, reassociate=True)
    expected = Compiled(inner, warm_up_steps=-1, machine=False).feed(stream)["out"].array
    assert np.allclose(executor.feed(stream)["out"].array, expected, rtol=1e-12, atol=1e-12)
    assert executor.blocks == 3


def test_the_largest_float_and_what_is_no_number() -> None:
    """`max` is associative but where one is not a number: blocks do not fit together then, and are not used."""
    pipeline = parsed("decimate(cumulate(x, max), 3)", "x: float", "float")
    stream = EVENTS / 7
    one, several = Compiled(pipeline, warm_up_steps=-1, machine=False), plainly(pipeline)
    assert shown(several, stream) == shown(one, stream)
    assert several.blocks == 3
    stream[100] = float("nan")
    made, expected = several.feed(stream)["out"].array, one.feed(stream)["out"].array
    assert made.tobytes() == expected.tobytes()


def test_steps_that_cost_little_are_made_in_one_thread():
    """What they cost is known when they have been made twice."""
    pipeline, pieces = parsed("cumulate(x, +)"), np.split(EVENTS, 4)
    for costly, blocks in ((1e9, [0, 0, 0, 0]), (1e-12, [0, 0, 3, 6])):
        several, found, values = plainly(pipeline, costly=costly), [], []
        for piece in pieces:
            values += several.feed(piece)["out"].events()
            found.append(several.blocks)
        assert values == np.cumsum(EVENTS).tolist()
        assert found == blocks


@pytest.mark.parametrize(
    ("expression", "named"),
    [
        ("window(filter(x, even(x)), 3, cumulate(+))", r"`Window\(3, Cumulate\(\+\)\)` \(processor 'window'\)"),
        ("freeze(x)", r"`Freeze` \(processor 'freeze'\)"),
        ("x + decimate(x, 2)  capacity queue(add.left) = 900  capacity queue(add.right) = 0", "the queues of add"),
        ("cumulate(x, div, 9)", r"`Cumulate\(div\)` \(processor 'cumulate'\)"),
    ],
)
def test_what_is_refused(expression: str, named: str) -> None:
    with pytest.raises(Refused, match=f"cannot be started in the middle of a stream: {named}"):
        plainly(parsed(expression))


def test_events_in_some_steps_only() -> None:
    """Such a piece runs in one thread; blocks are made again afterwards, if what is known of the steps still holds."""
    pipeline = parsed("window(decimate(x, 7), 20, cumulate(max))")
    one, several = Compiled(pipeline, warm_up_steps=-1, machine=False), plainly(pipeline)
    present = {"x": np.arange(1000) % 3 > 0}
    for executor in (one, several):
        executor.feed(EVENTS[:1000], present)
    assert several.blocks == 0
    assert shown(several, EVENTS) == shown(one, EVENTS)
    assert several.finish().keys() == one.finish().keys()


def test_blocks_that_do_not_fit_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wrong claim of the analysis costs time, not truth."""
    pipeline = parsed("window(x, 60, cumulate(+))")
    several = plainly(pipeline)
    several.in_blocks.cuts = several.in_blocks.cuts.__class__(**{**vars(several.in_blocks.cuts), "history": 30})
    one = Compiled(pipeline, warm_up_steps=-1, machine=False)
    for first in range(0, 2000, 400):
        assert shown(several, EVENTS[first : first + 400]) == shown(one, EVENTS[first : first + 400])
    assert several.blocks == 0


def test_managers_that_grant_nothing() -> None:
    pipeline = parsed("cumulate(x, +)")
    with wb.executors.ThreadManager(0) as manager:
        several = plainly(pipeline, manager=manager)
        assert shown(several, EVENTS) == shown(Compiled(pipeline, warm_up_steps=-1, machine=False), EVENTS)
        assert several.blocks == 3
    with pytest.raises(PipelineError, match="in 0 threads"):
        plainly(pipeline, threads=0)


@pytest.mark.parametrize("seed", range(3))
def test_schedules(seed: int) -> None:
    """Whoever comes first: the same."""
    pipeline = parsed(IN_BLOCKS[-1])
    expected = shown(Compiled(pipeline, warm_up_steps=-1, machine=False), EVENTS)
    schedule = Schedule(seed=seed)

    def scheduled() -> Any:
        with wb.executors.ThreadManager(2, primitives=schedule) as manager:
            return shown(plainly(pipeline, manager=manager), EVENTS)

    assert schedule.run(scheduled) == expected


# --- on a GPU: numba's simulator, in a process of its own ----------------------------------------------------------

PROGRAM = """
import sys, numpy as np
sys.path.insert(0, sys.argv[1])
from tests.executors.compiled.test_parallel import EVENTS, parsed, shown
from workbench.executors.compiled.gpu.parallel import ParallelGpu
from workbench.executors.compiled.execute.executor import Compiled
for expression in sys.argv[2:]:
    pipeline = parsed(expression)
    one = Compiled(pipeline, warm_up_steps=-1, machine=False)
    blocks = ParallelGpu(pipeline, blocks=3, shortest=10, warm_up_steps=-1, machine=False)
    for first, last in ((0, 560), (560, 567), (567, 1127)):
        assert shown(blocks, EVENTS[first:last]) == shown(one, EVENTS[first:last]), expression
        assert all(a.tobytes() == b.tobytes() for a, b in zip(one.state, blocks.state)), expression
    large = np.full(200, 2**61)
    assert shown(blocks, large) == shown(one, large), expression
    print(blocks.blocks)
"""


def on_the_simulator(*expressions: str) -> list[str]:
    """How many blocks each of these pipelines ran in."""
    env = {**os.environ, "NUMBA_ENABLE_CUDASIM": "1", "PYTHONPATH": str(ROOT)}
    # in the simulator a word that overflows is numpy's, which warns of it
    warnings = ["-W", "error", "-W", "ignore::RuntimeWarning"]
    command = [sys.executable, *warnings, "-c", PROGRAM, str(ROOT), *expressions]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False, cwd=ROOT)
    assert not done.returncode, done.stderr
    return done.stdout.split()


@pytest.mark.slow
def test_kernels_on_the_simulator() -> None:
    expressions = ("cumulate(filter(x, even(x)), +)", "window(cumulate(x, +), 3, cumulate(max))")
    assert on_the_simulator(*expressions) == ["6", "6"]


@pytest.mark.slow
def test_all_kernels_on_the_simulator() -> None:
    assert min(map(int, on_the_simulator(*IN_BLOCKS))) >= 2
