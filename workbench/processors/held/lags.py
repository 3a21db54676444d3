"""Joins whose inputs have different lags, so that they pair events of different times.

The rule of this module: a shift that is written as one (`trim`, `insert`) is meant; one that comes with a window, or
another processor that needs several events for its first, is not. Where a stream begins anew (behind a filter, a
decimation), lags are counted anew.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Processor
from workbench.errors import Location, PipelineError
from workbench.processors.held.group import Group


class PipeLag(NamedTuple):
    """How far a pipe lags: behind what, by how many of its events, and by how many if written shifts do not count."""

    origin: str
    events: int
    unwritten: int


ROW = PipeLag("", 0, 0)
"""That of an input: all inputs of a row come together."""


@dataclass(frozen=True)
class UnevenJoin:
    """A join that pairs events of different times.

    Attributes
    ----------
    name: of the node, inside groups `group.node`.
    lags: by how many events each of its inputs lags, by the name of the port.
    early: the port that `missing` events have to be dropped from.
    """

    name: str
    lags: Mapping[str, int]
    early: str
    missing: int
    where: Location | str

    @property
    def warning(self) -> PipelineError:
        """What it is, and what to do."""
        lags = ", ".join(f"'{port}' {lag}" for port, lag in self.lags.items())
        return PipelineError(
            f"'{self.name}' pairs events of different times: its inputs lag by different numbers of events ({lags})",
            where=self.where,
            hint=f"write trim(..., {self.missing}) around '{self.early}', or insert(..., VALUE, {self.missing}) around "
            "the later one; where this is meant, lagging(...) around the later one",
        )


def lag_warnings(pipeline: Pipeline) -> list[PipelineError]:
    """Warn of each place in a text where a join pairs events of different times."""
    return list({str(join.where) or join.name: join.warning for join in uneven_joins(pipeline)}.values())


def uneven_joins(pipeline: Pipeline) -> Iterator[UnevenJoin]:
    """Find the joins that pair events of different times, in groups and in what is held, too."""
    yield from _walk(pipeline, [ROW] * len(pipeline.inputs), "", [])


def _walk(pipeline: Pipeline, inputs: Sequence[PipeLag], path: str, outputs: list[PipeLag]) -> Iterator[UnevenJoin]:
    """Find those in a pipeline whose inputs lag so; `outputs` takes the lags of its outputs."""
    lags = {name: lag for (name, _), lag in zip(pipeline.inputs, inputs, strict=True)}
    for node in pipeline.nodes:
        processor = pipeline.typed[node.name]
        given = [lags[pipe] for pipe in node.inputs]
        results: list[PipeLag] = []
        if isinstance(processor, Group):
            yield from _walk(processor.body, given, f"{path}{node.name}.", results)
        else:
            if processor.joins and (join := _compare(node, processor, given, path)):
                yield join
            held = getattr(processor, "inner", None)
            if isinstance(held, Group):
                yield from _walk(held.body, [ROW] * held.in_arity, f"{path}{node.name}.", [])
            results = [_follow(f"{path}{pipe}", processor, given) for pipe in node.outputs]
        lags.update(zip(node.outputs, results, strict=True))
    outputs += (lags[pipe] for _, pipe in pipeline.outputs)


def _follow(pipe: str, processor: Processor, given: Sequence[PipeLag]) -> PipeLag:
    shift = processor.shift
    if shift is None or len({each.origin for each in given}) != 1:
        return PipeLag(pipe, 0, 0)
    unwritten = max(each.unwritten for each in given) + (0 if processor.shifts else shift)
    return PipeLag(given[0].origin, max(each.events for each in given) + shift, unwritten)


def _compare(node: Node, processor: Processor, given: Sequence[PipeLag], path: str) -> UnevenJoin | None:
    last = max(given, key=lambda lag: lag.events)
    early = [i for i, lag in enumerate(given) if lag.origin == last.origin and lag.events < last.events]
    first = next((i for i in early if given[i].unwritten < last.unwritten), None)
    if first is None:
        return None
    lags = {port: lag.events for port, lag in zip(processor.ports, given, strict=True)}
    missing = last.events - given[first].events
    return UnevenJoin(f"{path}{node.name}", lags, processor.ports[first], missing, node.where)
