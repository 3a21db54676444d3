"""What can be compared: things that run a pipeline step by step and show what every pipe carries.

The rule of this module: an executable is made from a pipeline alone and starts afresh at every `trace`. One
that leaves a checked domain, or whose queue overflows, raises Overflow at that step, after having shown the
steps before it (`trace` is a generator, or a list where nothing can overflow).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from workbench.backends.reference import Reference
from workbench.core.domain import BOOL, Domain, Tuple, Value
from workbench.core.evaluate import compile_terms
from workbench.core.ops import as_term
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Machine
from workbench.core.term import leaves, var
from workbench.processors.group import Group, flatten

Steps = Sequence[Mapping[str, Value]]


class Observation(Protocol):
    """What is seen of one step."""

    @property
    def pipes(self) -> Mapping[str, Value | None]:
        """Pipe name to its event, None where it carries none. Pipes that cannot be seen are absent."""

    @property
    def queues(self) -> Mapping[str, int]:
        """Queue name to the number of events waiting at the end of the step."""


class Seen(NamedTuple):
    """An observation."""

    pipes: dict[str, Value | None]
    queues: dict[str, int]


class Executable(Protocol):
    """A pipeline that can be run."""

    def trace(self, steps: Steps) -> Iterable[Observation]:
        """What is seen at each of these steps, from the initial state on."""


def source_of(executable: Executable) -> str:
    """The Python source that makes the executable again from `pipeline`; empty where it does not say."""
    return str(getattr(executable, "source", ""))


class Running:
    """The reference executor."""

    def __init__(self, pipeline: Pipeline, capacities: Mapping[str, int] | None = None) -> None:
        self.executor = Reference(pipeline, capacities)
        self.source = f"Running(pipeline, {capacities!r})"

    def trace(self, steps: Steps) -> Iterator[Seen]:
        """One step after the other."""
        self.executor.reset()
        for events in steps:
            record = self.executor.step(events)
            yield Seen(
                {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()},
                dict(record.queues),
            )


class Denoting:
    """The specification: what a step adds to the streams that the denotations give for the prefixes."""

    def __init__(self, pipeline: Pipeline) -> None:
        flat = flatten(pipeline)
        everything = tuple((pipe, pipe) for pipe in flat.domains)
        self.pipeline = Pipeline(flat.name, flat.inputs, flat.nodes, everything)
        self.source = "Denoting(pipeline)"

    def trace(self, steps: Steps) -> Iterator[Seen]:
        """One prefix after the other."""
        received: dict[str, list[Value]] = {name: [] for name, _ in self.pipeline.inputs}
        before = self.streams(received)
        for events in steps:
            for name, value in events.items():
                received[name].append(value)
            after = self.streams(received)
            yield Seen({pipe: _added(pipe, before[pipe], after[pipe]) for pipe in after}, self.queues(after))
            before = after

    def streams(self, received: Mapping[str, Sequence[Value]]) -> dict[str, list[Value]]:
        """The whole stream of every pipe."""
        results = self.pipeline.denote([received[name] for name, _ in self.pipeline.inputs])
        return dict(zip(self.pipeline.domains, results, strict=True))

    def queues(self, streams: Mapping[str, Sequence[Value]]) -> dict[str, int]:
        """A queue holds what arrived in excess of the shortest stream."""
        found: dict[str, int] = {}
        for node in self.pipeline.nodes:
            lengths = [len(streams[pipe]) for pipe in node.inputs]
            found.update(zip(node.queues, (n - min(lengths) for n in lengths), strict=False))
        return found


def _added(pipe: str, before: list[Value], after: list[Value]) -> Value | None:
    if after[: len(before)] != before:
        raise AssertionError(f"pipe '{pipe}' is not monotone: {before} became {after}")
    new = after[len(before) :]
    if len(new) > 1:
        raise AssertionError(f"pipe '{pipe}' carries {len(new)} events in one step: {new}")
    return new[0] if new else None


class MachineRun:
    """A finite machine, its step compiled from terms."""

    def __init__(self, machine: Machine, inputs: Sequence[Domain]) -> None:
        self.slots = machine.slots
        state = tuple(var(f"s{i}", slot.domain) for i, slot in enumerate(self.slots))
        front = tuple(var(f"x{i}", domain) for i, domain in enumerate(inputs))
        after, outputs = machine.step(state, front)
        shapes = [out.value for out in outputs]
        self._shapes = shapes
        presences = [as_term(out.present, BOOL) for out in outputs]
        self._run = compile_terms([*after, *presences, *shapes], [*state, *front])
        self.reset()

    def reset(self) -> None:
        """Back to the initial state."""
        self.state: tuple[Value, ...] = tuple(slot.initial for slot in self.slots)

    def step(self, front: Sequence[Value]) -> list[Value | None]:
        """The event of each output for one front, None where there is none."""
        flat = iter(self._run(*leaves(self.state), *leaves(tuple(front))))
        self.state = tuple(_rebuilt(slot.domain, flat) for slot in self.slots)
        for slot, value in zip(self.slots, self.state, strict=True):
            slot.domain.check(value)
        present = [next(flat) for _ in self._shapes]
        values = [_like(shape, flat) for shape in self._shapes]
        return [value if there else None for value, there in zip(values, present, strict=True)]


class GroupMachine:
    """A whole pipeline as the one machine that a window holds; for traces whose steps are complete fronts."""

    def __init__(self, pipeline: Pipeline, horizon: int) -> None:
        self.pipeline = pipeline
        machine = Group(pipeline).machine(pipeline.input_domains, horizon)
        self.machine = MachineRun(machine, pipeline.input_domains)
        self.source = f"GroupMachine(pipeline, {horizon})"

    def trace(self, steps: Steps) -> Iterator[Seen]:
        """What the outputs show; the pipes inside cannot be seen."""
        self.machine.reset()
        for events in steps:
            shown = self.machine.step([events[name] for name, _ in self.pipeline.inputs])
            pipes = [pipe for _, pipe in self.pipeline.outputs]
            yield Seen(dict(zip(pipes, shown, strict=True)), {})


def _rebuilt(domain: Domain, flat: Iterator[Value]) -> Value:
    if isinstance(domain, Tuple):
        return tuple(_rebuilt(part, flat) for part in domain.fields)
    return next(flat)


def _like(shape: Any, flat: Iterator[Value]) -> Value:
    return tuple(_like(part, flat) for part in shape) if isinstance(shape, tuple) else next(flat)
