"""Queues asked about behind a pipe: the answers are those of the whole pipeline."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples, scaled
from workbench.conformance.generate.pipelines import pipelines
from workbench.errors import Overflow
from workbench.processors.held.group import flatten
from workbench.verify.buffers import search as buffer_search
from workbench.verify.buffers.search import QueueQuestion, Regions


def chain(joins: int) -> wb.Pipeline:
    """Each sum adds a stream and itself without its first event."""
    builder = wb.Builder("chain")
    stream = builder.input("x")
    for _ in range(joins):
        stream = stream + wb.processors.Trim(1)(stream)
    return builder.build(stream)


def test_a_long_chain() -> None:
    """On the left one event waits for the one that has been left out, on the right none."""
    found = wb.buffers(chain(length := scaled(8, 15)))
    assert [b.capacity for b in found.queues] == [1, 0] * length
    last = found.queues[-2]
    assert any(f"enough for any events on 'add{length - 1}'" in said for said in last.rests_on)
    assert last.for_every_n
    assert last.witness.replay == "confirmed by execution"
    assert not last.witness.shortest
    assert found.queues[0].witness.shortest  # little lies before it


def test_a_short_pipeline_as_if_it_were_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """The part begins behind `c`; the pipeline is short, but is asked about as if it were long."""
    monkeypatch.setattr(buffer_search, "LONG", 0)
    source = "pipeline p(x: int) -> int { c = decimate(x, 2)  return trim(c, 2) - c }"
    assert [b.capacity for b in wb.buffers(wb.parse(source).get().pipeline).queues] == [0, 2]


def test_a_number_that_overflows_on_the_busy_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """The sum in the window leaves its domain at the third event; by then what came second has waited."""
    monkeypatch.setattr(buffer_search, "LONG", 0)
    source = """
        pipeline p(x: 0..1) -> 0..2 {
            one = cast(turn(x, 1), int checked 2)
            unused = window(trim(one, 1), 2, cumulate(+))
            return trim(x, 1) + x
        }
    """
    pipeline = wb.parse(source).get().pipeline
    executor = wb.executors.Reference(pipeline)
    with pytest.raises(Overflow):
        executor.run([0] * 5)
    assert [b.capacity for b in wb.buffers(pipeline).queues] == [0, 1]


def test_no_single_pipe_decides() -> None:
    flat = flatten(wb.parse("pipeline p(x: int, y: int) -> int { return x + y }").get().pipeline.resolve(wb.Integer(4)))
    assert Regions(flat).find(QueueQuestion(flat, "add.left", {}, wb.Settings(), 8)) is None


@given(data=st.data())
@examples(40)
def test_random_pipelines_have_the_same_capacities(data: st.DataObject) -> None:
    pipeline = data.draw(pipelines(max_inputs=2, max_nodes=5, max_bits=12, most_events=1))
    if not flatten(pipeline).queues:
        return
    whole = wb.buffers(pipeline, max=8)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(buffer_search, "LONG", 0)
        parts = wb.buffers(pipeline, max=8)
    for one, two in zip(whole.queues, parts.queues, strict=True):
        if one.status != "unknown":  # a part can settle what the whole leaves open
            assert (one.status, one.capacity) == (two.status, two.capacity), one.queue
