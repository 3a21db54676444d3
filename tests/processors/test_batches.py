"""Batches of a stream: packed into tuples, and each through a processor started afresh."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processors.common import machined, stepped, typed
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.core import function as f
from workbench.core.domain import ANY, BOOL, INT, Integer, Overflowing
from workbench.errors import Overflow, PipelineError, Refused, TypingError
from workbench.language import parse
from workbench.processors.cumulate import Cumulate
from workbench.processors.fork import Fork
from workbench.processors.held.reset_last import ResetLast
from workbench.processors.pack import Pack

T, F = True, False


def batches(events, flags):
    """Events up to and including each true flag."""
    found, current = [], []
    for value, over in zip(events, flags, strict=False):
        current.append(value)
        if over:
            found.append(current)
            current = []
    return found


@given(st.lists(st.tuples(st.integers(0, 3), st.booleans()), max_size=9))
def test_sums_of_batches(fronts):
    events, flags = [[front[i] for front in fronts] for i in range(2)]
    ready = typed(ResetLast(Cumulate(f.ADD)), Integer(4), BOOL)
    expected = [sum(batch) % 4 for batch in batches(events, flags)]
    assert ready.denote((events, flags)) == stepped(ready, [events, flags]) == (expected,)
    assert machined(ready, [Integer(4), BOOL], [events, flags]) == (expected,)


@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
def test_in_the_language(other):
    text = """
    pipeline pairs(x: int mod 4) -> int mod 4 { return x + trim(x, 1) }
    pipeline p(x: int mod 4) -> int mod 4 { return reset_last(x, x = 0, pairs) }"""
    pipeline = parse(text).get().pipeline
    steps = [{"x": x} for x in (1, 2, 3, 0, 0, 2, 0)]
    check(pipeline, steps, Running(pipeline), other(pipeline))
    assert pipeline.denote([[s["x"] for s in steps]]) == ([3, 2],)


def test_tuples():
    ready = typed(Pack(), INT, BOOL)
    for events, flags, expected in [
        ([1, 2, 3, 4], [F, F, T, F], [(1, 2), (3, 4)]),
        ([1, 2], [T, T], [(), (1,), (2,)]),
        ([], [], []),
        ([1, 2, 3], [F, T], [(1,), (2,)]),
    ]:
        assert ready.denote((events, flags)) == stepped(ready, [events, flags]) == (expected,)
    assert stepped(ready, [[1, 2], [F, T]], end=False) == ready.denote_open(([1, 2], [F, T])) == ([(1,)],)
    assert ready.results((INT, BOOL)) == (ANY,)


@given(st.lists(st.tuples(st.integers(), st.booleans()), max_size=9))
def test_unpack_undoes_pack(fronts):
    pipeline = parse("pipeline p(x: int, b: bool) -> any { return unpack(pack(x, b)) }").get().pipeline
    events, flags = [[front[i] for front in fronts] for i in range(2)]
    assert pipeline.denote([events, flags]) == (events,)
    steps = [{"x": x, "b": b} for x, b in fronts]
    check(pipeline, steps, Running(pipeline), Denoting(pipeline))


def test_mistakes():
    with pytest.raises(TypingError, match="second stream of 'pack'"):
        typed(Pack(), INT, INT)
    with pytest.raises(TypingError, match="last stream of 'reset_last'"):
        typed(ResetLast(Cumulate(f.ADD)), INT, INT)
    with pytest.raises(PipelineError, match="one output"):
        ResetLast(Fork(2))
    with pytest.raises(Refused, match="no bounded length"):
        typed(Pack(), Integer(2), BOOL).machine((Integer(2), BOOL))


def test_a_batch_that_has_not_ended_can_be_an_error():
    """A checked sum leaves its domain in it: the specification says so, as what runs does."""
    ready = typed(ResetLast(Cumulate(f.ADD)), Integer(4, Overflowing.CHECKED), BOOL)
    for run in (ready.denote, lambda streams: stepped(ready, list(streams))):
        assert run(([3, 3], [T, F])) == ([3],)
        with pytest.raises(Overflow):
            run(([3, 3], [F, F]))
