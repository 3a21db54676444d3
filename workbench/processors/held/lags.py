"""Find joins that pair events of different times, since their inputs have different lags.

The rule of this module: each event of a pipe belongs to one of an input, and a join is even if the events that it pairs
belong to the same one. A difference that only explicit shifts cause (`trim`, `insert`) is intended; one that windows
cause is not, nor is the rest where there are shifts and windows. Where a stream starts anew (behind a filter), or is
thinned out or repeated differently from the one beside it, nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import NamedTuple

from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Processor
from workbench.errors import Location, PipelineError
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.held.group import Group
from workbench.processors.held.inner_processor import SingleHolder
from workbench.processors.lagging import Lagging
from workbench.processors.prefix import Prefix
from workbench.processors.stutter import Stutter


class PipeLag(NamedTuple):
    """The relation of the events of a pipe to those of an input.

    Attributes
    ----------
    origin: the stream that counts its events (all inputs of a row, or a pipe on which they start anew), and the
        processors that have thinned them out or repeated them since then.
    inside: the first processor that did that, or ended the stream: shifts are written before it.
    pace: the average distance of successive events in events of the origin.
    grid, rest: a shift behind stutters by a multiple of `grid` is one before them, too; the rest of other shifts.
    events: the lag in events of the origin.
    unwritten: the lag without explicit shifts. Behind an even join these count.
    meant: whether the lag is intended, so that the next join does not compare it.
    """

    origin: tuple[str | Processor, ...] = ("",)
    inside: str = ""
    pace: Fraction = Fraction(1)
    grid: int = 1
    rest: Fraction = Fraction(0)
    events: Fraction = Fraction(0)
    unwritten: Fraction = Fraction(0)
    meant: bool = False

    def behind(self, processor: Processor, shift: int, pipe: str) -> PipeLag:
        """Return the lag of an output, given the shift of the processor in events."""
        by, pace, grid, inside = shift * self.pace, self.pace, self.grid, self.inside or processor.keyword
        if isinstance(processor, Prefix):
            return self._replace(inside=inside)
        if isinstance(processor, Stutter):
            pace, grid = pace / processor.count, lcm(grid, pace.numerator)
        elif isinstance(processor, CountDecimate):
            pace *= processor.interval
        else:
            unwritten = self.unwritten + (0 if processor.shifts else by)
            meant = isinstance(processor, Lagging) or (self.meant and not by)
            rest = (self.rest + by) % grid
            return self._replace(events=self.events + by, rest=rest, unwritten=unwritten, meant=meant)
        lag = self._replace(origin=(*self.origin, processor), inside=inside, pace=pace, grid=grid)
        return PipeLag((pipe,)) if self.rest else lag

    def is_off(self, other: PipeLag) -> bool:
        """Whether a join of the two pairs events of different times unintentionally."""
        return (self.events, self.rest) != (other.events, other.rest) and self.unwritten != other.unwritten

    def call(self, shift: str, by: Fraction, text: str) -> str:
        """Return the code that shifts an input by a number of events of the origin."""
        if self.inside and by.denominator == 1:
            return f"{shift}, {by}) inside '{text}', before '{self.inside}'"
        return f"{shift}, {by / self.pace}) around '{text}'"


class UnevenJoin(NamedTuple):
    """A join that pairs events of different times: its name, inside groups `group.node`, and the warning."""

    name: str
    lags: Mapping[str, Fraction]
    """The lag of each of the compared inputs in events, by the name of the port."""
    warning: PipelineError


def lag_warnings(pipeline: Pipeline) -> list[PipelineError]:
    """Return a warning for each place in a text where a join pairs events of different times."""
    return list({str(w.where) or name: w for name, _, w in uneven_joins(pipeline)}.values())


def uneven_joins(pipeline: Pipeline) -> Iterator[UnevenJoin]:
    """Yield the joins that pair events of different times, those in groups and inner pipelines included."""
    yield from _walk(pipeline, [PipeLag()] * pipeline.in_arity, "", [])


def _walk(pipeline: Pipeline, inputs: Sequence[PipeLag], path: str, outputs: list[PipeLag]) -> Iterator[UnevenJoin]:
    """Yield such joins in a pipeline with these lags of its inputs; `outputs` takes the lags of its outputs."""
    lags = {name: lag for (name, _), lag in zip(pipeline.inputs, inputs, strict=True)}
    for node in pipeline.nodes:
        processor = pipeline.typed[node.name]
        input_lags = [lags[pipe] for pipe in node.inputs]
        results: list[PipeLag] = []
        if isinstance(processor, Group):
            yield from _walk(processor.body, input_lags, f"{path}{node.name}.", results)
        else:
            if processor.joins:
                yield from _compare(node, input_lags, path)
            held: object = processor
            while isinstance(held, SingleHolder):
                held = held.inner
            if isinstance(held, Group):
                yield from _walk(held.body, [PipeLag()] * held.in_arity, f"{path}{node.name}.", [])
            results = [_follow(f"{path}{pipe}", processor, input_lags) for pipe in node.outputs]
        lags.update(zip(node.outputs, results, strict=True))
    outputs += (lags[pipe] for _, pipe in pipeline.outputs)


def _follow(pipe: str, processor: Processor, input_lags: Sequence[PipeLag]) -> PipeLag:
    """Return the lag of an output: the greatest of the compared inputs, and the processor's own."""
    if len(input_lags) > 1:
        input_lags = [lag for lag in input_lags if not lag.meant] or [input_lags[0]._replace(meant=False)]
    shift, last = processor.shift, max(input_lags, key=lambda lag: lag.events)
    if shift is None or processor.merges or len({lag.origin for lag in input_lags}) > 1:
        return PipeLag((pipe,))
    even = len({lag.unwritten for lag in input_lags}) == 1
    return (last if even else last._replace(unwritten=last.events)).behind(processor, shift, pipe)


def _compare(node: Node, input_lags: Sequence[PipeLag], path: str) -> Iterator[UnevenJoin]:
    """Yield the join if it pairs inputs of the same origin unevenly."""
    texts = node.written if len(node.written) == len(input_lags) else node.inputs
    named, name = list(zip(node.processor.ports, texts, input_lags, strict=True)), f"{path}{node.name}"
    for origin in dict.fromkeys(lag.origin for lag in input_lags):
        inputs = [each for each in named if each[2].origin == origin and not each[2].meant]
        if any(one.is_off(other) for one, other in combinations([lag for *_, lag in inputs], 2)):
            lags = {port: lag.events for port, _, lag in inputs}
            yield UnevenJoin(name, lags, _warn(name, node.where, [(text, lag) for _, text, lag in inputs]))


def _warn(name: str, where: Location | str, inputs: Sequence[tuple[str, PipeLag]]) -> PipelineError:
    """Build the warning about a join; `inputs` are those compared, as the user wrote them."""
    first, last = min(lag.events for _, lag in inputs), max(lag.events for _, lag in inputs)
    lags = ", ".join(f"'{text}' {lag.events}" for text, lag in inputs)
    early = [lag.call("trim(...", last - lag.events, text) for text, lag in inputs if lag.events < last]
    late = [lag.call("insert(..., VALUE", lag.events - first, text) for text, lag in inputs if lag.events > first]
    later = " and ".join(f"'{text}'" for text, lag in inputs if lag.events > first)
    return PipelineError(
        f"'{name}' pairs events of different times: its inputs lag by different numbers of events ({lags})",
        where=where,
        hint=f"write {' and '.join(early)}, or {' and '.join(late)}; if this is intended, lagging(...) around {later}"
        if later
        else "write the shifts before the events are repeated",
    )
