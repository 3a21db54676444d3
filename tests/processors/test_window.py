import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.machines import MachineRun
from tests.processors.common import machined, stepped, typed
from workbench.builder import Builder, pipeline
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, Integer
from workbench.core.fields import Tuple
from workbench.errors import PipelineError
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.held.group import Group
from workbench.processors.held.inner_processor import bits
from workbench.processors.held.window import Window
from workbench.processors.keep_last import KeepLast
from workbench.processors.passthrough import Passthrough
from workbench.processors.trim import Trim

N7 = Integer(7)
SUM = Cumulate(f.ADD)


@pipeline(x=N7)
def steps_up(x):
    """x + trim(x, 1), as a total: an inner join whose left queue holds an event."""
    return Cumulate(f.ADD)(x + Trim(1)(x))


@pipeline(x=N7, c=BOOL)
def kept_sum(x, c):
    return Cumulate(f.ADD)(Filter()(x, c))


@pipeline(x=N7, c=BOOL)
def crossed(x, c):
    """A group in a group whose two inputs do not wait for each other."""
    inner = Builder("inner")
    a, b = inner.input("a", N7), inner.input("b", BOOL)
    both = inner.build([a + 1, b])
    first, _ = x.builder.add(both, [Trim(1)(x), Trim(3)(c)])
    return first


EXAMPLES = [
    (Window(1, SUM), [N7], [[1, 2, 3]], [1, 2, 3]),
    (Window(3, SUM), [N7], [[1, 2, 3, 4, 5]], [6, 2, 5]),
    (Window(3, SUM), [N7], [[1, 2]], []),
    (Window(2, ApplyFunction(f.EVEN)), [N7], [[1, 2, 3]], [True, False]),
    # a decimation in a window starts afresh in every window: its last event is the third
    (Window(3, CountDecimate(2)), [N7], [[0, 1, 2, 3, 4]], [2, 3, 4]),
    (Window(2, CountDecimate(2)), [N7], [[0, 1, 2, 3]], [0, 1, 2]),
    # an inner processor that is silent on a window gives nothing for it
    (Window(2, Trim(2)), [N7], [[0, 1, 2, 3]], []),
    (Window(3, Trim(2)), [N7], [[0, 1, 2, 3]], [2, 3]),
    (Window(2, Filter()), [N7, BOOL], [[1, 2, 3, 4], [True, False, False, True]], [1, 4]),
    # windows of windows
    (Window(2, Window(2, SUM)), [N7], [[1, 2, 3, 4]], [3, 5, 0]),
    (Window(3, Window(2, SUM)), [N7], [[1, 2, 3, 4]], [5, 0]),
    (Window(2, Window(3, SUM)), [N7], [[1, 2, 3, 4]], []),
    # a group with an inner join: (a+b), (a+b)+(b+c)
    (Window(3, steps_up), [N7], [[1, 1, 1, 2, 0]], [4, 5, 5]),
    (Window(1, steps_up), [N7], [[1, 1]], []),
    (Window(2, kept_sum), [N7, BOOL], [[1, 2, 3], [True, True, False]], [3, 2]),
    (Window(3, crossed), [N7, BOOL], [[1, 2, 3, 4], [True] * 4], [4, 5]),
]


@pytest.mark.parametrize("encoding", ["auto", "events", "copies"])
@pytest.mark.parametrize(("window", "domains", "streams", "expected"), EXAMPLES, ids=lambda x: str(x)[:30])
def test_examples(window, domains, streams, expected, encoding):
    ready = typed(Window(window.width, window.inner, encoding), *domains)
    assert ready.denote(tuple(streams)) == (expected,)
    assert stepped(ready, streams) == (expected,)
    assert machined(ready, domains, streams) == (expected,)


@pytest.mark.parametrize("window", [example[0] for example in EXAMPLES], ids=str)
@examples(25)
@given(data=st.data())
def test_both_encodings_against_both_definitions(window, data):
    domains = [N7, BOOL][: window.in_arity]
    streams = [data.draw(st.lists(st.sampled_from(tuple(d.values())), max_size=9)) for d in domains]
    ready = typed(window, *domains)
    expected = ready.denote(tuple(streams))
    assert stepped(ready, streams) == expected
    for encoding in ("events", "copies"):
        assert machined(typed(Window(window.width, window.inner, encoding), *domains), domains, streams) == expected


@pytest.mark.parametrize("encoding", ["events", "copies"])
def test_the_state_is_canonical(encoding):
    """The state is a function of the last events: no rotation, no left-overs of the warming up."""
    machine = MachineRun(typed(Window(3, SUM, encoding), N7).machine((N7,)), [N7])
    for value in (5, 6, 3, 4):
        machine.step((value,))
    longer = machine.state
    machine.reset()
    for value in (1, 3, 4):
        machine.step((value,))
    assert machine.state == longer


@pytest.mark.parametrize("encoding", ["events", "copies"])
@pytest.mark.parametrize("inner", [KeepLast(), Window(2, KeepLast(), "copies")], ids=str)
def test_slots_have_names_of_their_own(inner, encoding):
    machine = typed(Window(3, inner, encoding), N7).machine((N7,))
    assert len({slot.name for slot in machine.slots}) == len(machine.slots)


def test_the_encoding_with_fewer_bits_is_chosen():
    wide = Tuple((N7, N7, BOOL))
    count = Cumulate(f.as_function("or"), False)
    assert count.specialise((BOOL,))
    small_state = typed(Window(4, Group(_truth(wide))), wide)
    assert bits(small_state.machine((wide,))) == min(
        bits(typed(Window(4, Group(_truth(wide)), e), wide).machine((wide,))) for e in ("events", "copies")
    )
    assert any(s.name.startswith("age1") for s in small_state.machine((wide,)).slots)
    assert any(s.name == "event1" for s in typed(Window(4, SUM), N7).machine((N7,)).slots)


def _truth(domain):
    builder = Builder("truth")
    x = builder.input("x", domain)
    field = f.Function("third", 1, lambda t: t[2])
    return builder.build(Cumulate(f.OR)(ApplyFunction(field)(x)))


def test_the_end_of_a_window_is_the_end_of_its_stream():
    last = Window(2, CountDecimate(2, last=True))
    ready = typed(last, INT)
    assert ready.denote(([1, 2, 3],)) == stepped(ready, [[1, 2, 3]]) == ([2, 3],)
    finite = typed(last, Integer(5))
    assert machined(finite, [Integer(5)], [[1, 2, 3]]) == ([2, 3],)


def test_ends_flow_through_a_group_in_a_window():
    builder = Builder("sums")
    x = builder.input("x", INT)
    ready = typed(Window(4, builder.build(Cumulate(f.ADD)(CountDecimate(2, last=True)(x)))), INT)
    stream = [1, 2, 3, 4, 5]
    assert ready.denote((stream,)) == stepped(ready, [stream]) == ([1 + 3 + 4, 2 + 4 + 5],)


def test_windows_hold_one_output_and_at_least_one_event():
    with pytest.raises(PipelineError, match="one output"):
        Window(2, Fork(2))
    with pytest.raises(PipelineError, match="at least 1"):
        Window(0, SUM)


def test_windows_of_what_is_stateless():
    ready = typed(Window(3, Passthrough(), "copies"), N7)
    assert machined(ready, [N7], [[1, 2, 3, 4]]) == ([3, 4],)
