"""Tags: the entries against their specification, and that tagging changes no value and no step."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench import Pipeline
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import BOOL
from workbench.core.fields import Tuple
from workbench.core.processor import END
from workbench.errors import Overflow
from workbench.executors import Reference
from workbench.processors.held.group import flatten
from workbench.verify.analyses.tagging import UNTAGGED, FirstTag, tag_events
from workbench.verify.answer.replay import events_of

pairs = st.lists(st.tuples(st.booleans(), st.booleans()), max_size=6)


@given(pairs)
def test_the_first_tag_passes(stream: list[tuple[bool, bool]]) -> None:
    first = FirstTag().specialise((Tuple((BOOL, BOOL)),))
    state, found = first.initial(), []
    for value in stream:
        state, (out,) = first.step(state, (value,))
        assert out.present
        found.append(out.value)
    assert (found,) == first.denote((stream,))
    assert [value for value, _ in found] == [value for value, _ in stream]
    assert sum(tag for _, tag in found) == any(tag for _, tag in stream)


def test_other_inputs_have_no_tags() -> None:
    untagged = UNTAGGED.specialise((BOOL,))
    assert untagged.denote(([True, False],)) == ([(True, False), (False, False)],)
    assert [untagged.step((), (value,))[1][0].value for value in (True, False)] == [(True, False), (False, False)]


@given(st.data())
@examples(30)
def test_values_and_steps_stay_the_same(data: st.DataObject) -> None:
    pipeline = data.draw(pipelines())
    flat = flatten(pipeline)
    source = flat.inputs[0][0]
    plain, following = Reference(flat), Reference(tag_events(flat, source))
    for events in data.draw(traces(pipeline)):
        given = {n: (v, data.draw(st.booleans())) if n == source else v for n, v in events.items()}
        try:
            ours = plain.step(events)
        except Overflow:
            return
        theirs = following.step(END if events is END else given)
        for node in flat.nodes:
            for pipe in node.outputs:
                a, b = ours.pipes[pipe], theirs.pipes[pipe]
                assert bool(a.present) == bool(b.present)
                assert [value for value, _ in events_of(b.value)] == events_of(a.value)
        assert {name: theirs.queues[name] for name in ours.queues} == ours.queues


def test_a_tagged_pipeline_keeps_its_names() -> None:
    flat = Pipeline("p", (("x", BOOL), ("y", BOOL)), (), (("out", "x"), ("more", "y")))
    found = tag_events(flat, "x")
    assert [name for name, _ in found.inputs] == ["x", "y"]
    assert dict(found.outputs) == {"out": "x.tagged", "more": "y.plain"}
