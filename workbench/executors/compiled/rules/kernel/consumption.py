"""Consumption: a hash set of the events that each rule selects no more, or each of its steps where T-Rex is followed.

The rule of this module: an entry is a word, made of an event's order and the number of who selects it no more. The
set is open-addressed and at most half full; entries are added, logged for undo, and never removed one by one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.undo import has_undo_room, log_undo
from workbench.executors.compiled.rules.records import NONE, KernelStatus, UndoKind


def find_word(words, word):
    """The place of a word in a hash set, or the empty one where it belongs."""
    mask = len(words) - 1
    place = (word ^ (word >> 11)) & mask
    while words[place] != NONE and words[place] != word:
        place = (place + 1) & mask
    return place


def is_consumed(history, state, order, step):
    """Whether a step selects an event no more."""
    word = order * state.consumers + step.consumer
    return history.consumed[find_word(history.consumed, word)] == word


def note_consumption(plan, history, scratch, state, rule):
    """Note the events that a match consumes once all matches of its trigger are found; False if there is no room."""
    for k in range(rule.consumed, rule.consumed_end):
        if state.consuming == len(scratch.consuming):
            state.status = KernelStatus.FULL_CONSUMING
            return False
        step = plan.steps[plan.slots[k]]
        order = history.rows[scratch.registers[step.slot]].order
        scratch.consuming[state.consuming] = order * state.consumers + step.consumer
        state.consuming += 1
    return True


def consume(history, scratch, state):
    """Add what has been noted to the set; False if there is no room."""
    for k in range(state.consuming):
        word = scratch.consuming[k]
        place = find_word(history.consumed, word)
        if history.consumed[place] == word:
            continue
        if 2 * (state.consumed + 1) > len(history.consumed):
            state.status = KernelStatus.FULL_CONSUMED
            return False
        if not has_undo_room(history, state, 1):
            return False
        log_undo(history, state, UndoKind.CONSUMED, place, NONE)
        history.consumed[place] = word
        state.consumed += 1
    return True


def add_words(words, more):
    """Add words, none of which is there, to a hash set that has room."""
    for k in range(len(more)):
        words[find_word(words, more[k])] = more[k]
