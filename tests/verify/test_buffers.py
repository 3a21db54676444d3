"""The smallest capacities, with answers known by hand; random pipelines are in tests/conformance/test_buffers.py."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from workbench import (
    BOOL,
    Environment,
    Integer,
    Overflowing,
    Pipeline,
    Range,
    Settings,
    Tuple,
    buffers,
    parse,
    read_file,
)
from workbench.core.term import FALSE
from workbench.errors import Overflow, PipelineError
from workbench.executors import Reference
from workbench.ir.compose import outline
from workbench.processors.held.group import flatten
from workbench.verify.answer.replay import show_growth, show_overflow
from workbench.verify.answer.trace import Growth
from workbench.verify.buffers.buffers import Buffer, QueueStatus, event_bits
from workbench.verify.buffers.pumping import _takes_same_events, record_run
from workbench.verify.buffers.search import never_ahead
from workbench.verify.maximum import spread


def load(text: str, **params: Any) -> Pipeline:
    return parse(text).get(None, **params).pipeline


def by_queue(pipeline: Pipeline, *, max: int = 64, **settings: Any) -> dict[str, Buffer]:
    return {item.queue: item for item in buffers(pipeline, Settings(**settings), max).queues}


def figure_2a() -> Pipeline:
    return read_file("models/time2021/figure_2a.pipe").get().pipeline


DISTANCE = "pipeline product<k = 3>(x: int) -> int { return x * trim(x, k - 1) }"
"""The first event meets the k-th one, so k - 1 events wait for it."""


# --- bounded ----------------------------------------------------------------------------------------------


@pytest.mark.sampled(4)
@pytest.mark.parametrize("k", range(2, 17))
def test_events_that_meet_later_ones_wait_for_them(k: int) -> None:
    found = buffers(load(DISTANCE, k=k))
    left, right = found.queues
    assert (left.queue, left.capacity, left.transient_capacity, left.for_every_n) == ("mul.left", k - 1, k, True)
    assert (right.queue, right.capacity, right.transient_capacity, right.for_every_n) == ("mul.right", 0, 1, True)
    assert len(left.witness.steps) == k - 1  # the (k - 1)-th event is one too many for k - 2 places
    assert left.witness.shortest
    assert left.witness.replay == "confirmed by execution"
    assert right.witness is None
    assert found.total_bits == 2 * (k - 1)  # two bits hold 0..3
    assert found.exit_code == 0


def test_data_that_control_does_not_look_at_costs_nothing() -> None:
    """The queue's length does not depend on N, its memory does."""
    found = buffers(load(DISTANCE, k=5), Settings(n=2**32))
    assert found.capacities == {"mul.left": 4, "mul.right": 0}
    assert found.total_bits == 4 * 32
    assert all(item.for_every_n for item in found.queues)


def test_sum_of_odds() -> None:
    found = buffers(read_file("models/time2021/sum_of_odds.pipe").get().pipeline)
    assert found.capacities == {"kept.data": 1, "kept.condition": 0}


def test_the_length_may_depend_on_values() -> None:
    """`count` is 0 at the events 4, 8, 12, ..., when N is 4; the events 2, 6, 10, ... wait for these."""
    source = """
    pipeline delayed(x: int) -> int {
        count = cumulate(turn(x, 1), +)
        return filter(count, count = 0) + decimate(trim(x, 1), 4)
    }"""
    found = by_queue(load(source), n=4)
    assert not found["add.left"].for_every_n
    assert "N = 4, modular integers" in found["add.left"].rests_on
    assert any("wraps" in line for line in found["add.left"].rests_on)
    assert (found["add.left"].capacity, found["add.right"].capacity) == (0, 1)


def test_with_inputs_together_nothing_waits() -> None:
    total = load("pipeline total(a: int, b: int) -> int { return a + b }")
    free = by_queue(total)
    assert {item.status for item in free.values()} == {QueueStatus.UNBOUNDED}
    together = buffers(total, Settings(environment=Environment("synchronised")))
    assert together.capacities == {"add.left": 0, "add.right": 0}
    assert "inputs synchronised: all carry an event, or none" in together.queues[0].rests_on


def test_three_streams() -> None:
    """The first of three waits for the one that is trimmed most."""
    source = "pipeline choice(x: int) -> int { return if x > 1 then trim(x, 2) else trim(x, 5) }"
    found = buffers(load(source))
    assert list(found.capacities.values()) == [5, 3, 0]


def pumped(buffer: Buffer) -> int:
    """The number of steps that are repeated for ever."""
    assert buffer.witness is not None
    assert buffer.witness.loop is not None
    return len(buffer.witness.steps) - buffer.witness.loop


def test_several_events_in_a_step() -> None:
    """Four events at once, of which each step takes one, and four more when one is left to be taken."""
    found = buffers(load("pipeline four(x: int) -> int { return stutter(decimate(x, 4), 4) + trim(x, 1) }"))
    assert list(found.capacities.values()) == [4, 0]
    assert len(found.queues[0].witness.steps) == 1
    left, right = buffers(load("pipeline more(x: int) -> int { return stutter(x, 3) + x }")).queues
    assert (left.status, left.growth, pumped(left)) == (QueueStatus.UNBOUNDED, 2, 1)
    assert right.capacity == 0


def test_the_end_of_the_stream() -> None:
    """The last event comes when no other comes any more, so it finds all the others waiting."""
    found = by_queue(load("pipeline last(x: int) -> int { return keep_last(x) + trim(x, 1) }"))
    assert "the input streams may end at any step" in found["add.left"].rests_on
    assert found["add.right"].status is QueueStatus.UNBOUNDED
    # of a stream of one event nothing is left to meet it
    assert (found["add.left"].capacity, found["add.left"].witness.steps[-1].ends) == (1, True)


def test_no_queues() -> None:
    found = buffers(load("pipeline sum(x: int) -> int { return cumulate(x, +) }"))
    assert (found.queues, found.total_bits, found.exit_code) == ((), 0, 0)


def test_capacities_of_the_pipeline_play_no_part() -> None:
    pipeline = load(DISTANCE, k=3).with_capacities({"mul.left": 0})
    assert buffers(pipeline).capacities == {"mul.left": 2, "mul.right": 0}


def test_bits_of_events() -> None:
    assert [event_bits(d) for d in (BOOL, Range(0, 0), Range(-3, 4), Integer(5))] == [1, 0, 3, 3]
    assert event_bits(Tuple((BOOL, Tuple((Integer(2**32), Range(0, 2)))))) == 1 + 32 + 2


# --- unbounded --------------------------------------------------------------------------------------------


def test_figure_2a_has_no_bound() -> None:
    """After i outputs the queue holds 2 i events (TIME 2021, section 2): two more with every third event."""
    found = buffers(figure_2a())
    left, right = found.queues
    assert (left.capacity, right.status, right.capacity, right.at_least) == (0, QueueStatus.UNBOUNDED, None, None)
    assert right.witness.replay == "confirmed by execution"
    assert (pumped(right), right.growth) == (3, 2)
    assert right.for_every_n
    assert found.total_bits is None
    assert found.exit_code == 1


def test_values_in_the_queue_that_the_cycle_takes_are_the_same_again() -> None:
    """The filter's conditions pile up and are looked at; only where all of them are false does `and` wait."""
    source = """
    pipeline waits(x: bool) -> bool {
        half = decimate(x, 2)
        return filter(half, x) and half
    }"""
    found = by_queue(load(source))
    assert found["filter.condition"].status is QueueStatus.UNBOUNDED
    item = found["both.right"]
    assert item.status is QueueStatus.UNBOUNDED
    cycle = item.witness.steps[item.witness.loop :]
    assert any(step.inputs["x"] is False for step in cycle)  # with true alone, nothing waits


LETTERS = st.lists(st.sampled_from("ab"), min_size=1, max_size=5)


@given(waiting=LETTERS, arrived=LETTERS, taken=st.integers(0, 5))
def test_the_same_events_are_taken_for_ever(waiting: list[str], arrived: list[str], taken: int) -> None:
    """Against fifty rounds of a real queue."""
    if taken >= len(arrived):
        return  # it would not grow
    line, rounds = list(waiting), []
    for _ in range(50):
        line += arrived
        rounds.append(line[:taken])
        line = line[taken:]
    asked = _takes_same_events(tuple((c,) for c in waiting), tuple((c,) for c in arrived), taken)
    assert asked == all(events == rounds[0] for events in rounds)


def test_a_recorded_run_ends_before_the_step_for_which_there_is_no_room() -> None:
    flat = flatten(figure_2a().resolve(Integer(4)))
    executor, lengths = Reference(flat, {}), [0]
    for _ in range(5):
        lengths.append(executor.step({"x": 0}).queues["add.right"])
    assert max(lengths) == 3
    run = record_run(outline(flat, dict.fromkeys(flat.queues, 2)), [FALSE], ({"x": 0},) * 5)
    assert run.lengths["add.right"] == lengths[: lengths.index(3)]
    assert len(run.states) == len(run.labels) + 1 == lengths.index(3)


def test_a_stream_that_does_not_pump_is_a_gap() -> None:
    flat = flatten(figure_2a().resolve(Integer(4)))
    steps: tuple[Mapping[str, Any], ...] = ({"x": 0},) * 5
    assert show_growth(flat, "add.right", Growth(steps, 2, 2, 3)).replay == "confirmed by execution"
    assert show_growth(flat, "add.right", Growth(steps, 2, 1, 3)).replay == "model gap at step 4"
    assert show_overflow(flat, "add.right", 2, steps).replay == "confirmed by execution"
    assert show_overflow(flat, "add.right", 1, steps).gap  # too early
    assert show_overflow(flat, "add.right", 3, steps).gap  # not at all


# --- below an unbounded queue -----------------------------------------------------------------------------


def test_bounded_below_an_unbounded_queue() -> None:
    """The sum of Figure 2a comes whenever `third` does, although one of its queues grows for ever."""
    source = """
    pipeline below(x: int) -> int {
        third = decimate(x, 3)
        return (third + x) - trim(third, 2)
    }"""
    found = by_queue(load(source))
    assert found["add.right"].status is QueueStatus.UNBOUNDED
    assert (found["sub.left"].capacity, found["sub.right"].capacity) == (2, 0)


def test_counting_needs_no_bound() -> None:
    """There are never more comparisons than events to compare, however long `<` lets one input wait."""
    source = "pipeline pairs(x: int, y: int) -> (bool, int) { return (x < y, x) }"
    flat = flatten(load(source).resolve(Integer(4)))
    found = by_queue(load(source))
    left, right = flat.queues[2:]
    assert found[left].capacity == 0
    assert found[left].rests_on[0].startswith("counting: ")
    assert found[right].status is QueueStatus.UNBOUNDED
    assert [never_ahead(flat, queue) for queue in flat.queues] == [False, False, True, False]


def test_what_is_not_known_is_said() -> None:
    """At most two, since two events of `y` are dropped. But that needs to know how the two joins' lengths relate."""
    source = "pipeline open(x: bool, y: bool) -> bool { return trim(y, 2) -> (x = y) }"
    item = by_queue(load(source), max=8)["implies.right"]
    assert (item.status, item.capacity, item.at_least) == (QueueStatus.UNKNOWN, None, 2)
    assert "no proven capacity: " in item.reason
    assert item.witness.replay == "confirmed by execution"


# --- limits -----------------------------------------------------------------------------------------------


def test_beyond_the_largest_capacity() -> None:
    item = by_queue(load(DISTANCE, k=6), max=3)["mul.left"]
    assert (item.status, item.capacity, item.at_least) == (QueueStatus.UNKNOWN, None, 4)
    assert by_queue(load(DISTANCE, k=6), max=5)["mul.left"].capacity == 5
    assert buffers(load(DISTANCE, k=6), max=3).exit_code == 3
    with pytest.raises(PipelineError, match="largest capacity to check is a whole number of at least 0, not -1"):
        buffers(load(DISTANCE), max=-1)


def test_no_time() -> None:
    item = by_queue(load(DISTANCE), seconds=1e-9)["mul.left"]
    assert (item.status, item.at_least) == (QueueStatus.UNKNOWN, 0)
    assert "time" in item.reason or "limit" in item.reason


def test_checked_numbers() -> None:
    """A queue that depends on one is known only up to where it leaves its domain; others do not mind."""
    source = """
    pipeline first(x: int) -> int {
        count = cumulate(turn(x, 1), +)
        return filter(count, count <= 2) + x
    }"""
    found = by_queue(load(source), n=4, integers=Overflowing.CHECKED)
    assert found["filter.data"].capacity == 0
    assert found["filter.data"].for_every_n
    assert found["add.right"].status is QueueStatus.UNKNOWN
    assert "checked domain" in found["add.right"].reason
    unseen = load("pipeline squares(x: int) -> int { c = cumulate(turn(x, 1), +) return c * trim(c, 7) }")
    item = by_queue(unseen, n=4, integers=Overflowing.CHECKED)["mul.left"]
    assert item.capacity == 7
    assert item.witness.replay.startswith("confirmed by execution up to step 3, where a number")


def testspread() -> None:
    assert spread(3, 6) == [3, 4, 5, 6]
    assert spread(0, 31)[0] == 0
    assert len(spread(0, 31)) == 8


# --- what is then enforced --------------------------------------------------------------------------------


def test_the_pipeline_with_its_capacities() -> None:
    """Exactly enough for what was assumed; a stream that breaks the assumption is an error that names the queue."""
    total = load("pipeline total(a: int, b: int) -> int { return a + b }")
    found = buffers(total, Settings(environment=Environment("always")))
    limited = found.bounding(total.with_capacities({}))
    assert Reference(limited).run({"a": [1, 2], "b": [3, 4]}) == {"out": [4, 6]}
    with pytest.raises(Overflow, match=r"'add\.left'"):
        Reference(limited).step({"a": 1})


def test_queues_inside_groups() -> None:
    inner = "pipeline pair(x: int) -> int { return x + trim(x, 1) }\n"
    outer = load(inner + "pipeline outer(x: int) -> int { p = pair(x) return p - trim(x, 4) }")
    found = buffers(outer)
    assert found.capacities == {"p.add.left": 1, "p.add.right": 0, "sub.left": 3, "sub.right": 0}
    limited = found.bounding(outer)
    assert flatten(limited).capacities == found.capacities
    events = list(range(20))
    assert Reference(limited).run(events) == Reference(outer).run(events)
    with pytest.raises(Overflow, match=r"'p\.add\.left'"):
        Reference(outer.with_capacities({"p.add.left": 0})).run(events)


def test_the_outer_pipeline_decides() -> None:
    text = """
    pipeline pair(x: int) -> int { capacity queue(add.left) = 0 return x + trim(x, 1) }
    pipeline outer(x: int) -> int { p = pair(x) q = pair(x) capacity queue(q.add.left) = 7 return p + q }
    """
    assert flatten(load(text)).capacities == {"p.add.left": 0, "q.add.left": 7}
    with pytest.raises(PipelineError, match=r"has no queue 'p\.ad\.left'"):
        load(text).with_capacities({"p.ad.left": 1})


def test_json() -> None:
    found = buffers(figure_2a()).to_json()
    assert {"queues", "total_bits"} <= set(found)
    assert found["total_bits"] is None
    left, right = found["queues"]
    assert {"queue", "capacity", "transient_capacity", "for_every_N", "witness"} <= set(left)
    assert (left["capacity"], left["transient_capacity"], left["witness"]) == (0, 1, None)
    assert (right["capacity"], right["transient_capacity"]) == (None, None)
    assert right["witness"]["loop"] == 2
