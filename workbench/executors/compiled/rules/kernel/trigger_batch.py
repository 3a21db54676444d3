"""A batch of events that are processed together: all join the history, then each trigger is matched separately.

The rule of this module: a match reads rows that came before its trigger, and writes only to its own scratch, state and
part of the output. So triggers are matched in any order: each is counted first, and written once the offset of its
composites is known.

Source: Cugola and Margara, 5.3 (parallel search on a GPU); here a thread finds whole matches, not a step of one.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.index import append
from workbench.executors.compiled.rules.kernel.match import match
from workbench.executors.compiled.rules.kernel.process import begin_event
from workbench.executors.compiled.rules.kernel.triggers import find_rules
from workbench.executors.compiled.rules.kernel.undo import roll_back
from workbench.executors.compiled.rules.records import KernelStatus, Scratch


def join_events(plan, history, scratch, states, events, triggers, last):
    """Append the remaining events of a batch, up to `last`, to the history, and record their triggers.

    The batch begins with the event `state.batch_start`; each event also stays in a row, the first in `state.batch_row`.
    It ends before an event for whose rules `triggers` may be full, or where the status names a full array.
    """
    state = states[0]
    state.status = KernelStatus.DONE
    while state.reached < last and state.triggers + len(plan.rules) <= len(triggers):
        number = state.reached - state.batch_start
        state.event = state.batch_row + number
        type_ = begin_event(history, state, events, state.reached)
        count = find_rules(plan, history, scratch, state, type_)
        for k in range(count):
            trigger = triggers[state.triggers + k]
            trigger.event, trigger.row, trigger.rule, trigger.first = number, state.event, scratch.triggered[k], 0
        for column in range(plan.columns_of_type[type_], plan.columns_of_type[type_ + 1]):
            if not append(plan, history, scratch, state, column):
                roll_back(history, state)
                return
        state.triggers += count
        state.order += 1
        state.reached += 1


def match_triggers(plan, history, scratches, states, triggers, output, first, step):
    """Match every `step`-th trigger, from `first` on, with the scratch and the state of a thread.

    It stops where an array is full, or data is missing; the state has the reason.
    """
    scratch, state = scratch_of(scratches, first), states[first]
    for k in range(first, len(triggers), step):
        trigger = triggers[k]
        row = history.rows[trigger.row]
        state.status, state.event, state.now, state.pending = KernelStatus.DONE, trigger.row, row.time, trigger.first
        match(plan, history, scratch, state, trigger.rule, output)
        trigger.matches, trigger.status = state.pending - trigger.first, state.status
        if state.status != KernelStatus.DONE:
            break  # all triggers will be matched again, or none


def scratch_of(scratches, number):
    """Return the scratch of a thread, from arrays that have a row for each thread."""
    return Scratch(
        scratches.registers[number], scratches.null[number], scratches.stack[number], scratches.reals[number],
        scratches.low[number], scratches.high[number], scratches.range_cells[number], scratches.fold[number],
        scratches.limbs[number], scratches.candidates[number], scratches.candidate_starts[number],
        scratches.cursors[number], scratches.consuming[number], scratches.key[number],
        scratches.segments[number], scratches.sources[number], scratches.triggered[number], scratches.costs[number],
        scratches.total_costs[number],
    )  # fmt: skip
