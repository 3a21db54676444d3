"""Rate limits (at most once in a time): a hash table of the time of each rule's last emission, by values.

The rule of this module: a row has its rule, a null mask, the values as words, and the time; all but the time is the
key. Writes are logged for undo.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.collected_values import evaluate_apart
from workbench.executors.compiled.rules.kernel.hash_tables import find_row
from workbench.executors.compiled.rules.kernel.undo import has_undo_capacity, log_undo
from workbench.executors.compiled.rules.records import NONE, KernelStatus, UndoKind


def is_silent(plan, history, scratch, state, rule):
    """Whether a rule emitted less than its pause ago, for the values of the match; if not, record that it emits now."""
    set_key(plan, history, scratch, state, rule)
    silences, last = history.silences, history.silences.shape[1] - 1
    row = find_row(silences, scratch.key, last)
    is_new = silences[row, 0] == NONE
    if not is_new and state.now - silences[row, last] < rule.pause:
        return True
    if not has_undo_capacity(history, state, 1):
        return False
    if not is_new:
        log_undo(history, state, UndoKind.EMITTED, row, silences[row, last])
    elif not add_silence(history, scratch, state, row):
        return False
    silences[row, last] = state.now
    return False


def set_key(plan, history, scratch, state, rule):
    """Build the key from a rule and the values of the match; unused values are 0."""
    key, nulls = scratch.key, 0
    for k in range(len(key)):
        key[k] = 0
    for k in range(rule.per_end - rule.per):
        value = plan.keys[rule.per + k]
        known = evaluate_apart(plan, history, scratch, state, value.code, value.code_end)
        key[2 + k] = scratch.stack[0] if known else 0
        nulls |= int(not known) << k
    key[0], key[1] = rule.number, nulls


def add_silence(history, scratch, state, row):
    """Add a row without a time; False if the table is full."""
    if 2 * (state.silences + 1) > len(history.silences):
        state.status = KernelStatus.FULL_SILENCES
        return False
    log_undo(history, state, UndoKind.SILENCED, row, NONE)
    state.silences += 1
    for k in range(len(scratch.key)):
        history.silences[row, k] = scratch.key[k]
    return True
