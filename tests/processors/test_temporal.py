"""Temporal operators against the semantics of LTL: a verdict is known when all continuations agree on it."""

import itertools

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
from workbench.core.domain import ANY, BOOL, INT, Integer
from workbench.core.form import Form
from workbench.errors import Overflow, PipelineError, Refused, TypingError
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.language import parse
from workbench.processors.apply import ApplyFunction
from workbench.processors.fork import Fork
from workbench.processors.held.group import Group
from workbench.processors.held.spawn import EventuallyOf, GloballyOf
from workbench.processors.past import Once
from workbench.processors.temporal import (
    Eventually,
    Eventually3,
    Globally,
    Globally3,
    Next,
    Next3,
    Release,
    Release3,
    Until,
    Until3,
)
from workbench.processors.trim import Trim
from workbench.verify.answer.problem import check as verify
from workbench.verify.answer.settings import Settings
from workbench.verify.ask.labels import property_from

BITS = (False, True)

# truth of a formula at the start of an infinite word: these letters, the last one for ever
TRUTH = {
    Globally: lambda w: all(a for (a,) in w),
    Eventually: lambda w: any(a for (a,) in w),
    Until: lambda w: any(w[j][1] and all(a for a, _ in w[:j]) for j in range(len(w))),
    Release: lambda w: all(w[j][1] or any(a for a, _ in w[:j]) for j in range(len(w))),
    Next: lambda w: w[1][0],
}
THREE: dict[type, type] = {Globally: Globally3, Eventually: Eventually3, Until: Until3, Release: Release3, Next: Next3}


def known(operator, word, arity):
    """The truth value on which all continuations agree, or None."""
    letters = list(itertools.product(BITS, repeat=arity))
    found = {TRUTH[operator]([*word, *more]) for more in itertools.product(letters, repeat=2)}
    return found.pop() if len(found) == 1 else None


@st.composite
def words(draw):
    operator = draw(st.sampled_from(list(TRUTH)))
    arity = operator.streams
    return operator, arity, draw(st.lists(st.tuples(*[st.booleans()] * arity), max_size=6))


@examples(200)
@given(words())
def test_streaming_verdicts(drawn):
    operator, arity, word = drawn
    processor = typed(operator() if operator is Next else operator(7), *[BOOL] * arity)
    streams = [[letter[i] for letter in word] for i in range(arity)]
    expected = list(itertools.takewhile(lambda v: v is not None, (known(operator, word[i:], arity)
                                                                 for i in range(len(word)))))  # fmt: skip
    assert processor.denote(tuple(streams)) == (expected,)
    assert stepped(processor, streams) == machined(processor, [BOOL] * arity, streams) == (expected,)


@examples(200)
@given(words())
def test_three_valued_verdicts(drawn):
    operator, arity, word = drawn
    processor = typed(THREE[operator](), *[BOOL] * arity)
    streams = [[letter[i] for letter in word] for i in range(arity)]
    names = {None: "unknown", True: "holds", False: "fails"}
    expected = [names[known(operator, word[: n + 1], arity)] for n in range(len(word))]
    assert processor.denote(tuple(streams)) == (expected,)
    assert stepped(processor, streams) == machined(processor, [BOOL] * arity, streams) == (expected,)


@pytest.mark.parametrize(("kind", "plain"), [(GloballyOf, Globally()), (EventuallyOf, Eventually())])
@given(stream=st.lists(st.integers(0, 3), max_size=9))
def test_copies_say_what_counting_does(kind, plain, stream):
    even = [x % 2 == 0 for x in stream]
    for inner, verdicts in [(ApplyFunction(f.EVEN), even), (_after(2), even[2:])]:
        copies = typed(kind(inner), INT)
        assert copies.denote((stream,)) == plain.denote((verdicts,)) == stepped(copies, [stream])


def _after(count):
    """A copy says at its third event whether that is even."""
    builder = Builder("after")
    return builder.build(ApplyFunction(f.EVEN)(Trim(count)(builder.input("x", INT))))


@given(stream=st.lists(st.booleans(), max_size=12))
def test_copies_that_decide_out_of_order(stream):
    """A copy waits for true: it says at once false for the first event after it that is true."""
    inner = _guard()
    for kind in (GloballyOf, EventuallyOf):
        copies = typed(kind(inner), BOOL)
        assert stepped(copies, [stream]) == copies.denote((stream,))


def _guard():
    from workbench.processors.filter import Filter

    builder = Builder("guard")
    x = builder.input("x", BOOL)
    return builder.build(Trim(1)(Filter()(x, x)))


RESPONSE = """
pipeline response(req: bool, ack: bool) -> bool {
    return globally(req -> eventually(ack, pending = 2), 3)
}
check never-false
pipeline doubt(x: bool) -> bool {
    return globally3(x) != holds
}
check never-false
"""


@pytest.mark.parametrize("other", [Denoting, Evaluated, Simulated])
def test_nested_formulas(other):
    pipeline = parse(RESPONSE).get("response").pipeline
    steps = [{"req": r, "ack": a} for r, a in [(1, 0), (0, 1), (1, 1), (0, 0), (1, 1)]]
    steps = [{name: bool(value) for name, value in step.items()} for step in steps]
    check(pipeline, steps, Running(pipeline), other(pipeline))


def test_they_are_checked():
    """The eventually never says false, so the implication does not, nor does the globally: it never speaks."""
    source = parse(RESPONSE)
    for name in source.pipelines:
        loaded = source.get(name)
        verdict = verify(loaded.pipeline, property_from(loaded.checks[0]), Settings(n=2, grow=0.5))
        # more positions can wait than may, and more events than the queue of the implication holds
        assert verdict.outcome == ("holds-within-bounds" if name == "response" else "holds")


def test_a_thousand_waiting_positions():
    builder = Builder("p")
    running = Reference(builder.build(Globally()(builder.input("x", BOOL))))
    assert [running.push(True) for _ in range(1000)] == [[]] * 1000
    assert running.push(False) == [False] * 1001
    assert running.push(True) == []


def test_more_positions_than_may_wait():
    builder = Builder("p")
    pipeline = builder.build(Globally(2)(builder.input("x", BOOL)))
    running = Reference(pipeline)
    running.push(True)
    running.push(True)
    with pytest.raises(Overflow, match=r"queue .globally.pending. overflows: its capacity is 2"):
        running.push(True)
    assert running.push(False) == [False] * 3


def test_what_the_model_refuses():
    builder = Builder("p")
    with pytest.raises(Refused, match=r"write until\(\.\.\., pending = 4\)"):
        compose(builder.build(Until()(builder.input("x", BOOL), builder.input("y", BOOL))))
    with pytest.raises(Refused, match=r"write eventually\(\.\.\., pending = 4\) on the stream of its verdicts"):
        typed(EventuallyOf(ApplyFunction(f.NOT)), BOOL).machine((BOOL,))
    assert Globally().refusal(Form.VALUES) == Globally(1).refusal(Form.MODEL) == ""


def test_mistakes():
    with pytest.raises(TypingError, match="'globally' takes bool, not int"):
        typed(Globally(), INT)
    for operator in (Eventually(), Globally3(), Next(), Once()):
        with pytest.raises(TypingError, match="takes bool, not any") as caught:  # its values need not be truth values
            typed(operator, ANY)
        assert caught.value.hint == "compare it, e.g. NAME = true"
    with pytest.raises(TypingError, match="emits int mod 3"):
        typed(GloballyOf(Trim(1)), Integer(3))
    with pytest.raises(TypingError, match="emits any"):
        typed(GloballyOf(Trim(1)), ANY)
    with pytest.raises(PipelineError, match="one output"):
        GloballyOf(Fork(2))
    with pytest.raises(PipelineError, match="at least one"):
        Globally(0)
    assert isinstance(GloballyOf(_guard()).inner, Group)
