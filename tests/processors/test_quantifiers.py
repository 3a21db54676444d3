"""Quantifiers against truth values computed one by one, with Python's `all` and `any`."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.processors.common import machined, stepped, typed
from workbench.conformance.compare.differential import check
from workbench.conformance.compare.executables import Denoting, Running
from workbench.conformance.compare.models import Evaluated, Simulated
from workbench.core import function as f
from workbench.core.domain import ANY, BOOL, INT, Integer, Range
from workbench.core.fields import Tuple
from workbench.core.form import Form
from workbench.core.function import Function, user_function
from workbench.errors import Overflow, PipelineError, Refused, TypingError
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.ir.simulate import Simulator
from workbench.language import parse
from workbench.processors.apply import ApplyFunction
from workbench.processors.fork import Fork
from workbench.processors.held.quantifiers import Exists, ForAll
from workbench.processors.temporal import Until

PAIR = Tuple((Range(0, 3), Range(0, 3)))
FIELDS = Function("fields", 1, lambda e: e)
AT_LEAST = Function("at_least", 2, lambda v, e: v >= e[0])
T, F = True, False


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=6))
def test_a_condition_on_the_same_event(stream):
    for kind, python in ((ForAll, all), (Exists, any)):
        processor = typed(kind(FIELDS, ApplyFunction(AT_LEAST)), PAIR)
        expected = [python(v >= e[0] for v in e) for e in stream]
        assert processor.denote((stream,)) == stepped(processor, [stream]) == (expected,)
        assert machined(processor, [PAIR], [stream]) == (expected,)


TEXT = """
function members(e) = (e.0, e.1)
function same(v, e) = v = e.0

# of every value in an event: it comes first in some event, from this one on
pipeline comes(v: 0..3, e: (0..3, 0..3)) -> bool { return eventually(apply(v, e, same)) }
pipeline all_come(e: (0..3, 0..3)) -> bool { return forall(e, members, comes) }
pipeline one_comes_later(e: (0..3, 0..3)) -> bool { return exists(e, members, next_is) }
pipeline next_is(v: 0..3, e: (0..3, 0..3)) -> bool { return next(apply(v, e, same)) }
"""


@given(st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3)), max_size=7))
def test_a_condition_on_later_events(stream):
    source, size = parse(TEXT), len(stream)
    comes = []
    for i, e in enumerate(stream):
        if not {*e} <= {first for first, _ in stream[i:]}:
            break
        comes.append(True)
    later = [stream[i + 1][0] in stream[i] for i in range(size - 1)]
    for name, expected in [("all_come", comes), ("one_comes_later", later)]:
        pipeline = source.get(name).pipeline
        steps = [{"e": e} for e in stream]
        assert pipeline.denote([stream]) == (expected,)
        check(pipeline, steps, Running(pipeline), Denoting(pipeline))


FEW = Tuple((Range(0, 1), Range(0, 1)))
WAITING = (
    TEXT.replace("0..3", "0..1")
    .replace("members, comes", "members, comes, pending = 3")
    .replace("next_is)", "next_is, pending = 1)", 1)
)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
@pytest.mark.parametrize("name", ["all_come", "one_comes_later"])
@settings(max_examples=8)
@given(stream=st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), max_size=3))
def test_copies_that_wait_in_a_model(other, name, stream):
    """What they say is told above; here a model says the same, and as many wait."""
    pipeline = parse(WAITING).get(name).pipeline
    check(pipeline, [{"e": e} for e in stream], Running(pipeline), other(pipeline))


def test_more_wait_than_may():
    pipeline = parse(WAITING).get("all_come").pipeline
    fronts = [(0, 1)] * 4
    running = Reference(pipeline)
    assert [running.step({"e": e}).queues["forall.pending"] for e in fronts[:3]] == [1, 2, 3]
    with pytest.raises(Overflow, match=r"queue 'forall.pending' overflows: its capacity is 3 and more positions"):
        running.step({"e": fronts[3]})
    with pytest.raises(Overflow, match="its capacity is 3 and 4 positions would wait"):
        pipeline.node("forall").processor.specialise((FEW,)).denote((fronts,))
    full = Simulator(compose(pipeline))
    assert [full.step({"e": e}).overflows for e in fronts] == [(), (), (), ("forall.pending",)]
    with pytest.raises(PipelineError, match="at least one position"):
        ForAll(FIELDS, ApplyFunction(AT_LEAST), 0)


def test_verdicts_come_in_the_order_of_positions():
    """The second position is decided first, and waits for the first one."""
    pipeline = parse(TEXT).get("all_come").pipeline
    shown = [o.pipes["forall"] for o in Running(pipeline).trace([{"e": e} for e in [(0, 3), (1, 1), (3, 3)]])]
    assert shown == [None, None, [T, T, T]]


def test_no_values():
    none = user_function(lambda e: (), result=ANY, name="none")
    for kind, empty in ((ForAll, True), (Exists, False)):
        assert stepped(typed(kind(none, ApplyFunction(f.EQ)), ANY), [[1, 2]]) == ([empty, empty],)


RICH = """
function name(e) = e.0
function rich(who, m) = get(m, who, 0) > 1
pipeline total(e: ({ann, bob}, 0..1)) -> int sat 4 { return cumulate(cast(e.1, int sat 4), +) }
"""


@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
def test_over_the_keys_of_a_map(other):
    text = RICH + (
        "pipeline all_rich(e: ({ann, bob}, 0..1)) -> bool, bool {\n"
        "  m = slice(e, name, total)\n  return forall(m, itself, rich), exists(m, itself, rich)\n}"
    )
    itself = Function("itself", 1, lambda m: m)
    pipeline = parse(text, functions={"itself": itself}).get().pipeline
    events = [("ann", 1), ("ann", 1), ("bob", 0), ("bob", 1), ("bob", 1)]
    check(pipeline, [{"e": e} for e in events], Running(pipeline), other(pipeline))
    assert pipeline.denote([events]) == ([F, T, F, F, T], [F, T, T, T, T])


def test_what_the_model_refuses():
    slow = typed(parse(TEXT).get("all_come").pipeline.node("forall").processor, PAIR)
    assert slow.refusal(Form.VALUES) == ""
    assert slow.refusal(Form.MODEL) == "nothing bounds how many positions wait; write forall(..., pending = 4)"
    with pytest.raises(Refused, match="nothing bounds"):
        slow.machine((PAIR,))
    assert slow.with_capacity(2).refusal(Form.MODEL) == ""
    over_int = typed(ForAll(Function("one", 1, lambda a: (a,)), ApplyFunction(f.EQ)), INT)
    assert "not finitely many" in over_int.refusal(Form.MODEL)


def test_mistakes():
    with pytest.raises(TypingError, match="not over int mod 3"):
        typed(ForAll(Function("itself", 1, lambda a: a), ApplyFunction(f.EQ)), Integer(3))
    mixed = Tuple((INT, BOOL))
    with pytest.raises(TypingError, match="of int and bool"):
        typed(Exists(FIELDS, ApplyFunction(f.EQ)), mixed)
    with pytest.raises(TypingError, match=r"emits 0\.\.3"):
        typed(ForAll(FIELDS, ApplyFunction(Function("first", 2, lambda v, e: v))), PAIR)
    with pytest.raises(TypingError, match="emits any"):
        typed(ForAll(FIELDS, ApplyFunction(Function("first", 2, lambda v, e: v))), Tuple((ANY, ANY)))
    with pytest.raises(PipelineError, match="one input"):
        ForAll(FIELDS, ApplyFunction(f.NOT))
    with pytest.raises(PipelineError, match="one output"):
        ForAll(FIELDS, Fork(2))
    assert ForAll(FIELDS, Until()).in_arity == 1
