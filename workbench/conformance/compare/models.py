"""The models' side of the comparison: the transition system evaluated directly, and NuSMV's own simulation.

Both run the whole system of a pipeline, as printed for the model checker, with the overflow flag.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from workbench.conformance.compare.executables import InputSequence, Seen
from workbench.core.domain import BOOL, Value
from workbench.core.fields import split
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END, show_carried
from workbench.core.term import concrete, leaves, var
from workbench.errors import Overflow
from workbench.ir.compose import compose
from workbench.ir.reduce import FLAG, Model, focus
from workbench.ir.simulate import Simulator
from workbench.ir.system import System
from workbench.smv.printer import SmvModel, print_model
from workbench.verify.decide.table import get_simulator

QueueCapacity = int | Mapping[str, int]


def compose_whole(pipeline: Pipeline, capacity: QueueCapacity) -> Model:
    """Build the guarded model of all pipes and queues of a pipeline."""
    system = compose(pipeline, capacity)
    slots = [pipe.slots for pipe in system.pipes.values()]
    inside = [var(name, BOOL) for name in sorted(system.strict)]
    inside += [var(each.name, each.domain) for each in system.variables]  # a run ends where one leaves its range
    return focus(system, [*slots, *((q.length, q.overflow) for q in system.queues.values()), *inside])


class Evaluated:
    """The transition system, evaluated by Python."""

    name = "model"

    def __init__(self, pipeline: Pipeline, capacity: QueueCapacity = 4) -> None:
        model = compose_whole(pipeline, capacity)
        self.simulator = Simulator(model.system, [model.overflow])
        self.source = f"Evaluated(pipeline, {capacity!r})"

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Yield the contents of every pipe and queue; raise Overflow at the step at which the flag is set."""
        self.simulator.reset()
        for position, events in enumerate(steps):
            step = self.simulator.step(events)
            if step.labels[0]:
                raise Overflow(f"the overflow flag of the model is set at step {position}")
            for variable, value in zip(self.simulator.system.variables, self.simulator.state, strict=True):
                variable.domain.check(value)
            yield Seen(step.pipes, step.queues)


class Simulated:
    """The printed model, simulated by NuSMV."""

    name = "NuSMV"

    def __init__(self, pipeline: Pipeline, capacity: QueueCapacity = 4) -> None:
        model = compose_whole(pipeline, capacity)
        self.system: System = model.system
        self.smv: SmvModel = print_model(self.system)
        self._text = self.smv.text  # which may be beyond SMV
        self.source = f"Simulated(pipeline, {capacity!r})"
        self.flag = f"{FLAG}:now" if f"{FLAG}:now" in self.smv.names else None
        self.watch = [leaf.name for pipe in self.system.pipes.values() for leaf in leaves(pipe.slots)]
        self.watch += [q.length.name for q in self.system.queues.values()]
        self.watch += [self.flag] if self.flag else []

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Yield the contents of every pipe and queue; raise Overflow at the step at which the flag is set."""
        names = [self.smv.names[name] for name in self.watch]
        inputs = [self._fix_inputs(events) for events in steps]
        (run,) = get_simulator().simulate_many(self._text, self.smv.order, [inputs], names)
        for position, state in enumerate(run):
            if self.flag and self._read(state, self.flag):
                raise Overflow(f"the overflow flag of the model is set at step {position}")
            pipes = {
                name: show_carried(
                    [
                        concrete(slot.value, (self._read(state, leaf.name) for leaf in leaves(slot.value)))
                        for slot in pipe.slots
                        if self._read(state, slot.present.name)
                    ],
                    pipe.width,
                )
                for name, pipe in self.system.pipes.items()
            }
            yield Seen(pipes, {q.name: self._read(state, q.length.name) for q in self.system.queues.values()})

    def _fix_inputs(self, events: Mapping[str, Value]) -> dict[str, str]:
        values = {self.system.end.now.name: events is END} if self.system.end else {}
        for source in self.system.inputs:
            present = source.name in events
            value = events[source.name] if present else source.domain.default
            chosen_parts = (present, *split(source.domain, value))
            names = (leaf.name for leaf in leaves((source.present, source.value)))
            values |= zip(names, chosen_parts, strict=True)
        return self.smv.write_state({name: value for name, value in values.items() if name in self.smv.names})

    def _read(self, state: Mapping[str, str], name: str) -> Any:
        return self.smv.value(name, state[self.smv.names[name]])
