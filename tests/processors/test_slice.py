"""Slices against a definition of their own: each slice is the inner denotation of a filtered stream."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.processors.common import machined, stepped, typed
from workbench.builder import Builder
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.core import function as f
from workbench.core.domain import BOOL, INT, STR, Enum, Integer, Range
from workbench.core.fields import FrozenMap, Map, Tuple
from workbench.core.form import Form
from workbench.core.function import Function, user_function
from workbench.core.ops import EQ
from workbench.core.processor import END
from workbench.errors import PipelineError, Refused, TypingError
from workbench.processors.apply import ApplyFunction
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.cumulate import Cumulate
from workbench.processors.filter import Filter
from workbench.processors.fork import Fork
from workbench.processors.held.group import Group
from workbench.processors.insert import Insert
from workbench.processors.keep_last import KeepLast
from workbench.processors.slices.slice import Slice
from workbench.processors.slices.slice_last import SliceLast
from workbench.processors.stutter import Stutter
from workbench.processors.trim import Trim

N4 = Integer(4)
SUM, EVEN = Cumulate(f.ADD), f.EVEN
NAME, AMOUNT = Function("name", 1, lambda e: e[0]), Function("amount", 1, lambda e: e[1])
ZERO = Function("zero", 1, lambda a: EQ(a, 0))
M = FrozenMap
T, F = True, False


def amounts(domain):
    builder = Builder("amounts")
    return builder.build(SUM(ApplyFunction(AMOUNT)(builder.input("e", domain))))


def test_the_sum_of_each_account():
    """The paper's dispatching, by hand."""
    domain = Tuple((STR, INT))
    accounts = typed(Slice(NAME, amounts(domain)), domain)
    stream = [("a", 1), ("b", 5), ("a", 2)]
    expected = [M(a=1), M(a=1, b=5), M(a=3, b=5)]
    assert accounts.results((domain,)) == (Map(STR, INT),)
    assert accounts.denote((stream,)) == stepped(accounts, [stream]) == (expected,)


@examples(60)
@given(st.lists(st.integers(0, 3), max_size=9), st.sampled_from([SUM, Trim(1), CountDecimate(2), Stutter(2)]))
def test_every_slice_is_the_inner_processor_on_its_part(stream, inner):
    slice = typed(Slice(EVEN, inner), N4)
    run = typed(inner, N4)
    expected = []
    for size in range(1, len(stream) + 1):
        found = {}
        for parity in (True, False):
            (out,) = run.denote_open(([x for x in stream[:size] if (x % 2 == 0) is parity],))
            if out:
                found[parity] = out[-1]
        expected.append(FrozenMap(found))
    assert slice.denote((stream,)) == (expected,)
    assert stepped(slice, [stream]) == machined(slice, [N4], [stream]) == (expected,)


IS_3 = Function("is 3", 1, lambda a: EQ(a, 3))

EXAMPLES = [
    # what goes to all slices goes to those there are
    (Slice(EVEN, SUM, to_all=ZERO), [0, 1, 0, 2, 0, 3],
     [M(), M({False: 1}), M({False: 1}), M({False: 1, True: 2}), M({False: 1, True: 2}), M({False: 0, True: 2})]),
    (Slice(EVEN, Cumulate(Function("count", 2, lambda n, _: n + 1, start=0)), to_all=ZERO), [1, 0, 2, 0],
     [M({False: 1}), M({False: 2}), M({False: 2, True: 1}), M({False: 3, True: 2})]),
    # a slice that has ended starts afresh; its last event stays, or not
    (Slice(EVEN, SUM, until=IS_3), [1, 2, 2, 3, 1],
     [M({False: 1}), M({False: 1, True: 2}), M({False: 1, True: 0}), M({False: 0, True: 0}), M({False: 1, True: 0})]),
    (Slice(EVEN, SUM, until=f.ODD), [1, 1, 2], [M({False: 1}), M({False: 1}), M({False: 1, True: 2})]),
    (Slice(EVEN, SUM, until=f.ODD, forget=True), [1, 2, 3, 2], [M(), M({True: 2}), M({True: 2}), M({True: 0})]),
    # of several events at once the last one decides whether a slice ends: 3 and 1 do not end it, 3 does
    (Slice(EVEN, Insert(3), until=IS_3, forget=True), [1, 3, 1], [M({False: 1}), M(), M({False: 1})]),
    # a slice that has ended is not among those there are: 0, for all, does not start it afresh
    (Slice(EVEN, SUM, to_all=ZERO, until=f.ODD), [1, 0, 2, 0, 1],
     [M({False: 1}), M({False: 1}), M({False: 1, True: 2}), M({False: 1, True: 2}), M({False: 1, True: 2})]),
    # slices speak at the end
    (Slice(EVEN, KeepLast()), [1, 2, 3], [M(), M(), M(), M({False: 3, True: 2})]),
    (Slice(EVEN, CountDecimate(2, last=True)), [1, 2, 3], [M({False: 1}), M({False: 1, True: 2}),
                                                        M({False: 1, True: 2}), M({False: 3, True: 2})]),
    (Slice(EVEN, KeepLast()), [], []),
    # of several events at once the last one counts
    (Slice(EVEN, Stutter(2)), [1, 2], [M({False: 1}), M({False: 1, True: 2})]),
]  # fmt: skip


@pytest.mark.parametrize(("processor", "stream", "expected"), EXAMPLES, ids=lambda x: str(x)[:40])
def test_examples(processor, stream, expected):
    ready = typed(processor, N4)
    assert ready.denote((stream,)) == (expected,)
    assert stepped(ready, [stream]) == (expected,)
    assert machined(ready, [N4], [stream]) == (expected,)


LAST = [
    (SliceLast(EVEN, SUM), [1, 2, 3], [(F, 1), (T, 2), (F, 0)]),
    (SliceLast(EVEN, SUM, to_all=ZERO), [1, 0, 2, 0], [(F, 1), (F, 1), (T, 2), (F, 1), (T, 2)]),
    (SliceLast(EVEN, Trim(1)), [1, 2, 3, 3], [(F, 3), (F, 3)]),
    (SliceLast(EVEN, SUM, until=f.ODD), [2, 1, 1, 2], [(T, 2), (F, 1), (F, 1), (T, 0)]),
    (SliceLast(EVEN, Insert(1), until=f.ODD), [2, 2, 1, 1], [(T, 2), (T, 2), (F, 1), (F, 1)]),
    (SliceLast(EVEN, SUM, to_all=ZERO, until=f.ODD), [1, 0, 2, 0], [(F, 1), (T, 2), (T, 2)]),
    (SliceLast(EVEN, KeepLast()), [1, 2, 3], [(F, 3), (T, 2)]),
    (SliceLast(Function("same", 1, lambda a: a), SUM), [3, 3], [(3, 3), (3, 2)]),
]


@pytest.mark.parametrize(("processor", "stream", "expected"), LAST, ids=lambda x: str(x)[:40])
def test_what_slices_say_as_it_comes(processor, stream, expected):
    ready = typed(processor, N4)
    assert ready.denote((stream,)) == (expected,)
    assert stepped(ready, [stream]) == (expected,)
    assert machined(ready, [N4], [stream]) == (expected,)
    pipeline = Builder("p")
    whole = pipeline.build(processor(pipeline.input("x", N4)))
    steps = [{"x": x} for x in stream] + ([END] if processor.finishes else [])
    for other in (Denoting(whole), Evaluated(whole)):
        check(whole, steps, Running(whole), other)


def nested():
    """Slices of a pipeline with a queue, in a pipeline with a queue; the keys are colours."""
    domain = Tuple((Enum(("red", "green")), Integer(3)))
    inside = Builder("inside")
    amount = ApplyFunction(AMOUNT)(inside.input("e", domain))
    builder = Builder("nested")
    x = builder.input("x", domain)
    totals = builder.add(Slice(NAME, inside.build(amount + Trim(1)(amount))), [x], name="totals")
    builder.add(ApplyFunction(f.GET), [totals, Trim(1)(ApplyFunction(NAME)(x)), ApplyFunction(AMOUNT)(x)], name="got")
    return builder.build({"totals": totals, "got": builder.stream("got")})


STEPS = [{"x": e} for e in [("red", 1), ("red", 2), ("green", 1), ("red", 2), ("green", 2), ("green", 0)]]


@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
def test_in_a_pipeline(other):
    pipeline = nested()
    check(pipeline, STEPS, Running(pipeline), other(pipeline))
    assert [o.pipes["totals"] for o in Running(pipeline).trace(STEPS)] == [
        M(), M(red=0), M(red=0), M(red=1), M(red=1, green=0), M(red=1, green=2)]  # fmt: skip


@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
def test_the_end_reaches_every_slice(other):
    builder = Builder("ends")
    pipeline = builder.build(Slice(EVEN, KeepLast(), to_all=ZERO)(builder.input("x", N4)))
    steps = [{"x": v} for v in (1, 2, 0, 3)] + [END]
    check(pipeline, steps, Running(pipeline), other(pipeline))
    assert list(Running(pipeline).trace(steps))[-1].pipes["slice"] == M({False: 3, True: 0})


def test_slices_of_fronts():
    greatest = typed(Slice(f.LT, ApplyFunction(f.MAX)), Range(0, 3), Range(0, 3))
    streams = [[1, 3, 2], [2, 0, 0]]
    expected = [M({True: 2}), M({True: 2, False: 3}), M({True: 2, False: 2})]
    assert stepped(greatest, streams) == machined(greatest, [Range(0, 3)] * 2, streams) == (expected,)


def test_the_last_event_is_not_kept_twice():
    slots = [slot.name for slot in typed(Slice(EVEN, SUM), N4).machine((N4,)).slots]
    assert slots == ["total.false", "is_present.false", "total.true", "is_present.true"]
    assert "shown.true" in [slot.name for slot in typed(Slice(EVEN, Trim(1)), N4).machine((N4,)).slots]


def test_maps_do_not_change_afterwards():
    """BeepBeep emits the same mutable map each time."""
    ready = typed(Slice(EVEN, SUM), INT)
    (first,), (second,) = (stepped(ready, [stream])[0][-1:] for stream in ([1], [1, 2]))
    assert first == M({False: 1})
    assert second == M({False: 1, True: 2})


def test_what_the_model_refuses():
    names = typed(Slice(NAME, amounts(Tuple((STR, INT)))), Tuple((STR, INT)))
    assert names.refusal(Form.VALUES) == ""
    assert names.refusal(Form.MODEL) == (
        "there may be too many slices, one for each value of str, and a model has 64 at most"
    )
    with pytest.raises(Refused, match="too many slices"):
        names.machine((Tuple((STR, INT)),))
    secret = user_function(lambda a: a > 1, result=BOOL, name="secret")
    assert "secret" in typed(Slice(secret, SUM), INT).refusal(Form.MODEL)
    assert typed(Slice(secret, SUM), N4).refusal(Form.MODEL) == ""
    assert "secret" in typed(Slice(EVEN, ApplyFunction(secret)), INT).refusal(Form.MODEL)
    builder = Builder("odd")
    x = builder.input("x", N4)
    grows = builder.build(x + Filter()(x, ApplyFunction(f.ODD)(x)))
    with pytest.raises(Refused, match="longer and longer"):
        typed(Slice(EVEN, grows), N4).machine((N4,))


def test_mistakes():
    with pytest.raises(PipelineError, match="one output"):
        Slice(EVEN, Fork(2))
    with pytest.raises(PipelineError, match="'key' of slice needs a function of 1, '\\+' takes 2"):
        Slice(f.ADD, SUM)
    with pytest.raises(PipelineError, match="never forgotten"):
        Slice(EVEN, SUM, forget=True)
    with pytest.raises(TypingError, match="'to_all' of slice is a condition, 'neg' gives int"):
        typed(Slice(EVEN, SUM, to_all=f.NEG), INT)
    with pytest.raises(TypingError, match="'until' of slice"):
        typed(Slice(EVEN, SUM, until=f.NEG), INT)
    whole = amounts(Tuple((STR, INT)))
    assert Slice(NAME, Group(whole)) == Slice(NAME, whole)
