"""Truncated pipelines: the same pipeline with some of its processors deleted (TIME 2021, section 4.1).

A short cut from pipe i to pipe o deletes the path between them: whoever reads o reads i instead. Processors that no
output depends on any more go with it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from workbench.core.function import same_domain
from workbench.core.pipeline import Node, Pipeline


@dataclass(frozen=True)
class Truncation:
    """A short cut in a flat pipeline.

    Attributes
    ----------
    node: the processor whose outputs nobody reads any more.
    source: the pipe that is read in their place.
    pipeline: what is left.
    removed: the processors that are gone, `node` among them.
    direct: the source is an input of the node.
    """

    node: str
    source: str
    pipeline: Pipeline
    removed: tuple[str, ...]
    direct: bool

    def __str__(self) -> str:
        return f"read '{self.source}' in place of '{self.node}'"


def truncations(pipeline: Pipeline) -> Iterator[Truncation]:
    """Every short cut around a processor: from a pipe that leads to it, of the domain of its outputs."""
    for node in pipeline.nodes:
        ancestors = {pipe for each in pipeline.upstream(node.outputs) for pipe in each.inputs}
        # nearest first: those that delete least
        for source in reversed([pipe for pipe in pipeline.domains if pipe in ancestors]):
            if all(same_domain(pipeline.domains[source], pipeline.domains[output]) for output in node.outputs):
                yield short_cut(pipeline, node, source)


def short_cut(pipeline: Pipeline, node: Node, source: str) -> Truncation:
    """The pipeline in which `source` is read in place of every output of `node`."""
    instead = dict.fromkeys(node.outputs, source)
    nodes = tuple(replace(n, inputs=tuple(instead.get(p, p) for p in n.inputs)) for n in pipeline.nodes)
    outputs = tuple((name, instead.get(pipe, pipe)) for name, pipe in pipeline.outputs)
    left = without_unread(replace(pipeline, nodes=nodes, outputs=outputs))
    kept = {n.name for n in left.nodes}
    removed = tuple(n.name for n in pipeline.nodes if n.name not in kept)
    return Truncation(node.name, source, left, removed, source in node.inputs)


def without_unread(pipeline: Pipeline) -> Pipeline:
    """The pipeline without the processors that no output depends on."""
    nodes = pipeline.upstream(pipe for _, pipe in pipeline.outputs)
    queues = {queue for node in nodes for queue in node.queues}
    capacities = {queue: size for queue, size in pipeline.capacities.items() if queue in queues}
    return replace(pipeline, nodes=nodes, capacities=capacities)


def reached(pipeline: Pipeline, node: Node) -> tuple[str, ...]:
    """The outputs that depend on a processor."""
    return tuple(name for name, pipe in pipeline.outputs if node in pipeline.upstream([pipe]))
