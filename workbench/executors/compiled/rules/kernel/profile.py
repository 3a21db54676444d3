"""What rules cost: partial matches, matches, composites, and ticks of a clock.

The rule of this module: it is asked for by `state.profiled`. What an event has cost is added to the sum once the event
is done; nothing is added of one that is rolled back.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import time

from workbench.executors.compiled.rules.kernel.collected import evaluate_apart
from workbench.executors.compiled.rules.records import NONE


def ticks():
    """A clock of which only differences mean something; compiled it is the processor's own."""
    return time.perf_counter_ns()


def count_partial(scratch, step):
    """Count a partial match that a step has found."""
    if step.rule != NONE:
        scratch.costs[step.rule].partial += 1


def count_match(plan, history, scratch, state, rule):
    """Count a match before `where`; whether it counts behind it."""
    if plan.steps[rule.steps].rule == NONE:
        return True  # it was counted before it waited
    scratch.costs[rule.number].matches += 1
    return rule.where == rule.where_end or evaluate_apart(plan, history, scratch, state, rule.where, rule.where_end)


def end_costs(scratch, done):
    """Add what an event has cost to the sums, if it is done."""
    for number in range(len(scratch.costs)):
        cost, total = scratch.costs[number], scratch.total_costs[number]
        if done:
            total.partial += cost.partial
            total.matches += cost.matches
            total.composites += cost.composites
        total.ticks += cost.ticks
        cost.partial, cost.matches, cost.composites, cost.ticks = 0, 0, 0, 0
