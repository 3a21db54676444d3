"""Aggregates over the rows of a key in a long window, combined from stored aggregates of parts of their chain.

The rule of this module: a row may have a node, which covers the row and some right before it with the same key, and
stores their aggregate once it has been needed. Node lengths are those of skew binary numbers, so that n rows of a chain
are about log n nodes. Nodes are a cache: they may be dropped at any time, and are written again.

Source: Myers, An applicative random-access stack (Information Processing Letters 17, 1983): the lengths of nodes.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.candidates import store_candidate
from workbench.executors.compiled.rules.kernel.folds import accumulate, begin_fold, is_real_sum, merge
from workbench.executors.compiled.rules.kernel.index import next_of_key
from workbench.executors.compiled.rules.records import GREATEST_WORD, NONE, KernelStatus

FIRST_LIMB, SOME_LIMBS = 30, 6
"""The first limb of an exact sum that a node has, and their number: for floats from 2**-62 to 2**65 in size."""


def fold_nodes(history, scratch, state, step, key, window, at):
    """Aggregate over the rows of a key in a window, from row `at` backwards; the status says if it failed."""
    tree, column = history.trees[step.tree], history.columns[step.column]
    if tree.start == NONE:
        state.status, state.full_tree = KernelStatus.FULL_NODES, step.tree
        return
    at = next_of_key(history, column, at, key)
    write_nodes(history, scratch, state, step, at)
    begin_fold(scratch, step)
    while at >= column.first and state.status == KernelStatus.DONE:
        row, node = history.rows[column.start + (at & column.mask)], history.nodes[tree.start + (at & column.mask)]
        if row.time < window.time_low or row.order < window.order_low:
            break
        end, has_end = history.rows[column.start + (node.end & column.mask)], node.end >= column.first
        if row.time > window.time_high or row.order > window.order_high:
            far = has_end and (end.time > window.time_high or end.order > window.order_high)
            at = node.end if far else node.before
        elif has_end and node.count != NONE and end.time >= window.time_low and end.order >= window.order_low:
            merge_node(history, scratch, state, step, tree.start + (at & column.mask))
            at = node.end
        else:
            accumulate(history, scratch, state, step, column.start + (at & column.mask))
            at = node.before
    tree.large = int(scratch.fold[0].count > state.walked)


def rows_to_walk(history, state, step):
    """Return the number of rows to scan before nodes are used: one where the last window was large."""
    return 1 if history.trees[step.tree].large else state.walked


def write_nodes(history, scratch, state, step, at):
    """Write the missing nodes of a row and of the rows before it with the same key."""
    tree, column, begin = history.trees[step.tree], history.columns[step.column], state.candidates
    while at >= column.first and history.nodes[tree.start + (at & column.mask)].row != at:
        if not store_candidate(scratch, state, at):
            return
        row = history.rows[column.start + (at & column.mask)]
        at = next_of_key(history, column, row.older, row.key)
    while state.candidates > begin and state.status == KernelStatus.DONE:
        state.candidates -= 1
        number = scratch.candidates[state.candidates]
        write_node(history, scratch, state, step, number, at)
        at = number


def merge_node(history, scratch, state, step, index):
    """Add the rows of a node to an aggregate."""
    node = history.nodes[index]
    if is_real_sum(step.kind):
        scratch.fold[0].count += node.count
        for k in range(SOME_LIMBS):
            scratch.limbs[FIRST_LIMB + k] += history.node_limbs[index, k]
    elif node.count > 0:
        merge(history, scratch, state, step.kind, node.value, node.count)


def write_node(history, scratch, state, step, number, before):
    """Write the node of a row, given the previous row with the same key, which has a node, if it exists."""
    tree, column, fold = history.trees[step.tree], history.columns[step.column], scratch.fold[0]
    index, slot = tree.start + (number & column.mask), column.start + (number & column.mask)
    node, end, length = history.nodes[index], before, 1
    begin_fold(scratch, step)
    accumulate(history, scratch, state, step, slot)
    count, value = fold.count if sums_fit(history, step, slot) else NONE, fold.total
    if before >= column.first and count != NONE:
        first = tree.start + (before & column.mask)
        one, second = history.nodes[first], tree.start + (history.nodes[first].end & column.mask)
        other = history.nodes[second]
        is_there = one.end >= column.first and other.row == one.end and other.length == one.length
        if is_there and one.count != NONE and other.count != NONE:
            merge_node(history, scratch, state, step, first)
            merge_node(history, scratch, state, step, second)
            if state.status == KernelStatus.BEYOND:  # no rule may need this sum
                state.status = KernelStatus.DONE
            else:
                end, length, count, value = other.end, 1 + 2 * one.length, fold.count, fold.total
    node.before, node.end, node.length, node.count, node.value = before, end, length, count, value
    if is_real_sum(step.kind):
        for k in range(SOME_LIMBS):
            history.node_limbs[index, k] = scratch.limbs[FIRST_LIMB + k]
    if state.status == KernelStatus.DONE:
        node.row = number


def sums_fit(history, step, slot):
    """Whether a node can store sums with the value of a row, if it has one; integer sums are tested later."""
    if not is_real_sum(step.kind) or history.rows[slot].nulls >> step.cell & 1:
        return True
    word = history.cells[slot, step.cell]
    limb = (((word >> 52) & 0x7FF) - 1) >> 5
    return word & GREATEST_WORD == 0 or FIRST_LIMB <= limb < FIRST_LIMB + SOME_LIMBS - 2
