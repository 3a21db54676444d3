"""The two definitions of every processor, and its finite machine, on random streams of its samples."""

import itertools
from contextlib import suppress
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from tests.processors.common import machined, stepped
from workbench.conformance.generate.domains import values
from workbench.core.domain import BOOL, Enum, Integer, Overflowing, Range
from workbench.core.fields import Tuple
from workbench.core.form import Form
from workbench.core.kinds import Listening, in_turn, keeps_copies
from workbench.core.processor import NOTHING, Maybe, Processor, event
from workbench.errors import Overflow, WorkbenchError
from workbench.processors import CLASSES

SAMPLES: list[Processor] = [sample for kind in CLASSES.values() for sample in kind.samples()]
NAMED = pytest.mark.parametrize("processor", SAMPLES, ids=str)


FIRST = [
    Integer(4), BOOL, Range(0, 3), Integer(3, Overflowing.SATURATING), Integer(3, Overflowing.CHECKED),
    Enum(("red", "green")), Tuple((BOOL, Integer(2))), Tuple((BOOL, BOOL)),
]  # fmt: skip


@cache
def typings(processor):
    """The input domains that suit the processor, and it typed for them."""
    found = []
    for first, last in itertools.product(FIRST, FIRST):
        for middle in {first, last}:
            inputs = (first, middle, last)[: processor.in_arity] if processor.in_arity != 2 else (first, last)
            integers = first if isinstance(first, Integer) else Integer(4)
            with suppress(WorkbenchError):
                found.append((inputs, processor.resolve(integers).specialise(inputs)))
    return found


@st.composite
def runs(draw, processor):
    """Domains that suit the processor, it typed for them, and streams of different lengths."""
    inputs, ready = draw(st.sampled_from(typings(processor)))
    if ready.marks:
        fronts = [st.tuples(st.just(i), values(domain)) for i, domain in enumerate(inputs)]
        marked = draw(st.lists(st.one_of(fronts), max_size=8))
        times = iter(sorted(value for i, value in marked if i in ready.clocks))  # which never go back
        return inputs, ready, [[(i, next(times) if i in ready.clocks else value) for i, value in marked]]
    if isinstance(ready, Listening):
        brought = st.tuples(*(st.just(NOTHING) | values(domain).map(event) for domain in inputs))
        return inputs, ready, [draw(st.lists(brought.filter(lambda front: any(m.present for m in front)), max_size=8))]
    streams = inputs[:1] if ready.merges else inputs
    return inputs, ready, [draw(st.lists(values(d), max_size=8)) for d in streams]


@NAMED
def test_samples_can_be_used(processor):
    assert typings(processor)
    assert str(processor)
    assert processor.label


def backwards(work, jobs):
    """The work on copies, the last job first."""
    return iter([work(*job) for job in reversed(list(jobs))][::-1])


HOLDING = [each for each in SAMPLES if any(keeps_copies(ready) for _, ready in typings(each))]


@pytest.mark.parametrize("processor", HOLDING, ids=str)
@examples(40)
@given(data=st.data())
def test_copies_can_be_stepped_in_any_order(processor, data):
    _, ready, streams = data.draw(runs(processor))

    def outcome(each):
        try:
            return stepped(ready, streams, each=each)
        except WorkbenchError as error:
            return str(error)

    assert outcome(backwards) == outcome(in_turn)


@NAMED
@examples(40)
@given(data=st.data())
def test_step_against_denotation_against_machine_on_whole_streams_and_prefixes(processor, data):
    """The definitions agree, denotations are monotone, and what is in lockstep emits one event for every front."""
    inputs, ready, streams = data.draw(runs(processor))
    cut = [s[: data.draw(st.integers(0, len(s)))] for s in streams]
    try:
        found = stepped(ready, streams)
    except Overflow:
        return
    whole = ready.denote(tuple(streams))
    assert found == tuple(map(list, whole))
    if not ready.refusal(Form.MODEL) and processor.keyword:
        assert machined(ready, inputs, streams) == found
    for stream, domain in zip(found, ready.results(inputs), strict=True):
        assert all(value in domain for value in stream)
    part = ready.denote_open(tuple(cut))
    assert all(list(w[: len(p)]) == list(p) for w, p in zip(whole, part, strict=True))
    if processor.lockstep:
        in_lockstep(ready, streams)


def in_lockstep(ready, streams):
    state = ready.initial()
    for front in zip(*streams, strict=False):
        state, results = ready.step(state, front)
        assert [(type(out), out.present) for out in results] == [(Maybe, True)] * ready.out_arity
