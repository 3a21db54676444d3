"""The chains in which an event will be looked up, or which it will join, as far as its own attributes determine them.

The rule of this module: it reads finished tables. A key that is not composed of attributes of the event has no entry.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.records import Opcode, StepKind

EventLookup = tuple[int, tuple[int, ...], bool]
"""A column, the cells of the key, and whether the event joins."""
KnownCells = Mapping[tuple[int, int], int]
"""The attributes of the event whose values registers and constants have, by the instruction that pushes them."""


def add_lookups(tables: records.PlanTables) -> records.PlanTables:
    """Add the lookups of each type to tables, and to each rule the first one without which it has no match.

    Lookups of rules that are found by a constant come after those of all types: not every event needs them.
    """
    slots, lookups, starts = tables.slots.tolist(), list[tuple[int, ...]](), [0]

    def add(some: Iterable[tuple[EventLookup, int]]) -> None:
        indices = dict[EventLookup, int]()
        for lookup, user in some:
            if lookup not in indices:
                column, cells, joins = lookup
                indices[lookup] = len(lookups)
                lookups.append((column, len(slots), len(slots) + len(cells), joins, tables.columns[column].banded))
                slots.extend(cells)
            if user != records.NONE and tables.rules.lookup[user] == records.NONE:
                tables.rules.lookup[user] = indices[lookup]

    for type_ in range(len(tables.rules_of_type) - 1):
        add(_lookups_of(tables, type_))
        starts.append(len(lookups))
    add(_lookups_by_constants(tables))
    return tables._replace(
        slots=np.array(slots, np.int64), lookups=records.table(lookups, records.LOOKUP),
        lookups_of_type=np.array(starts, np.int64),
    )  # fmt: skip


def _lookups_of(tables: records.PlanTables, type_: int) -> Iterator[tuple[EventLookup, int]]:
    """Yield the lookups of events of a type, each with the rule that has no match where nothing is found, or `NONE`."""
    for at in range(tables.rules_of_type[type_], tables.rules_of_type[type_ + 1]):
        yield from _lookups_of_rule(tables, int(tables.triggered[at]), {})
    for number in range(tables.columns_of_type[type_], tables.columns_of_type[type_ + 1]):
        column = tables.columns[number]
        cells = _key_cells(tables, column, records.OWN, {})
        if cells or (column.banded != records.NONE and column.keys == column.keys_end):
            yield (number, cells, True), records.NONE


def _lookups_by_constants(tables: records.PlanTables) -> Iterator[tuple[EventLookup, int]]:
    """Yield the lookups of rules that are found by a constant, which an attribute of their trigger equals."""
    for index in tables.constant_indexes[: tables.indexes_of_type[-1]]:
        first, last = (tables.constant_chains[index.chains + k] for k in (0, index.chain_mask + 1))
        for each in tables.constants[first:last]:
            yield from _lookups_of_rule(tables, int(each.rule), {int(each.constant): int(index.cell)})


def _lookups_of_rule(
    tables: records.PlanTables, number: int, constants: Mapping[int, int]
) -> Iterator[tuple[EventLookup, int]]:
    """Yield the lookups of a rule, given the attributes of its trigger that equal constants."""
    rule = tables.rules[number]
    trigger, known = tables.steps[rule.steps], {(int(Opcode.CONST), word): cell for word, cell in constants.items()}
    for each in tables.actions[trigger.actions : trigger.actions_end]:  # assignments of parameters
        cell = _cell(tables, each, records.OWN, {})
        if cell is not None:
            known[int(Opcode.REGISTER), int(each.slot)] = cell
    for step in tables.steps[rule.steps + 1 : rule.steps_end]:
        cells = _key_cells(tables, step, trigger.slot, known)
        if cells and tables.columns[step.column].banded == records.NONE:
            yield (int(step.column), cells, False), number if step.kind < StepKind.NOT else records.NONE


def _key_cells(tables: records.PlanTables, entry: Any, register: int, known: KnownCells) -> tuple[int, ...]:
    """Return the attributes that form a key; none where it has other parts."""
    cells = [_cell(tables, each, register, known) for each in tables.keys[entry.keys : entry.keys_end]]
    return () if None in cells else tuple(cell for cell in cells if cell is not None)


def _cell(tables: records.PlanTables, value: Any, register: int, known: KnownCells) -> int | None:
    """Return the attribute of the event in a register that a value is, or None."""
    if value.code_end != value.code + 1:
        return None
    instruction = tables.code[value.code]
    if instruction.op == Opcode.CELL and instruction.a == register:
        return int(instruction.b)
    return known.get((int(instruction.op), int(instruction.a)))
