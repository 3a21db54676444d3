"""Runs: what waits in queues, what varies in loops, and what becomes of a run that is sent elsewhere."""

import pickle
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.errors import Overflow
from workbench.executors.reference.executor import Reference
from workbench.ir.simulate import Simulator
from workbench.processors.held.group import flatten
from workbench.show.explorer import explorer
from workbench.verify.answer import replay
from workbench.verify.answer.replay import contents, events_of


@given(data=st.data(), q=st.integers(0, 3))
@examples(100)
def test_contents_are_what_the_running_queues_hold(data: st.DataObject, q: int) -> None:
    """What is derived from arrivals and lengths, against the deques of the executor, up to an overflow."""
    pipeline = flatten(data.draw(pipelines()))
    inputs = data.draw(traces(pipeline))
    capacities = dict.fromkeys(pipeline.queues, q)
    executor = Reference(pipeline, capacities)
    steps = Simulator(wb.compose(pipeline, capacities)).trace_to_overflow(inputs)
    for events, step, held in zip(inputs, steps, contents(pipeline, steps), strict=False):
        lengths = {queue: len(values) for queue, values in held.items()}
        assert lengths == {queue: step.queues[queue] for queue in pipeline.queues}
        try:
            executor.step(events)
        except Overflow:
            break
        assert held == executor.contents()


@given(data=st.data())
@examples(100)
def test_the_executor_shows_the_events_that_have_not_been_consumed(data: st.DataObject) -> None:
    """Against the definition: a join has taken as many fronts as its shortest input has had events."""
    pipeline = flatten(data.draw(pipelines()))
    executor = Reference(pipeline, {})
    arrived: dict[str, list[object]] = {pipe: [] for pipe in pipeline.domains}
    for events in data.draw(traces(pipeline)):
        try:
            record = executor.step(events)
        except Overflow:  # a checked number
            break
        for pipe, maybe in record.pipes.items():
            if maybe.present:
                arrived[pipe] += events_of(maybe.value)
        for node in pipeline.nodes:
            fronts = min(len(arrived[pipe]) for pipe in node.inputs)
            for queue, pipe in zip(node.queues, node.inputs, strict=False):
                assert executor.contents()[queue] == tuple(arrived[pipe][fronts:])


def test_an_event_that_finds_no_room_is_not_among_those_that_wait() -> None:
    late = wb.parse("pipeline p(x: int) -> int { return x + trim(x, 3) }").get().pipeline
    run = wb.check(late, wb.properties.no_overflow()).run
    assert run
    assert run.steps[-1].overflows == ("add.left",)
    assert run.steps[-1].contents["add.left"] == tuple(step.pipes["x"] for step in run.steps[:-1])


def test_a_wrong_queue_is_a_model_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """The contents are compared with the running queues, not only shown."""
    late = wb.parse("pipeline p(x: int) -> int { return x + trim(x, 3) }").get().pipeline
    monkeypatch.setattr(Reference, "lines", {"add.left": deque(), "add.right": deque()})
    run = wb.check(late, wb.properties.no_overflow()).run
    assert run
    assert run.replay == "model gap at step 0"


def test_a_wrong_event_in_the_midst_of_a_queue_is_a_model_gap(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of most steps the ends of queues are compared, of the last ones all that waits."""
    late = wb.parse("pipeline p(x: int) -> int { return x + trim(x, 9) }").get().pipeline
    right = Reference.contents

    def wrong(executor: Reference) -> dict[str, tuple[object, ...]]:
        return {queue: tuple(1 if i == 2 else v for i, v in enumerate(held)) for queue, held in right(executor).items()}

    monkeypatch.setattr(Reference, "contents", wrong)
    run = wb.check(late, wb.properties.no_overflow(), wb.Settings(q=4)).run
    assert run
    assert run.steps[-1].overflows
    assert run.replay == f"model gap at step {len(run.steps) - 2}"


def test_what_varies_from_round_to_round() -> None:
    text = """pipeline p(x: int) -> int {
        total = cumulate(x, +)
        kept = filter(total, x = 0)
        return kept
    }"""
    prop = wb.properties.property_from(wb.properties.parse_property("ltl(G F (x = 0))"))
    settings = wb.Settings(n=5, environment=wb.Environment("always"))
    run = wb.check(wb.parse(text).get().pipeline, prop, settings).run
    assert run
    assert run.loop is not None
    assert run.varies == ("total",)


def test_a_loop_in_which_nothing_varies() -> None:
    text = "pipeline p(x: int) -> int { return filter(x, x != x) }"
    run = wb.check(wb.parse(text).get().pipeline, wb.properties.response()).run
    assert run
    assert run.loop is not None
    assert run.varies == ()


def test_only_the_queues_that_the_property_sees_were_bounded() -> None:
    text = """pipeline p(x: int) -> int, int {
        a = x + trim(x, 1)
        b = x * trim(x, 5)
        return a, b
    }"""
    prop = wb.properties.property_from(wb.properties.parse_property("ctl(AG (a.present -> a = 0))"))
    run = wb.check(wb.parse(text).get().pipeline, prop).run
    assert run is not None
    assert run.pipeline is not None
    assert run.capacities == {"a.left": 2, "a.right": 2}
    assert flatten(run.pipeline).sources["b.left"] == "x"


def test_a_run_that_was_sent_to_another_process() -> None:
    late = wb.parse("pipeline p(x: int) -> int { return x + trim(x, 3) }").get().pipeline
    verdict = wb.check(late, wb.properties.no_overflow())
    again = pickle.loads(pickle.dumps(verdict))
    assert again == verdict
    assert again.run.pipeline is None
    assert again.run.inputs == verdict.run.inputs == ("x",)
    assert again.to_json()["trace"]["steps"] == verdict.to_json()["trace"]["steps"]
    assert "no drawing" in explorer([again])


def test_the_run_of_a_verdict() -> None:
    late = wb.parse("pipeline p(x: int) -> int { return x + trim(x, 3) }").get().pipeline
    fails, within = (
        wb.check(late, wb.properties.no_overflow()),
        wb.check(late, wb.properties.liveness(), wb.Settings(q=2)),
    )
    assert fails.run is fails.counterexample is not None
    assert within.run is within.witness is not None
    assert wb.check(late, wb.properties.liveness(), wb.Settings(q=3)).run is None


def test_nothing_waits_where_nothing_joins() -> None:
    plain = wb.parse("pipeline p(x: int) -> int { return x + 1 }").get().pipeline
    assert Reference(plain).contents() == {}
    assert replay.contents(plain, []) == []
    assert plain.sources == {}
