"""Columns of events: ring buffers of rows, with hash chains from the newest row to the oldest.

The rule of this module: rows are numbered in the order in which they join their column, and a row's slot is its number
modulo the size. So a chain ends where a number is older than the oldest row, and no row has to be unlinked. In a banded
column rows with nearby values have the same key, so the rows between two bounds are in two chains, if the bounds are no
farther apart than the width of a band.

Sources: DeWitt, Naughton and Schneider, An evaluation of non-equijoin algorithms (VLDB 1991), for bands; Bentley and
Yao, An almost optimal algorithm for unbounded searching (Information Processing Letters 5, 1976), for ends of windows.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.undo import has_undo_capacity, log_undo
from workbench.executors.compiled.rules.kernel.values import evaluate, evaluate_key, mix
from workbench.executors.compiled.rules.records import LEAST_WORD, NONE, OWN, KernelStatus, UndoKind

ODD = 0x5BD1E995
"""A factor by which high bits of a word affect the low ones; the product fits in a word."""


def bucket_of(column, key):
    """Return the bucket of the chain of a key."""
    return column.buckets + (scatter(key) & column.bucket_mask)


def scatter(word):
    """Return a hash value whose low bits depend on those in which floats, small numbers and mixed words differ."""
    high = ((word >> 20) ^ (word >> 42)) & 0x7FFFFFFF
    return word ^ (word >> 10) ^ ((high * ODD) >> 24)


def append(plan, history, scratch, state, number):
    """Append the current event to a column that accepts it; False if an array is full."""
    index, event = plan.columns[number], state.event
    scratch.registers[OWN] = event
    if index.filter < index.filter_end and not evaluate(plan, history, scratch, state, index.filter, index.filter_end):
        return state.status == KernelStatus.DONE
    known, key = evaluate_key(plan, history, scratch, state, index.keys, index.keys_end)
    if not known or (index.banded != NONE and history.rows[event].nulls >> index.banded & 1 != 0):
        return state.status == KernelStatus.DONE  # null equals nothing, and is within no bounds
    if index.banded != NONE:
        key = mix(key, history.cells[event, index.banded] >> history.columns[number].shift)
    if not ensure_capacity(plan, history, state, number) or not has_undo_capacity(history, state, 2):
        return False
    link(history, state, number, event, key)
    return True


def ensure_capacity(plan, history, state, number):
    """Whether a column has space for a row, after evicting some if necessary."""
    column = history.columns[number]
    if column.appended - column.first > column.mask:
        evict(plan, history, state, number)
        if column.appended - column.first > column.mask:
            state.status, state.full_column = KernelStatus.FULL_COLUMN, number
            return False
    return True


def evict(plan, history, state, number):
    """Evict the rows of a column that no rule can reach.

    New rows reuse their slots, so this cannot be undone: it evicts only what the event, processed again, cannot reach.
    """
    index, column = plan.columns[number], history.columns[number]
    while column.first < column.appended:
        row = history.rows[column.start + (column.first & column.mask)]
        if row.time >= state.now - index.lookback or row.order >= state.began - index.count:
            return
        column.first += 1


def link(history, state, number, event, key):
    """Copy an event into a column's next row, and make it the head of its chain."""
    column = history.columns[number]
    bucket = bucket_of(column, key)
    log_undo(history, state, UndoKind.BUCKET, bucket, history.buckets[bucket])
    log_undo(history, state, UndoKind.APPENDED, number, column.appended)
    slot = column.start + (column.appended & column.mask)
    row, source = history.rows[slot], history.rows[event]
    row.time, row.order, row.nulls, row.key = source.time, source.order, source.nulls, key
    row.older = history.buckets[bucket]
    for k in range(history.cells.shape[1]):
        history.cells[slot, k] = history.cells[event, k]
    history.buckets[bucket] = column.appended
    column.appended += 1


def rebuild_chains(history, number):
    """Rebuild the chains of a column, after its arrays have grown."""
    column = history.columns[number]
    for k in range(column.bucket_mask + 1):
        history.buckets[column.buckets + k] = NONE
    for n in range(column.first, column.appended):
        row = history.rows[column.start + (n & column.mask)]
        bucket = bucket_of(column, row.key)
        row.older = history.buckets[bucket]
        history.buckets[bucket] = n


def next_of_key(history, column, at, key):
    """Return the first row with a key in a chain, from `at` on."""
    while at >= column.first and history.rows[column.start + (at & column.mask)].key != key:
        at = history.rows[column.start + (at & column.mask)].older
    return at


def rows_in_window(history, column, window):
    """Return the oldest and the newest row in a window, for a column with one chain.

    If there is none the oldest is the newest plus one.
    """
    newest = column.appended - 1
    if newest >= column.first:
        row = history.rows[column.start + (newest & column.mask)]
        if row.order > window.order_high:
            newest = oldest_from(history, column, newest, LEAST_WORD, window.order_high + 1) - 1
        if row.time > window.time_high:
            newest = oldest_from(history, column, newest, window.time_high + 1, LEAST_WORD) - 1
    return oldest_from(history, column, newest, window.time_low, window.order_low), newest


def oldest_from(history, column, newest, time, order):
    """Return the oldest row from a time and an order on, up to `newest`, in a column with one chain; else `newest + 1`.

    Most windows are short, so the search is exponential, then by bisection.
    """
    before, oldest, step = newest, newest + 1, 1
    while before >= column.first:
        row = history.rows[column.start + (before & column.mask)]
        if row.time < time or row.order < order:
            break
        oldest, before, step = before, before - step, 2 * step
    before = max(before, column.first - 1)
    while oldest - before > 1:
        middle = (before + oldest) >> 1
        row = history.rows[column.start + (middle & column.mask)]
        if row.time < time or row.order < order:
            before = middle
        else:
            oldest = middle
    return oldest
