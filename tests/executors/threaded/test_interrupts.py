"""After Ctrl-C at any moment: whatever is asked next answers, and all threads can be had again.

Under a schedule a hang is a deadlock, and found at once; a thread that is left is found when the body has ended.
"""

import threading
import time
from functools import partial

import pytest

from tests.examples import scaled
from tests.executors.threaded.interrupts import everywhere, within
from tests.executors.threaded.test_pulled import alone, branches, pairs
from workbench.builder import pipeline
from workbench.conformance.compare.schedules import Schedule
from workbench.core import function as f
from workbench.core.domain import INT
from workbench.core.function import user_function
from workbench.errors import PipelineError
from workbench.executors.threaded.executor import Threaded
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.pipelined import Pipelined
from workbench.executors.threaded.placement import Placement
from workbench.executors.threaded.pulled_pipeline import PullGroup
from workbench.processors.apply import ApplyFunction
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.window import Window
from workbench.processors.keep_last import KeepLast
from workbench.processors.trim import Trim
from workbench.verify.analyses.certify import certify

WINDOW = alone(Window(2, Cumulate(f.Function("difference", 2, lambda a, b: a - b), 0)))
WINDOW_CERTIFICATE = certify(WINDOW)


def drain(wrapper, *outputs):
    """What is left of the outputs, if they can still be pulled."""
    for output in outputs or (None,):
        try:
            while True:
                wrapper.pull(output)
        except (StopIteration, PipelineError):
            pass


def group(manager):
    with PullGroup(pairs, manager, capacity=2).connect(x=range(5)) as wrapper:
        yield lambda: list(wrapper)
        drain(wrapper)


def two_outputs(manager):
    with PullGroup(branches, manager, capacity=2).connect(x=range(4)) as wrapper:
        yield lambda: [wrapper.pull(name) for name in ("all", "thirds", "all")]
        drain(wrapper, "all", "thirds")


def closing(manager):
    wrapper = PullGroup(pairs, manager, capacity=2).connect(x=range(9)).start()

    def close_after_one():
        wrapper.pull()
        wrapper.close()

    yield close_after_one
    wrapper.close()


def pipelined(manager):
    with Pipelined(WINDOW, manager, WINDOW_CERTIFICATE, ahead=2).connect(x=range(4)) as wrapper:
        yield lambda: list(wrapper)
        drain(wrapper)


@pipeline(x=INT)
def chain(x):
    return Trim(1)(Cumulate(f.ADD)(x * 2).named("sums"))


def executor(manager):
    running = Threaded(chain, manager, Placement(cuts=("sums", "trim")), ahead=1)
    yield lambda: list(running.records({"x": i} for i in range(4)))
    said = running.push_fast(1)
    if running._busy or running._behind:
        with pytest.raises(PipelineError, match=r"reset\(\)"):
            said.wait_for()
    running.reset()
    assert running.run([1, 2, 3]) == {"out": [6, 12]}


def copies(manager):
    running = Threaded(alone(Window(2, KeepLast())), manager)
    yield lambda: [running.push_fast(i).wait_for() for i in range(2)]
    running.push_fast(3).wait_for()


def tasks(manager):
    yield lambda: [pending.wait_for() for pending in [manager.start(partial(int, i)) for i in range(3)]]


def limits(manager):
    def change():
        for limit in (0, 2, 1):
            manager.limit = limit
            manager.start(int).wait_for()

    yield change
    manager.limit = 1


SCENARIOS = [group, two_outputs, closing, pipelined, executor, copies, tasks, limits]


def interrupted(scenario, limit, primitives, interrupt):
    with ThreadManager(limit, primitives=primitives) as manager:
        steps = scenario(manager)
        body = next(steps)
        with interrupt:
            body()
        assert next(steps, None) is None
        assert within_reason(lambda: manager.try_start(lambda: 7), primitives).wait_for() == 7
    assert manager.threads == 0


def within_reason(asked, primitives):
    """The first answer that is not None: what has begun goes on, and ends."""
    for _ in range(1000):
        found = asked()
        if found is not None:
            return found
        primitives.point() if isinstance(primitives, Schedule) else time.sleep(1e-3)
    raise AssertionError("no thread is granted any more")


@pytest.mark.sampled(3)
@pytest.mark.parametrize("scenario", SCENARIOS, ids=lambda s: s.__name__)
@pytest.mark.parametrize(("limit", "seed"), [(1, 0), pytest.param(2, 1, marks=pytest.mark.slow)])
def test_ctrl_c_anywhere_under_a_schedule(scenario, limit, seed):
    def run(interrupt):
        schedule = Schedule(seed)
        schedule.run(lambda: interrupted(scenario, limit, schedule, interrupt))

    step = scaled(3, 1)
    assert everywhere(run, step=step) > 20


@pytest.mark.sampled(1)
@pytest.mark.parametrize("scenario", [group, closing, executor, tasks], ids=lambda s: s.__name__)
def test_ctrl_c_anywhere_with_real_threads_and_inside_of_the_standard_library(scenario):
    def run(interrupt):
        within(20, lambda: interrupted(scenario, 1, threading, interrupt))

    assert everywhere(run, also=(threading.__file__,)) > 20


def test_ctrl_c_while_the_reader_computes():
    """No thread is granted: the reader has the turn, and gives it back."""

    def run(interrupt):
        manager = ThreadManager(1)
        manager.try_start(threading.Event().wait)  # never ends: it is busy
        same = user_function(lambda a: a, result=INT, name="same")
        wrapper = PullGroup(alone(ApplyFunction(same)), manager).connect(x=range(3))
        with interrupt:
            list(wrapper)
        drain(wrapper)
        wrapper.close()

    assert everywhere(lambda interrupt: within(20, lambda: run(interrupt))) > 20
