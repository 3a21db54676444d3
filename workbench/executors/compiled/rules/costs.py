"""The cost of each rule, for `--profile`.

The rule of this module: counts are the kernel's. Its processor time is divided among rules in proportion to their
ticks; the cost of columns that rules share is charged to none.
"""

from __future__ import annotations

from collections.abc import Sequence
from time import thread_time
from typing import Any

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.records import EventWords, KernelStatus
from workbench.tesla.engines.engine import RuleCost


class CostCounter:
    """Counters of events, and of the processor time of the kernel.

    Attributes
    ----------
    seconds: processor time.
    """

    def __init__(self, types: int) -> None:
        self._events = records.zeros(types)
        self.seconds = 0.0

    def run(self, memory: KernelMemory, events: EventWords) -> KernelStatus:
        """Let the kernel process events, and record their cost."""
        began, first = thread_time(), int(memory.state.reached)
        status = memory.run(events)
        self.seconds += thread_time() - began
        self._add(events.types[first : int(memory.state.reached)])
        self._add(memory.output.types[: int(memory.state.outputs)])
        return status

    def _add(self, types: Any) -> None:
        """Count events and composites by their types."""
        for type_ in types.tolist():
            self._events[type_] += 1

    def costs(self, memory: KernelMemory) -> list[RuleCost]:
        """Return the cost of each rule."""
        plan, ticks, costs = memory.rule_tables.plan, max(1, int(memory.state.ticks)), list[RuleCost]()
        for each, cost in zip(plan.plans, memory.scratch.total_costs, strict=False):
            event_steps = (step for step in (*each.steps[1:], each.absent) if step is not None and not step.fact)
            types = {each.trigger.type, *(step.type for step in event_steps)}
            events = sum(int(self._events[plan.rules.events.index(type_)]) for type_ in types)
            partial, matches, composites = int(cost.partial), int(cost.matches), int(cost.composites)
            seconds = self.seconds * int(cost.ticks) / ticks
            costs.append(RuleCost(each.rule.name, events, partial, matches, composites, seconds))
        return costs


def add_costs(costs: Sequence[RuleCost], before: Sequence[RuleCost]) -> list[RuleCost]:
    """Add the earlier costs of rules of the same names."""
    known = {each.rule: each for each in before}
    return [each + known.get(each.rule, RuleCost(each.rule)) for each in costs]
