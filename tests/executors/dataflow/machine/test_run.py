"""Graphs that machine code runs, against the reference executor and against the same vertices run by Python."""

import random
import threading
import time
from collections.abc import Mapping
from ctypes import CFUNCTYPE, c_int32, c_void_p, cast

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.builder import Builder
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.core.domain import INT
from workbench.core.processor import END
from workbench.errors import PipelineError, WorkbenchError
from workbench.executors.dataflow import executor
from workbench.executors.dataflow.executor import Dataflow
from workbench.executors.dataflow.flow_threads import FlowLimits, FlowThreads
from workbench.executors.dataflow.machine import layout as at
from workbench.executors.dataflow.machine.run import MachineRun
from workbench.executors.dataflow.machine.tables import VertexTables
from workbench.executors.dataflow.vertex_run import FirstFailure
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.manager import ThreadManager
from workbench.processors.held.group import Group
from workbench.processors.passthrough import Passthrough


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """Machine code runs the first step already."""
    monkeypatch.setattr(executor, "WARM_UP", 0)
    monkeypatch.setattr(executor, "UNCACHED_WARM_UP", 0)


@pytest.fixture
def uncompiled(monkeypatch):
    """No vertex has code, as if something went wrong in each: Python runs them, and their state stays what it was."""
    monkeypatch.setattr(VertexTables, "_locate_vertex", lambda *_: (0, 0, [0, 0]))


def outcome(outputs):
    """What comes out, the kind of error that comes then, and its step and words."""
    found = []
    try:
        for each in outputs:
            found.append(each)
    except WorkbenchError as error:
        return found, None if error.exceeds_64_bits else (type(error), error.step), str(error)
    return found, None, ""


@pytest.mark.parametrize(("body", "capacities"), [
    ("stutter(x + 1, 2)", {}), ("x + trim(x, 1)", {"g.add.left": 1, "g.add.right": 1}),
])  # fmt: skip
def test_groups_alone_do_not_make_a_machine(body, capacities):
    """All vertices are compiled groups, but a pipe carries several events in a step, or queues are bounded."""
    source = wb.parse(f"pipeline g(x: int) -> int {{ return {body} }} pipeline p(x: int) -> int {{ return g(x) }}")
    pipeline, steps = source.get("p").pipeline, [{"x": 1}, {"x": 2}, {"x": 3}]
    running = Dataflow(pipeline, compiled=True, capacities=capacities)
    expected = [record.outputs for record in map(Reference(pipeline, capacities).step, steps)]
    assert list(running.streamed(steps)) == expected
    assert running.compiled
    assert not running.runs_machine


@given(pipelines_and_traces(max_nodes=5), st.sampled_from([1, 3, None]), st.sampled_from([1, 5, 256]))
@examples(40)
def test_any_pipeline_is_the_reference(uncompiled, given_, batch, ahead):
    pipeline, steps = given_
    running = Dataflow(pipeline, compiled=True, batch=batch, ahead=ahead)
    assume(running.runs_machine)
    expected = outcome(record.outputs for record in map(Reference(pipeline).step, steps))
    found, error, words = outcome(running.streamed(steps))
    if words and error is None:  # a number beyond 64 bits
        assert found == expected[0][: len(found)]
        return
    assert (found, error) == expected[:2]
    if error:
        return
    counted = Dataflow(pipeline, groups=True)
    list(counted.streamed(steps))
    assert running.executions == counted.executions


SOURCE = wb.parse("""
pipeline p(x: int, y: 0..9) -> int, int, 0..9 {
  big = cumulate(x, *)
  sums = cumulate(filter(x, odd(x)), +)
  return sums + trim(x, 1), big, y
}
""")
PROGRAM = SOURCE.get().pipeline


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(15))
def test_what_goes_wrong_is_what_goes_wrong_in_python(seed):
    """Numbers beyond 64 bits, or a domain, and inputs that there are not, with threads, batches, and phases in flight.

    The vertices are the same; what Python runs is held to the reference elsewhere.
    """
    chance = random.Random(seed)
    steps: list[Mapping[str, int]] = [
        {
            name: chance.choice(values)
            for name, values in (("x", (1, 2, 3, -1, 3**9)), ("y", range(10)))
            if chance.random() < 0.7
        }
        for _ in range(chance.choice((5, 60, 200)))
    ]
    for rate, wrong in ((0.3, {"x": 2**70}), (0.3, {"y": 17}), (0.1, {"z": 1})):
        if chance.random() < rate:
            steps[chance.randrange(len(steps))] = wrong
    steps += [END] * (seed % 2) + [{}] * (seed % 3)
    with ThreadManager(chance.choice((0, 2))) as manager:
        running = Dataflow(
            PROGRAM, manager, compiled=True, ahead=chance.choice((1, 7, 256)), batch=chance.choice((1, 4, None))
        )
        assert running.runs_machine
        found = outcome(running.streamed(steps))
    apart = Dataflow(PROGRAM, compiled=True)
    assert apart.runs_machine
    apart._in_words = False
    assert found == outcome(apart.streamed(steps))
    whole = outcome(record.outputs for record in map(Reference(PROGRAM).step, steps))
    assert found[0] == whole[0][: len(found[0])]


def lanes(groups):
    """Two chains of groups that add up, one behind the other, and their sum."""
    builder = Builder("lanes")
    body = Builder("body")
    body_program = body.build(Passthrough()(body.input("a", INT)))
    ends = []
    for name in "xy":
        stream = builder.input(name, INT)
        for _ in range(groups):
            stream = builder.add(Group(body_program), [stream])
        ends.append(stream)
    return builder.build(ends[0] + ends[1])


def left_in_the_middle(running, manager):
    """Whether a stream in which somebody loses interest was read ahead, as it nearly always is."""
    running.reset()
    outputs = running.streamed({"x": i, "y": i} for i in range(10**9))
    for _ in range(1000):
        next(outputs)
    outputs.close()
    assert manager.working == 0
    try:
        running.step({"x": 1})
    except PipelineError as error:
        return "has stopped in the middle of a stream" in str(error)
    return False


def test_long_streams_with_real_threads_and_who_loses_interest():
    """More phases than there is room for, state kept between streams, and threads that are given back."""
    program = lanes(4)
    with ThreadManager(2) as manager:
        running, reference = Dataflow(program, manager, compiled=True, ahead=70), Reference(program)
        steps = [{"x": i} if i % 3 else {"x": i, "y": -i} for i in range(5000)]
        assert list(running.streamed(steps)) == list(reference.emitted(iter(steps)))
        record, expected = running.step({"y": 7}), reference.step({"y": 7})
        assert (record.outputs, record.queues) == (expected.outputs, expected.queues)
        assert list(running.streamed(steps)) == list(reference.emitted(iter(steps)))
        assert any(left_in_the_middle(running, manager) for _ in range(20))
        running.reset()
        assert running.run({"x": [1, 2], "y": [3, 4]}) == {"out": [4, 6]}


def test_a_thread_that_is_asked_for_while_the_stream_stops_is_waited_for(monkeypatch):
    """Threads ask for others without the lock."""
    hire, work, asked = FlowThreads._hire, FlowThreads._work, []

    def late(run):
        while threading.current_thread() is not threading.main_thread() and not run._stopped:
            time.sleep(0.001)
        asked.append(run._stopped)
        return hire(run)

    def slow(run):
        time.sleep(0.05 if run._stopped else 0)
        work(run)

    monkeypatch.setattr(FlowThreads, "_hire", late)
    monkeypatch.setattr(FlowThreads, "_work", slow)
    with ThreadManager(4) as manager:
        outputs = Dataflow(lanes(4), manager, compiled=True, ahead=70).streamed({"x": i, "y": i} for i in range(10**9))
        for _ in range(1000):
            next(outputs)
        outputs.close()
        assert manager.working == 0
    assert any(asked)


def test_who_has_run_a_vertex_waits_for_the_lock(monkeypatch):
    """While another thread has it, nothing moves in the sets."""
    steps, waited = MachineRun.steps, []

    def within(run):
        tables, head = run._tables, run._head
        vertices = tables.of_vertices[0]
        run_it = CFUNCTYPE(c_int32, *[c_void_p] * 3)(int(vertices[2, at.CODE]))

        def vertex(*words):
            head[at.LOCK] = 1
            threading.Thread(target=lets_go).start()
            return run_it(*words)

        def lets_go():
            time.sleep(0.05)
            waited.append(not tables.of_vertices.executions[2])
            head[at.LOCK] = 0

        code = CFUNCTYPE(c_int32, *[c_void_p] * 3)(vertex)
        vertices[2, at.CODE] = cast(code, c_void_p).value
        yield from steps(run)

    monkeypatch.setattr(MachineRun, "steps", within)
    assert list(Dataflow(lanes(1), compiled=True).streamed([{"x": 1, "y": 2}])) == [{"out": [3]}]
    assert waited == [True]


def test_not_all_is_over_while_a_thread_is_on_its_way_back():
    """All phases are complete then, and the last have not been collected."""
    plan = Dataflow(lanes(1), compiled=True)._machine_plan()
    run = MachineRun(plan, iter([{"x": 1, "y": 2}]), 0, FirstFailure(threading), FlowLimits(ThreadManager(), 8, 2))
    reading = run._take(caller=True)
    assert reading
    run._end(reading, run._run(reading))
    batch = run._take(caller=False)
    assert batch
    found = run._run(batch)
    assert run._sets.complete == run._sets.begun == 1
    over = [run._all_over]
    run._end(batch, found)
    over.append(run._all_over)
    assert over == [False, True]
    assert len(run._done) == 1


def test_python_runs_the_first_steps(monkeypatch):
    monkeypatch.setattr(executor, "WARM_UP", 100)
    monkeypatch.setattr(executor, "UNCACHED_WARM_UP", 100)
    begun = []

    def steps(run):
        begun.append(run._start)
        return []

    monkeypatch.setattr(MachineRun, "steps", steps)
    running = Dataflow(lanes(1), compiled=True)
    assert not running.runs_machine_now
    assert len(list(running.streamed({"x": i, "y": i} for i in range(60)))) == 100 // 4
    assert begun == [100 // 4]
    assert running.runs_machine_now
