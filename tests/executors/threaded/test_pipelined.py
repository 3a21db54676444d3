"""Pipelined against the reference executor in pull mode."""

import itertools
import threading
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.executors.threaded.test_pulled import alone, drained, pairs
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Running
from workbench.conformance.compare.schedules import Schedule
from workbench.conformance.compare.threaded import Plan, Scheduled
from workbench.conformance.generate import functions as g
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.conformance.generate.python_source import body
from workbench.core import function as f
from workbench.core.domain import INT, Integer, Overflowing
from workbench.core.function import user_function
from workbench.core.processor import END
from workbench.errors import DomainError, PipelineError, Refused, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.executor import Threaded
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.pipelined import Pipelined, vouch
from workbench.executors.threaded.placement import Placement
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.freeze import Freeze
from workbench.processors.held.group import flatten
from workbench.processors.held.quantifiers import ForAll
from workbench.processors.held.window import Window
from workbench.processors.keep_last import KeepLast
from workbench.processors.past import Once
from workbench.processors.stutter import Stutter
from workbench.processors.trim import Trim
from workbench.verify.analyses.certify import certify, certify_nodes
from workbench.verify.answer.settings import Settings


@examples(30)
@given(pipelines_and_traces(max_nodes=4), st.integers(0, 2**32), st.sampled_from([1, 2, 7]), st.sampled_from([1, 3]))
def test_a_pipelined_processor_is_the_processor_under_every_schedule(given_, seed, ahead, batch):
    pipeline, steps = given_
    flat = flatten(pipeline)
    if any(processor.is_timed for processor in flat.typed.values()):
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
    with pytest.raises(PipelineError, match="at least 1, not 0"):
        Pipelined(window, manager, certify(window), batch=0)


def test_a_certificate_is_for_its_domains(manager):
    """`once(x > 3)` has no memory modulo 4; on the integers 1, 5, 1 copies would say False, True, False."""
    alarm = once_above_3(INT)
    certificate = certify(alarm, settings=Settings(n=4))
    taken = iter([1, 5, 1])
    with pytest.raises(Refused, match="runs over int, bool, but its certificate is only for int mod 4, bool"):
        Pipelined(alarm, manager, certificate).connect(x=taken)
    assert list(taken) == [1, 5, 1]


def once_above_3(domain):
    return pipeline(x=domain)(lambda x: Once()(x > 3))


@pytest.mark.parametrize("change", [{"history": 1}, {"history": 2}, {"settled": ({},)}], ids=str)
def test_what_has_been_changed_by_hand_is_not_believed(change, manager):
    window = alone(Window(3, Cumulate(f.ADD)))
    with pytest.raises(Refused, match="written or changed by hand"):
        Pipelined(window, manager, replace(certify(window), **change))
    with pytest.raises(Refused, match="written or changed by hand"):
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
    with pytest.raises(PipelineError, match="at least 1, not 0"):
        vouch(sums, 0, by="Ann")
    with pytest.raises(PipelineError, match="needs a person who vouches"):
        vouch(sums, 1, by=" ")


@pytest.mark.parametrize("limit", [0, 1, 3])
@pytest.mark.parametrize("last", [[], [END]], ids=["open", "ends"])
def test_positions_wait_where_copies_are_pipelined(limit, last):
    """Each copy says how many wait behind its events, and a step that brings none changes nothing."""
    builder = Builder("later")
    value, x = builder.input("v", Integer(4)), builder.input("x", Integer(4))
    inner = builder.build(ApplyFunction(f.LT)(value, Trim(1)(x)))
    builder = Builder("p")
    pipeline = builder.build(ForAll(g.NEIGHBOURS, inner, pending=2)(builder.input("y", Integer(4))))
    plan = Plan(pipelined=("forall",), limit=limit, ahead=2)
    steps = [{"y": 0}, {}, {"y": 3}, {"y": 1}, *last]
    running = Running(pipeline)
    assert [seen.queues["forall.pending"] for seen in running.trace(steps)][:4] == [1, 1, 1, 1]
    check(pipeline, steps, running, Scheduled(pipeline, plan, certify_nodes(pipeline)))
