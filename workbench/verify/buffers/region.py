"""Queues of long pipelines, asked about on a part: what lies between a queue and a pipe that all its events come from.

If nothing but the events of one pipe decides what a queue holds, then a capacity that is enough for any events on that
pipe is enough for those that come. Whether it is the smallest is seen on one run of the whole pipeline, with an event
on each input at every step: where that reaches the capacity, both sides are proven, at a cost for the model checker
that does not depend on how long the pipeline is. Where it does not, all that lies before the queue is asked about.
Capacities proven of queues in the part may be too small for some events on the pipe, but not for those that come.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cached_property

from workbench.core.domain import Integer, SomeFloats, SomeTexts
from workbench.core.pipeline import Node, Pipeline
from workbench.errors import Overflow
from workbench.executors.reference.executor import Reference
from workbench.ir.compose import compose
from workbench.ir.reduce import domains_in
from workbench.ir.system import System
from workbench.verify.answer.trace import InputSteps
from workbench.verify.ask.environment import Environment
from workbench.verify.buffers.search import QueueMost, QueueQuestion, QueueSearch

LONG = 12
"""From this many processors before a queue on; with fewer, all of them are asked about, which gives a shortest run."""


class Regions:
    """The parts of a flat pipeline, resolved to finite domains, without capacities."""

    def __init__(self, pipeline: Pipeline) -> None:
        self.pipeline = pipeline

    def find(self, question: QueueQuestion) -> QueueMost | None:
        """What the part between a pipe and the queue says, where that is the whole answer, for every N."""
        before = question.upstream()
        if len(before.nodes) < LONG or before.late or before.oracles:
            return None
        source = self._find_source(before.nodes[-1])
        if source is None or before.widths[source] != 1 or self._depends_on_integers(source):
            return None
        free = replace(question.settings, environment=Environment())
        found = QueueSearch(replace(question, pipeline=question.upstream(source), settings=free)).run()
        if found.at_most == math.inf or found.reason or found.model is None:
            return None
        if found.model.integers or found.model.instead:
            return None
        lengths = [held[question.queue] for held in self._busy]
        if max(lengths, default=-1) < found.at_most:
            return None
        capacity = int(found.at_most)
        reaching: InputSteps = (self._events,) * (1 + lengths.index(capacity)) if capacity else ()
        return replace(found, at_least=capacity, reaching=reaching, shortest=False, region=source)

    def _find_source(self, last: Node) -> str | None:
        """The nearest pipe, not read by the processor itself alone, that every path to this processor goes through."""
        common = set.intersection(*(self._through[pipe] for pipe in last.inputs))
        return next((pipe for pipe in reversed(list(self.pipeline.domains)) if pipe in common), None)

    @cached_property
    def _through(self) -> dict[str, set[str]]:
        """Per pipe, itself and the pipes that every path to it goes through."""
        found = {name: {name} for name, _ in self.pipeline.inputs}
        for node in self.pipeline.nodes:
            shared = set.intersection(*(found[pipe] for pipe in node.inputs))
            found.update((pipe, shared | {pipe}) for pipe in node.outputs)
        return found

    def _depends_on_integers(self, pipe: str) -> bool:
        """Whether integers decide when the pipe carries an event, or can leave a checked domain on the way."""
        names = self._system.cone((self._system.pipes[pipe].present,))
        return any(isinstance(each, Integer | SomeTexts | SomeFloats) for each in domains_in(self._system, names))

    @cached_property
    def _system(self) -> System:
        return compose(self.pipeline, 1)

    @cached_property
    def _events(self) -> dict[str, object]:
        return {name: domain.default for name, domain in self.pipeline.inputs}

    @cached_property
    def _busy(self) -> list[Mapping[str, int]]:
        """The lengths of all queues on a run with events on all inputs at every step, until a number overflows."""
        executor = Reference(self.pipeline, {})
        found: list[Mapping[str, int]] = []
        with suppress(Overflow):
            for _ in range(len(self.pipeline.nodes) + LONG):
                found.append(executor.step(self._events).queues)
        return found
