"""The advisor: the paper's cost model by hand, and what a profile sees."""

import time

from workbench.core import function as f
from workbench.core.domain import INT
from workbench.core.function import user_function
from workbench.core.ops import equal
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.slice import Slice
from workbench.processors.stream import Builder
from workbench.processors.window import Window
from workbench.threads.advise import (
    Advice,
    Advised,
    Overhead,
    Profile,
    advise,
    copied,
    overhead,
    pipelined,
    pulled,
    pushed,
    pushes,
)
from workbench.threads.placement import Placement
from workbench.verify.certify import certify_nodes


def chain(*processors):
    builder = Builder("chain")
    stream = builder.input("x", INT)
    for name, processor in zip("abcd", processors, strict=False):
        stream = builder.add(processor, [stream], name=name)
    return builder.build(stream)


THREE = chain(Cumulate(f.ADD), Cumulate(f.MAX), Cumulate(f.ADD))
PROFILE = Profile({"a": 5.0, "b": 3.0, "c": 2.0}, 11.0)
COSTS = Overhead(task=0.5, queue=0.25)


def test_a_cut_takes_as_long_as_the_slower_part():
    assert PROFILE.rest == 1.0
    assert pulled(THREE, PROFILE, COSTS, ["b"]) == 3 + 2 + 1 + 0.25  # more than 5
    assert pulled(THREE, PROFILE, COSTS, ["c"]) == 5 + 3
    assert pulled(THREE, PROFILE, COSTS, ["b", "c"]) == 5


def test_copies_for_each_event_share_the_threads():
    assert pipelined(THREE, PROFILE, COSTS, 2, "a", 1) == 3 + 2 + 1  # what comes after takes longer than 5 / 2
    assert pipelined(THREE, PROFILE, COSTS, 2, "b", 1) == 5 + 0.5 + 0.25
    assert pipelined(THREE, PROFILE, COSTS, 1, "a", 3) == 15


def test_pushes_into_copies_take_as_many_rounds_as_there_are_too_few_threads():
    assert pushed(8.0, 4, 3, COSTS) == 2 + 4 * 0.5
    assert pushed(8.0, 4, 1, COSTS) == 4 + 4 * 0.5
    assert pushed(8.0, 4, 10, COSTS) == 2 + 4 * 0.5
    assert pushed(9.0, 3, 1, COSTS) == 6 + 3 * 0.5


def test_the_best_advice_is_one_that_gained():
    weak, good = (Advice(name, Placement(), 2.0, gain) for name, gain in (("weak", 1.05), ("good", 1.5)))
    assert Advised(PROFILE, COSTS, 2, [good, weak]).best is good
    assert Advised(PROFILE, COSTS, 2, [weak]).best is None


def test_overheads_are_small():
    found = overhead(50)
    assert 0 < found.queue < 0.1
    assert 0 < found.task < 0.1


def slow(event):
    time.sleep(8e-3)
    return event


SLOW = user_function(slow, result=INT, name="slow")


def test_what_waits_gains_what_is_predicted():
    """Sleeping needs no core, so the gain hardly depends on who else uses the machine."""
    found = advise(chain(ApplyFunction(SLOW), ApplyFunction(SLOW)), [{"x": 1}] * 6, 1)
    assert found.profile.processors["a"] >= 8e-3
    (cut,) = found.advice
    assert cut.pattern == "PullGroup: cut before b"
    assert 1.4 < cut.predicted < 2.2
    assert cut.measured > 1.1
    assert found.best is cut


def test_the_profile_and_the_patterns_that_fit():
    pipeline = chain(Cumulate(f.ADD), ApplyFunction(SLOW), Cumulate(f.ADD))
    found = advise(pipeline, [{"x": 1}] * 3, 2, certify_nodes(pipeline))
    assert found.profile.processors["b"] >= 8e-3
    assert max(found.profile.processors["a"], found.profile.processors["c"]) < 8e-3
    patterns = {each.pattern for each in found.advice}
    assert {"PullGroup: cut before b, c", "Pipelined: b"} < patterns
    assert len(patterns) == 3  # and two parts, cut somewhere


def test_copies_in_windows_are_considered():
    found = advise(chain(Window(4, ApplyFunction(SLOW))), [{"x": 1}] * 5, 3)
    (advice,) = found.advice
    assert advice.placement.copies == {"a"}
    assert 1.2 < advice.predicted < 2  # 2 windows of 4 without threads; with them 5 pushes, one after the other


def test_pushes_into_copies_are_counted():
    builder = Builder("p")
    zero = f.Function("zero", 1, lambda e: equal(e, 0))
    x = builder.input("x", INT)
    pipeline = builder.build(builder.add(Slice(f.EVEN, Cumulate(f.ADD), to_all=zero), [x], name="s"))
    made = pushes(pipeline, "s", {"x": [2, 0, 3, 0, 5]})
    assert [len(taken) for taken in made] == [0, 1, 0, 2, 0]
    # 10 for each of 2 steps; 3 pushes take 6 of all 20; in the second step two threads push at once
    assert copied(Profile({"s": 10.0}, 10.0), COSTS, 1, [[2.0], [2.0, 2.0]], 2) == (14 + 2 + 0.5 + 2 + 2 * 0.5) / 2
