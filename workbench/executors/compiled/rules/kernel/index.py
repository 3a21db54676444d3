"""Columns of events: ring buffers of rows, which hash chains lead through from the newest to the oldest.

The rule of this module: rows are numbered in the order in which they join their column, and a row's slot is its number
modulo the size. So a chain ends where a number is older than the oldest row, and no row has to be unlinked. Where a
column is banded, rows whose values are near one another have the same key, so what lies between two bounds is in two
chains, if the bounds are no farther apart than a band is wide.

Sources: DeWitt, Naughton and Schneider, An evaluation of non-equijoin algorithms (VLDB 1991), for bands; Bentley and
Yao, An almost optimal algorithm for unbounded searching (Information Processing Letters 5, 1976), for ends of windows.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.undo import has_undo_room, log_undo
from workbench.executors.compiled.rules.kernel.values import evaluate, evaluate_key, mix
from workbench.executors.compiled.rules.records import LEAST_WORD, NONE, OWN, KernelStatus, UndoKind

ODD = 0x5BD1E995
"""A factor by which the first bits of a word change its last ones; the product is a word."""


def bucket_of(column, key):
    """The place of the chain that a key's rows are in."""
    return column.buckets + (scatter(key) & column.bucket_mask)


def scatter(word):
    """A hash value of a word: its last bits depend on those in which floats, small numbers and mixed words differ."""
    high = ((word >> 20) ^ (word >> 42)) & 0x7FFFFFFF
    return word ^ (word >> 10) ^ ((high * ODD) >> 24)


def append(plan, history, scratch, state, number):
    """Let the event that is processed join a column, if it is one for it; False if there is no room."""
    index, event = plan.columns[number], state.event
    scratch.registers[OWN] = event
    if index.filter < index.filter_end and not evaluate(plan, history, scratch, state, index.filter, index.filter_end):
        return state.status == KernelStatus.DONE
    known, key = evaluate_key(plan, history, scratch, state, index.keys, index.keys_end)
    if not known or (index.banded != NONE and history.rows[event].nulls >> index.banded & 1 != 0):
        return state.status == KernelStatus.DONE  # null equals nothing, and lies between no bounds
    if index.banded != NONE:
        key = mix(key, history.cells[event, index.banded] >> history.columns[number].shift)
    if not make_room(plan, history, state, number) or not has_undo_room(history, state, 2):
        return False
    link(history, state, number, event, key)
    return True


def make_room(plan, history, state, number):
    """Whether a column has room for a row, some forgotten if need be."""
    column = history.columns[number]
    if column.appended - column.first > column.mask:
        evict(plan, history, state, number)
        if column.appended - column.first > column.mask:
            state.status, state.full_column = KernelStatus.FULL_COLUMN, number
            return False
    return True


def evict(plan, history, state, number):
    """Forget the rows of a column that no rule reaches any more.

    New rows take their slots, so this cannot be undone: it forgets what the event, processed again, does not reach.
    """
    index, column = plan.columns[number], history.columns[number]
    while column.first < column.appended:
        row = history.rows[column.start + (column.first & column.mask)]
        if row.time >= state.now - index.lookback or row.order >= state.began - index.count:
            return
        column.first += 1


def link(history, state, number, event, key):
    """Copy an event into a column's next row, and put it at the head of its chain."""
    column = history.columns[number]
    bucket = bucket_of(column, key)
    log_undo(history, state, UndoKind.BUCKET, bucket, history.buckets[bucket])
    log_undo(history, state, UndoKind.APPENDED, number, column.appended)
    slot = column.start + (column.appended & column.mask)
    row, given = history.rows[slot], history.rows[event]
    row.time, row.order, row.nulls, row.key = given.time, given.order, given.nulls, key
    row.older = history.buckets[bucket]
    for k in range(history.cells.shape[1]):
        history.cells[slot, k] = history.cells[event, k]
    history.buckets[bucket] = column.appended
    column.appended += 1


def rebuild_chains(history, number):
    """Chain the rows of a column anew, after its arrays have grown."""
    column = history.columns[number]
    for k in range(column.bucket_mask + 1):
        history.buckets[column.buckets + k] = NONE
    for n in range(column.first, column.appended):
        row = history.rows[column.start + (n & column.mask)]
        bucket = bucket_of(column, row.key)
        row.older = history.buckets[bucket]
        history.buckets[bucket] = n


def rows_in_window(history, column, window):
    """The numbers of the oldest and the newest row in a window, of a column with one chain.

    If there is none the oldest is the one behind the newest.
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
    """The oldest row from a time and an order on, up to one of a column with one chain, or the row behind that one.

    Most windows are short, so it is searched by steps that double, then by bisection.
    """
    before, found, step = newest, newest + 1, 1
    while before >= column.first:
        row = history.rows[column.start + (before & column.mask)]
        if row.time < time or row.order < order:
            break
        found, before, step = before, before - step, 2 * step
    before = max(before, column.first - 1)
    while found - before > 1:
        middle = (before + found) >> 1
        row = history.rows[column.start + (middle & column.mask)]
        if row.time < time or row.order < order:
            before = middle
        else:
            found = middle
    return found
