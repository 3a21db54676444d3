"""The dataflow executor with its threads as scripted: the vertices of a pipeline run in a chosen order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from functools import partial
from typing import NamedTuple

from experiments.scheduler.interleaving import FlowChoice, Interleaving, phase_sets
from experiments.scheduler.listings import Variant
from workbench.core.domain import Value
from workbench.executors.backend import Steps
from workbench.executors.dataflow.executor import Dataflow
from workbench.executors.dataflow.scheduler import Pair
from workbench.executors.dataflow.vertex_run import FirstFailure, FlowStep, StepContents, VertexContext


class Interleaved(NamedTuple):
    """The result of an interleaving.

    Attributes
    ----------
    outputs: the outputs of each step that was read.
    run: the history, and the ready pairs.
    failure: the first failure.
    """

    outputs: list[dict[str, list[Value]]]
    run: Interleaving
    failure: FirstFailure


class ScriptedDataflow(Dataflow):
    """A running pipeline whose threads do what is chosen."""

    def interleaved(
        self,
        steps: Steps,
        choices: Iterable[FlowChoice] | Callable[[Interleaving], FlowChoice | None],
        variant: Variant = Variant.WHOLE,
    ) -> Interleaved:
        """Run steps as the choices say, one after the other in this thread; the executor must then be `reset`.

        A pair is computed when it is taken, and takes effect when it ends. In place of the choices may stand a function
        that makes them from the state so far, until it returns None. The variant is what the algorithm does without.
        """
        self._check_whole()
        self._behind = True
        failure, source, read = FirstFailure(self.manager.primitives), iter(steps), list[FlowStep]()
        runs, cells = self._runs(), self.vertices.cells

        def work(pair: Pair) -> Callable[[], Collection[int]]:
            vertex, phase = pair
            if vertex == 1:
                step, receivers = self._admit(next(source))
                read.append(step)
                return lambda: receivers
            step, states = read[phase - 1], self._states.copy()
            apart = FlowStep(step.number, StepContents(step.contents), step.ends, step.wide)
            sent: Collection[int]
            (sent,) = runs[vertex].run_all([apart], VertexContext(states, failure))

            def end() -> Collection[int]:
                for index in cells[vertex - 1]:
                    self._states[index] = states[index]
                    slots = self._cells[index].targets
                    step.contents.update((slot, apart.contents[slot]) for slot in slots if slot in apart.contents)
                return sent

            return end

        run = Interleaving(phase_sets(self.vertices.graph, variant), work, variant)
        run.replay(iter(partial(choices, run), None) if callable(choices) else choices)
        outputs = [{output: step.events(slot) for output, slot in self._shown} for step in read]
        return Interleaved(outputs, run, failure)
