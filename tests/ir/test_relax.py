"""Open queues: every run with unbounded queues is a run of the opened system, whatever waits beyond its capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.conformance.generate.pipelines import pipelines, traces
from workbench.core.domain import BOOL
from workbench.core.fields import Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.term import var
from workbench.ir.compose import compose
from workbench.ir.open_queues import brims, guesses, look_ahead, open_queues
from workbench.ir.simulate import Simulator
from workbench.ir.system import Input
from workbench.language import parse
from workbench.processors.held.group import flatten

ROOM = 8


class Both:
    """A pipeline with room for everything, and opened at a small capacity, on the same events."""

    def __init__(self, flat: Pipeline, queue: str, capacity: int) -> None:
        taken = look_ahead(flat)[queue]
        self.queue, self.capacity = queue, max(capacity, taken)
        self.first = self.capacity - taken
        self.domain = flat.domains[flat.sources[queue]]
        whole = compose(flat, ROOM)
        self.whole = Simulator(whole)
        self.stores = brims(flat, whole)[queue].stores
        bounded = compose(flat, {**dict.fromkeys(flat.queues, ROOM), queue: self.capacity})
        brim = brims(flat, bounded)[queue]
        self.sign = 1 if brim.full > 0 else -1
        small = open_queues(flat, bounded, [queue])
        level, events = guesses(queue, brim, self.domain, taken)
        domain = Tuple((level.domain, *[self.domain] * taken))
        guess = Input("guess", domain, var("guess:present", BOOL), (level, *events))
        self.small = Simulator(replace(small, inputs=(*small.inputs, guess)))
        self.length = 0

    def step(self, events: Mapping[str, Any]) -> bool:
        """Both take a step; the environment guesses what is there. False where there is no room for all events."""
        step = self.whole.step(events)
        if step.overflows:
            return False
        self.length = step.queues[self.queue]
        if events is END:  # nothing comes after it, so no guess is needed
            assert self.small.step(END).pipes == step.pipes
            return True
        unseen = (self._event(position) for position in range(self.first, self.capacity))
        guess = (self.sign * min(self.length, self.capacity), *unseen)
        followed = self.small.step({**events, "guess": guess})
        assert followed.pipes == step.pipes
        others = {name: n for name, n in step.queues.items() if name != self.queue}
        assert {name: n for name, n in followed.queues.items() if name != self.queue} == others
        return True

    def _event(self, position: int) -> Any:
        if position >= self.length:
            return self.domain.default
        state = dict(zip((v.name for v in self.whole.system.variables), self.whole.state, strict=True))
        return state[self.stores[position]]


@given(data=st.data(), capacity=st.integers(1, 2))
@examples(50)
def test_every_run_is_allowed(data: st.DataObject, capacity: int) -> None:
    """Events are scalar here, to keep the test's own reading of the stores simple."""
    pipeline = data.draw(pipelines(max_bits=16))
    flat = flatten(pipeline)
    scalar = [q for q in flat.queues if not isinstance(flat.domains[flat.sources[q]], Tuple)]
    assume(scalar)
    both = Both(flat, data.draw(st.sampled_from(scalar)), capacity)
    for events in data.draw(traces(pipeline, max_steps=ROOM)):
        if not both.step(events):
            break


@pytest.mark.parametrize(
    "text",
    [
        "pipeline p(x: 0..5, y: 0..5) -> 0..10 { return x + y }",
        "pipeline p(x: 0..5, y: bool) -> 0..5 { return filter(x, y) }",
        "pipeline p(x: bool, y: 0..5) -> 0..5 { return if x then y else y }",
        "pipeline p(x: bool, y: 0..5) -> (bool, 0..5) { return (stutter(x, 2), stutter(y, 2)) }",
    ],
)
def test_a_queue_without_bound_is_followed(text: str) -> None:
    """Events pile up beyond the capacity, are taken again, and come out in order."""
    flat = parse(text).get().pipeline
    both = Both(flat, flat.queues[0], 2)
    first, second = (domain for _, domain in flat.inputs)
    width = look_ahead(flat)[both.queue]
    for value in (list(first.values()) * 4)[: ROOM // width]:
        assert both.step({"x": value})
    assert both.length == ROOM
    for _ in range(ROOM // width):
        assert both.step({"y": second.default})
    assert both.length == 0


def test_it_allows_more() -> None:
    """That is the price: an opened queue may stay full although it was emptied."""
    flat = parse("pipeline p(x: 0..5, y: 0..5) -> 0..10 { return x + y }").get().pipeline
    both = Both(flat, "add.left", 1)
    both.small.step({"x": 1})
    both.small.step({"y": 1, "guess": (1, 4)})
    assert both.small.step({"y": 1}).pipes["add"] == 4 + 1
