"""A pipeline in which one input event is tagged, and the tag follows everything the event causes.

The results of one firing of a processor are caused by the front that it consumes, and by nothing else: a memory (the
total of a `cumulate`, the earlier events of a window) is not in transit. So every event is paired with a
Boolean, a firing hands the tag of its front to its results, and since queues hold pairs the tag waits where its event
waits. Values and firings are those of the pipeline itself.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Self

from workbench.core.contract import Contract
from workbench.core.domain import BOOL, Domain
from workbench.core.fields import Tuple
from workbench.core.function import Function
from workbench.core.kinds import Deferring, Listening, Push
from workbench.core.ops import both, disjunction, either, negate
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import (
    NOTHING,
    Burst,
    Emission,
    Machine,
    Maybe,
    Processor,
    State,
    Stepped,
    Stream,
    event,
    events_of,
    slots_of,
)
from workbench.core.term import const
from workbench.faults.unreliable import Unreliable
from workbench.processors.apply import ApplyFunction

FIRST, PLAIN = "tagged", "plain"
"""Suffixes of the pipes that carry the events of the tagged input and of the others."""


def _of_inner(name: str) -> Any:
    """Return a property of a processor on tagged events that delegates to the inner one."""
    return property(attrgetter(f"inner.{name}"))


@dataclass(frozen=True)
class Tagged(Processor):
    """A processor on events paired with tags: results are tagged if any event of the front is."""

    inner: Processor

    in_arity, out_arity, ports = map(_of_inner, ("in_arity", "out_arity", "ports"))
    joins, merges, finishes = map(_of_inner, ("joins", "merges", "finishes"))

    def burst(self, inputs: tuple[Domain, ...]) -> int | None:
        return self.inner.burst(_strip_tags(inputs))

    def specialise(self, inputs: tuple[Domain, ...]) -> Self:
        return replace(self, inner=self.inner.specialise(_strip_tags(inputs)))

    def results(self, inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
        return tuple(Tuple((domain, BOOL)) for domain in self.inner.results(_strip_tags(inputs)))

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Any], ...]:
        """Return the results of stepping: tags have no meaning apart from firings."""
        return self._collect_results(streams, ended=True)

    def denote_open(self, streams: tuple[Stream, ...]) -> tuple[list[Any], ...]:
        return self._collect_results(streams, ended=False)

    def _collect_results(self, streams: tuple[Stream, ...], *, ended: bool) -> tuple[list[Any], ...]:
        state, emitted = self.initial(), list[tuple[Emission, ...]]()
        for front in zip(*streams, strict=False):
            state, outs = self.step(state, front)
            emitted.append(outs)
        emitted += [self.finish(state)] if ended else []
        return tuple([value for outs in emitted for value in events_of(outs[i])] for i in range(self.out_arity))

    def initial(self) -> State:
        return self.inner.initial()

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
        return self._step_tagged(self.inner.step, state, front)

    def finish(self, state: State) -> tuple[Emission, ...]:
        return tuple(_with_tag(out, False) for out in self.inner.finish(state))

    def machine(self, inputs: tuple[Domain, ...], horizon: int | None = None) -> Machine:
        inner = self.inner.machine(_strip_tags(inputs), horizon)

        def step(state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Emission, ...]]:
            return self._step_tagged(inner.step, state, front)

        def finish(state: State) -> tuple[Emission, ...]:
            assert inner.finish is not None
            return tuple(_with_tag(out, const(False, BOOL)) for out in inner.finish(state))

        return Machine(inner.slots, step, finish if inner.finish else None)

    def _step_tagged(self, step: Push, state: State, front: tuple[Any, ...]) -> Stepped:
        plain, tag = self._split(front)
        state, results = step(state, plain)
        return state, tuple(_with_tag(out, tag) for out in results)

    def _split(self, front: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        """Return a front without its tags, and whether there is one."""
        return tuple(value for value, _ in front), disjunction(tag for _, tag in front)

    def __str__(self) -> str:
        return str(self.inner)


class TaggedVerdicts(Tagged, Deferring):
    """A processor on tagged events in which positions wait."""

    capacity, defers = map(_of_inner, ("capacity", "defers"))

    def with_capacity(self, capacity: int) -> Self:
        assert isinstance(self.inner, Deferring)
        return replace(self, inner=self.inner.with_capacity(capacity))

    def waiting(self, state: State) -> tuple[int, ...]:
        assert isinstance(self.inner, Deferring)
        return self.inner.waiting(state)


class TaggedNews(Tagged, Listening):
    """A processor on tagged events that listens to its inputs."""

    def _split(self, front: tuple[Any, ...]) -> tuple[tuple[Any, ...], Any]:
        plain, tags = list[Maybe](), list[Any]()
        for present, value in front:
            padding = present is False  # without a value
            plain.append(NOTHING if padding else Maybe(present, value[0]))
            tags.append(False if padding else both(present, value[1]))
        return tuple(plain), disjunction(tags)


@dataclass(frozen=True)
class FirstTag(Processor):
    """A processor that passes the first tag only: at most one event is tagged, chosen by the environment."""

    def denote(self, streams: tuple[Stream, ...]) -> tuple[list[Any], ...]:
        (stream,) = streams
        first = next((i for i, (_, tag) in enumerate(stream) if tag), None)
        return ([(value, i == first) for i, (value, _) in enumerate(stream)],)

    def initial(self) -> State:
        return (False,)

    def slots(self, inputs: tuple[Domain, ...]) -> tuple[tuple[str, Domain], ...]:
        del inputs
        return (("done", BOOL),)

    def step(self, state: State, front: tuple[Any, ...]) -> tuple[State, tuple[Maybe, ...]]:
        (done,), ((value, tag),) = state, front
        return (either(done, tag),), (event((value, both(tag, negate(done)))),)


UNTAGGED = ApplyFunction(Function("untagged", 1, lambda value: (value, False)))
"""A processor that pairs every event with the tag false."""


def _strip_tags(inputs: tuple[Domain, ...]) -> tuple[Domain, ...]:
    domains = []
    for domain in inputs:
        assert isinstance(domain, Tuple)
        domains.append(domain.fields[0])
    return tuple(domains)


def _with_tag(out: Emission, tag: Any) -> Emission:
    slots = [Maybe(slot.present, (slot.value, tag)) for slot in slots_of(out)]
    return slots[0] if isinstance(out, Maybe) else Burst(slots)


def _tag_processor(processor: Processor) -> Processor:
    """Return the processor on tagged events. A fault keeps the tags of events: only its condition reads values."""
    if not isinstance(processor, Unreliable):
        if isinstance(processor, Deferring):
            return TaggedVerdicts(processor)
        return TaggedNews(processor) if isinstance(processor, Listening) else Tagged(processor)
    when = processor.when
    return processor if when is None else replace(processor, when=Function(f"{when}", 1, lambda pair: when(pair[0])))


def tag_events(pipeline: Pipeline, source: str) -> Pipeline:
    """Return a flat pipeline on tagged events; the environment chooses the tag on the input `source`."""
    pairs = {name: f"{name}.{FIRST if name == source else PLAIN}" for name in pipeline.ports.arrivals}
    inputs = tuple((name, Tuple((domain, BOOL)) if name == source else domain) for name, domain in pipeline.inputs)
    entries = [Node(pipe, FirstTag() if name == source else UNTAGGED, (name,), (pipe,)) for name, pipe in pairs.items()]
    nodes = [
        replace(n, processor=_tag_processor(n.processor), inputs=tuple(pairs.get(p, p) for p in n.inputs))
        for n in pipeline.nodes
    ]
    outputs = tuple((name, pairs.get(pipe, pipe)) for name, pipe in pipeline.outputs)
    contracts = tuple(_untag(each, source) for each in pipeline.own_assumptions)
    return replace(pipeline, inputs=inputs, nodes=(*entries, *nodes), outputs=outputs, contracts=contracts)


def _untag(contract: Contract, source: str) -> Contract:
    """Return an assumption that reads the input `source` without its tags."""
    body = contract.body
    tagged = {name for (name, _), pipe in zip(body.inputs, contract.reads, strict=True) if pipe == source}
    plain = {name: f"{name}.{PLAIN}" for name in tagged}
    first = Function("value", 1, lambda pair: pair[0])
    entries = [Node(pipe, ApplyFunction(first), (name,), (pipe,)) for name, pipe in plain.items()]
    nodes = [replace(node, inputs=tuple(plain.get(pipe, pipe) for pipe in node.inputs)) for node in body.nodes]
    inputs = tuple((name, Tuple((domain, BOOL)) if name in tagged else domain) for name, domain in body.inputs)
    outputs = tuple((name, plain.get(pipe, pipe)) for name, pipe in body.outputs)
    return replace(contract, body=replace(body, inputs=inputs, nodes=(*entries, *nodes), outputs=outputs))
