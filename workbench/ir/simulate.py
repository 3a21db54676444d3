"""A simulator that evaluates a transition system directly in Python: one of the executables that must agree."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Any, NamedTuple

from workbench.core.domain import Value
from workbench.core.evaluate import compile_terms
from workbench.core.fields import scalars, split
from workbench.core.processor import END, show_carried
from workbench.core.term import Term, concrete, var
from workbench.ir.system import Holding, System


class Step(NamedTuple):
    """The results of one step of a system."""

    pipes: dict[str, Value | None]
    """Pipe name to what it carries (see `show_carried`)."""
    queues: dict[str, int]
    """Queue name to the number of events that wait in it at the end of the step."""
    overflows: tuple[str, ...]
    """Full queues at which an event arrived."""
    state: dict[str, Value]
    """Variable name to its value before the step."""
    labels: tuple[Value, ...]
    """Values of the additional terms."""


class Lines:
    """The events that wait at a join, in a line for each input.

    Parameters
    ----------
    instance: the name of the join's queues.
    index_of: variable to its position in a state.
    """

    def __init__(self, instance: str, holding: Holding, index_of: Mapping[str, int]) -> None:
        self.holding = holding
        self.waiting: list[deque[Value]] = [deque() for _ in holding.queues]
        join = replace(holding.join, window=len(holding.fires))
        self._slot_indices = [
            [
                [index_of[".".join((f"{instance}:{store}", *path))] for path, _ in scalars(domain)]
                for store in brim.stores
            ]
            for domain, brim in ((domain, join.brim(i)) for i, domain in enumerate(join.domains))
        ]

    def reset(self) -> None:
        """Empty all lines."""
        for line in self.waiting:
            line.clear()

    def step(self, flat: Iterator[Value], state: list[Value]) -> None:
        """Add the arrivals and remove the consumed fronts; the oldest events are written into the state."""
        fronts = sum(bool(next(flat)) for _ in self.holding.fires)
        for line, slots in zip(self.waiting, self.holding.arrivals, strict=True):
            for slot in slots:
                present, value = next(flat), concrete(slot.value, flat)
                if present:
                    line.append(value)
            for _ in range(fronts):
                line.popleft()
        lines = list(zip(self.waiting, self._slot_indices, self.holding.join.domains, strict=True))
        for line, stores, domain in sorted(lines, key=lambda each: len(each[0])):  # both queues may share their slots
            for position, indices in enumerate(stores):
                value = line[position] if position < len(line) else domain.default
                for index, part in zip(indices, split(domain, value), strict=True):
                    state[index] = part


class Simulator:
    """A simulator of a system on input steps; `labels` are further terms to evaluate at each step.

    If the system has only the lengths of queues, their contents wait in lines beside it, so that a step costs the same
    for every capacity; variables have the oldest events of each line.
    """

    def __init__(self, system: System, labels: Sequence[Term] = ()) -> None:
        holding = system.holding
        system = system.with_held({instance: len(held.fires) for instance, held in holding.items()})
        self.system = system
        index_of = {v.name: i for i, v in enumerate(system.variables)}
        self._lines = [Lines(instance, held, index_of) for instance, held in holding.items()]
        self._pipes = list(system.pipes.items())
        queues = list(system.queues.values())
        outputs: list[Any] = [v.next for v in system.variables]
        outputs += [pipe.slots for _, pipe in self._pipes]
        outputs += [q.length for q in queues] + [q.overflow for q in queues]
        outputs += [(held.fires, held.arrivals) for held in holding.values()] + list(labels)
        inputs: list[Any] = [(i.present, i.value) for i in system.inputs]
        inputs += [system.end.now] if system.end else []
        state = [var(v.name, v.domain) for v in system.variables]
        self._run = compile_terms(system.inline(tuple(outputs)), [*state, *inputs])
        self.reset()

    def reset(self) -> None:
        """Return to the initial state."""
        self.state: tuple[Value, ...] = tuple(v.initial for v in self.system.variables)
        for line in self._lines:
            line.reset()

    def step(self, events: Mapping[str, Value]) -> Step:
        """Run one step with these events on the inputs (absent inputs carry none), or with `END`."""
        arguments: list[Value] = []
        for source in self.system.inputs:
            present = source.name in events
            value = source.domain.check(events[source.name]) if present else source.domain.default
            arguments += [present, *split(source.domain, value)]
        if self.system.end:
            arguments.append(events is END)
        flat = iter(self._run(*self.state, *arguments))
        before = {v.name: value for v, value in zip(self.system.variables, self.state, strict=True)}
        after = [next(flat) for _ in self.system.variables]
        pipes: dict[str, Value | None] = {}
        for name, pipe in self._pipes:
            slots = [(next(flat), concrete(slot.value, flat)) for slot in pipe.slots]
            pipes[name] = show_carried([value for present, value in slots if present], pipe.width)
        lengths = {name: next(flat) for name in self.system.queues}
        overflows = tuple(name for name in self.system.queues if next(flat))
        for line in self._lines:
            line.step(flat, after)
        self.state = tuple(after)
        return Step(pipes, lengths, overflows, before, tuple(flat))

    def trace(self, steps: Iterable[Mapping[str, Value]]) -> Iterator[Step]:
        """Run from the initial state."""
        self.reset()
        return map(self.step, steps)

    def trace_before(self, steps: Iterable[Mapping[str, Value]]) -> Iterator[Step]:
        """Run from the initial state, up to before a queue overflows or the first of the labels is true."""
        return takewhile(lambda step: not step.overflows and not step.labels[0], self.trace(steps))

    def trace_to_overflow(self, steps: Iterable[Mapping[str, Value]]) -> list[Step]:
        """Run from the initial state up to and including the first step at which a queue overflows."""
        trace = []
        for step in self.trace(steps):
            trace.append(step)
            if step.overflows:
                break
        return trace
