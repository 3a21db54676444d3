"""The rules that an event may trigger, found by conditions on an attribute of their trigger.

The rule of this module: rules come in their order, however they are found. A rule that its index does not find would
not be triggered; one that it finds tests the other conditions of its trigger. Rules that have no match, since there is
no row with a key, are left out, too: with many rules, most events end here.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.index import bucket_of, next_of_key, scatter
from workbench.executors.compiled.rules.kernel.memory_prefetch import fetch_steps
from workbench.executors.compiled.rules.kernel.values import mix
from workbench.executors.compiled.rules.records import NONE


def find_rules(plan, history, scratch, state, type_):
    """Write the rules that the current event may trigger to `scratch.triggered`; return their number."""
    count = 0
    for k in range(plan.rules_of_type[type_], plan.rules_of_type[type_ + 1]):
        scratch.triggered[count] = plan.triggered[k]
        count += 1
    for k in range(plan.indexes_of_type[type_], plan.indexes_of_type[type_ + 1]):
        count = find_by_constant(plan, history, scratch, state, plan.constant_indexes[k], count)
    return count if state.profiled else leave_out(plan, history, scratch, state, count)


def leave_out(plan, history, scratch, state, count):
    """Leave out rules that have no match, since there is no row with a key; return the number of the others."""
    left, lookup, has_row = 0, NONE, True
    for k in range(count):
        number = scratch.triggered[k]
        if plan.rules[number].lookup != lookup:  # similar rules need the same row
            lookup = plan.rules[number].lookup
            has_row = has_needed_row(plan, history, state, lookup)
        if has_row:
            scratch.triggered[left] = number
            left += 1
            if count > 1:
                fetch_steps(plan, plan.rules[number])
    return left


def has_needed_row(plan, history, state, number):
    """Whether there is a row with the key of the trigger's lookup, or no lookup."""
    if number == NONE:
        return True
    lookup = plan.lookups[number]
    column, key = history.columns[lookup.column], 0
    for k in range(lookup.cells, lookup.cells_end):
        key = mix(key, history.cells[state.event, plan.slots[k]])
    return next_of_key(history, column, history.buckets[bucket_of(column, key)], key) >= column.first


def find_by_constant(plan, history, scratch, state, index, count):
    """Add the rules whose constant equals the event's attribute; return the new number of rules."""
    event = state.event
    if history.rows[event].nulls >> index.cell & 1:
        return count
    word = history.cells[event, index.cell]
    chain = index.chains + (scatter(word) & index.chain_mask)
    for at in range(plan.constant_chains[chain], plan.constant_chains[chain + 1]):
        if plan.constants[at].constant == word:
            insert(scratch.triggered, count, plan.constants[at].rule)
            count += 1
    return count


def insert(numbers, count, number):
    """Insert a number into ascending numbers."""
    at = count
    while at > 0 and numbers[at - 1] > number:
        numbers[at] = numbers[at - 1]
        at -= 1
    numbers[at] = number
