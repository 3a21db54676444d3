"""Joins whose inputs have different lags, so that they pair events of different times.

The rule of this module: each event of a pipe belongs to one of an input, and a join is even if those that it pairs
belong to the same one. A difference that only written shifts make (`trim`, `insert`) is meant; one that windows make is
not, nor what is left where shifts stand beside windows. Where a stream begins anew (behind a filter), or is thinned out
or repeated otherwise than the one beside it, nothing is claimed.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import lcm
from typing import NamedTuple

from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Processor
from workbench.errors import Location, PipelineError
from workbench.processors.count_decimate import CountDecimate
from workbench.processors.held.group import Group
from workbench.processors.held.holding import SingleHolder
from workbench.processors.lagging import Lagging
from workbench.processors.prefix import Prefix
from workbench.processors.stutter import Stutter

LOG = logging.getLogger("workbench")
_said = deque[str](maxlen=1000)
"""The warnings that have been given."""
MOST_SAID = 5
"""Warnings of one pipeline; how many more there are is said in one line."""


class PipeLag(NamedTuple):
    """To which events of an input those of a pipe belong.

    Attributes
    ----------
    origin: where its events are counted (all inputs of a row, or a pipe on which they begin anew), and what has thinned
        them out or repeated them since then.
    inside: the first that did that, or ended them: shifts are written before it.
    pace: by how many events of the origin one is later than the one before, on average.
    grid, rest: a shift behind stutters by a multiple of `grid` is one before them, too; what others have left over.
    events: by how many events of the origin it lags.
    unwritten: the same if written shifts do not count. Behind an even join they have done their work, and do.
    meant: whether the next join compares it with nothing.
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
        """That of an output, given by how many events the processor shifts what it emits."""
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
        found = self._replace(origin=(*self.origin, processor), inside=inside, pace=pace, grid=grid)
        return PipeLag((pipe,)) if self.rest else found

    def is_off(self, other: PipeLag) -> bool:
        """Whether a join of the two pairs events of different times, and nobody meant that."""
        return (self.events, self.rest) != (other.events, other.rest) and self.unwritten != other.unwritten

    def call(self, shift: str, by: Fraction, text: str) -> str:
        """What shifts an input by so many events of the origin."""
        if self.inside and by.denominator == 1:
            return f"{shift}, {by}) inside '{text}', before '{self.inside}'"
        return f"{shift}, {by / self.pace}) around '{text}'"


class UnevenJoin(NamedTuple):
    """A join that pairs events of different times: its name, inside groups `group.node`, and what to say of it."""

    name: str
    lags: Mapping[str, Fraction]
    """By how many events each of the inputs that are compared lags, by the name of the port."""
    warning: PipelineError


def lag_warnings(pipeline: Pipeline) -> list[PipelineError]:
    """Warn of each place in a text where a join pairs events of different times."""
    return list({str(w.where) or name: w for name, _, w in uneven_joins(pipeline)}.values())


def warn_of_lags(pipeline: Pipeline, say: Callable[[str], object] = LOG.warning) -> None:
    """Say each warning of a pipeline once, the first few of many, however often it is loaded and run."""
    texts = [str(each) for each in pipeline.derive("lag warnings", lambda: lag_warnings(pipeline))]
    if len(texts) > MOST_SAID:
        more = len(texts) - MOST_SAID
        texts[MOST_SAID:] = [
            f"{more} more joins in {pipeline.name} pair events of different times (draw marks them all)"
        ]
    for text in texts:
        if text not in _said:
            _said.append(text)
            say(text)


def uneven_joins(pipeline: Pipeline) -> Iterator[UnevenJoin]:
    """Find the joins that pair events of different times, in groups and in what is held, too."""
    yield from _walk(pipeline, [PipeLag()] * pipeline.in_arity, "", [])


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
            if processor.joins:
                yield from _compare(node, given, path)
            held: object = processor
            while isinstance(held, SingleHolder):
                held = held.inner
            if isinstance(held, Group):
                yield from _walk(held.body, [PipeLag()] * held.in_arity, f"{path}{node.name}.", [])
            results = [_follow(f"{path}{pipe}", processor, given) for pipe in node.outputs]
        lags.update(zip(node.outputs, results, strict=True))
    outputs += (lags[pipe] for _, pipe in pipeline.outputs)


def _follow(pipe: str, processor: Processor, given: Sequence[PipeLag]) -> PipeLag:
    """That of an output: the greatest of the inputs that are compared, and the processor's own."""
    if len(given) > 1:
        given = [lag for lag in given if not lag.meant] or [given[0]._replace(meant=False)]
    shift, last = processor.shift, max(given, key=lambda lag: lag.events)
    if shift is None or processor.merges or len({lag.origin for lag in given}) > 1:
        return PipeLag((pipe,))
    even = len({lag.unwritten for lag in given}) == 1
    return (last if even else last._replace(unwritten=last.events)).behind(processor, shift, pipe)


def _compare(node: Node, given: Sequence[PipeLag], path: str) -> Iterator[UnevenJoin]:
    """Find what a join pairs wrongly, among the inputs that count the same events."""
    texts = node.written if len(node.written) == len(given) else node.inputs
    named, name = list(zip(node.processor.ports, texts, given, strict=True)), f"{path}{node.name}"
    for origin in dict.fromkeys(lag.origin for lag in given):
        inputs = [each for each in named if each[2].origin == origin and not each[2].meant]
        if any(one.is_off(other) for one, other in combinations([lag for *_, lag in inputs], 2)):
            lags = {port: lag.events for port, _, lag in inputs}
            yield UnevenJoin(name, lags, _warn(name, node.where, [(text, lag) for _, text, lag in inputs]))


def _warn(name: str, where: Location | str, inputs: Sequence[tuple[str, PipeLag]]) -> PipelineError:
    """Say what is wrong with a join, and what to do; `inputs` are those compared, as the user wrote them."""
    first, last = min(lag.events for _, lag in inputs), max(lag.events for _, lag in inputs)
    lags = ", ".join(f"'{text}' {lag.events}" for text, lag in inputs)
    early = [lag.call("trim(...", last - lag.events, text) for text, lag in inputs if lag.events < last]
    late = [lag.call("insert(..., VALUE", lag.events - first, text) for text, lag in inputs if lag.events > first]
    later = " and ".join(f"'{text}'" for text, lag in inputs if lag.events > first)
    return PipelineError(
        f"'{name}' pairs events of different times: its inputs lag by different numbers of events ({lags})",
        where=where,
        hint=f"write {' and '.join(early)}, or {' and '.join(late)}; where this is meant, lagging(...) around {later}"
        if later
        else "write the shifts before the events are repeated",
    )
