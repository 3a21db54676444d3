import signal
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.conform import plans
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Running
from workbench.conformance.compare.threaded import Scheduled
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.core import function as f
from workbench.core.domain import INT, Integer, Overflowing
from workbench.core.function import user_function
from workbench.core.processor import END
from workbench.errors import DomainError, Overflow, PipelineError, Refused, WorkbenchError
from workbench.executors.overlapped_steps import Overlapped
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.executor import Threaded, default_placement
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.placement import Placement, balance_cuts
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import flatten
from workbench.processors.held.history import History
from workbench.processors.held.quantifiers import ForAll
from workbench.processors.held.spawn import GloballyOf
from workbench.processors.held.window import Window
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.trim import Trim
from workbench.verify.analyses.certify import certify_nodes


@pipeline(x=INT)
def figure(x):
    tripled = (x * 3).named("tripled")
    sums = Cumulate(f.ADD)(tripled + Trim(1)(x))
    return {"sums": sums, "thirds": CountDecimate(3, last=True)(Window(2, Cumulate(f.MAX))(sums))}


STEPS = [{"x": i * 7 % 11} for i in range(60)]


@given(pipelines_and_traces(max_nodes=5), st.data())
def test_every_placement_under_every_schedule_is_the_reference(given_, data):
    pipeline, steps = given_
    certificates = certify_nodes(pipeline)
    plan = data.draw(plans(flatten(pipeline), tuple(certificates), seeded=True))
    check(pipeline, steps, Running(pipeline), Scheduled(pipeline, plan, certificates))


@given(plans(flatten(figure), seeded=True))
def test_the_figure_under_many_schedules(plan):
    check(figure, [*STEPS[:12], {}, END], Running(figure), Scheduled(figure, plan))


def test_it_runs_as_the_reference_with_real_threads(manager):
    running, reference = Threaded(figure, manager), Reference(figure)
    assert len(running._parts) > 1
    assert running.trace([*STEPS, {}, END]) == reference.trace([*STEPS, {}, END])
    running.reset()
    reference.reset()
    assert running.run(range(200)) == reference.run(range(200))


def test_steps_and_streams_can_follow_each_other(manager):
    running, reference = Threaded(figure, manager), Reference(figure)
    for one in (running, reference):
        one.step({"x": 5})
    assert running.trace(STEPS[:7]) == reference.trace(STEPS[:7])
    assert running.step({"x": 2}) == reference.step({"x": 2})
    assert running.run([4, 5, 6], end=False) == reference.run([4, 5, 6], end=False)
    assert running.contents() == reference.contents()
    assert running.end() == reference.end()
    assert running.steps == reference.steps


def broken_at(n):
    builder = Builder("p")
    x = builder.input("x")
    first = ApplyFunction(user_function(lambda a: 6 // (a - n), result=INT, name="inverse"))(x).named("div")
    return builder.build(Trim(1)(Cumulate(f.ADD)(first)).named("last"))


def outcome(running, steps):
    seen = []
    try:
        for record in running.records(steps) if isinstance(running, Overlapped) else map(running.step, steps):
            seen.append(record)
    except WorkbenchError as error:
        return seen, type(error), str(error)
    return seen, None, ""


def test_an_error_comes_after_what_was_before_it(manager):
    pipeline = broken_at(20)
    steps = [{"x": i} for i in range(40)]
    running = Threaded(pipeline, manager, Placement(("cumulate", "last")))
    found, expected = outcome(running, steps), outcome(Reference(pipeline), steps)
    assert len(found[0]) == 20
    assert found == expected
    with pytest.raises(PipelineError, match="has stopped in the middle of a stream"):
        running.step({"x": 1})
    running.reset()
    assert running.push(1) == []


def test_input_that_is_refused_leaves_the_executor_whole(manager):
    builder = Builder("p")
    pipeline = builder.build(Trim(1)(Cumulate(f.ADD)(builder.input("x", Integer(5)))).named("y"))
    running = Threaded(pipeline, manager, Placement(("y",)))
    steps = [{"x": 1}, {"x": 2}, {"x": 9}, {"x": 3}]
    found, expected = outcome(running, steps), outcome(Reference(pipeline), steps)
    assert found == expected
    assert found[1] is DomainError
    assert running.step({"x": 4}).outputs == {"out": [2]}  # 1 + 2 + 4 modulo 5
    with pytest.raises(PipelineError, match="has no input 'z'"):
        list(running.records([{"z": 1}]))


def test_certificates_are_checked_before_the_first_event(manager):
    """One for the integers modulo 5 says nothing of the integers; it can be found again there, or not."""
    ten, five = (
        pipeline(x=domain)(lambda x: Cumulate(f.ADD)(x).named("sum"))
        for domain in (Integer(10, Overflowing.SATURATING), Integer(5, Overflowing.SATURATING))
    )
    certificate = certify_nodes(five)["sum"]
    assert Threaded(five, manager, Placement(pipelined={"sum": certificate})).run([1, 2, 3]) == {"out": [1, 3, 4]}
    with pytest.raises(Refused, match="with a certificate of"):
        Threaded(ten, manager, Placement(pipelined={"sum": certificate}))
    with pytest.raises(Refused, match="written or changed by hand"):
        Threaded(five, manager, Placement(pipelined={"sum": replace(certificate, settled=None)}))


def test_an_overflow_is_told_at_its_step(manager):
    @pipeline(x=INT)
    def late(x):
        return Cumulate(f.ADD)(x + Trim(5)(x)).named("total")

    running = Threaded(late, manager, Placement(("add", "total")), capacities={"add.left": 3})
    found, expected = outcome(running, STEPS), outcome(Reference(late, {"add.left": 3}), STEPS)
    assert found == expected
    assert found[1] is Overflow
    assert "step 3" in found[2]


def test_a_reader_that_loses_interest_leaves_no_thread_at_work(manager):
    running = Threaded(figure, manager)
    records = running.records({"x": i} for i in iter(int, 1))
    next(records)
    records.close()
    assert manager.working == 0
    with pytest.raises(PipelineError, match="in the middle of a stream"):
        running.push(1)


def test_it_is_busy_while_records_are_taken(manager):
    running = Threaded(figure, manager)
    records = running.records(STEPS)
    next(records)
    with pytest.raises(PipelineError, match="is in the middle of a stream"):
        running.step({"x": 1})
    assert len(list(records)) == len(STEPS) - 1
    running.step({"x": 1})


def test_no_more_is_read_ahead_than_the_queues_hold():
    taken = 0

    def source():
        nonlocal taken
        while True:
            taken += 1
            yield {"x": taken}

    with ThreadManager(5) as manager:
        running = Threaded(figure, manager, ahead=4)
        queues = len(running._parts) - 1
        records = running.records(source())
        for _ in range(100):
            next(records)
        records.close()
        # per queue: what waits in it, and what is on its way into it; a reader holds one
        assert taken <= 100 + queues * (4 + 1) + 1


def test_a_limit_of_zero_is_the_reference_executor():
    manager = ThreadManager(0)
    running = Threaded(figure, manager)
    before = threading.active_count()
    assert running.run(range(50)) == Reference(figure).run(range(50))
    assert threading.active_count() == before


def test_pushing_fast_keeps_the_order(manager):
    running, reference = Threaded(figure, manager), Reference(figure)
    pending = [running.push_fast(i) for i in range(30)]
    assert [p.wait_for() for p in pending] == [reference.push_fast(i).wait_for() for i in range(30)]


@pipeline(x=INT)
def doubled(x):
    return x * 2


def test_pulling_fast_keeps_the_order(manager):
    running = Threaded(doubled, manager).connect(x=range(5))
    pending = [running.pull_fast() for _ in range(6)]
    assert [p.wait_for() for p in pending[:5]] == [0, 2, 4, 6, 8]
    with pytest.raises(StopIteration):
        pending[5].wait_for()
    assert Reference(doubled).connect(x=[7]).pull_fast().wait_for() == 14


def test_ctrl_c_while_an_earlier_push_is_waited_for_is_not_lost(manager):
    free = threading.Event()
    builder = Builder("p")
    held = ApplyFunction(user_function(lambda a: free.wait(20) and a, result=INT, name="held"))
    running = Threaded(builder.build(held(builder.input("x"))), manager)
    first = running.push_fast(1)
    main = threading.get_ident()
    threading.Timer(0.2, lambda: signal.pthread_kill(main, signal.SIGINT)).start()
    with pytest.raises(KeyboardInterrupt):
        running.push_fast(2)
    free.set()
    assert first.wait_for() == [1]


def test_a_reset_waits_for_what_was_begun(manager):
    free = threading.Event()
    builder = Builder("p")
    held = ApplyFunction(user_function(lambda a: free.wait(20) and a, result=INT, name="held"))
    running = Threaded(builder.build(Cumulate(f.ADD)(held(builder.input("x")))), manager)
    running.push_fast(100)
    threading.Timer(0.1, free.set).start()
    running.reset()
    assert free.is_set()
    assert running.run([1, 2]) == {"out": [1, 3]}


def test_an_error_is_carried_to_who_waits(manager):
    for running in (Threaded(broken_at(3), manager), Reference(broken_at(3))):
        pending = [running.push_fast(i) for i in (2, 3, 4)]
        assert pending[0].wait_for() == []
        with pytest.raises(WorkbenchError, match="ZeroDivisionError"):
            pending[1].wait_for()
        assert pending[2].wait_for() == [0]


def test_faults_strike_as_in_the_reference_executor(manager):
    """They may strike at steps that bring nothing, so such pipelines go step by step."""
    faulty = wb.faults.faulty(figure, "lose tripled")
    one = Threaded(faulty, manager, oracle=wb.faults.RandomFaults(faulty, seed=3, rate=0.5))
    other = Reference(faulty, oracle=wb.faults.RandomFaults(faulty, seed=3, rate=0.5))
    assert one.trace([*STEPS, END]) == other.trace([*STEPS, END])
    with pytest.raises(PipelineError, match="has faults"):
        wb.certify(wb.faults.faulty(doubled, "lose x"))


def test_default_placement():
    placement = default_placement(figure, 2)
    assert placement.cuts == ("add", "window")
    assert default_placement(figure, 0).cuts == ()
    assert len(default_placement(figure, 50).cuts) == len(figure.nodes) - 1


DIFFERENCE = Cumulate(f.Function("difference", 2, lambda a, b: a - b), 0)
BOTH = f.Function("both", 1, lambda a: (a, a + 1))


@pytest.mark.parametrize(
    ("processor", "copies"),
    [
        (Window(2, DIFFERENCE), True), (Window(1, DIFFERENCE), False), (Window(2, Cumulate(f.ADD)), False),
        (Slice(f.EVEN, Cumulate(f.ADD)), False), (Slice(f.EVEN, Cumulate(f.ADD), to_all=f.ODD), True),
        (SliceLast(f.EVEN, Cumulate(f.ADD), to_all=f.ODD), True), (GloballyOf(ApplyFunction(f.EVEN)), True),
        (ForAll(BOTH, ApplyFunction(f.LE)), True), (History(2, DIFFERENCE), False), (Cumulate(f.ADD), False),
    ],
    ids=str,
)  # fmt: skip
def test_threads_are_asked_for_where_an_event_is_pushed_into_several_copies(processor, copies):
    """A window over an associative function is folded, at the same cost for every width; an event goes to one slice."""
    builder = Builder("p")
    pipeline = builder.build(builder.add(processor, [builder.input("x", INT)], name="it"))
    assert default_placement(pipeline, 2).copies == ({"it"} if copies else set())


def test_balanced_cuts_make_the_most_expensive_part_cheap():
    names = [node.name for node in figure.nodes]
    assert names == ["tripled", "trim", "add", "cumulate", "window", "decimate"]
    assert balance_cuts(figure, 2, [1, 1, 1, 1, 1, 5]) == ("decimate",)
    assert balance_cuts(figure, 3, [5, 1, 1, 1, 1, 5]) == ("trim", "decimate")
    assert balance_cuts(figure, 1) == ()
    with pytest.raises(PipelineError, match="has no processor 'no'"):
        Threaded(figure, ThreadManager(1), Placement(("no",)))
