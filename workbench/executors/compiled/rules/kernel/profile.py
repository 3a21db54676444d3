"""The costs of rules: partial matches, matches, composites, and ticks of a clock.

The rule of this module: it works only where `state.profiled` is set. The cost of an event is added to the totals once
the event is done; an event that is rolled back adds nothing but its ticks.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

import time

from workbench.executors.compiled.rules.kernel.collected_values import evaluate_apart
from workbench.executors.compiled.rules.records import NONE


def ticks():
    """Read a clock of which only differences have a meaning; compiled, it is the processor's own."""
    return time.perf_counter_ns()


def count_partial(scratch, step):
    """Count a partial match of a step."""
    if step.rule != NONE:
        scratch.costs[step.rule].partial += 1


def count_match(plan, history, scratch, state, rule):
    """Count a match before `where`; return whether `where` holds."""
    if plan.steps[rule.steps].rule == NONE:
        return True  # counted before it waited
    scratch.costs[rule.number].matches += 1
    return rule.where == rule.where_end or evaluate_apart(plan, history, scratch, state, rule.where, rule.where_end)


def end_costs(scratch, done):
    """Add the cost of an event to the totals, if it is done."""
    for number in range(len(scratch.costs)):
        cost, total = scratch.costs[number], scratch.total_costs[number]
        if done:
            total.partial += cost.partial
            total.matches += cost.matches
            total.composites += cost.composites
        total.ticks += cost.ticks
        cost.partial, cost.matches, cost.composites, cost.ticks = 0, 0, 0, 0
