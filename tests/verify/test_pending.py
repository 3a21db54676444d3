"""Positions that wait in a temporal operator are a queue like others: named, bounded, asked about, computed."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

import workbench as wb
from workbench.core.processor import END
from workbench.errors import Overflow, PipelineError
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import outline
from workbench.processors.held.group import flatten, with_capacities
from workbench.verify.answer.problem import check
from workbench.verify.buffers.buffers import QueueStatus

TOGETHER = wb.Environment(arrivals="synchronised")


def pipeline(body: str, head: str = "a: bool, b: bool", more: str = "") -> wb.Pipeline:
    return wb.parse(f"pipeline p({head}) -> bool {{ {body} }}\n{more}").get("p").pipeline


UNTIL = "return until(a, b, pending = 1)"
TWO_WAIT = [{"a": True, "b": False}] * 2


def test_no_overflow_sees_it() -> None:
    verdict = wb.check(pipeline(UNTIL), wb.properties.no_overflow(), wb.Settings(environment=TOGETHER))
    assert verdict.outcome == "fails"
    run = verdict.counterexample
    assert run is not None
    assert [dict(step.inputs) for step in run.steps] == TWO_WAIT
    assert [step.queues["until.pending"] for step in run.steps] == [1, 1]
    assert run.steps[-1].overflows == ("until.pending",)
    assert run.replay == "confirmed by execution"


def test_others_call_it_by_the_same_name() -> None:
    verdict = wb.check(pipeline(UNTIL), wb.properties.liveness(), wb.Settings(q=2, environment=TOGETHER))
    assert verdict.outcome == "holds-within-bounds"
    bounds = "queues until.left: 2, until.right: 2, until.pending: 1: a queue overflows on some input"
    assert verdict.rests_on[0].startswith(bounds)
    full = wb.properties.property_from(wb.properties.parse_property("ctl(EF queue(until.pending).full)"))
    assert wb.check(pipeline(UNTIL), full, wb.Settings(environment=TOGETHER)).outcome == "holds"


@pytest.mark.parametrize("run", [Reference, lambda p: Compiled(p, {"until.left": 0, "until.right": 0}, machine=False)])
def test_executors_call_it_by_the_same_name(run) -> None:
    executor = run(pipeline(UNTIL))
    assert executor.step(TWO_WAIT[0]).queues["until.pending"] == 1
    with pytest.raises(Overflow, match=r"queue 'until\.pending' .*overflows: its capacity is 1"):
        executor.step(TWO_WAIT[1])


def test_its_capacity_is_given_as_that_of_others() -> None:
    """In the text, with settings, and where it runs: three positions may wait, and the fourth may not."""
    stated = pipeline(f"{UNTIL} capacity queue(until.pending) = 3")
    chosen = wb.Settings(q={"until.pending": 3}, environment=TOGETHER)
    for found in (
        wb.check(stated, wb.properties.no_overflow(), wb.Settings(environment=TOGETHER)),
        wb.check(pipeline(UNTIL), wb.properties.no_overflow(), chosen),
    ):
        assert found.counterexample is not None
        assert len(found.counterexample.steps) == 4
        assert found.counterexample.replay == "confirmed by execution"
    running = Reference(stated)
    assert [running.step(TWO_WAIT[0]).queues["until.pending"] for _ in range(3)] == [1, 2, 3]
    with pytest.raises(Overflow):
        running.step(TWO_WAIT[0])
    assert Reference(pipeline(UNTIL), {"until.pending": 2}).flat.inner_capacities == {"until.pending": 2}
    with pytest.raises(PipelineError, match="at least one position"):
        Reference(pipeline(UNTIL), {"until.pending": 0})


def test_a_group_keeps_the_capacity_that_it_is_given() -> None:
    text = """
        pipeline inner(a: bool) -> bool { return eventually(a, pending = 1) }
        pipeline p(a: bool) -> bool { y = inner(a)
            return y
            capacity queue(y.eventually.pending) = 4 }
    """
    assert flatten(wb.parse(text).get("p").pipeline).inner_capacities == {"y.eventually.pending": 4}


CLOCK = """
machine clock(x: bool) -> bool {
    state a: false
    state b: false
    state c: true
    a -> b
    b -> c
    c -> a
}
"""
"""True at every third event."""

BOUNDED = [
    ("return eventually(clock(a))", 2),
    ("return eventually(clock(a), pending = 1)", 2),  # what it has now does not matter
    ("return globally(a or clock(a) or not trim(a, 1), pending = 7)", None),
    ("return eventually(a or not trim(a, 1), pending = 7)", None),
    ("return until(not clock(a), clock(a))", 2),
    ("return eventually(stutter(clock(a), 2))", 4),
]


def longest(whole: wb.Pipeline, steps: int) -> int:
    """How many positions wait at the most, on any stream of so many events."""
    flat = flatten(whole)
    (queue,) = (node.pending for node in flat.nodes if node.pending)
    found = 0
    for events in itertools.product((False, True), repeat=steps):
        executor = Reference(with_capacities(flat, {queue: 4 * steps}))
        found = max(found, *(executor.step({"a": event}).queues[queue] for event in events))
    return found


@pytest.mark.sampled(2)
@pytest.mark.parametrize(("body", "capacity"), BOUNDED)
def test_buffers_finds_the_smallest_capacity(body: str, capacity: int | None) -> None:
    whole = pipeline(body, "a: bool", CLOCK)
    found = wb.buffers(whole)
    buffer = next(each for each in found.queues if each.queue.endswith(".pending"))
    most = longest(whole, 7)
    if buffer.status is QueueStatus.UNBOUNDED:
        assert capacity is None
        assert most >= 5
        return
    assert buffer.capacity == max(1, most)
    assert capacity in (None, buffer.capacity)
    if buffer.capacity > 1:
        assert buffer.witness is not None
        assert buffer.witness.replay == "confirmed by execution"
    bounded = found.bounding(whole)
    assert wb.check(bounded, wb.properties.no_overflow()).outcome == "holds"
    running = Reference(bounded)
    for events in itertools.product((False, True), repeat=6):
        running.reset()
        for event in events:
            running.step({"a": event})
    Compiled(bounded, machine=False)


def test_a_capacity_that_is_not_decided_is_not_taken_for_too_small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four is enough and two is not, and of three nothing is known: so it may be three."""

    def give_up_on_three(part: wb.Pipeline, prop: wb.properties.Property, settings: wb.Settings) -> wb.Verdict:
        verdict = check(part, prop, settings)
        three = "more than 3 positions" in str(prop.question(outline(part, settings.q)).failure)
        return replace(verdict, outcome=wb.Outcome.UNKNOWN, reason="no time") if three else verdict

    monkeypatch.setattr("workbench.verify.buffers.pending.check", give_up_on_three)
    found = wb.buffers(pipeline("return eventually(stutter(clock(a), 2))", "a: bool", CLOCK))
    (buffer,) = (each for each in found.queues if each.queue.endswith(".pending"))
    assert (buffer.status, buffer.capacity, buffer.at_least) == (QueueStatus.UNKNOWN, None, 3)
    assert buffer.reason == "no time"


def test_buffers_shows_a_stream_that_makes_ever_more_wait() -> None:
    found = wb.buffers(pipeline("return a -> globally(eventually(clock(a)))", "a: bool", CLOCK))
    inner, outer, left, right = found.queues
    assert (inner.queue, inner.capacity) == ("eventually.pending", 2)
    assert (outer.queue, outer.status, outer.growth) == ("globally.pending", QueueStatus.UNBOUNDED, 3)
    assert outer.witness is not None
    assert outer.witness.replay == "confirmed by execution"
    for each in (left, right):
        assert each.reason == "it depends on queues that have no proven capacity: globally.pending"
    assert found.exit_code == 1


def test_what_depends_on_it_is_not_concluded_from_its_overflow() -> None:
    """With room for one position the model sees only how the runs begin."""
    found = wb.buffers(pipeline("return a -> globally(a, pending = 1)", "a: bool"))
    inner, left, _ = found.queues
    assert inner.status is QueueStatus.UNBOUNDED
    assert left.status is QueueStatus.UNKNOWN
    assert left.reason == "queue globally.pending can overflow, and nothing is concluded from what follows"


def test_the_end_of_the_stream_is_part_of_a_run() -> None:
    text = "return eventually(keep_last(a), pending = 1)"
    assert wb.check(pipeline(text, "a: bool"), wb.properties.no_overflow()).outcome == "holds"
    running = Reference(pipeline(text, "a: bool"))
    running.step({"a": True})
    assert running.step(END).queues["eventually.pending"] == 0


@pytest.mark.parametrize("most", [2, *(pytest.param(most, marks=pytest.mark.slow) for most in (4, 16))])
def test_nested_operators_of_which_many_may_wait(most: int) -> None:
    """What they have in common has names, in the model and in the automaton of a formula, which is far larger else."""
    body = "globally(a -> eventually(b and eventually(a, pending = 16), pending = 16), pending = 16)"
    nested = pipeline(f"return {body.replace('16', str(most))}")
    limits = wb.Settings(seconds=60, memory_mb=400, engine="pynusmv", grow=0.5)
    assert wb.check(nested, wb.properties.response(), limits).outcome == "holds-within-bounds"
    assert wb.equiv(nested, nested, settings=limits).outcome == "holds-within-bounds"
