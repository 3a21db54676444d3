"""The advisor: the paper's cost model by hand, and what a profile sees."""

import time
from dataclasses import replace

import pytest

from workbench.builder import Builder
from workbench.core import function as f
from workbench.core.domain import INT
from workbench.core.function import user_function
from workbench.core.ops import equal
from workbench.core.processor import END
from workbench.errors import InputError
from workbench.executors.processes.executor import Processes
from workbench.executors.threaded.advise import (
    Advice,
    Advised,
    Gain,
    Profile,
    _candidates,
    advise,
    estimate_copied,
    estimate_pipelined,
    estimate_pulled,
    estimate_pushed,
    pushes,
    spread,
)
from workbench.executors.threaded.overhead import Overhead, overhead
from workbench.executors.threaded.placement import Placement
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.window import Window
from workbench.processors.slices.slice import Slice
from workbench.verify.analyses.certify import certify_nodes


def chain(*processors):
    builder = Builder("chain")
    stream = builder.input("x", INT)
    for name, processor in zip("abcd", processors, strict=False):
        stream = builder.add(processor, [stream], name=name)
    return builder.build(stream)


THREE = chain(Cumulate(f.ADD), Cumulate(f.MAX), Cumulate(f.ADD))
PROFILE = Profile({"a": 5.0, "b": 3.0, "c": 2.0}, 11.0, busy=11.0)
COSTS = Overhead(task=0.5, queue=0.25)


def test_a_cut_takes_as_long_as_the_slower_part():
    assert PROFILE.rest == 1.0
    assert estimate_pulled(THREE, PROFILE, COSTS, ["b"]) == 3 + 2 + 1 + 0.25  # more than 5
    assert estimate_pulled(THREE, PROFILE, COSTS, ["c"]) == 5 + 3
    assert estimate_pulled(THREE, PROFILE, COSTS, ["b", "c"]) == 5


def test_copies_for_each_event_share_the_threads():
    assert estimate_pipelined(THREE, PROFILE, COSTS, 2, "a", 1) == 3 + 2 + 1  # what comes after takes longer than 5 / 2
    assert estimate_pipelined(THREE, PROFILE, COSTS, 2, "b", 1) == 5 + 0.5 + 0.25
    assert estimate_pipelined(THREE, PROFILE, COSTS, 1, "a", 3) == 15


def test_pushes_into_copies_take_as_many_rounds_as_there_are_too_few_threads():
    assert estimate_pushed(8.0, 4, 3, COSTS) == 2 + 4 * 0.5
    assert estimate_pushed(8.0, 4, 1, COSTS) == 4 + 4 * 0.5
    assert estimate_pushed(8.0, 4, 10, COSTS) == 2 + 4 * 0.5
    assert estimate_pushed(9.0, 3, 1, COSTS) == 6 + 3 * 0.5


def gained(low, middle=None, high=None, cores=1.0, predicted=2.0):
    gains = Gain(low, middle or low, high or middle or low)
    return Advice(f"{low}", Placement(), Gain(predicted, predicted, predicted), gains, cores)


def advised(*advice, steps=100, cores=2.0):
    return Advised(PROFILE, Overhead(0.5, 0.25, cores), 2, steps, advice)


def test_the_best_advice_is_one_that_always_gained():
    weak, good, now_and_then = gained(1.05), gained(1.2, 1.5), gained(0.84, 1.2, 1.36)
    assert advised(now_and_then, good, weak).best is good
    assert advised(good, weak).conclusion == "worth it: 1.2"
    assert advised(weak).best is None
    assert advised(now_and_then).best is None


@pytest.mark.parametrize("steps", [1, 2, 29])
def test_a_few_events_are_not_enough(steps):
    found = advised(gained(2.0), steps=steps)
    assert found.best is None
    assert found.conclusion.startswith(f"too few events to decide: {steps}")
    assert advised(gained(2.0), steps=30).best is not None


def test_why_it_is_not_worth_it():
    assert "gained between 0.84 and 1.36" in advised(gained(0.84, 1.2, 1.36)).conclusion
    assert "concurrent work is too small for the cost of threads" in advised(gained(0.9, predicted=1.05)).conclusion
    assert "holds Python's lock" in advised(gained(0.9, cores=1.02)).conclusion
    assert "no other core was free (1.0 cores" in advised(gained(0.9, cores=1.02), cores=1.1).conclusion
    assert "the cost of queues used up the gain" in advised(gained(0.9, cores=1.7)).conclusion
    assert "the threads waited (0.2 cores were used)" in advised(gained(0.9, cores=0.2)).conclusion
    assert "no pattern fits" in advised().conclusion


def test_without_a_free_core_it_is_said_so():
    found = advised(gained(0.9, predicted=1.05), cores=1.1)
    assert "no other core is free (work for 3 threads got 1.1 cores)" in found.conclusion
    waiting = replace(found, profile=replace(PROFILE, busy=1.0))
    assert "concurrent work is too small for the cost of threads" in waiting.conclusion


def test_what_is_predicted_needs_no_more_than_the_free_cores():
    """Two parts of 5 s each, all of it work: on one core they take 10 s, however they are cut."""
    two = chain(Cumulate(f.ADD), Cumulate(f.MAX))
    busy = Profile({"a": 5.0, "b": 5.0}, 10.0, busy=10.0)
    costs = [Overhead(0.0, 0.0, cores) for cores in (1.0, 1.25, 2.0)]
    ((_, _, seconds),) = _candidates(two, busy, costs, 1, {}, {"x": [1]})
    assert seconds == [10, 8, 5]
    waiting = replace(busy, busy=0.0)
    ((_, _, seconds),) = _candidates(two, waiting, costs, 1, {}, {"x": [1]})
    assert seconds == [5, 5, 5]


def test_a_gain_says_from_where_to_where_it_goes():
    assert Gain.of([1.5, 0.5, 1.0]) == (0.5, 1.0, 1.5)


@pytest.mark.parametrize("steps", [[], [{}], [END]])
def test_without_events_there_is_nothing_to_measure(steps):
    with pytest.raises(InputError, match="no events to measure"):
        advise(THREE, steps, 1)


def test_costs_are_what_they_can_be():
    found = overhead(events=10)
    assert found.queue > 0
    assert found.task > 0
    assert found.cores >= 1


def slow(event):
    time.sleep(8e-3)
    return event


SLOW = user_function(slow, result=INT, name="slow")


def test_what_waits_gains_what_is_predicted():
    """Sleeping needs no core, so the gain hardly depends on who else uses the machine."""
    found = advise(chain(ApplyFunction(SLOW), ApplyFunction(SLOW)), [{"x": 1}] * 6, 1)
    assert found.profile.processors["a"] >= 8e-3
    assert found.profile.busy < found.profile.total
    (cut,) = found.advice
    assert cut.pattern == "PullGroup: cut before b"
    assert 1.2 < cut.predicted.high < 2.2
    assert cut.measured.middle > 1.1
    assert cut.cores < 1


def test_the_profile_and_the_patterns_that_fit():
    pipeline = chain(Cumulate(f.ADD), ApplyFunction(SLOW), Cumulate(f.ADD))
    found = advise(pipeline, [{"x": 1}] * 3, 2, certify_nodes(pipeline))
    assert found.profile.processors["b"] >= 8e-3
    assert max(found.profile.processors["a"], found.profile.processors["c"]) < 8e-3
    patterns = {each.pattern for each in found.advice}
    assert {"PullGroup: cut before b, c", "Pipelined: b"} < patterns
    assert len(patterns) == 3  # and two parts, cut somewhere


@pytest.mark.slow
def test_copies_in_windows_are_considered():
    found = advise(chain(Window(4, ApplyFunction(SLOW))), [{"x": 1}] * 5, 3)
    threads, processes = sorted(found.advice, key=lambda advice: advice.processes)
    assert threads.placement.copies == {"a"}
    assert threads.predicted.high < 2  # 2 windows of 4 without threads; with them 5 pushes, one after the other
    assert processes.processes == 3
    assert processes.pattern == "Processes: the copies in a"
    assert processes.predicted.low > 0


def test_processes_divide_the_copies_and_nothing_else():
    pipeline = chain(Cumulate(f.ADD), Window(2, ApplyFunction(SLOW)))
    found = Profile({"a": 5.0, "b": 30.0}, 37.0)
    with Processes(pipeline, 3) as running:
        assert spread(running, found, 1.0, 4.0) == 5 + 30 / 3 + 1  # a worker's; the reader's are 5 + 2 + 1
        assert spread(running, found, 1.0, 1.0) == 3 * 16 + 8  # one core has all of that
        assert spread(running, Profile({"a": 50.0, "b": 30.0}, 100.0), 1.0, 4.0) == 71  # the reader's


def test_pushes_into_copies_are_counted():
    builder = Builder("p")
    zero = f.Function("zero", 1, lambda e: equal(e, 0))
    x = builder.input("x", INT)
    pipeline = builder.build(builder.add(Slice(f.EVEN, Cumulate(f.ADD), to_all=zero), [x], name="s"))
    made = pushes(pipeline, "s", {"x": [2, 0, 3, 0, 5]})
    assert [len(taken) for taken in made] == [0, 1, 0, 2, 0]
    # 10 for each of 2 steps; 3 pushes take 6 of all 20; in the second step two threads push at once
    assert (
        estimate_copied(Profile({"s": 10.0}, 10.0), COSTS, 1, [[2.0], [2.0, 2.0]], 2)
        == (14 + 2 + 0.5 + 2 + 2 * 0.5) / 2
    )
