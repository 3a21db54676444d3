"""Facts in the columns of the kernel: events of types of their own, which come before all others.

The rule of this module: a column has its facts in the order that its predicate asks for, and loses none of them.
"""

from __future__ import annotations

import numpy as np

from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rule_tables.blocks import event_words
from workbench.executors.compiled.rule_tables.compiling import compiled_functions
from workbench.executors.compiled.rule_tables.memory import KernelMemory
from workbench.executors.compiled.rule_tables.records import FAR, LEAST_WORD, KernelStatus
from workbench.executors.compiled.rule_tables.texts import make_room
from workbench.tesla.engines.facts.order import sort_facts
from workbench.tesla.engines.set_plan import PlannedColumn
from workbench.tesla.event_block import AttributeColumn, CodesOfTexts, EventBlock, attribute_column, dense_places
from workbench.tesla.occurrence import Facts

MANY = 1024
"""Facts that are worth machine code."""


def load_facts(memory: KernelMemory, facts: Facts, codes: TextCodes, *, plain: bool) -> None:
    """Put facts into the columns that are for them, before the first event.

    Parameters
    ----------
    plain: by plain Python, however many there are.

    Raises
    ------
    LargeNumberError: a number has more than 64 bits.
    """
    if not memory.rule_tables.fact_types:
        return
    block, state, functions = fact_block(memory, facts, codes.put), memory.state, memory.functions
    if len(block) > MANY and not plain:
        memory.functions = compiled_functions()
    events, status = event_words(block, memory.rule_tables.sizes.width), KernelStatus.FULL_COLUMN
    while status != KernelStatus.DONE:
        status = memory.run(events)
        if status != KernelStatus.DONE:
            make_room(memory, status, codes)
    memory.functions = functions
    state.reached, state.order, state.now = 0, 0, LEAST_WORD


def fact_block(memory: KernelMemory, facts: Facts, codes: CodesOfTexts) -> EventBlock:
    """The facts of each column as events of its type."""
    tables = memory.rule_tables
    names, columns, types = list[str](), list[tuple[AttributeColumn, ...]](), list[int]()
    for type_ in range(min(tables.fact_types.values())):
        names.append(str(type_))
        columns.append(())
    for number, type_ in sorted(tables.fact_types.items(), key=lambda item: item[1]):
        planned = tables.plan.columns[number]
        rows = _sorted_rows(planned, facts)
        names.append(planned.type)
        domains = tables.plan.rules.declarations[planned.type].domains.values()
        columns.append(
            tuple(attribute_column([row[k] for row in rows], each, codes, {}) for k, each in enumerate(domains))
        )
        types += [type_] * len(rows)
    found, count = np.array(types, np.uint16), len(types)
    return EventBlock(
        tuple(names), found, np.full(count, -FAR), dense_places(found), tuple(columns), {}, np.zeros(count, np.int64)
    )


def _sorted_rows(planned: PlannedColumn, facts: Facts) -> list[tuple[object, ...]]:
    _, step = planned.users[0]
    return list(sort_facts(step.part, step.declared, facts.get(planned.type, ())))
