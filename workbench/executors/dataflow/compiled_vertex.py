"""A vertex of machine code: several processors as one compiled loop, which runs without Python's lock.

The rule of this module: its input and output pipes carry the same events as with these processors in a Python vertex;
pipes between its processors are not visible. Processors that cannot be compiled are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import ClassVar

from workbench.core.domain import Value
from workbench.core.fields import Map, scalars
from workbench.core.pipeline import Pipeline
from workbench.errors import Refused, WorkbenchError
from workbench.executors.compiled.code.loop import loop_source
from workbench.executors.compiled.execute.executor import Compiled
from workbench.executors.compiled.lower.shape import rows_of
from workbench.executors.compiled.lower.system import list_known, texts_in
from workbench.executors.dataflow.vertex_run import FlowStep, VertexContext


class CompiledVertex:
    """A running vertex of machine code.

    Parameters
    ----------
    flat, cells: the pipeline, and the numbers of the vertex's processors.
    slots: the slots of the pipes.
    readers: for each slot the other vertices that read it.

    Attributes
    ----------
    running: the compiled executor.
    first: the number of its first processor.
    inputs, outputs: name and slot of the pipes into it and out of it; for outputs also whether they are wide.

    Raises
    ------
    Refused: it cannot be compiled, its pipes carry several events in a step, or its output depends on arrival steps.
    """

    together: ClassVar[bool] = True

    def __init__(
        self, flat: Pipeline, cells: Sequence[int], slots: Mapping[str, int], readers: Sequence[tuple[int, ...]]
    ) -> None:
        region = region_of(flat, cells, lambda pipe: bool(readers[slots[pipe]]))
        if any(flat.widths[pipe] != 1 for pipe, _ in region.inputs):
            raise Refused(f"pipes into {region.name} carry several events in a step")
        if region.is_clocked or any(processor.is_timed for processor in region.typed.values()):
            raise Refused(f"{region.name} depends on the steps at which events arrive")
        self.running = Compiled(region, maps=False)
        self.first, self._readers = cells[0], readers
        self.inputs = [(name, slots[name]) for name, _ in region.inputs]
        self.outputs = [(name, slots[name], flat.widths[name] != 1) for name, _ in region.outputs]

    def refuse_words(self) -> None:
        """Refuse the vertex if its pipes carry more than a row of words in a step, so that only Python can run it."""
        self.running.widen()
        system, name = self.running.system, self.running.flat.name
        if texts_in(system):
            raise Refused(f"{name} computes with texts, whose numbers differ elsewhere")
        if any(isinstance(part, Map) for domain in self.running.flat.domains.values() for _, part in scalars(domain)):
            raise Refused(f"{name} carries maps")
        outputs = [system.pipes[pipe] for _, pipe in system.outputs]
        if any(pipe.width != 1 or pipe.more is not None or rows_of(pipe) is not None for pipe in outputs):
            raise Refused(f"pipes out of {name} carry several events in a step")

    @cached_property
    def source(self) -> str:
        """The source of the loop that runs its steps, with or without events, and records the step of each output."""
        system = self.running.system
        return loop_source(system, [list_known(system, "sparse")], with_steps=True, target="cpu")

    def run_all(self, steps: Sequence[FlowStep], context: VertexContext) -> list[Sequence[int]]:
        """Run phases; return for each the vertices that get messages."""
        live = [step for step in steps if self.first < context.failure.bound(step.number)]
        step_outputs = self._one_by_one(live, context) if context.watched else self._run_live(live, context)
        sent = [self._carry(step, outputs) for step, outputs in zip(live, step_outputs, strict=False)]
        return [*sent, *[()] * (len(steps) - len(sent))]

    def _run_live(self, live: Sequence[FlowStep], context: VertexContext) -> list[dict[str, list[Value]]]:
        """Return the outputs; those before the error, if there is one."""
        try:
            before = live[:-1] if live and live[-1].ends else live
            step_outputs = self.running.outputs([self._events(step) for step in before]) if before else []
            return step_outputs + [self._run_end(step) for step in live[len(before) :]]
        except WorkbenchError:  # none of the steps before the last has taken effect
            return self._one_by_one(live, context)

    def _events(self, step: FlowStep) -> dict[str, Value]:
        return {name: step.contents[slot] for name, slot in self.inputs if slot in step.contents}

    def _run_end(self, step: FlowStep) -> dict[str, list[Value]]:
        """Return the output at the end of the streams, including that of events that arrive then."""
        events = self._events(step)
        outputs = self.running.outputs([events])[0] if events else {}
        last = self.running.end()
        return {name: [*outputs.get(name, ()), *last[name]] for name, _, _ in self.outputs}

    def _one_by_one(self, steps: Sequence[FlowStep], context: VertexContext) -> list[dict[str, list[Value]]]:
        """Return the outputs before the error; if watched, record the lengths of queues."""
        step_outputs: list[dict[str, list[Value]]] = []
        for step in steps:
            self.running.steps = step.number  # the number in error messages
            try:
                if context.watched and not step.ends:
                    record = self.running.step(self._events(step))
                    step.queues |= record.queues
                    step_outputs.append(dict(record.outputs))
                else:
                    step_outputs.append(
                        self._run_end(step) if step.ends else self.running.outputs([self._events(step)])[0]
                    )
            except WorkbenchError as error:
                context.failure.note(step.number, self.first, error)
                break
        return step_outputs

    def _carry(self, step: FlowStep, outputs: Mapping[str, list[Value]]) -> Sequence[int]:
        sent: dict[int, None] = {}
        for name, slot, wide in self.outputs:
            if events := outputs[name]:
                step.contents[slot] = events if wide else events[0]
                sent.update(dict.fromkeys(self._readers[slot]))
        return tuple(sent)


def region_of(flat: Pipeline, cells: Sequence[int], read: Callable[[str], bool]) -> Pipeline:
    """Return these processors as a pipeline: its inputs are the pipes that enter, its outputs those that leave.

    `read` returns whether other processors read a pipe.
    """
    nodes = [flat.nodes[index] for index in cells]
    output_pipes = {pipe for _, pipe in flat.outputs}
    left = [pipe for node in nodes for pipe in node.outputs if pipe in output_pipes or read(pipe)]
    # the last processor may have no readers, but may fail
    return flat.extract(nodes, left or nodes[-1].outputs, nodes[0].name)
