"""The total order of events: each event triggers rules and joins the history; its composites are published next.

The rule of this module: an event or a deadline is processed as a whole or not at all. Where an array is full the undo
log restores the earlier state, and `state` has the number of events that are done.

Sources: Di Pilla's thesis, 4.4; Cugola and Margara, 4.2.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.index import append
from workbench.executors.compiled.rules.kernel.match import match
from workbench.executors.compiled.rules.kernel.memory_prefetch import fetch_ahead
from workbench.executors.compiled.rules.kernel.profile import end_costs, ticks
from workbench.executors.compiled.rules.kernel.triggers import find_rules
from workbench.executors.compiled.rules.kernel.undo import roll_back
from workbench.executors.compiled.rules.kernel.waiting_matches import begin_deadline, end_deadline
from workbench.executors.compiled.rules.records import NONE, KernelStatus


def run(plan, history, scratch, states, events, output, pending):
    """Process events in order, with the deadlines before them, until all are done, or the kernel cannot process one.

    It also stops where an array is full. After the events come the deadlines up to `state.until`. Where no rule selects
    composites, `output` and `pending` are the same arrays: nothing waits.
    """
    state = states[0]
    state.status, state.event = KernelStatus.DONE, len(history.rows) - 1
    started = ticks() if state.profiled else 0
    while True:
        i, is_event = state.reached, state.reached < len(events.types)
        if is_event and events.times[i] < state.now:
            state.status = KernelStatus.LATE
            break
        if state.fetching:
            fetch_ahead(plan, history, events, i)
        order, now, outputs = state.order, state.now, state.outputs
        due, due_rule = state.due, state.due_rule
        is_deadline = due <= (events.times[i] - 1 if is_event else state.until)
        if is_deadline:
            type_ = begin_deadline(plan, history, state)
        elif is_event:
            type_ = begin_event(history, state, events, i)
        else:
            break
        done = process_with_effects(plan, history, scratch, state, type_, output, pending)
        if state.profiled:
            end_costs(scratch, done)
        if not done:
            roll_back(history, state)
            state.order, state.now, state.outputs = order, now, outputs
            state.due, state.due_rule = due, due_rule
            break
        if is_deadline:
            end_deadline(plan, history, state, due_rule)
        else:
            state.reached = i + 1
    if state.profiled:
        state.ticks += ticks() - started


def begin_event(history, state, events, i):
    """Copy an event from outside into its row; return its type. If its order is known it triggers nothing."""
    state.now, state.undos, state.silent = events.times[i], 0, events.orders[i] != NONE
    state.takes_place, state.chain = 1, 0
    state.pending = 0 if state.hierarchical else state.outputs
    if state.silent:
        state.order = events.orders[i]
    state.began = state.order
    event, width = state.event, history.cells.shape[1]
    type_, index, row = events.types[i], events.type_rows[i], history.rows[event]
    nulls = events.columns[type_, width]
    row.time, row.order, row.nulls = state.now, state.order, 0 if nulls == NONE else events.words[nulls + index]
    for k in range(width):
        column = events.columns[type_, k]
        if column == NONE:
            break
        history.cells[event, k] = events.words[column + index]
    return type_


def process_with_effects(plan, history, scratch, state, type_, output, pending):
    """Process the current event, and publish each composite with all its effects before the next one."""
    segments, depth, chain = scratch.segments, -1, state.chain
    while True:
        caused = state.pending
        if not process(plan, history, scratch, state, type_, pending):
            return False
        if not state.hierarchical:
            number_composites(state, output)
            return True
        if state.pending > caused:
            depth += 1
            segments[depth].next, segments[depth].end = caused, state.pending
        while depth >= 0 and segments[depth].next == segments[depth].end:
            depth -= 1
            state.pending = segments[depth].end if depth >= 0 else 0
        if depth < 0:
            return True
        state.chain = chain + depth + 1
        if state.chain == len(segments):
            state.status = KernelStatus.ENDLESS
            return False
        index = segments[depth].next
        segments[depth].next = index + 1
        if not publish(history, state, output, pending, index):
            return False
        type_ = pending.types[index]


def process(plan, history, scratch, state, type_, pending):
    """Let the current event trigger rules, then join the history; False if an array is full."""
    if not state.silent:
        for k in range(find_rules(plan, history, scratch, state, type_)):
            started = ticks() if state.profiled else 0
            if not match(plan, history, scratch, state, scratch.triggered[k], pending):
                return False
            if state.profiled:
                scratch.costs[plan.rules[scratch.triggered[k]].number].ticks += ticks() - started
    for number in range(plan.columns_of_type[type_], plan.columns_of_type[type_ + 1]):
        if not append(plan, history, scratch, state, number):
            return False
    state.order += state.takes_place
    state.takes_place = 1
    return True


def number_composites(state, output):
    """Number composites that cause nothing, unless composites take no numbers; the output has them already."""
    order, numbered = state.order, state.numbered
    for index in range(state.outputs, state.pending):
        output.orders[index] = order
        order += numbered
    state.order, state.outputs = order, state.pending


def publish(history, state, output, pending, index):
    """Copy a waiting composite to the output and into the row of the current event; False if the output is full."""
    if state.outputs == len(output.types):
        state.status = KernelStatus.FULL_OUTPUT
        return False
    event, at = state.event, state.outputs
    row = history.rows[event]
    row.time, row.order, row.nulls = pending.times[index], state.order, pending.nulls[index]
    output.times[at], output.orders[at], output.nulls[at] = row.time, row.order, row.nulls
    output.types[at], output.rules[at] = pending.types[index], pending.rules[index]
    for k in range(len(pending.cells)):
        history.cells[event, k] = output.cells[k, at] = pending.cells[k, index]
    if state.with_sources:
        for k in range(pending.sources.shape[1]):
            output.sources[at, k] = pending.sources[index, k]
    state.outputs += 1
    return True
