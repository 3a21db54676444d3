"""The search of one step: a scan of a chain, from the newest row of the window to the oldest.

The rule of this module: the constants of a scan are evaluated before it: the key, the window, and the bounds of the
candidate's attributes. A candidate is compared with these in registers; only other conditions are evaluated for each.

Source: Cugola and Margara, 4.2 (the windows of columns), 5.2.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from typing import NamedTuple

from workbench.executors.compiled.rules.kernel.candidates import store_candidate, store_candidates
from workbench.executors.compiled.rules.kernel.consumption import is_consumed
from workbench.executors.compiled.rules.kernel.folds import accumulate, begin_fold, set_aggregate
from workbench.executors.compiled.rules.kernel.index import bucket_of, oldest_from, rows_in_window
from workbench.executors.compiled.rules.kernel.memory_prefetch import fetch
from workbench.executors.compiled.rules.kernel.nodes import fold_nodes, rows_to_walk
from workbench.executors.compiled.rules.kernel.values import evaluate, evaluate_key, mix
from workbench.executors.compiled.rules.records import (
    GREATEST_WORD,
    LEAST_WORD,
    NONE,
    OWN,
    KernelStatus,
    Opcode,
    StepKind,
    WindowKind,
)


class ScanWindow(NamedTuple):
    """The range of times and order numbers that a step selects from; both ends included."""

    time_low: int
    time_high: int
    order_low: int
    order_high: int


def scan(plan, history, scratch, state, depth, step):
    """Find the rows that a step selects for the match so far; return whether the match goes on.

    Candidates of `each` are stored; `first` and `last` bind a row, an aggregate its value.
    """
    scratch.candidate_starts[depth] = state.candidates
    if step.whole:
        column = history.columns[step.column]
        oldest, newest = rows_in_window(history, column, window_of(history, scratch, step))
        return store_candidates(scratch, state, column, oldest, newest)
    begin_fold(scratch, step)
    selection = NONE
    known, key = evaluate_key(plan, history, scratch, state, step.keys, step.keys_end)
    if known and set_ranges(plan, history, scratch, state, step):
        selection = scan_chain(plan, history, scratch, state, step, key)
    if state.status != KernelStatus.DONE:
        return False
    if step.kind == StepKind.EACH:
        return state.candidates > scratch.candidate_starts[depth]
    if step.kind == StepKind.NOT:
        return selection == NONE
    if step.kind < StepKind.NOT:
        scratch.registers[step.slot] = selection
        return selection != NONE
    return set_aggregate(plan, history, scratch, state, step, scratch.candidate_starts[depth])


def scan_chain(plan, history, scratch, state, step, key):
    """Scan the rows of a key; return the selected slot, or `NONE`."""
    window, column, kind = window_of(history, scratch, step), history.columns[step.column], step.kind
    # Fields of records are loaded again after each store: local names hold the fields that every candidate needs.
    first, start, mask, is_one_chain = column.first, column.start, column.mask, column.bucket_mask == 0
    cell, low, high = scratch.range_cells[0], scratch.low[0], scratch.high[0]
    other_cell, other_low, other_high = scratch.range_cells[1], scratch.low[1], scratch.high[1]
    asks_more = has_more_conditions(step)
    left = rows_to_walk(history, state, step) if step.tree != NONE else GREATEST_WORD
    key, other_key = keys_of(plan, history, scratch, state, step, key)
    newest, other = newest_of(history, state, step, key, other_key, window)
    at, selection = newest, NONE
    while at >= first:
        slot = start + (at & mask)
        row = history.rows[slot]
        if row.time < window.time_low or row.order < window.order_low:
            break
        if is_one_chain:  # without reading the row, so that the processor need not wait for it
            at -= 1
        else:
            at = row.older
            if at < other:
                at, other = other, at
                fetch(history.rows, start + (other & mask))
        if row.key != key and row.key != other_key:
            continue
        value, other_value = history.cells[slot, cell], history.cells[slot, other_cell]
        if (value < low) | (value > high) | (other_value < other_low) | (other_value > other_high):
            continue  # one branch: that of either range alone may be unpredictable
        if row.time > window.time_high or row.order > window.order_high:
            continue
        if asks_more and not fits(plan, history, scratch, state, step, slot):
            continue
        if kind == StepKind.EACH:
            if not store_candidate(scratch, state, slot):
                break
        elif kind <= StepKind.NOT:
            selection = slot
            if kind != StepKind.FIRST:
                break
        elif left == 0:
            fold_nodes(history, scratch, state, step, key, window, newest)
            break
        elif not accumulate(history, scratch, state, step, slot):
            break
        left -= 1
    return selection


def window_of(history, scratch, step):
    """Return the window of a step, given the bound events."""
    if step.window == WindowKind.ALL:
        return ScanWindow(LEAST_WORD, GREATEST_WORD, LEAST_WORD, GREATEST_WORD)
    anchor = history.rows[scratch.registers[step.anchor]]
    if step.window == WindowKind.AFTER:
        return ScanWindow(LEAST_WORD, anchor.time + step.most, anchor.order + 1, GREATEST_WORD)
    if step.window == WindowKind.BETWEEN_TIMES:
        time = history.rows[scratch.registers[step.other]].time
        return ScanWindow(min(anchor.time, time) + 1, max(anchor.time, time) - 1, LEAST_WORD, GREATEST_WORD)
    if step.window == WindowKind.BETWEEN:
        other = history.rows[scratch.registers[step.other]].order
        return ScanWindow(LEAST_WORD, GREATEST_WORD, min(anchor.order, other) + 1, max(anchor.order, other) - 1)
    if step.window == WindowKind.BY_ORDER:
        low = anchor.order - step.most if step.most != NONE else 0
        return ScanWindow(LEAST_WORD, GREATEST_WORD, low, min(anchor.order - 1, anchor.order - step.least))
    low = anchor.time - step.most if step.most != NONE else LEAST_WORD
    return ScanWindow(low, anchor.time - step.least, 0, anchor.order - 1)


def keys_of(plan, history, scratch, state, step, key):
    """Return the keys of the rows that a step selects from: two where its bounds lie in two bands of a column."""
    column, index = history.columns[step.column], plan.columns[step.column]
    if index.banded == NONE:
        return key, key
    low, high, shift = scratch.low[0], scratch.high[0], column.shift
    while (high >> shift) - (low >> shift) > 1:
        shift += 1
    if shift > column.shift:
        state.status, state.full_column, state.shift = KernelStatus.WIDE_BAND, step.column, shift
    return mix(key, low >> shift), mix(key, high >> shift)


def newest_of(history, state, step, key, other_key, window):
    """Return the newest rows in the chains of two keys, the newer first; for one chain, its newest row and `NONE`."""
    column = history.columns[step.column]
    if column.bucket_mask == 0 and window.order_high < state.order - 1:
        return oldest_from(history, column, column.appended - 1, LEAST_WORD, window.order_high + 1) - 1, NONE
    one = history.buckets[bucket_of(column, key)]
    other = one if other_key == key else history.buckets[bucket_of(column, other_key)]
    return max(one, other), NONE if one == other else min(one, other)


def set_ranges(plan, history, scratch, state, step):
    """Evaluate the bounds of a step into ranges of cells; False if a range is empty."""
    for k in range(max(2, step.ranges)):
        scratch.low[k], scratch.high[k], scratch.range_cells[k] = LEAST_WORD, GREATEST_WORD, 0
    for k in range(step.bounds, step.bounds_end):
        bound = plan.bounds[k]
        if not evaluate(plan, history, scratch, state, bound.code, bound.code_end):
            return False
        scratch.range_cells[bound.range] = bound.cell
        if not narrow(scratch, bound.range, bound.relation, scratch.stack[0]):
            return False
    return True


def narrow(scratch, k, relation, x):
    """Narrow a range to the words in a relation to `x`; False if there are none."""
    low, high = x, x
    if relation == Opcode.GT or relation == Opcode.GE:
        high = GREATEST_WORD
    elif relation == Opcode.LT or relation == Opcode.LE:
        low = LEAST_WORD
    if relation == Opcode.GT:
        if x == GREATEST_WORD:
            return False
        low = x + 1
    elif relation == Opcode.LT:
        if x == LEAST_WORD:
            return False
        high = x - 1
    scratch.low[k], scratch.high[k] = max(scratch.low[k], low), min(scratch.high[k], high)
    return True


def has_more_conditions(step):
    """Whether a step has conditions on a row besides its key, its window and its first two ranges."""
    return (
        step.not_null != 0
        or step.ranges > 2
        or step.rivals < step.rivals_end
        or step.consumer != NONE
        or step.residual < step.residual_end
    )


def fits(plan, history, scratch, state, step, slot):
    """Whether a row within the window and the first two ranges meets the other conditions of a step."""
    row = history.rows[slot]
    if row.nulls & step.not_null:
        return False
    for k in range(2, step.ranges):
        value = history.cells[slot, scratch.range_cells[k]]
        if value < scratch.low[k] or value > scratch.high[k]:
            return False
    for k in range(step.rivals, step.rivals_end):  # no match has an event twice
        if history.rows[scratch.registers[plan.slots[k]]].order == row.order:
            return False
    if step.consumer != NONE and is_consumed(history, scratch, state, row.order, step):
        return False
    if step.residual == step.residual_end:
        return True
    scratch.registers[OWN] = slot
    return evaluate(plan, history, scratch, state, step.residual, step.residual_end)
