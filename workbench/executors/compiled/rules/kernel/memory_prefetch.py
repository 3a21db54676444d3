"""Prefetching of the memory that coming events need first, while earlier events are processed.

The rule of this module: it has no effect on results. Useless prefetches cost a little time.
"""

# mypy: allow-untyped-defs, allow-untyped-calls

from __future__ import annotations

from workbench.executors.compiled.rules.kernel.index import bucket_of
from workbench.executors.compiled.rules.kernel.values import mix
from workbench.executors.compiled.rules.records import NONE

CHAINS_AHEAD, ROWS_AHEAD = 16, 8
"""Distances in events at which the heads of chains are prefetched, and the rows to which these lead."""


def fetch_ahead(plan, history, events, i):
    """Prefetch the memory that later events need first."""
    if i + CHAINS_AHEAD < len(events.types):
        fetch_chains(plan, history, events, i + CHAINS_AHEAD)
        fetch_rows(plan, history, events, i + ROWS_AHEAD)


def fetch_chains(plan, history, events, i):
    """Prefetch the heads of the chains that an event joins, or is looked up in."""
    type_ = events.types[i]
    for k in range(plan.lookups_of_type[type_], plan.lookups_of_type[type_ + 1]):
        lookup = plan.lookups[k]
        column = history.columns[lookup.column]
        fetch(history.buckets, bucket_of(column, key_of(plan, column, events, i, lookup)))


def fetch_rows(plan, history, events, i):
    """Prefetch the newest row of each chain in which an event is looked up."""
    type_ = events.types[i]
    for k in range(plan.lookups_of_type[type_], plan.lookups_of_type[type_ + 1]):
        lookup = plan.lookups[k]
        if lookup.joins:
            continue
        column = history.columns[lookup.column]
        newest = history.buckets[bucket_of(column, key_of(plan, column, events, i, lookup))]
        if newest >= column.first:
            fetch(history.rows, column.start + (newest & column.mask))


def key_of(plan, column, events, i, lookup):
    """Return the word of the key under which an event is looked up; arbitrary where a value is null."""
    key, type_ = 0, events.types[i]
    for k in range(lookup.cells, lookup.cells_end):
        key = mix(key, events.words[events.columns[type_, plan.slots[k]] + events.type_rows[i]])
    if lookup.banded != NONE:
        key = mix(key, events.words[events.columns[type_, lookup.banded] + events.type_rows[i]] >> column.shift)
    return key


def fetch_steps(plan, rule):
    """Prefetch the steps of a rule that will be matched after others."""
    for k in range(rule.steps, rule.steps_end):
        fetch(plan.steps, k)


def fetch(array, index):
    """Prefetch an entry of an array: an instruction in machine code, nothing in plain Python."""
    del array, index
