"""Open queues: every run with unbounded queues is a run of the opened system, whatever waits beyond its capacity."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from workbench.conformance.strategies import pipelines, traces
from workbench.core.domain import BOOL, Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.term import var
from workbench.ir.compose import compose
from workbench.ir.relax import brims, can_open, opened
from workbench.ir.simulate import Simulator
from workbench.ir.system import Input
from workbench.language import parse
from workbench.processors.group import flatten

ROOM = 7


class Both:
    """A pipeline with room for everything, and opened at a small capacity, on the same events."""

    def __init__(self, flat: Pipeline, queue: str, capacity: int) -> None:
        self.queue, self.capacity = queue, capacity
        self.domain = flat.domains[flat.sources[queue]]
        whole = compose(flat, ROOM)
        self.whole = Simulator(whole)
        self.stores = brims(flat, whole)[queue].stores
        small = opened(flat, compose(flat, {**dict.fromkeys(flat.queues, ROOM), queue: capacity}), [queue])
        name, domain = f"{queue}.unseen", self.domain
        guess = Input(name, domain, var(f"{name}:present", BOOL), var(f"{name}:value", domain))
        self.small = Simulator(replace(small, inputs=(*small.inputs, guess)))
        self.level = brims(flat, small)[queue].level
        self.length = 0

    def step(self, events: Mapping[str, Any]) -> bool:
        """Both take a step; the environment guesses what is there. False where there is no room for all events."""
        step = self.whole.step(events)
        if step.overflows:
            return False
        self.length = step.queues[self.queue]
        guess = {}
        if self.length >= self.capacity:  # still that many or more: say so, and which event comes last in sight
            guess = {f"{self.queue}.unseen": self._event(self.capacity - 1)}
        followed = self.small.step(END if events is END else {**events, **guess})
        assert followed.pipes == step.pipes
        others = {name: n for name, n in step.queues.items() if name != self.queue}
        assert {name: n for name, n in followed.queues.items() if name != self.queue} == others
        return True

    def _event(self, position: int) -> Any:
        state = dict(zip((v.name for v in self.whole.system.variables), self.whole.state, strict=True))
        store = self.stores[position]
        return state[store]


@given(data=st.data(), capacity=st.integers(1, 2))
@settings(max_examples=50)
def test_every_run_is_allowed(data: st.DataObject, capacity: int) -> None:
    """Events are scalar here, to keep the test's own reading of the stores simple."""
    pipeline = data.draw(pipelines(max_bits=16))
    flat = flatten(pipeline)
    scalar = [q for q in flat.queues if not isinstance(flat.domains[flat.sources[q]], Tuple) and can_open(flat, q)]
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
    ],
)
def test_a_queue_without_bound_is_followed(text: str) -> None:
    """Events pile up beyond the capacity, are taken again, and come out in order."""
    flat = parse(text).get().pipeline
    both = Both(flat, flat.queues[0], 2)
    first, second = (domain for _, domain in flat.inputs)
    for value in (list(first.values()) * 4)[:ROOM]:
        both.step({"x": value})
    assert both.length == ROOM
    for _ in range(ROOM):
        both.step({"y": second.default})
    assert both.length == 0


def test_it_allows_more() -> None:
    """That is the price: an opened queue may stay full although it was emptied."""
    flat = parse("pipeline p(x: 0..5, y: 0..5) -> 0..10 { return x + y }").get().pipeline
    both = Both(flat, "add.left", 1)
    both.small.step({"x": 1})
    both.small.step({"y": 1, "add.left.unseen": 4})
    assert both.small.step({"y": 1}).pipes["add"] == 4 + 1
