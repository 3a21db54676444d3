"""The dataflow executor against the reference executor, and what it does not run."""

import signal
import sys
import threading
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.executors.threaded.interrupts import everywhere
from tests.executors.threaded.test_executor import STEPS, broken_at, figure, outcome
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.conform import plans
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Running
from workbench.conformance.compare.schedules import Schedule
from workbench.conformance.compare.threaded import ScheduledFlow
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.core import function as f
from workbench.core.domain import INT, Integer
from workbench.core.function import user_function
from workbench.core.processor import END
from workbench.errors import DomainError, InputError, Overflow, PipelineError, Refused, WorkbenchError
from workbench.executors.dataflow import flow_threads, stream_run
from workbench.executors.dataflow.executor import Dataflow
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.manager import ThreadManager
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.held.group import Group, flatten
from workbench.processors.keep_last import KeepLast
from workbench.processors.trim import Trim


@pytest.fixture
def manager():
    with ThreadManager(2) as found:
        yield found
    assert found.threads == 0


@given(pipelines_and_traces(max_nodes=5), st.data())
def test_any_pipeline_under_any_schedule_is_the_reference(given_, data):
    pipeline, steps = given_
    plan = data.draw(plans(flatten(pipeline), seeded=True))
    check(pipeline, steps, Running(pipeline), ScheduledFlow(pipeline, plan))


@given(plans(flatten(figure), seeded=True))
def test_the_figure_under_many_schedules(plan):
    check(figure, [*STEPS[:12], {}, END], Running(figure), ScheduledFlow(figure, plan))


@pytest.mark.parametrize("ahead", [1, 3, 256])
def test_it_runs_as_the_reference_with_real_threads(manager, ahead):
    running, reference = Dataflow(figure, manager, ahead=ahead), Reference(figure)
    assert running.trace(STEPS[:7]) == reference.trace(STEPS[:7])
    assert running.step({"x": 2}) == reference.step({"x": 2})
    assert running.run([4, 5, 6], end=False) == reference.run([4, 5, 6], end=False)
    assert running.contents() == reference.contents()
    assert list(running.streamed([*STEPS, {}, END])) == [r.outputs for r in reference.trace([*STEPS, {}, END])]
    running.reset()
    reference.reset()
    assert running.run(range(2000)) == reference.run(range(2000))


@pipeline(x=INT)
def doubled(x):
    return Cumulate(f.ADD)(x + x)


@pipeline(x=INT, y=INT)
def sparse(x, y):
    kept = Filter()(x, ApplyFunction(f.ODD)(x)).named("kept")
    return {"odd": Cumulate(f.ADD)(kept).named("total"), "both": kept + y, "last": KeepLast()(y).named("last")}


def test_what_has_no_news_is_not_run():
    """An execution for each step that brings a vertex something: who looks at the end has news then."""
    running, reference = Dataflow(sparse), Reference(sparse)
    steps = [{"x": i} if i % 10 == 0 else {"y": i} if i % 10 == 5 else {} for i in range(1000)]
    steps[11] = {"x": 1}
    assert list(running.streamed([*steps, END])) == [r.outputs for r in reference.trace([*steps, END])]
    counts = running.executions
    assert running.phases == counts["log"] == 1001
    assert counts["kept"] == 101
    assert counts["total"] == 1
    assert counts["add"] == 101  # what filter lets through, and what y brings
    assert counts["last"] == 101  # and the end
    assert running.summary() == "405 executions of processors (8.1% of 5 at every step)"
    running.reset()
    assert running.summary() == ""


def test_a_group_can_be_one_vertex(manager):
    builder = Builder("p")
    x = builder.input("x", INT)
    called = builder.add(Group(figure), [x], name="it")
    whole = builder.build({"sums": called[0], "thirds": called[1]})
    running, reference = Dataflow(whole, manager, groups=True), Reference(whole)
    assert running.vertices.names == ("log", "it")
    assert running.trace([*STEPS, END]) == reference.trace([*STEPS, END])
    assert running.executions == {"log": 61, "it": 61}


def inverse(n, a):
    return 6 // (a - n)


@given(pipelines_and_traces(max_nodes=4), st.sampled_from([1, 3, None]))
def test_a_compiled_vertex_is_the_reference(given_, batch):
    """What comes out; and where numbers leave 64 bits, or a domain, the step of the error."""
    body, steps = given_
    builder = Builder("p")
    inputs = [builder.input(name, domain) for name, domain in body.inputs]
    made = builder.add(Group(body), inputs, name="it")
    called = made if isinstance(made, tuple) else (made,)
    whole = builder.build({f"y{i}": stream for i, stream in enumerate(called)})
    running, reference = Dataflow(whole, compiled=True, batch=batch), Reference(whole)
    found, expected = ([], []), ([], [])
    for (outputs, errors), run in ((found, running.streamed(steps)), (expected, map(reference.step, steps))):
        try:
            for each in run:
                outputs.append(each if isinstance(each, dict) else each.outputs)
        except WorkbenchError as error:
            errors.append(error)
    beyond = any(error.exceeds_64_bits for error in found[1])
    assert found[0] == (expected[0][: len(found[0])] if beyond else expected[0])
    assert beyond or [error.step for error in found[1]] == [error.step for error in expected[1]]


def test_vertices_that_are_compiled():
    builder = Builder("p")
    x = builder.input("x", INT)
    called = builder.add(Group(figure), [x], name="it")
    whole = builder.build({"sums": called[0], "thirds": called[1]})
    running, reference = Dataflow(whole, compiled=True), Reference(whole)
    assert running.compiled == ("it",)
    assert [running.step(each).outputs for each in STEPS[:9]] == [reference.step(each).outputs for each in STEPS[:9]]
    assert list(running.streamed(STEPS)) == [record.outputs for record in reference.trace(STEPS)]
    assert running.end() == reference.end()
    for refused in (running.snapshot, lambda: running.end("x")):
        with pytest.raises(Refused, match="compiled vertices"):
            refused()
    running.reset()
    reference.reset()
    assert running.run(range(100)) == reference.run(range(100))
    with pytest.raises(Overflow, match=r"^step 1: processor 'it\.tripled'"):
        Dataflow(whole, compiled=True).run([1, 2**62])


def test_an_error_comes_after_what_was_before_it_and_is_the_first_one(manager):
    builder = Builder("p")
    x = builder.input("x", INT)
    fails = [user_function(partial(inverse, n), arity=1, result=INT, name=f"f{n}") for n in (22, 20, 20)]
    pipes = [ApplyFunction(each)(x) for each in fails]
    two = builder.build({f"y{i}": pipe for i, pipe in enumerate(pipes)})
    steps = [{"x": i} for i in range(60)]
    for program in (two, broken_at(20)):
        running = Dataflow(program, manager)
        found = outcome(running, steps)
        assert found == outcome(Reference(program), steps)
        assert len(found[0]) == 20
        with pytest.raises(PipelineError, match="has stopped in the middle of a stream"):
            running.step({"x": 1})
        running.reset()
        assert running.run([1]) == Reference(program).run([1])


def test_input_that_is_refused_leaves_the_executor_whole(manager):
    builder = Builder("p")
    program = builder.build(Trim(1)(Cumulate(f.ADD)(builder.input("x", Integer(5)))))
    running = Dataflow(program, manager)
    steps = [{"x": 1}, {"x": 2}, {"x": 9}, {"x": 3}]
    found = outcome(running, steps)
    assert found == outcome(Reference(program), steps)
    assert found[1] is DomainError
    assert running.step({"x": 4}).outputs == {"out": [2]}


def test_an_overflow_is_told_at_its_step(manager):
    late = pipeline(x=INT)(lambda x: Cumulate(f.ADD)(x + Trim(5)(x)))
    running = Dataflow(late, manager, capacities={"add.left": 3})
    found = outcome(running, STEPS)
    assert found == outcome(Reference(late, {"add.left": 3}), STEPS)
    assert found[1] is Overflow


def test_what_goes_wrong_in_a_step_comes_before_what_is_wrong_in_the_log_behind_it(manager):
    """Though the log is read ahead."""
    builder = Builder("p")
    x = builder.input("x", INT)
    program = builder.build(ApplyFunction(user_function(lambda a: 6 // (a - 3), result=INT, name="inverse"))(x))
    steps = [{"x": i} for i in range(6)] + [{"y": 1}]
    for running in (Dataflow(program), Dataflow(program, manager)):
        found = outcome(running, steps)
        assert found == outcome(Reference(program), steps)


@pytest.mark.skipif(getattr(sys, "_is_gil_enabled", lambda: True)(), reason="one thread runs at a time here")
def test_threads_without_the_lock_of_python():
    """Threads run vertices of Python at the same moment; what comes out is the same, again and again."""
    reference = Reference(figure).run(range(5000))
    with ThreadManager(7) as several:
        for ahead, batch in ((256, None), (16, 1), (1000, 2)):
            running = Dataflow(figure, several, ahead=ahead, batch=batch)
            assert running.run(range(5000)) == reference
            assert running.executions == executed(range(5000))


def executed(numbers):
    """How often each vertex runs."""
    running = Dataflow(figure)
    running.run(numbers)
    return running.executions


def test_no_more_is_read_than_may_be_on_its_way_and_no_thread_is_left(manager):
    taken = 0

    def source():
        nonlocal taken
        while True:
            taken += 1
            yield {"x": taken}

    running = Dataflow(figure, manager, ahead=5)
    outputs = running.streamed(source())
    for _ in range(100):
        next(outputs)
    with pytest.raises(PipelineError, match="is in the middle of a stream"):
        running.step({"x": 1})
    outputs.close()
    assert taken <= 100 + 5
    assert manager.working == 0


def test_others_go_on_while_a_vertex_works(manager):
    """The log is read and what comes before it runs, though nothing is ready when it begins."""
    later = threading.Event()

    def first(value):
        if value == 9:
            later.set()
        return value

    def second(value):
        assert later.wait(20)
        return value

    builder = Builder("p")
    vertices = [ApplyFunction(user_function(each, result=INT)) for each in (first, second)]
    program = builder.build(vertices[1](vertices[0](builder.input("x", INT))))
    assert Dataflow(program, manager, ahead=20, batch=3).run(range(12)) == {"out": list(range(12))}


def test_what_is_there_comes_out_before_the_next_step_is_read():
    """Where the log lets its reader wait: an event that somebody types has its answer before the next one."""
    running, seen = Dataflow(doubled), []

    def typed():
        for i in range(5):
            assert len(seen) >= i - 1
            threading.Event().wait(2 * flow_threads.SLOW)
            yield {"x": i}

    for outputs in running.streamed(typed()):
        seen.append(outputs["out"])
    assert seen == [[0], [2], [6], [12], [20]]


def test_clocked_processors_run_at_every_step(manager):
    """Faults that the log tells of; those of an oracle go step by step."""
    faulty = wb.faults.faulty(figure, "lose tripled")
    (strike,) = Reference(faulty).flat.oracles
    (said,) = Reference(faulty).flat.domains[strike].values()
    steps = [{**step, strike: said} if i % 3 == 0 else step for i, step in enumerate(STEPS)]
    running = Dataflow(faulty, manager)
    found, expected = outcome(running, [*steps, END]), outcome(Reference(faulty), [*steps, END])
    assert found == expected
    one = Dataflow(faulty, manager, oracle=wb.faults.RandomFaults(faulty, seed=3, rate=0.5))
    other = Reference(faulty, oracle=wb.faults.RandomFaults(faulty, seed=3, rate=0.5))
    assert one.trace([*STEPS, END]) == other.trace([*STEPS, END])


def test_ctrl_c_anywhere_under_a_schedule():
    """Whatever is asked next answers, or says that it wants a reset."""
    reference = Reference(doubled).run([1, 2, 3])

    def run(interrupt):
        schedule = Schedule(1)

        def body():
            with ThreadManager(1, primitives=schedule) as manager:
                running = Dataflow(doubled, manager, ahead=2, batch=1)
                with interrupt:
                    list(running.streamed({"x": i} for i in range(3)))
                running.reset()
                assert running.run([1, 2, 3]) == reference
            assert manager.threads == 0

        schedule.run(body)

    files = [flow_threads.__file__, stream_run.__file__, stream_run.__file__.replace("stream_run", "executor")]
    assert everywhere(run, also=files, step=3) > 50


def test_ctrl_c_while_a_processor_computes(manager):
    free, main = threading.Event(), threading.get_ident()
    builder = Builder("p")
    held = ApplyFunction(user_function(lambda a: (a < 3 or free.wait(20)) and a, result=INT, name="held"))
    running = Dataflow(builder.build(held(builder.input("x"))), manager)
    threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    threading.Timer(0.3, free.set).start()
    with pytest.raises(KeyboardInterrupt):
        list(running.streamed({"x": i} for i in range(1000000)))
    running.reset()
    assert running.run([1, 2]) == {"out": [1, 2]}


def test_mistakes_of_who_makes_one():
    for ahead, batch in ((0, 1), (1, 0)):
        with pytest.raises(PipelineError, match="at least one phase"):
            Dataflow(figure, ahead=ahead, batch=batch)
    with pytest.raises(InputError, match=r"no option 'ahed'\n  hint: did you mean 'ahead'"):
        Dataflow(figure, ahed=1)  # type: ignore[call-arg]
