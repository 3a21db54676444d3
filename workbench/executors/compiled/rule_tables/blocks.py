"""Blocks of events as words for the kernel, and its composites as blocks.

The rule of this module: a word is what `records` says of its type; a null's word is never read.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from workbench.core.domain import BOOL, FLOAT, STR, Domain, Value
from workbench.executors.compiled.rule_tables import records
from workbench.executors.compiled.rule_tables.memory import KernelMemory
from workbench.tesla.event_block import AttributeColumn, EventBlock, dense_places
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet


def event_words(block: EventBlock, width: int) -> records.EventWords:
    """The events of a block as words; those that have places in the order keep them.

    Parameters
    ----------
    width: attributes that a row has room for.
    """
    count, types = len(block), block.types.astype(np.int64)
    cells, nulls = records.zeros(count, width), records.zeros(count)
    for type_, columns in enumerate(block.columns):
        rows = np.flatnonzero(types == type_) if columns else types[:0]
        if len(rows):
            places = block.places[rows]
            for k, column in enumerate(columns):
                values = column.values[places]
                cells[rows, k] = values.view(np.int64) if values.dtype == np.float64 else values
                if column.nulls is not None:
                    nulls[rows] |= column.nulls[places].astype(np.int64) << k
    orders = np.full(count, records.NONE) if block.numbers is None else block.numbers.astype(np.int64)
    return records.EventWords(types, block.times.astype(np.int64), orders, cells, nulls)


def composite_block(memory: KernelMemory, texts: Mapping[int, str], *, sources: bool) -> EventBlock:
    """The composites of the output as a block.

    Parameters
    ----------
    texts: by their numbers.
    sources: whether they name the events of their matches.
    """
    count, rules = int(memory.state.outputs), memory.rule_tables.plan.rules
    heads = memory.output.heads[:count].copy()
    types = heads.type.astype(np.uint16)
    columns = list(rules.no_columns)
    for type_ in np.unique(heads.type).tolist():
        rows = np.flatnonzero(heads.type == type_)
        domains = rules.declarations[rules.events[type_]].domains.values()
        columns[type_] = tuple(
            _column(memory.output.cells[rows, k], heads.nulls[rows] >> k & 1, domain)
            for k, domain in enumerate(domains)
        )
    found = EventBlock(
        rules.events, types, heads.time.copy(), dense_places(types), tuple(columns), texts, heads.order.copy(),
        heads.rule.astype(np.int32), rules.rule_names, *(_sources(memory, heads) if sources else ()),
    )  # fmt: skip
    memory.state.outputs = 0
    return found


def _column(words: Any, nulls: Any, domain: Domain) -> AttributeColumn:
    values = words.view(np.float64) if domain == FLOAT else words != 0 if domain == BOOL else words
    return AttributeColumn(values, nulls.astype(bool) if nulls.any() else None)


def _sources(memory: KernelMemory, heads: Any) -> tuple[Any, Any]:
    """Where the sources of each composite begin, and the orders of all of them."""
    counts, orders = memory.plan.rules.sources[heads.rule], memory.output.sources[: len(heads)]
    starts = np.concatenate([records.zeros(1), np.cumsum(counts)])
    return starts, orders[np.arange(orders.shape[1]) < counts[:, None]]


def retained_events(memory: KernelMemory, texts: Mapping[int, str]) -> Iterator[Occurrence]:
    """The events that columns retain; one in several columns comes several times."""
    rules: RuleSet = memory.rule_tables.plan.rules
    for number in range(memory.rule_tables.event_columns):
        name = rules.events[int(memory.plan.columns[number].type)]
        domains = list(rules.declarations[name].domains.values())
        for row, cells in zip(memory.rows_of(number), memory.history.cells[memory.slots_of(number)], strict=True):
            nulls = int(row.nulls)
            values = (None if nulls >> k & 1 else value_of(cells[k], domain, texts) for k, domain in enumerate(domains))
            yield Occurrence(name, int(row.time), tuple(values), int(row.order))


def value_of(word: Any, domain: Domain, texts: Mapping[int, str]) -> Value:
    """The value that a word stands for."""
    if domain == FLOAT:
        return float(word.view(np.float64))
    return texts[int(word)] if domain == STR else bool(word) if domain == BOOL else int(word)
