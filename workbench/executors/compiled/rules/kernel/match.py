"""Column-based delayed processing: a depth-first search for the matches of a trigger, step by step.

The rule of this module: a match is the registers. Each step adds a binding: an event with its parameters, or an
aggregate. A step that fails backtracks to the latest `each` with candidates left. Where the candidates of an `each` do
not depend on the previous binding, they are stored before it, and taken from there.

Source: Cugola and Margara, 4.2 (algorithm 2).
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.consumption import consume
from workbench.executors.compiled.rules.kernel.emission import emit, emit_all
from workbench.executors.compiled.rules.kernel.profile import count_match, count_partial
from workbench.executors.compiled.rules.kernel.search import scan
from workbench.executors.compiled.rules.kernel.values import evaluate
from workbench.executors.compiled.rules.kernel.waiting_matches import gather_due, restore, wait
from workbench.executors.compiled.rules.records import NONE, OWN, KernelStatus, StepKind


def match(plan, history, scratch, state, rule_number, pending):
    """Find the matches of a rule that the event triggers, and emit them or let them wait; False if an array is full."""
    rule = plan.rules[rule_number]
    state.candidates, state.consuming = 0, 0
    depth, steps, emitted, forward = 0, rule.steps_end - rule.steps, 0, True
    while depth >= 0:
        if depth == steps:
            forward = False
            emitted += finish(plan, history, scratch, state, rule, pending)
        else:
            forward = extend(plan, history, scratch, state, rule, depth, forward, pending)
        if state.status != KernelStatus.DONE:
            return False
        if emitted == rule.limit:
            break
        depth += 1 if forward else -1
    return consume(history, scratch, state)


def finish(plan, history, scratch, state, rule, pending):
    """Emit a match, or let it wait; return 1 if it counts, else 0. The status says whether an array was full."""
    if state.profiled and not count_match(plan, history, scratch, state, rule):
        return 0
    if rule.timeout != NONE:
        return int(wait(plan, history, scratch, state, rule))
    return int(emit(plan, history, scratch, state, rule, pending))


def extend(plan, history, scratch, state, rule, depth, forward, pending):
    """Extend the match by a step, for the first time (`forward`) or by its next candidate; return whether there is one.

    A last step may emit all its matches at once; then there is none left.
    """
    step = plan.steps[rule.steps + depth]
    if forward:
        if step.kind == StepKind.TRIGGER:
            scratch.registers[step.slot] = state.event
        elif step.kind == StepKind.WAITING:
            forward = gather_due(history, scratch, state, rule)
        elif step.kind != StepKind.TAKE:
            forward = scan(plan, history, scratch, state, depth, step)
        scratch.cursors[depth] = scratch.cursors[step.list] if step.kind == StepKind.TAKE else state.candidates
        if step.emits:
            if forward:
                emit_all(plan, history, scratch, state, rule, step, pending)
            if step.kind != StepKind.TAKE:
                state.candidates = scratch.candidate_starts[depth]
            return False
    elif step.later:
        state.candidates = scratch.candidate_starts[depth]
    if step.later:
        return forward
    if step.kind != StepKind.EACH and step.kind != StepKind.WAITING and step.kind != StepKind.TAKE:
        return forward and bind(plan, history, scratch, state, step)
    while take_next(scratch, state, step, depth):
        if step.kind == StepKind.WAITING:
            restore(plan, history, scratch, rule, scratch.registers[step.slot])
        if bind(plan, history, scratch, state, step):
            return True
    return False


def take_next(scratch, state, step, depth):
    """Bind the oldest remaining candidate; False if there is none."""
    if step.kind != StepKind.TAKE:
        if state.candidates == scratch.candidate_starts[depth]:
            return False
        state.candidates -= 1
        scratch.registers[step.slot] = scratch.candidates[state.candidates]
    else:
        if scratch.cursors[depth] == scratch.candidate_starts[step.list]:
            return False
        scratch.cursors[depth] -= 1
        scratch.registers[step.slot] = scratch.candidates[scratch.cursors[depth]]
    return True


def bind(plan, history, scratch, state, step):
    """Perform the actions of a step after its binding; return whether the match goes on.

    Parameters and cells of the composite are assigned, and conditions tested, as early as they are known: once for all
    matches that share this part.
    """
    if step.source != NONE:
        scratch.sources[step.source] = history.rows[scratch.registers[step.slot]].order
    scratch.registers[OWN] = scratch.registers[step.slot]
    for k in range(step.actions, step.actions_end):
        action = plan.actions[k]
        known = evaluate(plan, history, scratch, state, action.code, action.code_end)
        if action.slot != NONE:
            scratch.registers[action.slot], scratch.null[action.slot] = scratch.stack[0] if known else 0, int(not known)
        elif not known:
            return False
    if state.profiled:
        count_partial(scratch, step)
    return True
