"""Which faults struck in a step: what its oracles carry, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from workbench.core.domain import Domain, Value
from workbench.core.pipeline import Node, Pipeline
from workbench.faults.unreliable import Unreliable


class Strike(NamedTuple):
    """A fault that struck."""

    pipe: str
    domain: Domain
    event: Value
    what: str
    """`lost`, `duplicated`, `delayed by 2`."""

    def __str__(self) -> str:
        return f"{self.event} on {self.pipe} was {self.what}"


def place(node: Node) -> str:
    """The pipe that a fault is on, as the user calls it."""
    return node.name.rpartition(".")[0]


def struck(pipeline: Pipeline, carried: Mapping[str, Value | None]) -> Iterator[Strike]:
    """The faults that struck in a step of a flat pipeline, in which its pipes carried this."""
    for oracle, node in pipeline.oracles.items():
        said, processor = carried.get(oracle), node.processor
        if said is None or not isinstance(processor, Unreliable):
            continue
        events = carried[node.inputs[0]]
        position = node.inputs.index(oracle) - 1
        event = events[position] if isinstance(events, list) else events
        by = f" by {said}" if isinstance(said, int) else ""
        yield Strike(place(node), pipeline.domains[node.inputs[0]], event, f"{processor.participle}{by}")
