"""PullGroup against the reference executor in pull mode."""

import itertools
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.executors.threaded.test_manager import Failing, ctrl_c, until
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.schedules import Schedule
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.conformance.generate.python_source import body
from workbench.core import function as f
from workbench.core.domain import INT, Integer
from workbench.core.function import user_function
from workbench.errors import DomainError, Overflow, PipelineError, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.pipelined import Pipelined
from workbench.executors.threaded.prefetch import Cancelled
from workbench.executors.threaded.primitives import Gates
from workbench.executors.threaded.pulled_pipeline import PullGroup
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.fork import Fork
from workbench.processors.held.group import flatten
from workbench.processors.trim import Trim
from workbench.verify.analyses.certify import certify


@pipeline(x=INT)
def pairs(x):
    return x + Trim(1)(x)


@pipeline(x=INT)
def branches(x):
    left, right = Fork(2)(x)
    return {"all": left, "thirds": CountDecimate(3)(right)}


def alone(processor, *domains):
    builder = Builder("p")
    made = builder.add(processor, [builder.input("xyz"[i], domain) for i, domain in enumerate(domains or [INT])])
    return builder.build(made)


def drained(wrapper, streams, outputs):
    """All events of all outputs, pulled in turn."""
    wrapper.connect(**streams)
    shown = {name: [] for name in outputs}
    left = list(shown)
    while left:
        for name in list(left):
            try:
                shown[name].append(wrapper.pull(name))
            except StopIteration:
                left.remove(name)
    return shown


@given(pipelines_and_traces(max_nodes=4), st.integers(0, 2**32), st.sampled_from([1, 2, 7]), st.sampled_from([1, 2]))
def test_a_pull_group_is_the_pipeline_under_every_schedule(given_, seed, capacity, limit):
    pipeline, steps = given_
    if any(processor.is_timed for processor in flatten(pipeline).typed.values()):
        return
    streams = pipeline.ports.received(steps)
    try:
        expected = drained(Reference(pipeline, capacities={}), streams, dict(pipeline.outputs))
    except Overflow:
        return
    schedule = Schedule(seed)

    def run():
        with ThreadManager(limit, primitives=schedule) as manager:
            return drained(PullGroup(pipeline, manager, capacity), streams, dict(pipeline.outputs))

    assert schedule.run(run) == expected, body(pipeline)


def test_it_computes_ahead_and_no_more_than_its_capacity(manager):
    taken = itertools.count()
    seen = threading.Event()

    def source():
        for value in taken:
            if value == 8:
                seen.set()
            yield value

    group = PullGroup(pairs, manager, capacity=8).connect(x=source()).start()
    assert seen.wait(5)  # the ninth event makes the eighth pair
    group.close()
    assert next(taken) == 9
    assert manager.working == 0


def test_an_event_is_given_as_soon_as_it_is_there():
    """The reader need not wait until the queue is full: the source goes on only when the reader has the event."""
    for seed in range(40):
        schedule = Schedule(seed)

        def run(schedule=schedule):
            lock, gates, seen = schedule.RLock(), Gates(schedule), []

            def source():
                for value in range(4):
                    yield value
                    with lock:
                        gate = gates.shut() if value not in seen else None
                    if gate is not None:
                        gate.acquire()

            with ThreadManager(1, primitives=schedule) as manager:
                group = PullGroup(alone(Cumulate(f.ADD)), manager, 4).connect(x=source())
                for value in range(4):
                    assert group.pull() == value * (value + 1) // 2
                    with lock:
                        seen.append(value)
                        gates.open()

        schedule.run(run)


def test_without_a_thread_it_computes_on_request():
    taken = itertools.count()
    group = PullGroup(pairs, ThreadManager(0)).connect(x=taken)
    assert [group.pull() for _ in range(3)] == [1, 3, 5]
    assert next(taken) == 4


def test_the_limit_can_be_raised_while_it_runs():
    with ThreadManager(0) as manager:
        group = PullGroup(pairs, manager, capacity=4).connect(x=range(100))
        found = [group.pull() for _ in range(5)]
        manager.limit = 1
        found += [group.pull() for _ in range(5)]
        manager.limit = 0
        found += list(group)
    assert found == [2 * i + 1 for i in range(99)]


@pytest.mark.parametrize("off", [lambda manager: setattr(manager, "limit", 0), lambda manager: manager.close()])
def test_nothing_is_computed_ahead_any_more_when_threading_is_turned_off(off):
    """Also where a thread is at it: closing a manager does not wait until the queues are full."""
    taken = itertools.count()
    begun, off_now = threading.Event(), threading.Event()

    def source():
        for value in taken:
            if value == 3:
                begun.set()
                off_now.wait(5)
            yield value

    manager = ThreadManager(1)
    group = PullGroup(pairs, manager, capacity=1000).connect(x=source()).start()
    assert begun.wait(5)
    turning = threading.Thread(target=off, args=(manager,))
    turning.start()
    until(lambda: not manager.grants)
    off_now.set()
    turning.join()
    manager.close()
    assert next(taken) == 4
    assert [group.pull() for _ in range(3)] == [1, 3, 5]


@pytest.mark.parametrize("early", [False, True])
def test_ctrl_c_while_a_thread_starts_leaves_a_group_that_can_be_closed(early):
    primitives = Failing(ctrl_c, early=early)
    with ThreadManager(1, primitives=primitives) as manager, PullGroup(pairs, manager).connect(x=range(10)) as group:
        with pytest.raises(KeyboardInterrupt):
            group.pull()
        assert list(group) == [2 * i + 1 for i in range(9)]


def test_groups_are_piped_like_pipelines(manager):
    tripled = PullGroup(alone(ApplyFunction(f.Function("tripled", 1, lambda a: a * 3))), manager)
    sums = PullGroup(alone(Cumulate(f.ADD)), manager, capacity=2)
    whole = Reference(pairs).connect(x=sums.connect(x=tripled.connect(x=range(6))))
    assert list(whole) == [3, 12, 27, 48, 75]


def test_one_output_may_be_pulled_alone(manager):
    group = PullGroup(branches, manager, capacity=2).connect(x=range(30))
    assert [group.pull("thirds") for _ in range(10)] == list(range(0, 30, 3))
    assert [group.pull("all") for _ in range(30)] == list(range(30))
    with pytest.raises(StopIteration):
        group.pull("all")
    with pytest.raises(PipelineError, match="has 2 outputs"):
        group.pull()


@pytest.mark.parametrize("limits", [[0], [1, 0], [0, 1]])
def test_two_outputs_may_be_pulled_by_two_threads(limits):
    for seed in range(20):
        schedule = Schedule(seed)

        def switching(value, schedule=schedule):
            schedule.point()
            return value

        builder = Builder("two")
        same = ApplyFunction(user_function(switching, arity=1, result=INT, name="same"))(builder.input("x"))
        two = builder.build({"all": same, "sums": Cumulate(f.ADD)(same)})
        shown = {"all": [], "sums": []}

        def run(schedule=schedule, two=two, shown=shown):
            with ThreadManager(limits[0], primitives=schedule) as manager:
                group = PullGroup(two, manager, capacity=2).connect(x=range(8))

                def read(name):
                    for limit in itertools.cycle(limits):
                        try:
                            shown[name].append(group.pull(name))
                        except StopIteration:
                            return
                        manager.limit = limit

                other = schedule.Thread(target=lambda: read("sums"), name="other", daemon=True)
                other.start()
                read("all")
                other.join()

        schedule.run(run)
        assert shown == Reference(two).run(range(8))


def test_errors_keep_their_place_and_pulling_goes_on():
    for seed in range(60):
        schedule = Schedule(seed)

        def run(schedule=schedule):
            with ThreadManager(2, primitives=schedule) as manager:
                group = PullGroup(alone(Cumulate(f.ADD), Integer(9)), manager, 3).connect(x=[1, 2, 99, 3])
                assert [group.pull(), group.pull()] == [1, 3]
                with pytest.raises(DomainError, match="event 2 of input 'x': 99"):
                    group.pull()
                assert group.pull() == 6
                with pytest.raises(StopIteration):
                    group.pull()

        schedule.run(run)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("limit", [0, 1, None])
def test_an_output_that_has_failed_does_not_hold_up_the_other(limit):
    inverse = user_function(lambda a: 6 // a, result=INT, name="inverse")

    @pipeline(x=INT)
    def two(x):
        same = x * 1
        return {"inverse": ApplyFunction(inverse)(same), "same": same}

    for seed in range(40):
        schedule = Schedule(seed)

        def run(schedule=schedule):
            with ThreadManager(limit, primitives=schedule) as manager:
                group = PullGroup(two, manager, 2).connect(x=[3, 0, 2, 1])
                assert group.pull("inverse") == 2
                assert [group.pull("same") for _ in range(4)] == [3, 0, 2, 1]
                for _ in range(2):
                    with pytest.raises(WorkbenchError, match="ZeroDivisionError"):
                        group.pull("inverse")
                with pytest.raises(StopIteration):
                    group.pull("same")

        schedule.run(run)


def test_closing_in_the_middle_under_many_schedules():
    for seed in range(100):
        schedule = Schedule(seed)

        def run(schedule=schedule):
            with ThreadManager(2, primitives=schedule) as manager:
                upstream = PullGroup(pairs, manager, 2).connect(x=itertools.count())
                group = PullGroup(alone(Cumulate(f.ADD)), manager, 2).connect(x=upstream)
                assert group.pull() == 1
                upstream.close()
                group.close()
                assert manager.working == 0
                with pytest.raises(Cancelled):
                    group.pull()

        schedule.run(run)


def test_what_has_been_closed_or_connected_anew_says_so(manager):
    """An iterator that is left over does not end as if its stream had."""
    for wrapper in (PullGroup(pairs, manager), Pipelined(pairs, manager, certify(pairs))):
        with wrapper.connect(x=range(5)) as group:
            assert next(group) == 1
        with pytest.raises(PipelineError, match="has been closed"):
            next(group)
        with pytest.raises(PipelineError, match="has been closed"):
            list(group)
    group = PullGroup(pairs, manager).connect(x=range(5))
    left_over = iter(group)
    assert next(left_over) == 1
    assert list(group.connect(x=[1, 2])) == [3]
    with pytest.raises(PipelineError, match="has been closed"):
        next(left_over)


def test_misuse(manager):
    group = PullGroup(pairs, manager)
    with pytest.raises(PipelineError, match="has no sources"):
        group.pull()
    with pytest.raises(PipelineError, match=r"capacity of a queue .* at least 1, not 0"):
        PullGroup(pairs, manager, capacity=0).connect(x=[])
    with pytest.raises(PipelineError, match="no output 'ot'"):
        group.connect(x=[1]).pull("ot")
    with PullGroup(pairs, manager).connect(x=range(4)) as again:
        assert again.pull() == 1
        assert list(again.connect(x=[7, 8])) == [15]
