"""Pull mode of the reference executor: demand-driven, as in BeepBeep.

A request for an output event asks its processor for a front, which asks the processors upstream, down to the sources.
Every reader of a pipe has a buffer of its own, so a branch of a fork keeps what another branch has requested. The
demands are on an explicit stack, so that a long chain of processors does not recurse deeply.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping

from workbench.core.domain import Domain, Value
from workbench.core.kinds import Push
from workbench.core.pipeline import Node, Pipeline
from workbench.core.processor import Emission, Processor, events_of
from workbench.errors import DomainError
from workbench.executors.reference.cell import ABSENT, failure

NO_MORE = (0, ABSENT)


class PullPipe:
    """A pipe: the buffers of its readers, and whether its producer has ended."""

    def __init__(self) -> None:
        self.readers: list[deque[Value]] = []
        self.ended = False

    def reader(self) -> deque[Value]:
        """Add a reader, and return its buffer."""
        self.readers.append(deque())
        return self.readers[-1]

    def carry(self, value: Value) -> None:
        """Append an event to the buffer of every reader."""
        for buffer in self.readers:
            buffer.append(value)


class PullSource:
    """The producer of an input pipe."""

    def __init__(self, name: str, domain: Domain, events: Iterable[Value], pipe: PullPipe) -> None:
        self.name, self.domain, self.pipe = name, domain, pipe
        self.events = enumerate(events)

    def advance(self) -> Demand | None:
        """Take one event, or end."""
        number, value = next(self.events, NO_MORE)
        if value is ABSENT:
            self.pipe.ended = True
        elif value in self.domain:
            self.pipe.carry(value)
        else:
            raise DomainError(f"event {number} of input '{self.name}': {value!r} is not a value of {self.domain}")
        return None


class Puller:
    """A processor that fires on demand."""

    def __init__(
        self, node: Node, processor: Processor, step: Push, sources: list[Demand], targets: list[PullPipe]
    ) -> None:
        self.node, self.processor, self.step, self.sources, self.targets = node, processor, step, sources, targets
        self.state = processor.initial()
        self.fronts = 0

    def advance(self) -> Demand | None:
        """Fire, or end, and return None; or return the first input that lacks an event."""
        exhausted = False
        for demand in self.sources:
            if not demand.buffer:
                if not demand.pipe.ended:
                    return demand
                exhausted = True
        if exhausted:
            self.emit(self.processor.finish(self.state))
            for pipe in self.targets:
                pipe.ended = True
            return None
        front = tuple(demand.buffer[0] for demand in self.sources)
        outcome = ABSENT
        try:
            outcome = state, results = self.step(self.state, front)
            self.emit(results)
        except Exception as error:
            raise failure(f"front {self.fronts}", self.node, front, error, outcome) from error
        for demand in self.sources:
            demand.buffer.popleft()
        self.state = state
        self.fronts += 1
        return None

    def emit(self, results: tuple[Emission, ...]) -> None:
        """Put the present emissions on the pipes."""
        for pipe, emission in zip(self.targets, results, strict=True):
            for value in events_of(emission):
                pipe.carry(value)


class Demand:
    """A reader's demand for events of a pipe."""

    def __init__(self, pipe: PullPipe, producer: PullSource | Puller) -> None:
        self.pipe, self.producer = pipe, producer
        self.buffer = pipe.reader()


class Pull:
    """A pipeline connected to sources, to be pulled at its outputs; `steps` has step functions by processor."""

    def __init__(self, pipeline: Pipeline, sources: Mapping[str, Iterable[Value]], steps: Mapping[str, Push]) -> None:
        pipes = {name: PullPipe() for name in pipeline.domains}
        producers: dict[str, PullSource | Puller] = {}

        def demand(pipe: str) -> Demand:
            return Demand(pipes[pipe], producers[pipe])

        for name, domain in pipeline.inputs:
            producers[name] = PullSource(name, domain, sources[name], pipes[name])
        for node in pipeline.nodes:
            wishes = [demand(pipe) for pipe in node.inputs]
            targets = [pipes[pipe] for pipe in node.outputs]
            puller = Puller(node, pipeline.typed[node.name], steps[node.name], wishes, targets)
            producers.update(dict.fromkeys(node.outputs, puller))
        self.outputs = {name: demand(pipe) for name, pipe in pipeline.outputs}

    def next(self, output: str) -> Value:
        """Return the next event of an output; StopIteration at its end."""
        goal = self.outputs[output]
        stack = [goal]
        while stack:
            top = stack[-1]
            if top.buffer or top.pipe.ended:
                stack.pop()
                continue
            needed = top.producer.advance()
            if needed is not None:
                stack.append(needed)
        if not goal.buffer:
            raise StopIteration
        return goal.buffer.popleft()
