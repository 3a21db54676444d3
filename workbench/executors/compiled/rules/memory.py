"""The arrays of a running rule set: their layout and their growth.

The rule of this module: the kernel allocates nothing. It stops with a status, the event is rolled back, the full array
is doubled, and the event is processed again. So is an event for which the letters of a text, or the code of a
concatenation, are missing; then all texts of the block are added, since others will be requested, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod
from sys import getrefcount
from typing import TYPE_CHECKING, Any

import numpy as np

from workbench.executors.compiled.rules import records
from workbench.executors.compiled.rules.compiling import KernelFunctions
from workbench.executors.compiled.rules.kernel.exact_sums import SUM_WORDS
from workbench.executors.compiled.rules.kernel.nodes import SOME_LIMBS
from workbench.executors.compiled.rules.plan import RuleTables, ScratchSizes
from workbench.executors.compiled.rules.records import KernelStatus, StepKind
from workbench.tesla.rule_graph import LONGEST_CHAIN

if TYPE_CHECKING:
    from workbench.executors.compiled.execute.text_codes import TextCodes

VALUES = {"consumed": 0, "silences": 1, "texts": 2, "joins": 1}
"""Words after the key in a row of each hash table; `KernelState` has the row counts."""
NEAR = 1 << 12
"""Rows of a column that fit in the processor's cache."""
STATE_WORDS = {name: index for index, name in enumerate(records.STATE.names or ())}
SHORT = 16
"""Rows that an aggregate scans before it uses nodes."""
MAX_LETTERS = 1 << 24
"""Maximum number of letters that are retained between two blocks."""
MAX_TAKEN = 4
"""Maximum number of taken outputs to keep for reuse once released: one being read, and some that wait."""


class KernelState:
    """Access to the record of a run, with the fields of `STATE`; numpy would be ten times as slow.

    Parameters
    ----------
    states: an array of one such record.
    """

    def __init__(self, states: Any) -> None:
        super().__setattr__("_words", memoryview(states.view(np.int64)))

    def __getattr__(self, name: str) -> Any:
        return self._words[STATE_WORDS[name]]

    def __setattr__(self, name: str, value: int) -> None:
        self._words[STATE_WORDS[name]] = value


class KernelMemory:
    """The arguments of the kernel.

    Parameters
    ----------
    capacity: initial capacity of each array that grows; a power of two.

    Attributes
    ----------
    state: the record of the run.
    output: published composites; `pending`: composites to be published, the same arrays where nothing waits.
    since: column number to the time and order from which it is complete, where another engine had dropped events.
    """

    def __init__(self, rule_tables: RuleTables, capacity: int, functions: KernelFunctions) -> None:
        self.rule_tables, self.plan, self.functions = rule_tables, rule_tables.tables, functions
        self.since: dict[int, tuple[int, int]] = {}
        self._taken: list[records.CompositeWords] = []
        rules, sizes = self.plan.rules, rule_tables.sizes
        columns = len(rule_tables.columns) + int((rules.timeout != records.NONE).sum())
        self.history = records.EventHistory(
            records.allocate(max(columns, 1), records.COLUMN), *records.rows_with_cells(2, sizes.width),
            np.full(1, records.NONE), records.hash_table(2, 1), records.hash_table(2, 3 + sizes.per),
            records.hash_table(2, 3), np.zeros(1, np.uint8), records.hash_table(2, 3),
            records.allocate(2 * capacity, records.UNDO), self.plan.trees.copy(), records.allocate(1, records.NODE),
            records.zeros(1, SOME_LIMBS),
        )  # fmt: skip
        self.history.columns.shift = 1
        self.states = records.allocate(1, records.STATE)
        self.state = KernelState(self.states)
        self.lay_out([capacity] * columns)
        self.scratch = make_scratch(
            sizes, candidates=capacity, consuming=capacity, segments=LONGEST_CHAIN + 1, rules=len(rules)
        )
        self.state.hierarchical, self.state.now = rule_tables.hierarchical, records.LEAST_WORD
        self.state.numbered = True
        self.state.consumers = len(rule_tables.consumers)
        self.state.walked = min(SHORT, capacity)
        self.state.due, self.state.until = records.GREATEST_WORD, records.LEAST_WORD
        self.output = self._composites(capacity)
        self.pending = self._composites(capacity) if rule_tables.hierarchical else self.output

    def run(self, events: records.EventWords) -> KernelStatus:
        """Process events from `state.reached` on, until the kernel stops; return its status."""
        self.functions.run(self.plan, self.history, self.scratch, self.states, events, self.output, self.pending)
        return KernelStatus(int(self.state.status))

    def _composites(self, count: int) -> records.CompositeWords:
        return records.CompositeWords.allocate(count, self.rule_tables.sizes.width, self.rule_tables.sizes.sources)

    def take_output(self) -> records.CompositeWords:
        """Take the composites published since the last call: columns that stay unchanged while referenced."""
        output, count = self.output, int(self.state.outputs)
        self.state.outputs = 0
        composites = output.part(count)
        if 2 * count < len(output.types):
            return records.CompositeWords(*(each.copy() for each in composites))
        self.output = self._next_output(output)
        if self.pending is output:
            self.pending = self.output
        return composites

    def _next_output(self, output: records.CompositeWords) -> records.CompositeWords:
        """Return columns of the same capacity as those taken, in released memory if possible.

        The first write to new memory costs more than all work of the kernel for a composite.
        """
        known = [each for each in self._taken if len(each.types) == len(output.types)]
        free = next((each for each in known if _most_references(each) == UNSHARED), None)
        self._taken = [output, *(each for each in known if each is not free)][:MAX_TAKEN]
        return free or self._composites(len(output.types))

    def copy_for_thread(self, functions: KernelFunctions) -> KernelMemory:
        """Return a copy with arrays of its own for another thread, with these functions and no output."""
        memory = KernelMemory(self.rule_tables, 1, functions)
        moved = {"rows": self.history.rows, "cells": self.history.cells}  # `lay_out` copies them
        copies = {name: each.copy() for name, each in self.history._asdict().items() if name not in moved}
        memory.history = records.EventHistory(**copies, **moved)
        memory.lay_out([int(column.mask) + 1 for column in self.history.columns])
        memory.states[:] = self.states
        return memory

    def forget_events(self) -> None:
        """Forget all retained events; facts stay."""
        columns = self.history.columns[: self.rule_tables.event_columns]
        columns.first = columns.appended
        self.state.now = records.LEAST_WORD

    # --- growth -----------------------------------------------------------------------------------------

    def supply(self, status: KernelStatus, codes: TextCodes, block: Iterable[int] = ()) -> None:
        """Supply the resource that the kernel lacked when it stopped: a larger array, or data on texts.

        Parameters
        ----------
        codes, block: the text codes, and those of the texts of the block.
        """
        if status == KernelStatus.MISSING_TEXT:
            known = set(self.history.texts[:, 0].tolist())
            for code in dict.fromkeys([int(self.state.text), *block]):
                if code not in known:
                    self._add_letters(code, codes.by_code[code].encode("utf-8", "surrogatepass"))
        elif status == KernelStatus.MISSING_JOINED:
            text, other = int(self.state.text), int(self.state.other_text)
            (joined,) = codes.put([codes.by_code[text] + codes.by_code[other]])
            self.add_rows("joins", np.array([[text, other, joined]]))
        else:
            self.grow(status)

    def _add_letters(self, code: int, letters: bytes) -> None:
        start = int(self.state.letters)
        end = start + len(letters)
        while end > len(self.history.letters):
            self.history = self.history._replace(letters=records.enlarge(self.history.letters))
        self.history.letters[start:end] = np.frombuffer(letters, np.uint8)
        self.add_rows("texts", np.array([[code, start, end]]))
        self.state.letters = end

    def forget_texts(self) -> None:
        """Drop all data on texts: the kernel requests them again."""
        self.history = self.history._replace(
            texts=records.hash_table(2, 3), letters=np.zeros(1, np.uint8), joins=records.hash_table(2, 3)
        )
        self.state.texts = self.state.letters = self.state.joins = 0

    def grow(self, status: KernelStatus) -> None:
        """Enlarge the array that was full when an event was rolled back."""
        history, scratch = self.history, self.scratch
        if status == KernelStatus.FULL_COLUMN:
            self.lay_out(self._larger_sizes())
        elif status == KernelStatus.FULL_CANDIDATES:
            self.scratch = scratch._replace(candidates=records.enlarge(scratch.candidates))
        elif status == KernelStatus.FULL_CONSUMING:
            self.scratch = scratch._replace(consuming=records.enlarge(scratch.consuming))
        elif status == KernelStatus.FULL_UNDO:
            self.history = history._replace(undo=records.enlarge(history.undo))
        elif status == KernelStatus.FULL_CONSUMED:
            words = history.consumed[:, 0]
            self._sweep("consumed", (words != records.NONE) & (words >= self.oldest * self.state.consumers))
        elif status == KernelStatus.FULL_SILENCES:
            self._sweep("silences", self.silent)
        elif status == KernelStatus.WIDE_BAND:
            self._widen_bands(self.state.full_column, self.state.shift)
        elif status == KernelStatus.FULL_NODES:
            history.trees[self.state.full_tree].start = 0
            self._lay_out_nodes()
        else:
            self._grow_composites(status)

    def _larger_sizes(self) -> list[int]:
        """Return new sizes of the columns, one of which was full: others that are more than half full grow, too."""
        sizes = []
        for number, column in enumerate(self.history.columns):
            size = int(column.mask) + 1
            grows = number == self.state.full_column or 2 * int(column.appended - column.first) > size
            sizes.append(2 * size if grows else size)
        return sizes

    def _widen_bands(self, number: int, shift: int) -> None:
        """Drop low bits of the attribute by which a column is banded from the keys of its rows."""
        column, slots = self.history.columns[number], self.slots_of(number)
        shift = max(shift, int(column.shift))
        values = self.history.cells[slots, self.plan.columns[number].banded]
        self.history.rows.key[slots] ^= (values >> column.shift) ^ (values >> shift)
        column.shift = shift
        self.functions.rebuild_chains(self.history, number)

    def _grow_composites(self, status: KernelStatus) -> None:
        shared = self.pending is self.output
        buffer = self.output if status == KernelStatus.FULL_OUTPUT else self.pending
        larger = self._composites(2 * len(buffer.types))
        for old, new in zip(buffer, larger.part(len(buffer.types)), strict=True):
            new[:] = old
        if shared or status == KernelStatus.FULL_OUTPUT:
            self.output = larger
        if shared or status == KernelStatus.FULL_PENDING:
            self.pending = larger

    @property
    def silent(self) -> Any:
        """The mask of those rows of `silences` whose rules are still silent."""
        rows = self.history.silences
        mask: Any = rows[:, 0] != records.NONE
        mask[mask] = self.state.now - rows[mask, -1] < self.plan.rules.pause[rows[mask, 0]]
        return mask

    # --- hash tables ------------------------------------------------------------------------------------

    def _sweep(self, name: str, mask: Any) -> None:
        """Keep some rows of a table and drop the others; double the table where too few are dropped."""
        table, left = self._table(name), int(mask.sum())
        swept = left < getattr(self.state, name) and 4 * left <= len(table)
        self.set_rows(name, table[mask], len(table) if swept else 2 * len(table))

    def set_rows(self, name: str, rows: Any, least: int = 2) -> None:
        """Replace the rows of a table, which gets at least `least` rows."""
        table = records.hash_table(max(least, 2 << len(rows).bit_length()), self._table(name).shape[1])
        self.history = self.history._replace(**{name: table})
        setattr(self.state, name, 0)
        self.add_rows(name, rows)

    def add_rows(self, name: str, rows: Any) -> None:
        """Add rows to a table, and enlarge it if necessary."""
        table, count = self._table(name), getattr(self.state, name) + len(rows)
        if 2 * count > len(table):
            self.set_rows(name, table[table[:, 0] != records.NONE], 2 << count.bit_length())
        self.functions.add_rows(self._table(name), rows, table.shape[1] - VALUES[name])
        setattr(self.state, name, count)

    def _table(self, name: str) -> Any:
        return getattr(self.history, name)

    def forget_rows(self, now: int) -> None:
        """Drop the rows that no rule can reach from a time on."""
        for number in range(self.rule_tables.event_columns):
            rows, index = self.rows_of(number), self.plan.columns[number]
            old = (rows.time < now - index.lookback) & (rows.order < self.state.order - index.count)
            self.history.columns[number].first += len(rows) if old.all() else int(old.argmin())

    def reserve_output(self, count: int) -> None:
        """Clear the output, and give it a capacity of at least `count` composites."""
        if len(self.output.types) < count:
            self.output = self.pending = self._composites(1 << (count - 1).bit_length())

    @property
    def oldest(self) -> int:
        """The least order number of a retained event, or the next one where there is none."""
        columns = map(self.rows_of, range(self.rule_tables.event_columns))
        orders = [int(rows.order[0]) for rows in columns if len(rows)]
        return min([int(self.state.order), *orders])

    def rows_of(self, number: int) -> Any:
        """Return the rows that a column retains, oldest first."""
        return self.history.rows[self.slots_of(number)]

    def slots_of(self, number: int) -> Any:
        """Return the slots of the rows that a column retains."""
        column = self.history.columns[number]
        return column.start + (np.arange(column.first, column.appended) & column.mask)

    def lay_out(self, sizes: Sequence[int], extra: int = 0) -> None:
        """Resize the columns and keep their rows; reserve `extra` further rows outside of columns."""
        old, total = self.history, sum(sizes)
        columns, start, buckets = old.columns.copy(), 0, 0
        rows, cells = records.rows_with_cells(total + extra + 2, old.cells.shape[1])
        for number, size in enumerate(sizes):
            column, index = columns[number], self.plan.columns[number]
            slots = start + (np.arange(column.first, column.appended) & (size - 1))
            rows[slots], cells[slots] = old.rows[self.slots_of(number)], old.cells[self.slots_of(number)]
            column.start, column.mask, column.buckets = start, size - 1, buckets
            keyed = index.keys < index.keys_end or index.banded != records.NONE
            column.bucket_mask = size - 1 if keyed else 0
            start, buckets = start + size, buckets + int(column.bucket_mask) + 1
        self.history = old._replace(columns=columns, rows=rows, cells=cells, buckets=np.full(buckets + 1, records.NONE))
        for number in np.flatnonzero(columns.first < columns.appended).tolist():
            self.functions.rebuild_chains(self.history, number)
        self.state.fetching = any(columns.mask > NEAR)
        self._lay_out_nodes()

    def _lay_out_nodes(self) -> None:
        """Reserve an empty node for each row of the column of each tree that is used."""
        trees, start = self.history.trees, 0
        for number in np.flatnonzero(trees.start != records.NONE):
            tree = trees[number]
            tree.start = start
            start += int(self.history.columns[tree.column].mask) + 1
        nodes = records.allocate(max(start, 1), records.NODE)
        nodes.row = records.NONE
        real = any(trees.kind[trees.start != records.NONE] == StepKind.SUM_REAL)
        limbs = records.zeros(len(nodes) if real else 1, SOME_LIMBS)
        self.history = self.history._replace(nodes=nodes, node_limbs=limbs)


def make_scratch(
    sizes: ScratchSizes, *threads: int, candidates: int, consuming: int = 1, segments: int = 1, rules: int = 1
) -> records.Scratch:
    """Allocate working memory for one event, or for one in each thread: arrays then have a further axis."""

    def words(count: int) -> Any:
        return records.zeros(*threads, count)

    def entries(count: int, dtype: Any) -> Any:
        return records.allocate(prod(threads) * count, dtype).reshape(*threads, count)

    stack = words(sizes.stack)
    low, high, cells = (words(sizes.ranges) for _ in range(3))
    return records.Scratch(
        words(sizes.registers), words(sizes.registers), stack, stack.view(np.float64),
        low, high, cells, entries(1, records.FOLD), words(SUM_WORDS), words(candidates),
        words(sizes.steps), words(sizes.steps), words(consuming), words(2 + sizes.per),
        entries(segments, records.SEGMENT), words(sizes.sources), words(rules),
        entries(rules, records.COST), entries(rules, records.COST),
    )  # fmt: skip


def _most_references(composites: records.CompositeWords) -> int:
    """Return the largest reference count of the arrays; a view of an array holds a reference."""
    return max(map(getrefcount, composites))


UNSHARED = _most_references(records.CompositeWords.allocate(1, 1, 1))
"""The largest reference count of arrays that nothing else references."""
