"""Copies stepped in threads: under every schedule, and however deep what has them is held."""

import random
import re
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench.processors
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.schedules import Schedule
from workbench.core import function as f
from workbench.core.domain import BOOL, FLOAT, INT
from workbench.core.function import user_function
from workbench.core.kinds import keeps_copies
from workbench.core.ops import equal
from workbench.errors import PipelineError, WorkbenchError
from workbench.executors.reference.executor import Reference
from workbench.executors.threaded.executor import NonBlocking, Threaded, default_placement
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.placement import Placement
from workbench.executors.threaded.pulled_pipeline import PullGroup
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.group import Group
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.spawn import EventuallyOf, GloballyOf
from workbench.processors.held.window import Window
from workbench.processors.keep_last import KeepLast
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.stutter import Stutter
from workbench.processors.trim import Trim


def fussy(n):
    if n == 3:
        raise ValueError("three")
    return n * n


@pipeline(x=INT)
def pairs(x):
    return x + Trim(1)(x)


DIFFERENCE = Cumulate(f.Function("difference", 2, lambda a, b: a - b), 0)

INNER = [
    Cumulate(f.ADD), Cumulate(f.MAX), DIFFERENCE, CountDecimate(2), CountDecimate(2, last=True), KeepLast(), Trim(1),
    Stutter(2), pairs,
    Window(2, Cumulate(f.ADD)), ApplyFunction(user_function(fussy, result=INT, name="fussy")),
]  # fmt: skip


def around(processor, *domains):
    builder = Builder("p")
    streams = [builder.input("xyz"[i], d) for i, d in enumerate(domains or [INT])]
    return builder.build(builder.add(processor, streams, name="it"))


def threaded(pipeline, manager):
    """The pipeline with its copies, where it has some, stepped in threads, and nothing else."""
    return Threaded(pipeline, manager, Placement(copies=default_placement(pipeline, 0).copies))


def outcomes(running, stream, before_each=lambda i: None):
    """What every push gives, errors included; the executor goes on after them."""
    found = []
    for i, event in enumerate(stream):
        before_each(i)
        try:
            found.append(running.push(event))
        except WorkbenchError as error:
            found.append(str(error))
    return found


@given(
    st.sampled_from(INNER),
    st.integers(1, 4),
    st.lists(st.integers(0, 4), max_size=9),
    st.integers(0, 2**32),
    st.lists(st.sampled_from([0, 0, 1, 2, None]), min_size=9, max_size=9),
)
def test_windows_step_their_copies_under_every_schedule(inner, width, stream, seed, limits):
    """Values, steps and errors are those of the window without threads, while the limit changes from step to step."""
    expected = outcomes(Reference(around(Window(width, inner))), stream)
    schedule = Schedule(seed)

    def run():
        with ThreadManager(2, primitives=schedule) as manager:
            running = threaded(around(Window(width, inner)), manager)

            def change(i):
                manager.limit = limits[i]

            return outcomes(running, stream, change)

    assert schedule.run(run) == expected


def fussy_verdict(n, e):
    if e == 3:
        raise ValueError("three")
    return n <= e


FUSSY = ApplyFunction(user_function(fussy, result=INT, name="fussy"))
SOME = f.Function("some", 1, lambda e: (e, 4 - e, e + 1))
COPYING = [
    Slice(f.EVEN, Cumulate(f.ADD), to_all=f.Function("zero", 1, lambda e: equal(e, 0))),
    Slice(f.EVEN, CountDecimate(2, last=True), to_all=f.ODD, until=f.ODD, forget=True),
    Slice(f.EVEN, FUSSY, to_all=f.Function("large", 1, lambda e: e > 2)),
    SliceLast(f.EVEN, Cumulate(f.ADD), to_all=f.ODD),
    SliceLast(f.EVEN, FUSSY, to_all=f.Function("large", 1, lambda e: e > 2), until=f.ODD),
    GloballyOf(ApplyFunction(f.EVEN)),
    EventuallyOf(ApplyFunction(f.ODD)),
    ForAll(SOME, ApplyFunction(f.LE)),
    Exists(SOME, ApplyFunction(f.LT)),
    ForAll(SOME, ApplyFunction(user_function(fussy_verdict, arity=2, result=BOOL, name="fussy"))),
]

INSIDE = [
    Slice(f.EVEN, Window(2, pairs)),
    Slice(f.EVEN, Window(2, FUSSY), to_all=f.ODD),
    SliceLast(f.EVEN, Window(3, DIFFERENCE), to_all=f.ODD),
    Window(2, Window(2, DIFFERENCE)),
    Window(3, Slice(f.EVEN, Cumulate(f.ADD), to_all=f.ODD)),
    Slice(f.EVEN, Group(around(Window(2, FUSSY)))),
    GloballyOf(ForAll(SOME, ApplyFunction(f.LE))),
    ForAll(SOME, Group(around(GloballyOf(ApplyFunction(f.LT)), INT, INT))),
]
"""With copies in what they hold."""


@given(
    st.sampled_from(COPYING + INSIDE),
    st.lists(st.integers(0, 4), max_size=8),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, None]),
)
def test_all_that_keep_copies_step_them_under_every_schedule(processor, stream, seed, limit):
    pipeline = around(processor)
    assert keeps_copies(pipeline.typed["it"])
    expected = outcomes(Reference(pipeline), stream)
    schedule = Schedule(seed)

    def run():
        with ThreadManager(limit, primitives=schedule) as manager:
            return outcomes(threaded(around(processor), manager), stream)

    assert schedule.run(run) == expected


def test_copies_are_stepped_at_the_same_time():
    together = threading.Barrier(3)

    def meet(a):
        together.wait(10)
        return a

    inner = ApplyFunction(user_function(meet, result=INT, name="meet"))
    with ThreadManager(None) as manager:
        running = threaded(around(Window(3, inner)), manager)
        for event in (1, 2, 3):
            for _ in range(3 - event):  # as many windows have begun as events have come
                threading.Thread(target=together.wait).start()
            assert running.push(event) == ([3] if event == 3 else [])


ZERO = f.Function("zero", 1, lambda e: equal(e, 0))


@pytest.mark.parametrize("kind", [Slice, SliceLast])
def test_slices_see_an_event_for_all_at_the_same_time(kind):
    together = threading.Barrier(2)
    inner = ApplyFunction(user_function(lambda a: a or together.wait(10) * 0, result=INT, name="meet"))
    with ThreadManager(None) as manager:
        running = threaded(around(kind(f.EVEN, inner, to_all=ZERO)), manager)
        assert len(running.run([2, 3, 0])["out"]) == (3 if kind is Slice else 4)


def test_quantifiers_step_the_copies_of_all_values_at_the_same_time():
    together = threading.Barrier(3)
    inner = ApplyFunction(user_function(lambda v, e: together.wait(10) >= 0, arity=2, result=BOOL, name="meet"))
    with ThreadManager(None) as manager:
        assert threaded(around(ForAll(SOME, inner)), manager).run([0, 1]) == {"out": [True, True]}


def test_copies_inside_of_what_is_held_are_stepped_at_the_same_time():
    """A group in a window in a slice."""
    together = threading.Barrier(3)
    meet = ApplyFunction(user_function(lambda a: together.wait(10) * 0 + a, result=INT, name="meet"))
    with ThreadManager(None) as manager:
        running = threaded(around(Slice(f.EVEN, Window(3, Group(around(meet))))), manager)
        for event in (0, 2, 4):
            for _ in range(2 - event // 2):  # as many windows have begun in the slice as events have come
                threading.Thread(target=together.wait).start()
            assert [dict(shown) for shown in running.push(event)] == [{True: 4} if event == 4 else {}]


@pytest.mark.parametrize("width", [3, 10])
def test_without_threads_a_window_keeps_what_it_keeps_in_the_reference_executor(width):
    with ThreadManager(0) as manager:
        window = around(Window(width, KeepLast()))
        plain, running = Reference(window), threaded(window, manager)
        for event in range(25):
            assert plain.push(event) == running.push(event)
            assert plain.states == running.states


@pytest.mark.parametrize("inner", [Cumulate(f.ADD), Cumulate(f.MAX)], ids=str)
def test_a_window_over_an_associative_function_is_folded_with_threads_too(inner):
    """It costs the same for every width (Multiple Threads, figure 5): copies would cost more, however many threads."""
    outer = around(Window(2, Window(10, inner)))  # also inside of one that has copies
    with ThreadManager(2) as manager:
        folded, copied = Reference(outer), threaded(outer, manager)
        assert copied.run(range(30), end=False) == folded.run(range(30), end=False)
        (fold, _), *_ = copied.states["it"][-1]
        assert fold == outer.typed["it"].inner.step(outer.typed["it"].inner.initial(), (29,))[0]


@pytest.mark.parametrize("seed", range(20))
def test_a_wide_window_goes_on_when_the_limit_changes(seed):
    """It turns from events to copies and back, before and after it is full; floats are added in their order."""
    chance = random.Random(seed)
    width = chance.choice([5, 6, 9])
    domain = chance.choice([INT, FLOAT])
    window = Window(width, DIFFERENCE if domain is INT else Cumulate(f.ADD))
    stream = [chance.choice([1, 2, 10**9] if domain is INT else [1, 2, 10**9, 0.1, 1e-9]) for _ in range(40)]
    with ThreadManager(0) as manager:
        running = threaded(around(window, domain), manager)

        def change(_):
            manager.limit = chance.choice([0, 0, 0, 1, 2])

        assert outcomes(running, stream, change) == outcomes(Reference(around(window, domain)), stream)


def test_the_work_is_done_in_the_order_of_the_jobs_and_all_of_it():
    done = []

    def work(job):
        done.append(job)
        if job == 1:
            raise ValueError("one")
        return job

    for limit in (0, 2):
        done.clear()
        with ThreadManager(limit) as manager:
            results = NonBlocking(manager)(work, [(0,), (1,), (2,)])
            assert sorted(done) == [0, 1, 2]
            assert next(results) == 0
            with pytest.raises(ValueError, match="one"):
                next(results)


def test_copies_of_each_may_have_a_manager_of_their_own():
    builder = Builder("p")
    first = builder.add(Window(2, DIFFERENCE), [builder.input("x", INT)], name="first")
    both = builder.build(builder.add(Window(2, KeepLast()), [first], name="second"))
    with ThreadManager(2) as manager, ThreadManager(2) as own, ThreadManager(0) as none:
        running = Threaded(both, manager, Placement(copies={"first": own, "second": none}))
        assert running.run(range(9)) == Reference(both).run(range(9))
        assert (manager.threads > 0, own.threads > 0, none.threads > 0) == (False, True, False)


def test_copies_are_stepped_in_threads_where_the_pipeline_is_pulled():
    with ThreadManager(2) as manager:
        running = threaded(around(Window(3, DIFFERENCE)), manager).connect(x=range(9))
        assert list(running) == Reference(around(Window(3, DIFFERENCE))).run(range(9))["out"]
        assert manager.threads > 0


def test_copies_are_stepped_in_threads_inside_a_group_that_is_pulled():
    flat = around(Window(3, DIFFERENCE))
    with ThreadManager(0) as reader, ThreadManager(2) as own:
        group = PullGroup(flat, reader, copies={"it": own})
        assert list(group.connect(x=range(9))) == Reference(flat).run(range(9))["out"]
        assert own.threads > 0


def test_a_state_is_saved_for_any_placement():
    """It is the same pipeline, whatever is done in threads."""
    flat = around(Window(3, DIFFERENCE))
    with ThreadManager(0) as manager:
        assert threaded(flat, manager).fingerprint == Threaded(flat, manager, Placement()).fingerprint


def test_what_keeps_no_copies_has_none_in_threads():
    with pytest.raises(PipelineError, match=r"'it' .* has no copies"):
        Threaded(around(Window(3, Cumulate(f.ADD))), ThreadManager(1), Placement(copies={"it"}))


def test_no_processor_mentions_threads():
    """They are given what steps copies; only the title of the paper has the word."""
    for path in Path(workbench.processors.__file__).parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8").replace("Multiple Threads", "")
        assert not re.search(r"(?i)thread|non_?blocking|wait_for", text), path
