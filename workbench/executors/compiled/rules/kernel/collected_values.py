"""Aggregates over all values of rows that have been stored: medians, and declared aggregates.

The rule of this module: it is compiled separately, since few rules have such aggregates.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.candidates import sort_words
from workbench.executors.compiled.rules.kernel.exact_sums import (
    MAX_DIVISOR,
    NAN_WORD,
    add_integer,
    add_real,
    clear_sum,
    sum_over,
)
from workbench.executors.compiled.rules.kernel.values import evaluate
from workbench.executors.compiled.rules.records import GREATEST_WORD, OWN, KernelStatus

EXACT_REAL = 1 << 52
"""The bound up to which the sum of two integers is a float."""


def evaluate_apart(plan, history, scratch, state, begin, end):
    """Evaluate an expression as `evaluate` does, where inlining it does not pay."""
    return evaluate(plan, history, scratch, state, begin, end)


def mean(scratch, state, one, other, count):
    """Return the word of the mean of integers whose sum is `one + other`; the status says if it is unsupported."""
    if -EXACT_REAL <= one <= EXACT_REAL and -EXACT_REAL <= other <= EXACT_REAL:
        scratch.reals[0] = float(one + other) / float(count)
        return scratch.stack[0]
    if count > MAX_DIVISOR:
        state.status = KernelStatus.BEYOND
        return 0
    clear_sum(scratch.limbs)
    add_integer(scratch.limbs, one)
    add_integer(scratch.limbs, other)
    return sum_over(scratch.limbs, count)


def median(history, scratch, state, step, first):
    """Return the word of the median of the integers of rows that have been stored."""
    values, end = scratch.candidates, state.candidates
    for k in range(first, end):
        values[k] = history.cells[values[k], step.cell]
    sort_words(values, first, end)
    return mean(scratch, state, values[(first + end - 1) >> 1], values[(first + end) >> 1], 2)


def median_real(history, scratch, state, step, first):
    """Return the word of the median of the floats of rows that have been stored."""
    values, end = scratch.candidates, state.candidates
    for k in range(first, end):
        x = history.cells[values[k], step.cell]
        if x & GREATEST_WORD > 0x7FF0000000000000:
            return NAN_WORD
        values[k] = x if x >= 0 else x ^ GREATEST_WORD  # words in the order of the floats; an involution
    sort_words(values, first, end)
    clear_sum(scratch.limbs)
    for k in ((first + end - 1) >> 1, (first + end) >> 1):
        add_real(scratch.limbs, values[k] if values[k] >= 0 else values[k] ^ GREATEST_WORD)
    return sum_over(scratch.limbs, 2)


def combine_rows(plan, history, scratch, state, step, first):
    """Combine the values of rows that have been stored, oldest first, by the code of a declared aggregate."""
    operands, slot = len(history.rows) - 2, step.slot
    known = evaluate_apart(plan, history, scratch, state, step.initial, step.initial_end)
    row = history.rows[operands]
    for k in range(state.candidates - 1, first - 1, -1):
        row.nulls, history.cells[operands, 0] = int(not known), scratch.stack[0]
        scratch.registers[OWN] = scratch.candidates[k]
        evaluate_apart(plan, history, scratch, state, step.value, step.value_end)
        history.cells[operands, 1] = scratch.stack[0]
        scratch.registers[OWN] = operands
        known = evaluate_apart(plan, history, scratch, state, step.combine, step.combine_end)
    scratch.registers[slot], scratch.null[slot] = scratch.stack[0], int(not known)
