import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench.builder import Builder, pipeline
from workbench.conformance.compare.executables import Running
from workbench.conformance.generate.pipelines import pipelines_and_traces, traces
from workbench.core import function as f
from workbench.core.determinism import same
from workbench.core.domain import ANY, BOOL, FLOAT, INT, STR, Enum, Integer, Overflowing
from workbench.core.fields import Record
from workbench.core.function import user_function
from workbench.core.processor import END, NOTHING, event
from workbench.errors import DomainError, InputError, Overflow, PipelineError, Refused, WorkbenchError
from workbench.executors.backend import Backend, check_support
from workbench.executors.reference.executor import Reference
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.held.window import Window
from workbench.processors.passthrough import Passthrough
from workbench.processors.trim import Trim
from workbench.processors.turn_into import TurnInto


@pytest.fixture
def squares():
    @pipeline(x=INT)
    def squares(x):
        count = Cumulate(f.ADD)(TurnInto(1)(x)).named("count")
        return Cumulate(f.ADD)(Filter()(count, f.EVEN(Trim(1)(count))))

    return squares


@pytest.fixture
def pairs():
    @pipeline(x=INT)
    def pairs(x):
        return (x + Trim(1)(x)).named("add")

    return pairs


@pytest.fixture
def two():
    @pipeline(x=INT, y=INT)
    def two(x, y):
        return {"sum": (x + y).named("add"), "x": x}

    return two


def test_a_step_shows_pipes_outputs_and_queues(squares):
    running = Reference(squares)
    record = running.step({"x": 9})
    assert record.pipes["count"] == event(1)
    assert record.pipes["trim"] == NOTHING
    assert record.outputs == {"out": []}
    assert record.queues == {"filter.data": 1, "filter.condition": 0}
    assert running.step({"x": 9}).outputs == {"out": [1]}


def test_push(squares, two):
    running = Reference(squares)
    assert [running.push(0) for _ in range(4)] == [[], [1], [], [4]]
    running = Reference(two)
    assert running.push(3, "x") == {"sum": [], "x": [3]}
    assert running.push(4, "y") == {"sum": [7], "x": []}
    with pytest.raises(PipelineError, match="has 2 inputs"):
        running.push(1)
    with pytest.raises(PipelineError, match="has no input 'z'"):
        running.push(1, "z")


def test_several_inputs_in_one_step(two):
    running = Reference(two)
    records = running.trace([{"x": 1}, {}, {"x": 2, "y": 10}, {"y": 20}])
    assert [r.outputs["sum"] for r in records] == [[], [], [11], [22]]
    assert [r.queues["add.left"] for r in records] == [1, 1, 1, 0]


def test_what_passes_through_in_one_step_needs_no_slot(pairs):
    """One slot on the left and none on the right."""
    running = Reference(pairs, {"add.left": 1, "add.right": 0})
    assert running.run(range(6)) == {"out": [1, 3, 5, 7, 9]}


def test_run_over_whole_streams(two, squares):
    assert Reference(two).run({"x": [1, 2], "y": [10]}) == {"sum": [11], "x": [1, 2]}
    assert Reference(two).run([[1, 2], [10, 20]]) == {"sum": [11, 22], "x": [1, 2]}
    assert Reference(squares).run(iter(range(6))) == {"out": [1, 4, 9]}
    assert Reference(squares).run({"x": range(4)}) == {"out": [1, 4]}
    with pytest.raises(PipelineError, match="has no input 'z'"):
        Reference(two).run({"z": [1]})
    with pytest.raises(PipelineError, match=r"2 inputs [(]x, y[)], 1 stream given"):
        Reference(two).run([[1]])


def test_overflow_names_the_queue_and_changes_nothing(two):
    running = Reference(two, capacities={"add.left": 1})
    running.step({"x": 1})
    before = running.lengths()
    with pytest.raises(Overflow, match=r"step 1: queue 'add.left' of pipeline two overflows: its capacity is 1"):
        running.step({"x": 2})
    assert running.lengths() == before
    assert running.steps == 1
    assert running.step({"x": 2, "y": 10}).outputs["sum"] == [11]
    assert running.step({"y": 10}).outputs["sum"] == [12]


def test_capacities_of_the_pipeline(two):
    limited = two.with_capacities({"add.right": 0})
    with pytest.raises(Overflow, match=r"add\.right"):
        Reference(limited).push(1, "y")
    Reference(limited, capacities={}).push(1, "y")
    with pytest.raises(PipelineError, match=r"has no queue 'add\.lef'[\s\S]*did you mean 'add.left'"):
        Reference(two, {"add.lef": 1})
    with pytest.raises(PipelineError, match="capacity of queue"):
        Reference(two, {"add.left": -1})


@pytest.mark.parametrize(
    ("domain", "value", "message"),
    [
        (INT, True, "True on input 'x' is not a value of int\n.*use 1 and 0"),
        (INT, "3", "'3' on input 'x' is not a value of int"),
        (Integer(4), 4, "step 0: 4 on input 'x' is not a value of int mod 4"),
        (BOOL, 1, "not a value of bool"),
        (Enum(("red",)), "blue", "not a value of {red}"),
        (Record((INT, BOOL), ("price", "sold")), (1,), "not a value of {price: int, sold: bool}"),
        (FLOAT, None, "not a value of float"),
        (STR, b"", "not a value of str"),
    ],
)
def test_events_are_checked(domain, value, message):
    builder = Builder("p")
    running = Reference(builder.build(Passthrough()(builder.input("x", domain))))
    with pytest.raises(DomainError, match=message):
        running.step({"x": value})
    assert running.steps == 0


@pytest.mark.parametrize("value", [3, 2.5, "text", True, None, (1, 2), [1], {"a": 1}, object()])
def test_any_python_object_can_flow(value):
    builder = Builder("p")
    x = builder.input("x", ANY)
    running = Reference(builder.build([Trim(1)(x), CountDecimate(2)(x)]))
    assert running.push(value) == {"out1": [], "out2": [value]}
    assert running.push(value) == {"out1": [value], "out2": []}


def test_floats_are_ordinary_numbers():
    builder = Builder("p")
    total = builder.build(Cumulate(f.ADD)(builder.input("x", FLOAT)))
    assert Reference(total).run([0.5, 1, 2.25]) == {"out": [0.5, 1.5, 3.75]}


def test_inputs_that_do_not_exist(two):
    with pytest.raises(PipelineError, match="has no input 'z'"):
        Reference(two).step({"z": 1})


@pytest.fixture
def failing():
    builder = Builder("p")
    x, y = builder.input("x"), builder.input("y")
    inverse = user_function(lambda a, b: 10 // (a - b), result=INT, name="inverse")
    total = Cumulate(f.ADD)(x).named("total")
    return builder.build([ApplyFunction(inverse)(total, y).named("div"), total])


def test_a_failing_function_is_named_and_the_step_undone(failing):
    running = Reference(failing)
    running.step({"x": 3})
    message = r"step 1: processor 'div' \(.*\) on left = 3, right = 3: the Python function 'inverse' failed on 3, 3"
    with pytest.raises(WorkbenchError, match=message) as caught:
        running.step({"x": 1, "y": 3})
    chain: BaseException = caught.value
    while chain.__cause__ is not None:
        chain = chain.__cause__
    assert isinstance(chain, ZeroDivisionError)
    assert running.lengths() == {"div.left": 1, "div.right": 0}
    assert running.step({"x": 1, "y": 1}).outputs == {"out1": [5], "out2": [4]}


def test_a_failing_function_of_workbench_on_any_object():
    builder = Builder("p")
    plus = builder.build(builder.input("x", ANY) + 1)
    with pytest.raises(WorkbenchError, match=r"step 0: processor 'add' .* on in = 'a' failed: TypeError"):
        Reference(plus).push("a")


def test_leaving_a_checked_domain_is_an_overflow():
    builder = Builder("p")
    total = builder.build(Cumulate(f.ADD)(builder.input("x", Integer(4, Overflowing.CHECKED))))
    running = Reference(total)
    assert running.push(3) == [3]
    with pytest.raises(Overflow, match=r"step 1: processor 'cumulate' .* leaves the checked domain"):
        running.push(1)
    assert running.push(0) == [3]


def test_an_interrupted_step_is_undone():
    def interrupt(a):
        if a == 2:
            raise KeyboardInterrupt
        return a

    builder = Builder("p")
    total = Cumulate(f.ADD)(builder.input("x"))
    running = Reference(builder.build(ApplyFunction(user_function(interrupt, result=INT))(total)))
    running.push(1)
    with pytest.raises(KeyboardInterrupt):
        running.push(1)
    assert running.push(2) == [3]


# --- the end ---


def decimated(last=True):
    builder = Builder("p")
    x, y = builder.input("x"), builder.input("y")
    ends = CountDecimate(3, last=last)(x)
    return builder.build({"sum": (ends + y).named("add"), "ends": Cumulate(f.ADD)(ends)})


def test_the_end_flows_downstream_in_order():
    running = Reference(decimated())
    running.trace([{"x": v} for v in (1, 2, 3, 4, 5)] + [{"y": 10}] * 4)
    assert running.end() == {"sum": [15], "ends": [10]}


def test_inputs_end_one_by_one():
    running = Reference(decimated())
    running.step({"x": 1, "y": 1})
    running.step({"x": 2})
    assert running.end("x") == {"sum": [], "ends": [3]}
    assert running.step({"y": 1}).outputs == {"sum": [3], "ends": []}
    with pytest.raises(PipelineError, match="step 4: input 'x' has ended"):
        running.step({"x": 1})
    assert running.end() == {"sum": [], "ends": []}
    with pytest.raises(PipelineError, match="all inputs of pipeline p have ended"):
        running.end()


def test_two_processors_that_act_at_the_end_in_a_row():
    builder = Builder("p")
    x = builder.input("x")
    both = builder.build(CountDecimate(2, last=True)(CountDecimate(3, last=True)(x)))
    stream = [0, 1, 2, 3, 4]
    assert Reference(both).run(stream) == {"out": both.denote([stream])[0]} == {"out": [0, 4]}
    running = Reference(both)
    running.run(stream, end=False)
    assert running.end() == {"out": [4]}


def test_a_failing_end_changes_nothing():
    running = Reference(decimated(), capacities={"add.left": 1})
    running.step({"x": 1})
    running.step({"x": 2})
    with pytest.raises(Overflow, match=r"add\.left"):
        running.end()
    assert running.step({"x": 3, "y": 10}).outputs["sum"] == [11]
    assert running.end()["sum"] == []


def test_after_the_end():
    running = Reference(decimated())
    running.end()
    with pytest.raises(PipelineError, match=r"has ended\n  hint: call reset"):
        running.push(1, "x")
    with pytest.raises(PipelineError, match="ended"):
        running.run([[1], [2]])
    running.reset()
    assert running.step({"x": 1, "y": 2}).outputs["sum"] == [3]


def test_windows_do_not_act_at_the_end():
    builder = Builder("p")
    window = builder.build(Window(3, Cumulate(f.ADD))(builder.input("x")))
    assert Reference(window).run([1, 2]) == {"out": []}
    assert Reference(window).run([1, 2, 3, 4]) == {"out": [6, 9]}


# --- support ---


def test_refusals_come_before_the_first_event():
    builder = Builder("p")
    x = builder.input("x")
    root = user_function(lambda a: int(a**0.5), result=INT, name="sqrt")
    opaque = builder.build(Window(4, ApplyFunction(root))(x))
    Reference(opaque)
    message = (
        r"`Window\(4, ApplyFunction\(sqrt\)\)` \(processor 'window'\) is not supported by backend 'model': function "
        r"'sqrt' has no translation and its domain int is not finite; "
        r"available on: reference, threaded, dataflow, spark\."
    )
    with pytest.raises(Refused, match=message):
        check_support(opaque, "model")
    small = Builder("p")
    root = user_function(lambda a: int(a**0.5), result=Integer(4), name="sqrt")
    check_support(small.build(ApplyFunction(root)(small.input("x", Integer(4)))), "model")


def test_refusals_reach_into_groups():
    builder = Builder("p")
    inner = builder.build(ApplyFunction(user_function(lambda x: abs(x), result=INT))(builder.input("x")).named("size"))
    outer = Builder("q")
    with pytest.raises(Refused, match=r"processor 'p.size'"):
        check_support(outer.build(outer.add(inner, [outer.input("x")])), "model")


def test_the_reference_executor_is_a_backend(squares):
    assert isinstance(Reference(squares), Backend)
    assert issubclass(InputError, WorkbenchError)


def test_empty_pipelines():
    builder = Builder("p")
    assert Reference(builder.build(builder.input("x"))).run([1, 2]) == {"out": [1, 2]}


# --- properties ---


@given(pipelines_and_traces(), st.data())
def test_reset_makes_a_fresh_executor(given_, data):
    pipeline, steps = given_
    other = data.draw(traces(pipeline))
    running = Running(pipeline)

    def seen(executable):
        found = []
        try:
            found.extend(executable.trace(steps))
        except Overflow:
            found.append(None)
        return found

    fresh = seen(Running(pipeline))
    try:
        list(running.trace(other))
        if not any(events is END for events in other):
            running.executor.end()
    except Overflow:
        pass
    assert same(tuple(seen(running)), tuple(fresh))


@given(pipelines_and_traces(), st.data())
def test_a_step_that_overflows_is_as_if_it_had_not_been(given_, data):
    pipeline, steps = given_
    full = dict.fromkeys(Reference(pipeline).flat.queues, 1)
    limited, free = Reference(pipeline, full), Reference(pipeline)
    for events in steps:
        try:
            record = limited.step(events)
        except Overflow:
            continue
        assert record == free.step(events)


def test_speed():
    """A tenth of what is measured on an idle core: only a collapse shall fail here."""
    builder = Builder("p")
    total = builder.build(Cumulate(f.ADD)(builder.input("x")))
    events = list(range(30_000))
    started = time.perf_counter()
    Reference(total).run(events)
    assert len(events) / (time.perf_counter() - started) > 30_000
