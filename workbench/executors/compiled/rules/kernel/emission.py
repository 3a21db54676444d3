"""Emission of composites, one by one, or at once for matches that differ only in the row of their last step.

The rule of this module: the common values of matches are in registers when they are emitted. Composites are columns;
where many are emitted at once each column is written in one loop.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.consumption import note_consumption
from workbench.executors.compiled.rules.kernel.silence import is_silent
from workbench.executors.compiled.rules.records import NONE, KernelStatus, Opcode, StepKind


def emit(plan, history, scratch, state, rule, pending):
    """Write the composite of a match, and note the events that it consumes; False if an array is full."""
    if rule.pause != NONE and is_silent(plan, history, scratch, state, rule):
        return True
    if state.status != KernelStatus.DONE:
        return False
    if state.counting:
        state.pending += 1
        return True
    if not has_capacity(state, pending, 1):
        return False
    index, nulls = state.pending, 0
    for k in range(rule.cells_end - rule.cells):
        pending.cells[k, index] = scratch.registers[rule.cells + k]
        nulls |= scratch.null[rule.cells + k] << k
    if state.with_sources:
        for k in range(rule.sources):
            pending.sources[index, k] = scratch.sources[k]
    pending.types[index], pending.rules[index] = rule.emits, rule.number
    pending.times[index], pending.nulls[index] = state.now, nulls
    state.pending += 1
    if state.profiled:
        scratch.costs[rule.number].composites += 1
    return state.status == KernelStatus.DONE and note_consumption(plan, history, scratch, state, rule)


def has_capacity(state, pending, count):
    """Whether `count` more composites fit; sets the status if not."""
    if state.pending + count > len(pending.types):
        state.status = KernelStatus.FULL_PENDING
        return False
    return True


def emit_all(plan, history, scratch, state, rule, step, pending):
    """Emit a match for each row that is stored for the last step, the oldest first, if there is space."""
    last = rule.steps_end - rule.steps - 1
    newest = scratch.cursors[last] - 1
    count = newest + 1 - scratch.candidate_starts[step.list if step.kind == StepKind.TAKE else last]
    if not state.counting:
        if not has_capacity(state, pending, count):
            return
        write_common(plan, scratch, state, rule, step, pending, count)
        for k in range(step.actions, step.actions_end):
            action = plan.actions[k]
            instruction, cell = plan.code[action.code], action.slot - rule.cells
            copy_values(history, scratch, pending, instruction, cell, state.pending, newest, count)
        if state.with_sources:
            write_sources(history, scratch, state, rule, step, pending, newest, count)
    state.pending += count


def write_common(plan, scratch, state, rule, step, pending, count):
    """Write the common values of `count` composites."""
    differ, nulls, begin, end = 0, 0, state.pending, state.pending + count
    for k in range(step.actions, step.actions_end):
        differ |= 1 << (plan.actions[k].slot - rule.cells)
    for k in range(rule.cells_end - rule.cells):
        if differ >> k & 1:
            continue
        nulls |= scratch.null[rule.cells + k] << k
        word = scratch.registers[rule.cells + k]
        for index in range(begin, end):
            pending.cells[k, index] = word
    type_, number, now = rule.emits, rule.number, state.now
    for index in range(begin, end):
        pending.types[index], pending.rules[index] = type_, number
        pending.times[index], pending.nulls[index] = now, nulls


def copy_values(history, scratch, pending, instruction, k, begin, newest, count):
    """Write an attribute of `count` composites: an attribute, or the time, of the rows up to the newest one."""
    cell, is_time = instruction.b, instruction.op == Opcode.TIME
    for i in range(count):
        slot = scratch.candidates[newest - i]
        row = history.rows[slot]
        if is_time:
            pending.cells[k, begin + i] = row.time
        else:
            pending.cells[k, begin + i] = history.cells[slot, cell]
            pending.nulls[begin + i] |= (row.nulls >> cell & 1) << k


def write_sources(history, scratch, state, rule, step, pending, newest, count):
    """Write the order numbers of the events of `count` matches."""
    begin = state.pending
    for i in range(count):
        for k in range(rule.sources):
            pending.sources[begin + i, k] = scratch.sources[k]
        if step.source != NONE:
            pending.sources[begin + i, step.source] = history.rows[scratch.candidates[newest - i]].order
