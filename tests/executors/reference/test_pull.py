import itertools

import pytest
from hypothesis import given

from experiments.stream_check import check_streams
from workbench.builder import Builder, pipeline
from workbench.conformance.generate.pipelines import pipelines_and_traces
from workbench.core import function as f
from workbench.core.domain import INT, Integer
from workbench.core.function import user_function
from workbench.errors import DomainError, PipelineError, Refused, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.fork import Fork
from workbench.processors.trim import Trim


class Counted:
    """An endless source that counts what is taken from it."""

    def __init__(self, events=None):
        self.taken = 0
        self.events = itertools.count() if events is None else iter(events)

    def __iter__(self):
        return self

    def __next__(self):
        value = next(self.events)
        self.taken += 1
        return value


@pipeline(x=INT)
def pairs(x):
    return x + Trim(1)(x)


@pipeline(x=INT)
def branches(x):
    left, right = Fork(2)(x)
    return {"all": left, "thirds": CountDecimate(3)(right)}


@pipeline(x=INT, y=INT)
def sums(x, y):
    return x + y


def test_no_more_is_taken_than_is_needed():
    source = Counted()
    running = Reference(pairs).connect(x=source)
    assert source.taken == 0
    assert running.pull() == 1
    assert source.taken == 2
    assert [running.pull() for _ in range(3)] == [3, 5, 7]
    assert source.taken == 5


def test_a_branch_keeps_what_another_asked_for():
    source = Counted()
    running = Reference(branches).connect(x=source)
    assert [running.pull("thirds") for _ in range(3)] == [0, 3, 6]
    assert source.taken == 7
    assert [running.pull("all") for _ in range(7)] == list(range(7))
    assert source.taken == 7
    assert running.pull("all") == 7


def test_the_end():
    running = Reference(pairs).connect(x=[1, 2, 3])
    assert list(running) == [3, 5]
    for _ in range(3):
        with pytest.raises(StopIteration):
            running.pull()


def test_unmatched_events_are_dropped():
    left = Counted([1, 2, 3])
    running = Reference(sums).connect(x=left, y=[10])
    assert list(running) == [11]
    assert left.taken == 2


def test_processors_act_at_the_end_once():
    builder = Builder("p")
    ends = builder.build(Cumulate(f.ADD)(CountDecimate(3, last=True)(builder.input("x"))))
    running = Reference(ends).connect(x=[1, 2, 3, 4, 5])
    assert list(running) == [1, 5, 10]
    assert list(running) == []


def test_events_are_checked():
    builder = Builder("p")
    running = Reference(builder.build(builder.input("x", Integer(4)))).connect(x=[1, 9, 2])
    assert running.pull() == 1
    with pytest.raises(DomainError, match="event 1 of input 'x': 9 is not a value of int mod 4"):
        running.pull()
    assert running.pull() == 2


def test_a_failing_function_is_named_and_fails_again():
    builder = Builder("p")
    inverse = user_function(lambda a: 6 // a, result=INT, name="inverse")
    running = Reference(builder.build(ApplyFunction(inverse)(builder.input("x")).named("div"))).connect(x=[3, 0])
    assert running.pull() == 2
    for _ in range(2):
        with pytest.raises(WorkbenchError, match=r"front 1: processor 'div' .* on in = 0"):
            running.pull()


def test_long_chains_are_no_deep_recursion():
    builder = Builder("p")
    stream = builder.input("x")
    for i in range(1500):
        stream = builder.add(Trim(0), [stream], name=f"t{i}")
    running = Reference(builder.build(stream)).connect(x=[1, 2])
    assert list(running) == [1, 2]


def test_pulling_and_pushing_do_not_mix():
    running = Reference(pairs)
    with pytest.raises(PipelineError, match="has no sources"):
        running.pull()
    with pytest.raises(PipelineError, match="input 'y' of pipeline sums has no source"):
        Reference(sums).connect(x=[1])
    with pytest.raises(PipelineError, match="has no input 'z'"):
        Reference(pairs).connect(x=[1], z=[2])
    running.push(1)
    with pytest.raises(PipelineError, match="already running"):
        running.connect(x=[1])
    running.reset()
    running.connect(x=[1, 2])
    with pytest.raises(PipelineError, match="is pulled"):
        running.push(1)
    with pytest.raises(PipelineError, match="is pulled"):
        running.end()
    assert running.pull() == 3
    with pytest.raises(PipelineError, match="has no output 'sum'"):
        running.pull("sum")
    with pytest.raises(PipelineError, match="has 2 outputs"):
        Reference(branches).connect(x=[1]).pull()
    running.reset()
    assert running.push(1) == []


def test_capacities_have_no_meaning_without_steps():
    with pytest.raises(Refused, match="no steps"):
        Reference(pairs, {"add.left": 1}).connect(x=[1])


@given(pipelines_and_traces(max_nodes=4))
def test_pulling_gives_what_pushing_gives(given_):
    check_streams(*given_)
