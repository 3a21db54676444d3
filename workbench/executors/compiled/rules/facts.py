"""Facts in the columns of the kernel: events of types of their own, earlier than all others.

The rule of this module: a column has its facts in the order that its predicate requires, and keeps all of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from workbench.executors.compiled.execute.text_codes import TextCodes
from workbench.executors.compiled.rules.blocks import append_events, event_words
from workbench.executors.compiled.rules.compiling import compile_functions
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.plan import RuleTables
from workbench.executors.compiled.rules.records import FAR, LEAST_WORD
from workbench.tesla.engines.facts import fact_tables
from workbench.tesla.engines.set_plan import PlannedColumn, SetPlan
from workbench.tesla.event_block import AttributeColumn, CodesOfTexts, EventBlock, attribute_column, number_rows_by_type
from workbench.tesla.occurrence import Facts, sort_facts

if TYPE_CHECKING:
    from workbench.tesla.engines.facts.retained import RetainedFacts

MANY = 1024
"""Minimum number of facts that pays for machine code."""


def retain_facts(plan: SetPlan, facts: Facts) -> RetainedFacts | None:
    """Return the facts of rules, if some may be in databases; None: all are rows in memory."""
    tables = fact_tables(facts)
    if tables is None:
        return None
    from workbench.tesla.engines.facts.retained import RetainedFacts  # most rules need not import SQLite

    return RetainedFacts(plan, [each for each in plan.columns if each.fact], tables)


def load_facts(memory: KernelMemory, facts: Facts, codes: TextCodes, *, plain: bool) -> None:
    """Load facts of some types into their columns, replacing the present ones.

    Parameters
    ----------
    plain: always in plain Python.

    Raises
    ------
    LargeNumberError: a number has more than 64 bits.
    """
    tables, state = memory.rule_tables, memory.state
    columns = [number for number in tables.fact_types if tables.plan.columns[number].type in facts]
    if not columns:
        return
    block, functions = fact_block(tables, columns, facts, codes.put), memory.functions
    if len(block) > MANY and not plain:
        memory.functions = compile_functions()
    order, now, state.now = int(state.order), int(state.now), LEAST_WORD
    for number in columns:
        column = memory.history.columns[tables.columns[number]]
        column.first = column.appended
    append_events(memory, event_words(block, tables.sizes.width), codes)
    memory.functions = functions
    state.reached, state.order, state.now = 0, order, now


def fact_block(tables: RuleTables, columns: Sequence[int], facts: Facts, codes: CodesOfTexts) -> EventBlock:
    """Return the facts of some planned columns as events, with one event type per column."""
    columns_by_type, types = dict[int, tuple[AttributeColumn, ...]](), list[int]()
    for number in columns:
        planned, type_ = tables.plan.columns[number], tables.fact_types[number]
        rows, domains = _sort_rows(planned, facts), tables.plan.rules.declarations[planned.type].domains.values()
        columns_by_type[type_] = tuple(
            attribute_column([row[k] for row in rows], each, codes, {}) for k, each in enumerate(domains)
        )
        types += [type_] * len(rows)
    numbers = range(1 + max(tables.fact_types.values()))
    type_array, count = np.array(types, np.uint16), len(types)
    return EventBlock(
        tuple(map(str, numbers)), type_array, np.full(count, -FAR), number_rows_by_type(type_array),
        tuple(columns_by_type.get(number, ()) for number in numbers), {}, np.zeros(count, np.int64),
    )  # fmt: skip


def _sort_rows(planned: PlannedColumn, facts: Facts) -> list[tuple[object, ...]]:
    _, step = planned.users[0]
    return list(sort_facts(step.part, step.declared, facts[planned.type]))
