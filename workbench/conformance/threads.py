"""The threaded executor's side of the comparison: any pipeline, cut anywhere, under any schedule, all by one seed."""

from __future__ import annotations

import copy
import random
from collections.abc import Iterator, Mapping

from workbench.conformance.executables import Seen, Steps
from workbench.conformance.schedules import Schedule
from workbench.core.pipeline import Pipeline
from workbench.core.processor import Processor, State, Stepped
from workbench.processors.group import flatten
from workbench.threads.certificate import Certificate
from workbench.threads.executor import Threaded, default_placement
from workbench.threads.manager import ThreadManager
from workbench.threads.placement import Placement


class Scheduled:
    """The threaded executor, its threads scheduled.

    Parameters
    ----------
    seed: decides where the pipeline is cut, how many threads there are, how long the queues between the parts are,
        and who runs when.
    certificates: processors that may be pipelined; the seed decides which are.
    """

    def __init__(
        self,
        pipeline: Pipeline,
        seed: int,
        certificates: Mapping[str, Certificate] | None = None,
        capacities: Mapping[str, int] | None = None,
    ) -> None:
        self.pipeline = pipeline
        self.seed = seed
        self.certificates = certificates or {}
        self.capacities = capacities
        self.source = f"Scheduled(pipeline, {seed})"

    def trace(self, steps: Steps) -> Iterator[Seen]:
        """What is seen at each step; the error after the steps before it."""
        chance = random.Random(self.seed)
        flat = flatten(self.pipeline)
        placement = Placement(
            tuple(node.name for node in flat.nodes if chance.random() < 0.6),
            {name: certificate for name, certificate in self.certificates.items() if chance.random() < 0.7},
            default_placement(flat, 1).copies,
        )
        limit, ahead = chance.choice((1, 2, 3, None)), chance.choice((1, 2, 5))
        schedule = Schedule(self.seed)
        seen: list[Seen] = []

        def body() -> Exception | None:
            with ThreadManager(limit, primitives=schedule) as manager:
                running = Threaded(self.pipeline, manager, placement, capacities=self.capacities, ahead=ahead)
                for cell in running._cells:
                    cell.processor = preempted(cell.processor, schedule)
                try:
                    for record in running.records(steps):
                        pipes = {pipe: maybe.value if maybe.present else None for pipe, maybe in record.pipes.items()}
                        seen.append(Seen(pipes, dict(record.queues)))
                except Exception as error:
                    return error
            return None

        error = schedule.run(body)
        yield from seen
        if error is not None:
            raise error


def preempted(processor: Processor, schedule: Schedule) -> Processor:
    """The processor, with a point before and after each step at which another thread may go on."""
    found = copy.copy(processor)

    def step(state: State, front: tuple[object, ...]) -> Stepped:
        schedule.point()
        result = processor.step(state, front)
        schedule.point()
        return result

    object.__setattr__(found, "step", step)
    return found
