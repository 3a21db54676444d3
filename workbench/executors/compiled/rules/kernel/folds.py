"""Aggregates: accumulation of the rows of a scan, from the newest to the oldest, and the final value.

The rule of this module: sums are exact, or the kernel gives up the event; means are rounded once. Among equal values
the oldest is the least or the greatest. Aggregates that need all values, or their order, store the rows.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.candidates import store_candidate
from workbench.executors.compiled.rules.kernel.collected_values import combine_rows, mean, median, median_real
from workbench.executors.compiled.rules.kernel.exact_sums import add_real, clear_sum, sum_over
from workbench.executors.compiled.rules.kernel.texts import compare_texts
from workbench.executors.compiled.rules.kernel.values import sum_fits
from workbench.executors.compiled.rules.records import NONE, KernelStatus, StepKind


def begin_fold(scratch, step):
    """Start an aggregate without values."""
    scratch.fold[0].count, scratch.fold[0].total = 0, 0
    if is_real_sum(step.kind):
        clear_sum(scratch.limbs)


def is_real_sum(kind):
    """Whether an aggregate is an exact sum of floats, or divides one."""
    return kind == StepKind.SUM_REAL or kind == StepKind.AVG_REAL


def accumulate(history, scratch, state, step, slot):
    """Add a row to an aggregate, unless its value is null; False if the kernel cannot, or an array is full."""
    fold, cell, kind = scratch.fold[0], step.cell, step.kind
    if cell == NONE:
        fold.count += 1
        return True
    if history.rows[slot].nulls >> cell & 1:
        return True
    if is_real_sum(kind):
        fold.count += 1
        add_real(scratch.limbs, history.cells[slot, cell])
        return True
    if kind == StepKind.COMBINE or kind == StepKind.MEDIAN or kind == StepKind.MEDIAN_REAL:
        fold.count += 1
        return store_candidate(scratch, state, slot)
    return merge(history, scratch, state, kind, history.cells[slot, cell], 1)


def merge(history, scratch, state, kind, x, count):
    """Add the aggregate `x` of `count` older values; False if the kernel cannot."""
    fold = scratch.fold[0]
    if kind == StepKind.SUM or kind == StepKind.AVG:
        if not sum_fits(fold.total, x):
            state.status = KernelStatus.BEYOND
            return False
        fold.total += x
    elif kind != StepKind.COUNT and (fold.count == 0 or replaces(history, scratch, state, kind, x)):
        fold.total = x
    fold.count += count
    return state.status == KernelStatus.DONE


def replaces(history, scratch, state, kind, x):
    """Whether an older value replaces the least or greatest one so far; NaN wins over all."""
    best = scratch.fold[0].total
    if kind == StepKind.MIN:
        return x < best
    if kind == StepKind.MAX:
        return x > best
    if kind == StepKind.MIN_TEXT or kind == StepKind.MAX_TEXT:
        order = compare_texts(history, scratch, state, x, best)
        return order < 0 if kind == StepKind.MIN_TEXT else order > 0
    scratch.stack[0], scratch.stack[1] = x, best
    older, newer = scratch.reals[0], scratch.reals[1]
    return older != older or (older <= newer if kind == StepKind.MIN_REAL else older >= newer)


def set_aggregate(plan, history, scratch, state, step, first):
    """Write the value of an aggregate to its register; False if the kernel cannot.

    Parameters
    ----------
    first: start of the rows that have been stored for it.
    """
    fold, slot, kind = scratch.fold[0], step.slot, step.kind
    scratch.null[slot] = int(fold.count == 0 and kind >= StepKind.MIN)
    if kind == StepKind.COUNT:
        scratch.registers[slot] = fold.count
    elif kind == StepKind.SUM:
        scratch.registers[slot] = fold.total
    elif kind == StepKind.COMBINE:
        combine_rows(plan, history, scratch, state, step, first)
    elif kind == StepKind.SUM_REAL:
        scratch.registers[slot] = sum_over(scratch.limbs, 1)
    elif fold.count > 0:
        scratch.registers[slot] = select_value(history, scratch, state, step, first)
    state.candidates = first
    return state.status == KernelStatus.DONE


def select_value(history, scratch, state, step, first):
    """Return the value of an aggregate that is null over no values."""
    fold, kind = scratch.fold[0], step.kind
    if kind == StepKind.AVG_REAL:
        return sum_over(scratch.limbs, fold.count)
    if kind == StepKind.MEDIAN_REAL:
        return median_real(history, scratch, state, step, first)
    if kind == StepKind.MEDIAN:
        return median(history, scratch, state, step, first)
    if kind == StepKind.AVG:
        return mean(scratch, state, fold.total, 0, fold.count)
    return fold.total
