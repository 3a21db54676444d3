"""Matches that wait for a deadline, up to which some event must not occur.

The rule of this module: a waiting match is stored as several rows of a column that its rule reserves for such matches:
    rows with the values of
its parameters, then copies of its bound events and facts. The first rows have the deadline as time, the trigger's order
number as order, and as key the length of the causal chain up to the trigger.

A deadline is an event of a type of its own, which takes no number in the order and triggers the deciding rule. The rows
stay until all its effects are published, for until then it may be undone.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.candidates import store_candidate
from workbench.executors.compiled.rules.kernel.undo import has_undo_capacity, log_undo
from workbench.executors.compiled.rules.records import GREATEST_WORD, KernelStatus, UndoKind


def slot_of(column, number):
    """Return the slot of a row of a column."""
    return column.start + (number & column.mask)


def rows_of_match(rule):
    """Return the number of rows of a rule's match."""
    return rule.kept_rows + rule.bound_end - rule.bound


def wait(plan, history, scratch, state, rule):
    """Store a match that waits; False if an array is full."""
    column = history.columns[rule.waits]
    first, end = column.appended, column.appended + rows_of_match(rule)
    if end - column.first > column.mask + 1:
        state.status, state.full_column = KernelStatus.FULL_COLUMN, rule.waits
        return False
    if not has_undo_capacity(history, state, 1):
        return False
    log_undo(history, state, UndoKind.APPENDED, rule.waits, first)
    column.appended = end
    keep_parameters(plan, history, scratch, state, rule, first)
    for k in range(rule.bound_end - rule.bound):
        bound = scratch.registers[plan.slots[rule.bound + k]]
        copy_row(history, bound, slot_of(column, first + rule.kept_rows + k))
    due = state.now + rule.timeout
    if due < state.due or (due == state.due and rule.decider < state.due_rule):
        state.due, state.due_rule = due, rule.decider
    return True


def keep_parameters(plan, history, scratch, state, rule, first):
    """Write the first rows of a waiting match: its parameters."""
    column, width = history.columns[rule.waits], history.cells.shape[1]
    trigger = history.rows[state.event]
    for k in range(rule.kept_rows):
        row = history.rows[slot_of(column, first + k)]
        row.time, row.order, row.key, row.nulls = state.now + rule.timeout, trigger.order, state.chain, 0
    for k in range(rule.kept_end - rule.kept):
        register, slot = plan.slots[rule.kept + k], slot_of(column, first + k // width)
        history.cells[slot, k % width] = scratch.registers[register]
        history.rows[slot].nulls |= scratch.null[register] << (k % width)


def copy_row(history, source, slot):
    """Copy an event or a fact into a slot."""
    row, source_row = history.rows[slot], history.rows[source]
    row.time, row.order, row.nulls = source_row.time, source_row.order, source_row.nulls
    for k in range(history.cells.shape[1]):
        history.cells[slot, k] = history.cells[source, k]


def restore(plan, history, scratch, rule, slot):
    """Restore the bindings of the match whose first row is in a slot."""
    column, width = history.columns[rule.waits], history.cells.shape[1]
    first = slot - column.start
    for k in range(rule.kept_end - rule.kept):
        register, cell_slot = plan.slots[rule.kept + k], slot_of(column, first + k // width)
        scratch.registers[register] = history.cells[cell_slot, k % width]
        scratch.null[register] = history.rows[cell_slot].nulls >> (k % width) & 1
    for k in range(rule.bound_end - rule.bound):
        bound = slot_of(column, first + rule.kept_rows + k)
        scratch.registers[plan.slots[rule.bound + k]] = bound
        if k < rule.sources:
            scratch.sources[k] = history.rows[bound].order


def gather_due(history, scratch, state, rule):
    """Store the matches of the trigger whose deadline has come; False if the array is full."""
    column, size = history.columns[rule.waits], rows_of_match(rule)
    scratch.candidate_starts[0] = state.candidates
    trigger, at = history.rows[slot_of(column, column.first)].order, column.first
    while at < column.appended and history.rows[slot_of(column, at)].order == trigger:
        at += size
    state.judged = at - column.first
    while at > column.first:
        at -= size
        if not store_candidate(scratch, state, slot_of(column, at)):
            return False
    return True


def begin_deadline(plan, history, state):
    """Advance the time to the earliest deadline; return its event type."""
    rule = plan.rules[state.due_rule]
    column = history.columns[rule.waits]
    first = history.rows[slot_of(column, column.first)]
    trigger = history.rows[slot_of(column, column.first + rule.kept_rows)]
    state.now, state.undos, state.silent, state.takes_place = first.time, 0, 0, 0
    state.pending = 0 if state.hierarchical else state.outputs
    state.began = state.order
    state.chain = first.key if trigger.time == first.time else 0  # composites at a later time are caused by the clock
    return rule.trigger


def end_deadline(plan, history, state, rule_number):
    """Drop the matches that a rule has decided."""
    history.columns[plan.rules[rule_number].waits].first += state.judged
    find_deadline(plan, history, state)


def find_deadline(plan, history, state):
    """Find the earliest deadline; of several at one time, that of the first rule."""
    state.due = GREATEST_WORD
    for number in range(len(plan.rules)):
        rule = plan.rules[number]
        if rule.number != number:
            column = history.columns[rule.waits]
            if column.first < column.appended:
                time = history.rows[slot_of(column, column.first)].time
                if time < state.due:
                    state.due, state.due_rule = time, number
