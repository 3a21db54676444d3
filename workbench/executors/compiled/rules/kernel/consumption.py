"""Consumption: a hash set of the events that a rule, or in T-Rex mode a step of it, may not select again.

The rule of this module: an entry is a word that combines an event's order number and the number of the consumer.
Entries are added, logged for undo, and never removed one by one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.hash_tables import find_row
from workbench.executors.compiled.rules.kernel.undo import has_undo_capacity, log_undo
from workbench.executors.compiled.rules.records import NONE, KernelStatus, UndoKind


def is_consumed(history, scratch, state, order, step):
    """Whether an event has been consumed for a step."""
    scratch.key[0] = order * state.consumers + step.consumer
    return history.consumed[find_row(history.consumed, scratch.key, 1), 0] != NONE


def note_consumption(plan, history, scratch, state, rule):
    """Record the events that a match consumes once all matches of its trigger are found; False if the array is full."""
    for k in range(rule.consumed, rule.consumed_end):
        if state.consuming == len(scratch.consuming):
            state.status = KernelStatus.FULL_CONSUMING
            return False
        step = plan.steps[plan.slots[k]]
        order = history.rows[scratch.registers[step.slot]].order
        scratch.consuming[state.consuming] = order * state.consumers + step.consumer
        state.consuming += 1
    return True


def consume(history, scratch, state):
    """Add the recorded events to the set; False if an array is full."""
    for k in range(state.consuming):
        scratch.key[0] = scratch.consuming[k]
        row = find_row(history.consumed, scratch.key, 1)
        if history.consumed[row, 0] != NONE:
            continue
        if 2 * (state.consumed + 1) > len(history.consumed):
            state.status = KernelStatus.FULL_CONSUMED
            return False
        if not has_undo_capacity(history, state, 1):
            return False
        log_undo(history, state, UndoKind.CONSUMED, row, NONE)
        history.consumed[row, 0] = scratch.key[0]
        state.consumed += 1
    return True
