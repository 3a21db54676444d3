"""The threaded executor in comparisons: a plan states where the pipeline is cut and how its threads are scheduled."""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from workbench.conformance.compare.executables import InputSequence, Seen, observe_step
from workbench.conformance.compare.schedules import Schedule, Switches
from workbench.core.kinds import Push
from workbench.core.pipeline import Pipeline
from workbench.core.processor import State, Stepped
from workbench.executors.dataflow.executor import Dataflow
from workbench.executors.overlapped_steps import Overlapped
from workbench.executors.reference.cell import Cell
from workbench.executors.threaded.certificate import Certificate
from workbench.executors.threaded.executor import Threaded, default_placement
from workbench.executors.threaded.manager import ThreadManager
from workbench.executors.threaded.placement import Placement
from workbench.processors.held.group import flatten


@dataclass(frozen=True)
class Plan:
    """A plan for the use of threads in a run.

    Parameters
    ----------
    cuts: the processors before which the pipeline is cut.
    pipelined: the processors with a copy for each event, among those that have a certificate.
    limit: the maximum number of threads; None for any number.
    ahead: the maximum number of steps that wait between two parts.
    schedule: the interleaving of threads: a seed, or switches (see `Schedule`).
    """

    cuts: tuple[str, ...] = ()
    pipelined: tuple[str, ...] = ()
    limit: int | None = 1
    ahead: int = 1
    schedule: int | Switches = ()


class Scheduled:
    """The threaded executor with scheduled threads.

    Parameters
    ----------
    plan: the cuts of the pipeline, the number of threads, and the schedule.
    certificates: the certificates of processors that may be pipelined.
    """

    name = "threaded"

    def __init__(
        self,
        pipeline: Pipeline,
        plan: Plan,
        certificates: Mapping[str, Certificate] | None = None,
        capacities: Mapping[str, int] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.certificates = certificates or {}
        self.capacities = capacities
        self.plan = plan
        argument = "certify_nodes(pipeline)" if self.certificates else "{}"
        self.source = f"{type(self).__name__}(pipeline, {plan!r}, {argument}, {capacities!r})"

    def running(self, manager: ThreadManager) -> Overlapped:
        """Build the executor to compare."""
        plan, flat = self.plan, flatten(self.pipeline)
        pipelined = {name: self.certificates[name] for name in plan.pipelined}
        placement = Placement(plan.cuts, pipelined, default_placement(flat, 1).copies)
        return Threaded(self.pipeline, manager, placement, capacities=self.capacities, ahead=plan.ahead)

    def trace(self, steps: InputSequence) -> Iterator[Seen]:
        """Yield the observations of the steps, then raise the error, if any."""
        schedule = Schedule(self.plan.schedule)
        observations: list[Seen] = []

        def body() -> Exception | None:
            with ThreadManager(self.plan.limit, primitives=schedule) as manager:
                running = self.running(manager)
                running.observe(lambda cell: preempt(cell, schedule))
                try:
                    for record in running.records(steps):
                        observations.append(observe_step(record))
                except Exception as error:
                    return error
            return None

        error = schedule.run(body)
        yield from observations
        if error is not None:
            raise error


class ScheduledFlow(Scheduled):
    """The dataflow executor with scheduled threads; a group is one vertex where the plan has no cuts."""

    name = "dataflow"

    def running(self, manager: ThreadManager) -> Overlapped:
        plan = self.plan
        return Dataflow(
            self.pipeline,
            manager,
            groups=not plan.cuts,
            capacities=self.capacities,
            ahead=plan.ahead,
            batch=(plan.ahead + 1) // 2,
        )


def preempt(cell: Cell, schedule: Schedule) -> Push:
    """Return the step of a processor with a point before and after it, at which threads may switch."""
    push = cell.step

    def step(state: State, front: tuple[object, ...]) -> Stepped:
        schedule.point()
        result = push(state, front)
        schedule.point()
        return result

    cell.processor = copy.copy(cell.processor)
    object.__setattr__(cell.processor, "step", step)  # for the copies of a pipelined processor
    return step
