"""A transition system evaluated directly, in Python: one of the executables that must agree with the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from workbench.core.domain import Value
from workbench.core.evaluate import compile_terms
from workbench.core.fields import split
from workbench.core.processor import END, carried
from workbench.core.term import Term, concrete, var
from workbench.errors import DomainError
from workbench.ir.system import System


class Step(NamedTuple):
    """What one step of a system shows."""

    pipes: dict[str, Value | None]
    """Pipe name to what it carries (see `carried`)."""
    queues: dict[str, int]
    """Queue name to the number of events that wait in it at the end of the step."""
    overflows: tuple[str, ...]
    """Queues at which an event arrived that found them full."""
    state: dict[str, Value]
    """Variable name to its value before the step."""
    labels: tuple[Value, ...]
    """Values of the extra terms that were asked for."""


class Simulator:
    """Runs a system on input steps; `labels` are further terms to evaluate at each step."""

    def __init__(self, system: System, labels: Sequence[Term] = ()) -> None:
        self.system = system
        self._pipes = list(system.pipes.items())
        queues = list(system.queues.values())
        outputs: list[Any] = [v.next for v in system.variables]
        outputs += [pipe.slots for _, pipe in self._pipes]
        outputs += [q.length for q in queues] + [q.overflow for q in queues] + list(labels)
        inputs: list[Any] = [(i.present, i.value) for i in system.inputs]
        inputs += [system.end.now] if system.end else []
        state = [var(v.name, v.domain) for v in system.variables]
        self._run = compile_terms(system.inlined(tuple(outputs)), [*state, *inputs])
        self.reset()

    def reset(self) -> None:
        """Back to the initial state."""
        self.state: tuple[Value, ...] = tuple(v.initial for v in self.system.variables)

    def step(self, events: Mapping[str, Value]) -> Step:
        """One step with these events on the inputs (absent inputs carry none), or `END`."""
        given: list[Value] = []
        for source in self.system.inputs:
            present = source.name in events
            value = source.domain.check(events[source.name]) if present else source.domain.default
            given += [present, *split(source.domain, value)]
        if self.system.end:
            given.append(events is END)
        flat = iter(self._run(*self.state, *given))
        before = {v.name: value for v, value in zip(self.system.variables, self.state, strict=True)}
        self.state = tuple(next(flat) for _ in self.system.variables)
        pipes: dict[str, Value | None] = {}
        for name, pipe in self._pipes:
            slots = [(next(flat), concrete(slot.value, flat)) for slot in pipe.slots]
            pipes[name] = carried([value for present, value in slots if present], pipe.width)
        lengths = {name: next(flat) for name in self.system.queues}
        overflows = tuple(name for name in self.system.queues if next(flat))
        return Step(pipes, lengths, overflows, before, tuple(flat))

    def trace(self, steps: Sequence[Mapping[str, Value]]) -> list[Step]:
        """Run from the initial state; variables that leave their domain are a defect and raise."""
        self.reset()
        found = []
        for events in steps:
            found.append(self.step(events))
            for variable, value in zip(self.system.variables, self.state, strict=True):
                if value not in variable.domain and not found[-1].overflows:
                    raise DomainError(f"{variable.name} became {value!r}, outside {variable.domain}")
        return found

    def trace_to_overflow(self, steps: Sequence[Mapping[str, Value]]) -> list[Step]:
        """Run from the initial state up to and including the first step at which a queue overflows."""
        self.reset()
        found = []
        for events in steps:
            found.append(self.step(events))
            if found[-1].overflows:
                break
        return found
