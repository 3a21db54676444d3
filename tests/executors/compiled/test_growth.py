"""Queues without a capacity in compiled code: they have room for what the log needs, and cost nothing before."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from tests.executors.compiled.test_wide_rings import TEXTS, made
from workbench.conformance.generate.pipelines import traces
from workbench.core.domain import Integer
from workbench.core.pipeline import Pipeline
from workbench.errors import NoCapacity, Overflow
from workbench.executors.compiled.execute import loops, state
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.gpu.batch import Batch
from workbench.executors.compiled.parallel.executor import Parallel
from workbench.executors.reference.executor import Reference
from workbench.ir.ring_buffer import MAX_VARIABLES
from workbench.processors.held.group import flatten
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.environment import Environment
from workbench.verify.buffers.buffers import buffers

LATE = "pipeline p(x: int, y: int) -> int { return x + trim(y, 2) }"
FAR = f"pipeline p(x: float, y: float) -> float {{ return x - trim(y, {MAX_VARIABLES + 3}) }}"
TEXTS = TEXTS | {
    "late": LATE,
    "far": FAR.replace("float", "int"),
    "three late": "pipeline p(x: int, y: int, b: bool) -> int { return if trim(b, 2) then x else trim(y, 1) }",
    "shared": "pipeline p(x: int, y: int) -> int { both = x + trim(y, 1)  return both * trim(x, 3) + y }",
    "a bound and none": "pipeline p(x: int, y: int) -> int { return x + trim(y, 1) capacity queue(add.right) = 60 }",
    "records": "pipeline p(x: {a: int, b: bool}, y: int) -> {a: int, b: bool} { return filter(x, trim(y, 1) > 0) }",
    "fast": "pipeline p(x: int, y: int) -> int { return x + decimate(y, 2) }",
}


def parsed(text: str) -> Pipeline:
    return wb.parse(text).get().pipeline


PIPELINES = {name: parsed(text) for name, text in TEXTS.items()}


def test_queues_are_those_of_the_wider_system_in_the_step_that_widens_it() -> None:
    pipeline = flatten(PIPELINES["three late"].resolve(Integer(5)))
    steps = [{"x": 0, "y": 0, "b": False}, {"x": 0, "y": 0, "b": False}, {"x": 0}]
    lengths = [each.queues["choose.in2"] for each in Compiled(pipeline, machine=False).trace(steps)]
    assert lengths == [1, 2, 3]  # `b` is two steps late, and the last `x` comes alone


@pytest.mark.parametrize("cut", [1, 2, 70])
def test_a_restored_queue_that_has_grown_is_read(cut: int) -> None:
    """Its array is that of the snapshot, not one of the new executor."""
    pipeline = flatten(PIPELINES["far"].resolve(Integer(5)))
    steps = [{"x": 1}] * cut + [{"x": 2, "y": 0}] * (MAX_VARIABLES + 4)
    running, resumed = Compiled(pipeline, machine=False), Compiled(pipeline, machine=False)
    before = running.outputs(steps[:cut])
    resumed.restore(running.snapshot())
    assert before + resumed.outputs(steps[cut:]) == made(Reference(pipeline), steps)[0]


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", TEXTS)
@given(data=st.data())
@examples(16)
def test_it_does_what_the_reference_executor_does(name: str, data: st.DataObject) -> None:
    """Step by step, and on columns in pieces, some without gaps, the state moved into another executor between."""
    pipeline = flatten(PIPELINES[name].resolve(Integer(5)))
    together = [{name: domain.default for name, domain in pipeline.inputs}] * data.draw(st.integers(0, 4))
    rest = [step for _ in range(3) for step in data.draw(traces(pipeline)) if step is not wb.END]
    steps = [*together, *rest]
    expected, lengths, over = made(Reference(pipeline), steps)
    assert not over
    assert made(Compiled(pipeline, machine=False), steps) == (expected, lengths, False)
    running, outputs = Compiled(pipeline, machine=False), []
    for cut in range(0, len(steps), 9):
        outputs += running.outputs(steps[cut : cut + 9])
        other = Compiled(pipeline, machine=False)
        other.restore(running.snapshot())
        assert other.snapshot() == running.snapshot()
        running = other
    assert outputs == expected
    most = {queue: max((each[queue] for each in lengths), default=0) for queue in pipeline.queues}
    if not running.narrow:
        assert running.needed_capacities == {
            queue: n for queue, n in most.items() if n and queue in running.allocation.open
        }
    assert running.end() == Reference.end(_after(pipeline, steps))


def _after(pipeline: Pipeline, steps: list[Any]) -> Reference:
    reference = Reference(pipeline)
    for step in steps:
        reference.step(step)
    return reference


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", ["late", "far", "three late", "shared", "records"])
def test_where_all_inputs_come_together_the_room_is_what_the_model_checker_finds(name: str) -> None:
    pipeline = PIPELINES[name]
    settings = Settings(n=2, environment=Environment("synchronised"))
    found = {buffer.queue: buffer.capacity for buffer in buffers(pipeline, settings).queues}
    executor = Compiled(pipeline)
    assert executor.narrow
    assert {queue: executor.system.queues[queue].capacity for queue in executor.flat.queues} == found
    events = {name: [domain.default] * 30 for name, domain in executor.flat.inputs}
    executor.feed(events)
    assert executor.narrow  # and so it stays
    assert executor.needed_capacities == {queue: capacity for queue, capacity in found.items() if capacity}


@pytest.mark.sampled(1)
@pytest.mark.parametrize("text", [LATE, FAR, "pipeline p(x: int, y: int) -> int { return x + decimate(y, 3) }"])
def test_machine_code(text: str) -> None:
    """A thousand events ahead, then together, then the other way round, in pieces that end anywhere."""
    pipeline = parsed(text)
    ahead, together = np.arange(3500) % 3 > 0, np.ones(3500, np.bool_)
    kind = np.float64 if "float" in text else np.int64
    x, y = np.arange(3500).astype(kind), 7 * np.arange(3500).astype(kind)
    executor, reference = Compiled(pipeline, warm_up_steps=-1), Compiled(pipeline, machine=False)
    for px, py in ((together, together), (together, ahead), (ahead, together), (together, together)):
        for first, last in ((0, 1000), (1000, 1003), (1003, 3500)):
            here = slice(first, last)
            given_ = {"x": x[here], "y": y[here]}
            flags = {} if px.all() and py.all() else {"x": px[here], "y": py[here]}
            assert executor.feed(given_, flags)["out"].events() == reference.feed(given_, flags)["out"].events()
    assert executor.needed_capacities == reference.needed_capacities
    assert max(executor.needed_capacities.values()) > 1000


def test_what_fails_has_not_happened() -> None:
    """Neither where the queues had to grow on the way to the failure, nor where they had before."""
    pipeline = parsed("pipeline p(x: int, y: int) -> int { return cumulate(x, *) + trim(y, 1) }")
    for machine in (False, True):
        executor = Compiled(pipeline, warm_up_steps=-1, machine=machine)
        for _ in range(2):
            before = executor.snapshot()
            gaps = np.arange(200) % 2 > 0
            with pytest.raises(Overflow, match="step 62: processor 'cumulate': a result leaves the 64 bits") as found:
                executor.feed({"x": np.full(200, 2), "y": np.ones(200, np.int64)}, {"y": gaps})
            assert found.value.step == 62
            assert (executor.steps, executor.needed_capacities) == (0, {})
            executor.feed({"x": np.zeros(0, np.int64), "y": np.zeros(0, np.int64)})
            other = Compiled(pipeline)
            other.restore(before)
            assert other.steps == 0


def test_a_capacity_of_the_user_is_a_bound() -> None:
    pipeline = parsed(TEXTS["a bound and none"])
    executor = Compiled(pipeline)
    with pytest.raises(Overflow, match=r"step 61: queue 'add\.right' of pipeline p overflows: its capacity is 60"):
        executor.feed({"y": np.ones(100, np.int64)})
    executor.feed({"x": np.ones(100, np.int64)})
    assert executor.needed_capacities == {"add.left": 100}
    with pytest.raises(Overflow, match=r"step 1: queue 'add\.left' .* its capacity is 1"):
        Compiled(pipeline, {"add.left": 1, "add.right": 0}).feed({"x": np.ones(3, np.int64)})


def test_no_memory_for_what_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    executor = Compiled(parsed(LATE))
    executor.feed({"x": np.ones(10, np.int64), "y": np.ones(10, np.int64)})
    executor.feed({"x": np.ones(100, np.int64)})
    monkeypatch.setattr(state, "spare_mb", lambda: 1.0)
    before = executor.snapshot()
    with pytest.raises(Overflow) as found:
        executor.feed({"x": np.ones(1_000_000, np.int64)})
    assert found.value.queue == "add.left"
    assert "more than 32768 events wait in it, which has not been seen empty since step 10" in found.value.what
    assert "capacity queue(add.left) = ..." in found.value.hint
    assert executor.snapshot() == before
    monkeypatch.undo()
    executor.feed({"x": np.ones(1_000_000, np.int64)})
    assert executor.needed_capacities == {"add.left": 1_000_102}


def test_threads() -> None:
    pipeline = parsed(LATE)
    several, one = Parallel(pipeline, threads=3, shortest=50, warm_up_steps=-1), Reference(pipeline)
    x, gaps = np.arange(1000), np.arange(1000) % 4 > 0
    for present in ({}, {"y": gaps}, {}):
        steps = [{"x": i} | ({"y": i} if not present or gaps[i] else {}) for i in range(1000)]
        expected = [value for step in steps for value in one.step(step).outputs["out"]]
        assert several.feed({"x": x, "y": x}, present)["out"].events() == expected
        assert several.blocks == 3
    with pytest.raises(NoCapacity, match=r"how many events wait in queue 'add\.left' is not known beforehand") as found:
        Parallel(parsed("pipeline p(x: int) -> int { return x + decimate(x, 2) }"))
    assert found.value.queue == "add.left"


def test_many_traces() -> None:
    x, y = np.arange(60).reshape(20, 3), np.ones((20, 3), np.int64)
    here = np.ones((20, 3), np.bool_)
    here[3:13, 1] = False
    made_ = Batch(parsed(LATE), device="cpu").run({"x": x, "y": y}, {"x": np.ones_like(here), "y": here})["out"]
    assert [made_.events(trace) for trace in range(3)] == [
        [value + 1 for value in x[:18, 0].tolist()],
        [value + 1 for value in x[:8, 1].tolist()],
        [value + 1 for value in x[:18, 2].tolist()],
    ]


@pytest.mark.parametrize("seed", range(6))
def test_a_piece_that_fails_in_a_later_block_leaves_nothing_behind(seed, monkeypatch):
    """Tables grow between blocks and within them; what a dictionary has after the pieces that did not fail is there."""
    monkeypatch.setattr(loops, "BLOCK", 64)
    text = """
    machine sums(e: {kind: {add, drop}, key: str, by: int}) -> int {
        var sums: map(str, int)
        state s: get(sums, e.key, 0)
        s -> s when e.kind = add / sums := put(sums, e.key, get(sums, e.key, 0) + e.by)
        s -> s when e.kind = drop / sums := put(sums, e.key, 0)
    }
    pipeline p(e: {kind: {add, drop}, key: str, by: int}) -> int { return sums(e) }
    """
    chance, running, sums = (
        random.Random(seed),
        wb.executors.Compiled(wb.parse(text).get("p").pipeline, machine=False),
        {},
    )
    for count, span in ((300, 5), (700, 5000), (200, 300), (700, 5000)):
        events = [
            (chance.choice(["add", "add", "drop"]), f"k{chance.randrange(span)}", chance.randrange(10))
            for _ in range(count)
        ]
        at = chance.randrange(200, 2 * count)
        events[at : at + 2] = [("add", "large", 2**62)] * 2 if at < count else []
        after, wanted = dict(sums), []
        for kind, key, by in events:
            after[key] = after.get(key, 0) + by if kind == "add" else 0
            wanted.append(after[key])
        if max(after.values()) < 2**63:
            assert running.feed({"e": events})["out"].events() == wanted
            sums = after
        else:
            with pytest.raises(Overflow):
                running.feed({"e": events})
