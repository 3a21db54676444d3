import random
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processors.common import typed
from workbench.builder import Builder, pipeline
from workbench.conformance.compare.schedules import Schedule
from workbench.core import function as f
from workbench.core.determinism import Determinism
from workbench.core.domain import BOOL, FLOAT, INT, Integer
from workbench.core.function import user_function
from workbench.core.ops import equal
from workbench.errors import PipelineError, WorkbenchError
from workbench.ir.compose import compose
from workbench.processors import CLASSES
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.held.spawn import EventuallyOf, GloballyOf
from workbench.processors.held.window import Window
from workbench.processors.keep_last import KeepLast
from workbench.processors.multiplex import Multiplex
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.stutter import Stutter
from workbench.processors.temporal import Globally
from workbench.processors.trim import Trim
from workbench.run.compiled.execute.executor import Compiled
from workbench.run.reference.executor import Reference
from workbench.run.threaded.manager import ThreadManager
from workbench.run.threaded.non_blocking import NonBlocking, with_non_blocking_copies
from workbench.smv.printer import print_model


def fussy(n):
    if n == 3:
        raise ValueError("three")
    return n * n


@pipeline(x=INT)
def pairs(x):
    return x + Trim(1)(x)


INNER = [
    Cumulate(f.ADD), Cumulate(f.MAX), CountDecimate(2), CountDecimate(2, last=True), KeepLast(), Trim(1), Stutter(2),
    pairs,
    Window(2, Cumulate(f.ADD)), ApplyFunction(user_function(fussy, result=INT, name="fussy")),
]  # fmt: skip


def around(processor, *domains):
    builder = Builder("p")
    return builder.build(builder.add(processor, [builder.input("xyz"[i], d) for i, d in enumerate(domains or [INT])]))


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
def test_windows_push_their_copies_under_every_schedule(inner, width, stream, seed, limits):
    """Values, steps and errors are those of the window without threads, while the limit changes from step to step."""
    expected = outcomes(Reference(around(Window(width, inner))), stream)
    schedule = Schedule(seed)

    def run():
        with ThreadManager(2, primitives=schedule) as manager:
            running = Reference(around(Window(width, NonBlocking(inner, manager))))

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


@given(
    st.sampled_from(COPYING),
    st.lists(st.integers(0, 4), max_size=8),
    st.integers(0, 2**32),
    st.sampled_from([1, 2, None]),
)
def test_all_that_keep_copies_push_them_under_every_schedule(processor, stream, seed, limit):
    expected = outcomes(Reference(around(processor)), stream)
    schedule = Schedule(seed)

    def run():
        with ThreadManager(limit, primitives=schedule) as manager:
            wrapped = with_non_blocking_copies(processor, manager)
            assert wrapped is not processor
            return outcomes(Reference(around(wrapped)), stream)

    assert schedule.run(run) == expected


def test_copies_are_pushed_into_at_the_same_time():
    together = threading.Barrier(3)

    def meet(a):
        together.wait(10)
        return a

    inner = ApplyFunction(user_function(meet, result=INT, name="meet"))
    with ThreadManager(None) as manager:
        running = Reference(around(Window(3, NonBlocking(inner, manager))))
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
        running = Reference(around(kind(f.EVEN, NonBlocking(inner, manager), to_all=ZERO)))
        assert len(running.run([2, 3, 0])["out"]) == (3 if kind is Slice else 4)


def test_quantifiers_push_into_the_copies_of_all_values_at_the_same_time():
    together = threading.Barrier(3)
    inner = ApplyFunction(user_function(lambda v, e: together.wait(10) >= 0, arity=2, result=BOOL, name="meet"))
    with ThreadManager(None) as manager:
        assert Reference(around(ForAll(SOME, NonBlocking(inner, manager)))).run([0, 1]) == {"out": [True, True]}


@pytest.mark.parametrize("width", [3, 10])
@pytest.mark.parametrize("inner", [Cumulate(f.ADD), KeepLast()], ids=str)
def test_without_threads_a_window_keeps_what_it_keeps_without_the_wrapper(width, inner):
    """Of an associative function that is folds, which cost the same for every width (Multiple Threads, figure 5)."""
    plain, wrapped = (typed(Window(width, each), INT) for each in (inner, NonBlocking(inner, ThreadManager(0))))
    states = [plain.initial(), wrapped.initial()]
    for event in range(25):
        states = [window.step(state, (event,))[0] for window, state in zip((plain, wrapped), states, strict=True)]
        assert states[0] == states[1]


@pytest.mark.parametrize("seed", range(20))
def test_a_wide_window_goes_on_when_the_limit_changes(seed):
    """It turns from folds to copies and back, before and after it is full; a float is summed in the order of events."""
    chance = random.Random(seed)
    width = chance.choice([5, 6, 9])
    domain = chance.choice([INT, FLOAT])
    stream = [chance.choice([1, 2, 10**9] if domain is INT else [1, 2, 10**9, 0.1, 1e-9]) for _ in range(40)]
    with ThreadManager(0) as manager:
        running = Reference(around(Window(width, NonBlocking(Cumulate(f.ADD), manager)), domain))

        def change(_):
            manager.limit = chance.choice([0, 0, 0, 1, 2])

        assert outcomes(running, stream, change) == outcomes(
            Reference(around(Window(width, Cumulate(f.ADD)), domain)), stream
        )


SAMPLES = [sample for kind in CLASSES.values() for sample in kind.samples() if not isinstance(sample, Multiplex)]


@pytest.mark.parametrize("sample", SAMPLES, ids=str)
def test_the_wrapper_looks_like_what_it_wraps(sample):
    wrapped = NonBlocking(sample, ThreadManager(0))
    for name in (
        "in_arity",
        "out_arity",
        "joins",
        "timed",
        "inner_queues",
        "inner_pipes",
        "lag",
        "ports",
        "label",
        "finishes",
        "keyword",
        "symbol",
        "lockstep",
        "constants",
    ):
        assert getattr(wrapped, name) == getattr(sample, name)
    assert str(wrapped) == str(sample)
    assert not wrapped.overlaps
    assert NonBlocking(sample, ThreadManager(1)).overlaps


@pytest.mark.parametrize("inner", [Cumulate(f.ADD), CountDecimate(2, last=True), pairs], ids=str)
def test_models_do_not_see_it(inner):
    def text(processor):
        return print_model(compose(around(Window(2, processor)).resolve(Integer(3)))).text

    assert text(NonBlocking(inner, ThreadManager(3))) == text(inner)


def test_contracts_do_not_see_it():
    sums = typed(Cumulate(f.ADD), FLOAT)
    assert NonBlocking(sums, ThreadManager(1)).determinism == sums.determinism != Determinism.EXACT


@pytest.mark.parametrize(
    ("processor", "domain", "stream"),
    [
        (Globally(), BOOL, [True, False, True]),
        (Slice(f.Function("itself", 1, lambda a: a), Cumulate(f.ADD)), INT, [1, 2, 1]),
    ],
    ids=str,
)
def test_compiled_code_does_not_see_it(processor, domain, stream):
    plain, wrapped = (around(each, domain) for each in (processor, NonBlocking(processor, ThreadManager(1))))
    assert [node.name for node in wrapped.nodes] == [node.name for node in plain.nodes]
    assert Compiled(wrapped).run(stream) == Reference(plain).run(stream)


def test_what_works_on_steps_is_not_wrapped():
    with pytest.raises(PipelineError, match="works on steps"):
        NonBlocking(Multiplex(), ThreadManager(0))


def test_resolving_and_typing_keep_the_wrapper():
    wrapped = NonBlocking(Cumulate(f.ADD), ThreadManager(1))
    assert isinstance(wrapped.resolve(Integer(3)), NonBlocking)
    assert isinstance(typed(wrapped, INT), NonBlocking)
    assert Reference(around(wrapped)).run([1, 2]) == {"out": [1, 3]}


def test_pushing_fast_falls_back_to_blocking():
    plain = typed(Cumulate(f.ADD), INT)
    assert plain.push_fast((1,), (2,)).wait_for() == plain.step((1,), (2,))
    failing = typed(ApplyFunction(user_function(fussy, result=INT, name="fussy")), INT)
    with ThreadManager(1) as manager:
        for processor in (failing, NonBlocking(failing, manager), NonBlocking(failing, ThreadManager(0))):
            pending = processor.push_fast((), (3,))
            with pytest.raises(WorkbenchError, match="three"):
                pending.wait_for()
