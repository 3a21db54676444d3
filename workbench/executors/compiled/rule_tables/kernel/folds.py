"""Aggregates over whole numbers: what a scan adds up of the rows that fit, and the value in the end.

The rule of this module: sums are exact, or the event is not for this kernel. A mean is the quotient of two whole
numbers that floats have exactly, so that it is rounded once.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rule_tables.kernel.values import sum_fits
from workbench.executors.compiled.rule_tables.records import GREATEST_WORD, LEAST_WORD, NONE, KernelStatus, StepKind

EXACT_REAL = 1 << 53


def begin_fold(scratch):
    """Begin with no values."""
    fold = scratch.fold[0]
    fold.count, fold.total, fold.least, fold.greatest = 0, 0, GREATEST_WORD, LEAST_WORD


def accumulate(history, scratch, state, step, slot):
    """Add a row to an aggregate, unless its value is null; False if the sum is no word."""
    fold, cell = scratch.fold[0], step.cell
    if cell == NONE:
        fold.count += 1
        return True
    if history.rows[slot].nulls >> cell & 1:
        return True
    x = history.cells[slot, cell]
    fold.count += 1
    if step.kind == StepKind.SUM or step.kind == StepKind.AVG:
        if not sum_fits(fold.total, x):
            state.status = KernelStatus.BEYOND
            return False
        fold.total += x
    elif step.kind == StepKind.MIN:
        fold.least = min(fold.least, x)
    elif step.kind == StepKind.MAX:
        fold.greatest = max(fold.greatest, x)
    return True


def set_aggregate(scratch, state, step):
    """Put the value of an aggregate into its register; False if it is not known exactly."""
    fold, slot = scratch.fold[0], step.slot
    scratch.null[slot] = int(fold.count == 0 and step.kind >= StepKind.MIN)
    if step.kind == StepKind.COUNT:
        scratch.registers[slot] = fold.count
    elif step.kind == StepKind.SUM:
        scratch.registers[slot] = fold.total
    elif step.kind == StepKind.MIN:
        scratch.registers[slot] = fold.least
    elif step.kind == StepKind.MAX:
        scratch.registers[slot] = fold.greatest
    elif fold.total > EXACT_REAL or fold.total < -EXACT_REAL:
        state.status = KernelStatus.BEYOND
        return False
    elif fold.count > 0:
        scratch.reals[0] = fold.total / fold.count
        scratch.registers[slot] = scratch.stack[0]
    return True
