"""The rules that an event may trigger, found by what they ask of an attribute of their trigger.

The rule of this module: rules come in their order, whichever way they are found. A rule that an index does not find
would not be triggered; one that it finds asks what else it asks of its trigger. Nor is a rule found that has no match
since there is no row of a key that it needs: most events of many rules end here.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rule_tables.kernel.index import bucket_of, scatter
from workbench.executors.compiled.rule_tables.kernel.values import mix
from workbench.executors.compiled.rule_tables.records import NONE


def find_rules(plan, history, scratch, state, type_):
    """Write the rules that the current event may trigger to `scratch.asked`; how many these are."""
    found = 0
    for k in range(plan.rules_of_type[type_], plan.rules_of_type[type_ + 1]):
        number = plan.triggered[k]
        if state.profiled or has_needed_row(plan, history, state, plan.rules[number]):
            scratch.asked[found] = number
            found += 1
    for k in range(plan.indexes_of_type[type_], plan.indexes_of_type[type_ + 1]):
        found = find_by_constant(plan, history, scratch, state, plan.constant_indexes[k], found)
    return found


def has_needed_row(plan, history, state, rule):
    """Whether there is a row of the key that a rule needs one of, as far as the trigger alone tells that key."""
    if rule.lookup == NONE:
        return True
    lookup = plan.lookups[rule.lookup]
    column, key = history.columns[lookup.column], 0
    for k in range(lookup.cells, lookup.cells_end):
        key = mix(key, history.cells[state.event, plan.slots[k]])
    at = history.buckets[bucket_of(column, key)]
    while at >= column.first:
        row = history.rows[column.start + (at & column.mask)]
        if row.key == key:
            return True
        at = row.older
    return False


def find_by_constant(plan, history, scratch, state, index, found):
    """Add the rules whose constant is the event's attribute; how many there are then."""
    event = state.event
    if history.rows[event].nulls >> index.cell & 1:
        return found
    word = history.cells[event, index.cell]
    chain = index.chains + (scatter(word) & index.chain_mask)
    for at in range(plan.constant_chains[chain], plan.constant_chains[chain + 1]):
        if plan.constants[at].constant == word:
            insert(scratch.asked, found, plan.constants[at].rule)
            found += 1
    return found


def insert(numbers, count, number):
    """Insert a number into ascending ones."""
    at = count
    while at > 0 and numbers[at - 1] > number:
        numbers[at] = numbers[at - 1]
        at -= 1
    numbers[at] = number
