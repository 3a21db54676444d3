"""At most once in a time: a hash table of when a rule has emitted something last, for which values.

The rule of this module: an entry has its rule, the values as words, and which of them are null; it is found by all of
them. The table is open-addressed and at most half full; what is written to it is logged for undo.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.collected import evaluate_apart
from workbench.executors.compiled.rules.kernel.undo import has_undo_room, log_undo
from workbench.executors.compiled.rules.records import NONE, KernelStatus, UndoKind


def find_silence(entries, words, number, nulls, wanted):
    """The place of a rule's entry for some values, or the empty one where it belongs; values it has not are 0."""
    mixed = number ^ nulls
    for k in range(len(wanted)):
        mixed = (mixed << 7) ^ (mixed >> 57) ^ wanted[k]
    mask = len(entries) - 1
    place = (mixed ^ (mixed >> 7) ^ (mixed >> 19)) & mask
    while entries[place].rule != NONE:
        entry = entries[place]
        if entry.rule == number and entry.nulls == nulls and has_words(words, place, wanted):
            break
        place = (place + 1) & mask
    return place


def has_words(words, place, wanted):
    """Whether an entry has some values."""
    for k in range(len(wanted)):  # noqa: SIM110 - numba would allocate a generator
        if words[place, k] != wanted[k]:
            return False
    return True


def is_silent(plan, history, scratch, state, rule):
    """Whether a rule has emitted something less than its pause ago, for the values of the match; else it does now."""
    nulls, wanted = 0, scratch.silence_words
    for k in range(len(wanted)):
        wanted[k] = 0
    for k in range(rule.per_end - rule.per):
        value = plan.keys[rule.per + k]
        known = evaluate_apart(plan, history, scratch, state, value.code, value.code_end)
        wanted[k] = scratch.stack[0] if known else 0
        nulls |= int(not known) << k
    place = find_silence(history.silences, history.silence_words, rule.number, nulls, wanted)
    entry = history.silences[place]
    is_new = entry.rule == NONE
    if not is_new and state.now - entry.time < rule.pause:
        return True
    if not has_undo_room(history, state, 1):
        return False
    if not is_new:
        log_undo(history, state, UndoKind.EMITTED, place, entry.time)
    elif not add_silence(history, scratch, state, rule, place, nulls):
        return False
    entry.time = state.now
    return False


def add_silence(history, scratch, state, rule, place, nulls):
    """Begin an entry at a place; False if the table has no room."""
    if 2 * (state.silences + 1) > len(history.silences):
        state.status = KernelStatus.FULL_SILENCES
        return False
    log_undo(history, state, UndoKind.SILENCED, place, NONE)
    state.silences += 1
    history.silences[place].rule, history.silences[place].nulls = rule.number, nulls
    for k in range(len(scratch.silence_words)):
        history.silence_words[place, k] = scratch.silence_words[k]
    return True


def add_silences(entries, words, more, values):
    """Add entries, none of which is there, to a hash table that has room."""
    for i in range(len(more)):
        place = find_silence(entries, words, more[i].rule, more[i].nulls, values[i])
        entries[place].rule, entries[place].time, entries[place].nulls = more[i].rule, more[i].time, more[i].nulls
        for k in range(values.shape[1]):
            words[place, k] = values[i, k]
