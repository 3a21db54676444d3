"""PullGroup and Pipelined against the reference executor in pull mode."""

import itertools
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.executors.threaded.test_manager import Failing, until
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.schedules import Schedule
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.conformance.generate.python_source import body
from workbench.core import function as f
from workbench.core.domain import INT, Integer, Overflowing
from workbench.core.function import user_function
from workbench.errors import DomainError, Overflow, PipelineError, Refused, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.executor import Threaded
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.pipelined import Pipelined, vouch
from workbench.executors.threaded.placement import Placement
from workbench.executors.threaded.prefetch import Cancelled
from workbench.executors.threaded.primitives import Gates
from workbench.executors.threaded.pull_group import PullGroup
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.fork import Fork
from workbench.processors.freeze import Freeze
from workbench.processors.held.group import flatten
from workbench.processors.held.window import Window
from workbench.processors.keep_last import KeepLast
from workbench.processors.past import Once
from workbench.processors.stutter import Stutter
from workbench.processors.trim import Trim
from workbench.verify.analyses.certify import certify, certify_nodes


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


@pytest.fixture
def manager():
    with ThreadManager(3) as found:
        yield found
    assert found.threads == 0


# --- PullGroup ------------------------------------------------------------------------------------------------


@given(pipelines_and_traces(max_nodes=4), st.integers(0, 2**32), st.sampled_from([1, 2, 7]), st.sampled_from([1, 2]))
def test_a_pull_group_is_the_pipeline_under_every_schedule(given_, seed, capacity, limit):
    pipeline, steps = given_
    if any(processor.timed for processor in flatten(pipeline).typed.values()):
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


@pytest.mark.parametrize("begun", [False, True])
def test_ctrl_c_while_a_thread_starts_leaves_a_group_that_can_be_closed(begun):
    primitives = Failing(KeyboardInterrupt(), begun=begun)
    with ThreadManager(1, primitives=primitives) as manager, PullGroup(pairs, manager).connect(x=range(10)) as group:
        with pytest.raises(KeyboardInterrupt):
            group.pull()
        primitives.error, primitives.begun = None, True
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
    with pytest.raises(PipelineError, match="at least one"):
        PullGroup(pairs, manager, capacity=0).connect(x=[])
    with pytest.raises(PipelineError, match="no output 'ot'"):
        group.connect(x=[1]).pull("ot")
    with PullGroup(pairs, manager).connect(x=range(4)) as again:
        assert again.pull() == 1
        assert list(again.connect(x=[7, 8])) == [15]


# --- Pipelined -------------------------------------------------------------------------------------------------


@examples(30)
@given(pipelines_and_traces(max_nodes=4), st.integers(0, 2**32), st.sampled_from([1, 2, 7]), st.sampled_from([1, 3]))
def test_a_pipelined_processor_is_the_processor_under_every_schedule(given_, seed, ahead, batch):
    pipeline, steps = given_
    flat = flatten(pipeline)
    if any(processor.timed for processor in flat.typed.values()):
        return
    given_streams = pipeline.ports.received(steps)
    for name, certificate in certify_nodes(pipeline).items():
        node = flat.node(name)
        builder = Builder("part")
        inputs = [builder.input("xyzuvw"[i], flat.domains[pipe]) for i, pipe in enumerate(node.inputs)]
        part = builder.build(builder.add(node.processor, inputs))
        domains = [domain for _, domain in part.inputs]
        values = [v for stream in given_streams.values() for v in stream]
        streams = {
            key: [v for v in values if v in domain] or list(domain.values())
            for (key, _), domain in zip(part.inputs, domains, strict=True)
        }
        try:
            expected = drained(Reference(part, capacities={}), streams, dict(part.outputs))
        except WorkbenchError:
            continue
        schedule = Schedule(seed)

        def run(schedule=schedule, part=part, certificate=certificate, streams=streams):
            with ThreadManager(seed % 4, primitives=schedule) as manager:
                return drained(Pipelined(part, manager, certificate, ahead, batch), streams, dict(part.outputs))

        assert schedule.run(run) == expected, f"{certificate}\n{body(part)}"


SQUARE = user_function(lambda a: a * a, result=INT, name="square")


@pytest.mark.parametrize(
    "processor",
    [
        ApplyFunction(SQUARE), Window(3, Cumulate(f.ADD)), Trim(4), Freeze(), Stutter(2), KeepLast(),
        Window(2, CountDecimate(2, last=True)),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("batch", [1, 4])
def test_pipelined_with_real_threads(processor, batch, manager):
    pipeline = alone(processor)
    wrapped = Pipelined(pipeline, manager, certify(pipeline), ahead=8, batch=batch)
    for stream in (range(50), [3], []):
        assert list(wrapped.connect(x=stream)) == Reference(pipeline).run(stream)["out"]


def test_a_group_with_a_bounded_history(manager):
    wrapped = Pipelined(pairs, manager, certify(pairs)).connect(x=range(30))
    assert list(wrapped) == [2 * i + 1 for i in range(29)]


def test_copies_run_at_the_same_time():
    together = threading.Barrier(3)
    meet = user_function(lambda a: together.wait(10) * 0 + a, result=INT, name="meet")
    pipeline = alone(ApplyFunction(meet))
    with ThreadManager(None) as manager:
        assert list(Pipelined(pipeline, manager, certify(pipeline)).connect(x=range(9))) == list(range(9))


def test_adaptive_pipelining_begins_when_the_state_has_settled():
    saturating = Cumulate(f.ADD)
    pipeline = alone(saturating, Integer(10, Overflowing.SATURATING))
    certificate = certify(pipeline)
    assert certificate.settled == ({0: 9},)
    with ThreadManager(2) as manager:
        wrapped = Pipelined(pipeline, manager, certificate, ahead=1).connect(x=[1, 2, 3, 4, 5, 6])
        assert [wrapped.pull() for _ in range(3)] == [1, 3, 6]
        assert list(wrapped) == [9, 9, 9]
        assert wrapped._copies.pipelining


@pytest.mark.parametrize("batch", [1, 2, 3, 5])
def test_an_error_of_a_copy_keeps_its_place_and_stays(batch):
    inverse = user_function(lambda a: 6 // a, result=INT, name="inverse")
    pipeline = alone(ApplyFunction(inverse))
    reference = Reference(pipeline).connect(x=[3, 2, 0, 2])
    assert [reference.pull(), reference.pull()] == [2, 3]
    with pytest.raises(WorkbenchError) as expected:
        reference.pull()
    for seed in range(30):
        schedule = Schedule(seed)

        def run(schedule=schedule, limit=seed % 3):
            with ThreadManager(limit, primitives=schedule) as manager:
                wrapped = Pipelined(pipeline, manager, certify(pipeline), batch=batch).connect(x=[3, 2, 0, 2])
                assert [wrapped.pull(), wrapped.pull()] == [2, 3]
                for _ in range(2):
                    with pytest.raises(WorkbenchError) as found:
                        wrapped.pull()
                    assert str(found.value) == str(expected.value)
                    assert isinstance(found.value.__cause__, WorkbenchError)

        schedule.run(run)


@pytest.mark.parametrize("batch", [1, 3])
def test_an_event_outside_of_its_domain_keeps_its_place(batch, manager):
    pipeline = alone(ApplyFunction(f.EVEN), Integer(5))
    wrapped = Pipelined(pipeline, manager, certify(pipeline), batch=batch).connect(x=[1, 9, 2])
    assert wrapped.pull() is False
    with pytest.raises(DomainError, match="event 1 of input 'x'"):
        wrapped.pull()
    assert list(wrapped) == [True]


def test_back_pressure():
    taken = itertools.count()
    with ThreadManager(2) as manager:
        pipeline = alone(ApplyFunction(SQUARE))
        wrapped = Pipelined(pipeline, manager, certify(pipeline), ahead=5).connect(x=taken)
        assert [wrapped.pull() for _ in range(10)] == [i * i for i in range(10)]
        wrapped.close()
    assert next(taken) <= 10 + 5 + 1


def test_a_certificate_is_for_its_processor(manager):
    window = alone(Window(3, Cumulate(f.ADD)))
    with pytest.raises(Refused, match="with a certificate of"):
        Pipelined(alone(Window(4, Cumulate(f.ADD))), manager, certify(window))
    with pytest.raises(PipelineError, match="at least one event"):
        Pipelined(window, manager, certify(window), batch=0)


def test_a_certificate_is_for_its_domains(manager):
    """`once(x > 3)` has no memory modulo 4; on the integers 1, 5, 1 copies would say False, True, False."""
    alarm = once_above_3(INT)
    certificate = certify(alarm)
    taken = iter([1, 5, 1])
    with pytest.raises(Refused, match="runs over int, bool, and its certificate is for int mod 4, bool only"):
        Pipelined(alarm, manager, certificate).connect(x=taken)
    assert list(taken) == [1, 5, 1]


def once_above_3(domain):
    return pipeline(x=domain)(lambda x: Once()(x > 3))


@pytest.mark.parametrize("change", [{"history": 1}, {"history": 2}, {"settled": ({},)}], ids=str)
def test_what_has_been_changed_by_hand_is_not_believed(change, manager):
    window = alone(Window(3, Cumulate(f.ADD)))
    with pytest.raises(Refused, match="made or changed by hand"):
        Pipelined(window, manager, replace(certify(window), **change))
    with pytest.raises(Refused, match="made or changed by hand"):
        Threaded(window, manager, Placement(pipelined={"window": replace(certify(window), **change)}))


def test_what_is_true_is_found_again(manager):
    """It need not be believed: the machine says it."""
    window = alone(Window(3, Cumulate(f.ADD)))
    longer = replace(certify(window), history=5)
    assert list(Pipelined(window, manager, longer).connect(x=range(9))) == Reference(window).run(range(9))["out"]


def test_where_it_settles_depends_on_the_domain(manager):
    ten, twenty = (alone(Cumulate(f.ADD), Integer(n, Overflowing.SATURATING)) for n in (10, 20))
    with pytest.raises(Refused, match=r"with a certificate of `Cumulate.*` over int sat 10"):
        Pipelined(twenty, manager, certify(ten))


def test_somebodys_word_is_taken_and_may_be_false(manager):
    """What certificates are for: a running sum, pipelined as if it had no memory, is wrong."""
    sums = alone(Cumulate(f.ADD))
    word = vouch(sums, 1, by="Ann, who cannot add")
    assert str(word) == "Cumulate(+) over int has no memory: trusted, on the word of Ann, who cannot add"
    assert list(Pipelined(sums, manager, word).connect(x=[1, 2, 3])) == [1, 2, 3]
    assert Reference(sums).run([1, 2, 3]) == {"out": [1, 3, 6]}
    with pytest.raises(PipelineError, match="at least one event"):
        vouch(sums, 0, by="Ann")
    with pytest.raises(PipelineError, match="somebody has to answer"):
        vouch(sums, 1, by=" ")
