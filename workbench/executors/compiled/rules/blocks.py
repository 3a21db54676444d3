"""Conversion of events to words for the kernel, and of its composites to events: in blocks, or one by one.

The rule of this module: `records` defines what a word of each type means; a null's word is never read. A single event
    needs no
new array, so that a call costs little more than the kernel's work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.core.domain import BOOL, FLOAT, STR, Domain, Value
from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.memory import KernelMemory
from workbench.executors.compiled.rules.records import KernelStatus
from workbench.tesla.event_block import AttributeColumn, EventBlock, LargeNumberError, join_blocks
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.rule_set import RuleSet

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.text_codes import TextCodes


SPARSE = 16
"""Column rows per event of a block above which gathering the events is faster than copying the columns."""


def event_words(block: EventBlock, width: int) -> records.EventWords:
    """Convert the events of a block to words; events that have order numbers keep them.

    Parameters
    ----------
    width: capacity of a row in attributes.
    """
    rows = _find_rows(block)
    if sum(map(len, rows)) > SPARSE * len(block):
        block = join_blocks([block])
        rows = _find_rows(block)
    begins, words, end = np.full((len(block.names), width + 1), records.NONE), [records.zeros(1)], 1
    for type_, (columns, own) in enumerate(zip(block.columns, rows, strict=True)):
        if not columns or not own:
            continue
        some = [AttributeColumn(*(_cut(each, own) for each in (column.values, column.nulls))) for column in columns]
        word_columns = list(enumerate(_words(column.values) for column in some))
        if any(column.nulls is not None for column in some):
            word_columns.append((width, _null_masks(some)))
        for k, column in word_columns:
            begins[type_, k] = end
            words.append(column)
            end += len(column)
    orders = np.full(len(block), records.NONE) if block.numbers is None else block.numbers
    indices, firsts = block.type_rows, np.array([own.start for own in rows], np.int64)
    if firsts.any():
        indices = indices - firsts[block.types]
    # Machine code is for writable arrays, and those of a block may be read-only: numba would compile it again.
    types, times, orders, indices = (
        np.require(each, np.int64, ("C", "A", "W")) for each in (block.types, block.times, orders, indices)
    )
    return records.EventWords(types, times, orders, indices, begins, np.concatenate(words))


def _find_rows(block: EventBlock) -> list[range]:
    """Return, for each type, the range of column rows that have events: a part of a block has only some."""
    ranges = [range(len(columns[0].values) if columns else 0) for columns in block.columns]
    if sum(map(len, ranges)) > len(block):
        for type_ in filter(ranges.__getitem__, range(len(ranges))):
            indices = block.type_rows[block.types == type_]
            ranges[type_] = range(int(indices.min()), int(indices.max()) + 1) if len(indices) else range(0)
    return ranges


def _cut(array: Any, rows: range) -> Any:
    return None if array is None else array[rows.start : rows.stop]


def _words(values: Any) -> Any:
    return values.view(np.int64) if values.dtype == np.float64 else values.astype(np.int64, copy=False)


def _null_masks(columns: Sequence[AttributeColumn]) -> Any:
    """Return the null mask of each row: a bit for each attribute."""
    masks = records.zeros(len(columns[0].values))
    for k, column in enumerate(columns):
        if column.nulls is not None:
            masks |= column.nulls.astype(np.int64) << k
    return masks


def append_events(memory: KernelMemory, words: records.EventWords, codes: TextCodes, known: Iterable[int] = ()) -> bool:
    """Append events with known order numbers to the history; False where the kernel cannot process one.

    Parameters
    ----------
    codes, known: the text codes, and those of them that the events have.
    """
    memory.state.reached = 0
    while memory.state.reached < len(words.types):
        status = memory.run(words)
        if status >= KernelStatus.BEYOND:
            return False
        if status != KernelStatus.DONE:
            memory.supply(status, codes, known)
    return True


def composite_block(memory: KernelMemory, texts: Mapping[int, str], *, sources: bool) -> EventBlock:
    """Take the composites of the output as a block.

    Parameters
    ----------
    texts: text by code.
    sources: whether they name the events of their matches.
    """
    rules, composites = memory.rule_tables.plan.rules, memory.take_output()
    columns, has_nulls = list(rules.no_columns), composites.nulls.any()
    indices, rows_by_type = _divide_by_type(composites.types)
    for type_, rows in rows_by_type:
        domains = rules.declarations[rules.events[type_]].domains.values()
        masks = composites.nulls[rows] if has_nulls else None
        nulls = [None if masks is None else masks >> k & 1 for k in range(len(domains))]
        columns[type_] = tuple(map(_column, [composites.cells[k][rows] for k in range(len(domains))], nulls, domains))
    return EventBlock(
        rules.events, composites.types, composites.times, indices, tuple(columns), texts, composites.orders,
        composites.rules, rules.rule_names, *(_sources(memory, composites) if sources else ()),
    )  # fmt: skip


def _divide_by_type(types: Any) -> tuple[Any, list[tuple[int, Any]]]:
    """Return each composite's index within its type, and the rows of each type."""
    indices, rows_by_type, begin = np.arange(len(types)), list[tuple[int, Any]](), 0
    if not (types != types[:1]).any():
        return indices, [(type_, slice(None)) for type_ in types[:1].tolist()]
    by_type, counts = types.argsort(kind="stable"), np.bincount(types)
    for type_ in counts.nonzero()[0].tolist():
        rows = by_type[begin : begin + counts[type_]]
        indices[rows] = np.arange(len(rows))
        rows_by_type.append((type_, rows))
        begin += len(rows)
    return indices, rows_by_type


def _column(words: Any, nulls: Any | None, domain: Domain) -> AttributeColumn:
    """Build the column of an attribute, with a null mask only where a value is null."""
    values = words.view(np.float64) if domain == FLOAT else words != 0 if domain == BOOL else words
    return AttributeColumn(values, nulls.astype(bool) if nulls is not None and nulls.any() else None)


def _sources(memory: KernelMemory, composites: records.CompositeWords) -> tuple[Any, Any]:
    """Return the start of the sources of each composite, and the order numbers of all sources."""
    counts = memory.plan.rules.sources[composites.rules]
    starts = np.concatenate([records.zeros(1), np.cumsum(counts)])
    return starts, composites.sources[np.arange(composites.sources.shape[1]) < counts[:, None]]


def list_retained_events(memory: KernelMemory, texts: Mapping[int, str]) -> Iterator[Occurrence]:
    """Yield the events that columns retain; an event in several columns repeatedly."""
    rules: RuleSet = memory.rule_tables.plan.rules
    for number in range(memory.rule_tables.event_columns):
        name = rules.events[int(memory.plan.columns[number].type)]
        domains = list(rules.declarations[name].domains.values())
        for row, cells in zip(memory.rows_of(number), memory.history.cells[memory.slots_of(number)], strict=True):
            values = tuple(values_of(int(row.nulls), cells, domains, texts))
            yield Occurrence(name, int(row.time), values, int(row.order))


def values_of(nulls: int, words: Any, domains: Iterable[Domain], texts: Mapping[int, str]) -> Iterator[Value | None]:
    """Yield the values that words stand for; `nulls` is their null mask."""
    for k, domain in enumerate(domains):
        yield None if nulls >> k & 1 else value_of(words[k], domain, texts)


def value_of(word: Any, domain: Domain, texts: Mapping[int, str]) -> Value:
    """Return the value that a word stands for."""
    if domain == FLOAT:
        return float(word.view(np.float64))
    return texts[int(word)] if domain == STR else bool(word) if domain == BOOL else int(word)


# --- one event -------------------------------------------------------------------------------------------


class SingleEvent:
    """The words of a single event, in reused arrays.

    Parameters
    ----------
    width: capacity of a row in attributes.
    code_of: returns the code of a text.

    Attributes
    ----------
    words: the event, as input of the kernel.
    """

    def __init__(self, rules: RuleSet, width: int, code_of: Callable[[str], int]) -> None:
        self._code_of = code_of
        domains = [tuple(rules.declarations[name].domains.values()) for name in rules.events]
        self._types = {name: (type_, domains[type_]) for type_, name in enumerate(rules.events)}
        columns = np.full((len(domains), width + 1), records.NONE)
        for type_, attributes in enumerate(domains):
            columns[type_, : len(attributes)] = np.arange(len(attributes))
        columns[:, width] = width
        types, times, indices = (records.zeros(1) for _ in range(3))
        words: Any = records.zeros(width + 1)
        self.words = records.EventWords(types, times, np.full(1, records.NONE), indices, columns, words)
        self._type, self._time, self._cells = memoryview(types), memoryview(times), memoryview(words)
        self._reals: Any = memoryview(words.view(np.float64))

    def write(self, event: Occurrence) -> None:
        """Write an event into `words`.

        Raises
        ------
        LargeNumberError: an integer has more than 64 bits, or a time is too large for the kernel.
        """
        if not -records.FAR < event.time < records.FAR:
            raise LargeNumberError(f"the time {event.time} is too far from 0")
        self._type[0], domains = self._types[event.type]
        nulls = 0
        try:
            self._time[0] = event.time
            for k, (value, domain) in enumerate(zip(event.values, domains, strict=True)):
                if value is None:
                    nulls |= 1 << k
                elif domain == FLOAT:
                    self._reals[k] = value
                else:
                    self._cells[k] = self._code_of(value) if domain == STR else value
        except ValueError:
            raise LargeNumberError(f"a number of {event} has more than 64 bits") from None
        self._cells[-1] = nulls


def take_composites(memory: KernelMemory, texts: Mapping[int, str]) -> list[Occurrence]:
    """Take the composites of the output as a list; for few composites."""
    composites = list[Occurrence]()
    rules, output, count = memory.rule_tables.plan.rules, memory.output, int(memory.state.outputs)
    memory.state.outputs = 0
    heads = (each[:count].tolist() for each in output[:5])
    for index, (type_, rule, time, order, nulls) in enumerate(zip(*heads, strict=True)):
        name, plan = rules.events[type_], memory.rule_tables.plan.plans[rule]
        domains = rules.declarations[name].domains.values()
        values = tuple(values_of(nulls, output.cells[:, index], domains, texts))
        sources = output.sources[index, : len(plan.event_slots)].tolist()
        composites.append(Occurrence(name, time, values, order, tuple(sources), plan.rule.name))
    return composites
