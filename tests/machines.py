"""Finite machines, run on values as terms compute them: to be held against what steps and denotations say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from workbench.conformance.compare.executables import InputSequence, Seen
from workbench.core.domain import BOOL, Domain, Value
from workbench.core.evaluate import compile_terms
from workbench.core.fields import join_parts, split
from workbench.core.ops import as_term
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Machine, Maybe, show_carried, slots_of
from workbench.core.term import concrete, var
from workbench.processors.held.group import Group
from workbench.processors.held.inner_processor import as_state


class MachineRun:
    """A finite machine, its step compiled from terms."""

    def __init__(self, machine: Machine, inputs: Sequence[Domain]) -> None:
        self.slots, self.inputs = machine.slots, tuple(inputs)
        state = tuple(var(f"s{i}", slot.domain) for i, slot in enumerate(self.slots))
        front = tuple(var(f"x{i}", domain) for i, domain in enumerate(inputs))
        after, outputs = machine.step(state, front)
        self._outputs = [slots_of(out) for out in outputs]
        found = [(as_term(slot.present, BOOL), slot.value) for slots in self._outputs for slot in slots]
        after = tuple(as_state(new, slot) for new, slot in zip(after, self.slots, strict=True))
        self._run = compile_terms([*after, *found], [*state, *front])
        self._finish = None
        if machine.finish:
            self._last = [slots_of(out) for out in machine.finish(state)]
            last = [(as_term(slot.present, BOOL), slot.value) for slots in self._last for slot in slots]
            self._finish = compile_terms(last, state)
        self.reset()

    def reset(self) -> None:
        """Back to the initial state."""
        self.state: tuple[Value, ...] = tuple(slot.initial for slot in self.slots)

    def finish(self) -> list[Value | None]:
        """What each output carries at the end of the stream (see `show_carried`)."""
        if self._finish is None:
            return [None] * len(self._outputs)
        return self._carried(self._last, iter(self._finish(*self._flat(self.state))))

    def step(self, front: Sequence[Value]) -> list[Value | None]:
        """What each output carries for one front (see `show_carried`)."""
        events = (part for domain, event in zip(self.inputs, front, strict=True) for part in split(domain, event))
        flat = iter(self._run(*self._flat(self.state), *events))
        self.state = tuple(join_parts(slot.domain, flat) for slot in self.slots)
        for slot, value in zip(self.slots, self.state, strict=True):
            slot.domain.check(value)
        return self._carried(self._outputs, flat)

    def _flat(self, state: Sequence[Value]) -> Iterator[Value]:
        return (part for slot, value in zip(self.slots, state, strict=True) for part in split(slot.domain, value))

    def _carried(self, outputs: Sequence[Sequence[Maybe]], flat: Iterator[Value]) -> list[Value | None]:
        shown = []
        for slots in outputs:
            events = [(next(flat), concrete(slot.value, flat)) for slot in slots]
            shown.append(show_carried([value for present, value in events if present], len(slots)))
        return shown


class GroupMachine:
    """A whole pipeline as the one machine that a window holds; for traces whose steps are complete fronts."""

    def __init__(self, pipeline: Pipeline, horizon: int | None) -> None:
        self.pipeline = pipeline
        machine = Group(pipeline).machine(pipeline.input_domains, horizon)
        self.machine = MachineRun(machine, pipeline.input_domains)
        self.source = f"GroupMachine(pipeline, {horizon})"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """What the outputs show; the pipes inside cannot be seen."""
        self.machine.reset()
        for events in steps:
            shown = self.machine.step([events[name] for name, _ in self.pipeline.inputs])
            pipes = [pipe for _, pipe in self.pipeline.outputs]
            yield Seen(dict(zip(pipes, shown, strict=True)), {})
