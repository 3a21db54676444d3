"""The records of the rules kernel: the entries of its tables, its history and its results.

The rule of this module: memory is numpy records whose fields have names, each a word of 64 bits. Integers and truth
values are words as they are; a float is its bits, a text its code in `TextCodes`. A null is a bit in the mask of its
row. Where a record names a part of a table, `x` is the first entry and `x_end` the end (exclusive).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from operator import itemgetter
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np

NONE, OWN, NO_LIMIT = -1, 0, -1
"""No such entry; the register of the current candidate; a rule without a limit on matches."""
LEAST_WORD, GREATEST_WORD = -(1 << 63), (1 << 63) - 1
FOREVER, FAR = 1 << 62, 1 << 61
"""An unbounded window; the bound of the absolute value of times, so that differences of times are words."""
MAX_ATTRIBUTES = 62
"""Maximum number of attributes: the null mask of a row has a bit for each."""
WORD_BYTES, LINE_BYTES = 8, 64


class StepKind(IntEnum):
    """The effect of a step on the rows that match it; for the first step of a rule, how a match begins.

    `TAKE` takes one by one the candidates that an earlier step with `each` has stored.
    """

    EACH, FIRST, LAST, NOT, COUNT, SUM, SUM_REAL, COMBINE = range(8)
    MIN, MAX, AVG, MEDIAN, MIN_REAL, MAX_REAL, AVG_REAL, MEDIAN_REAL, MIN_TEXT, MAX_TEXT = range(
        8, 18
    )  # null over no values
    TRIGGER, WAITING, TAKE = 18, 19, 20


class WindowKind(IntEnum):
    """The bounds of a step's window: by time, by event order, by two events or their times; or none."""

    BY_TIME, BY_ORDER, BETWEEN, BETWEEN_TIMES, AFTER, ALL = range(6)


class Opcode(IntEnum):
    """The postfix instructions of expressions: each pushes a value, or operates on the stack.

    `COMPARE_MIXED` compares an integer with a float; `KEY_REAL` and `KEY_WHOLE` turn a float into the word of a key,
    and `SAME_REAL` gives equal floats one word.
    """

    ADD, SUB, MUL, MOD, EQ, NE, LT, LE, GT, GE, AND, OR = range(12)
    CELL, REGISTER, TIME, CONST, NEG, NEGATE, REQUIRE, TO_REAL = range(12, 20)
    ADD_REAL, SUB_REAL, MUL_REAL, DIV_REAL, MOD_REAL, EQ_REAL, NE_REAL, LT_REAL, LE_REAL, GT_REAL, GE_REAL = range(
        20, 31
    )
    NEG_REAL, COMPARE_MIXED, KEY_REAL, KEY_WHOLE, SAME_REAL, COMPARE_TEXTS, JOIN_TEXTS = range(31, 38)


class KernelStatus(IntEnum):
    """Why the kernel has stopped: all is done, an array is full, bands are too narrow, or an event is unsupported."""

    DONE, FULL_COLUMN, FULL_CANDIDATES, FULL_PENDING, FULL_OUTPUT, FULL_CONSUMED, FULL_CONSUMING, FULL_UNDO = range(8)
    FULL_SILENCES, FULL_NODES, WIDE_BAND, MISSING_TEXT, MISSING_JOINED, BEYOND, ENDLESS, LATE = range(8, 16)


class UndoKind(IntEnum):
    """The kinds of entries of the undo log."""

    BUCKET, APPENDED, CONSUMED, SILENCED, EMITTED = range(5)


class Records(np.ndarray[Any, Any]):
    """An array of records whose fields are attributes, in plain Python five times as fast as numpy's `recarray`."""

    def __getattr__(self, name: str) -> Any:
        if name not in (self.dtype.names or ()):
            raise AttributeError(name)
        return self.view(np.ndarray)[name]

    def __setattr__(self, name: str, value: Any) -> None:
        if name in (self.dtype.names or ()):
            self[name] = value
        else:
            super().__setattr__(name, value)


def _words(*names: str) -> np.dtype[Any]:
    """Build the type of a record: a single record, too, has its fields as attributes."""
    fields = np.dtype([(name, "i8") for name in names], align=True)  # a GPU loads words only from aligned addresses
    return np.dtype((type("Record", (np.void,), {name: _field(name) for name in names}), fields))


def _field(name: str) -> property:
    def write(record: Any, value: int) -> None:
        record[name] = value

    return property(itemgetter(name), write)


RULE = _words(  # what it emits, when, and the chain that must have a row for a match; what it consumes;
    # how long its matches wait, where, and which rule decides them
    "number", "trigger", "emits", "steps", "steps_end", "lookup", "limit", "pause", "per", "per_end",
    "sources", "cells", "cells_end", "consumed", "consumed_end", "where", "where_end",
    "timeout", "decider", "waits", "bound", "bound_end", "kept", "kept_end", "kept_rows",
)  # fmt: skip
STEP = _words(  # what it selects, relative to what is bound before it; then what it binds
    "kind", "rule", "type", "column", "keys", "keys_end", "window", "anchor", "other", "least", "most",
    "bounds", "bounds_end", "ranges", "not_null", "residual", "residual_end", "rivals", "rivals_end", "consumer",
    "slot", "cell", "source", "list", "later", "whole",
    "tree", "initial", "initial_end", "value", "value_end", "combine", "combine_end",  # of an aggregate
    "actions", "actions_end", "emits",
)  # fmt: skip
BOUND = _words("range", "cell", "relation", "code", "code_end")
"""A comparison of a candidate's attribute with an earlier value: evaluated once per scan, into a range."""
ACTION = _words("slot", "code", "code_end")
"""An expression, and the register that gets its value: of the match, or of a cell of the composite. Without a register
it is a condition that ends the match where it is false."""
INSTRUCTION = _words("op", "leaf", "a", "b", "required")
"""The operand to push first (or `NONE`) and its source; the operation, if any; whether the result must be true."""
INDEXED = _words("type", "filter", "filter_end", "keys", "keys_end", "lookback", "count", "banded")
"""A column: which events of a type it retains, the key by which they are found, and its lookback.

`banded` is an attribute that all its rules bound on both sides: its high bits are part of the key."""
CONSTANT_INDEX = _words("cell", "chains", "chain_mask")
CONSTANT = _words("constant", "rule")
"""A rule triggered only where an attribute equals a constant; rules of one hash value are adjacent."""
LOOKUP = _words("column", "cells", "cells_end", "joins", "banded")
"""A chain in which an event of a type is looked up, or which it joins, found by its own attributes alone."""

COLUMN = _words("start", "mask", "appended", "first", "buckets", "bucket_mask", "shift")
"""A ring buffer of rows, chained by hash value; rows are numbered from 0, and `first` is the oldest.

Where it is banded, `shift` is the number of low bits of the attribute that are not part of the key."""
ROW = _words("time", "order", "older", "key", "nulls")
"""An event; `older` is the number of the previous row in its chain."""
UNDO = _words("kind", "place", "old")
COST = _words("partial", "matches", "composites", "ticks")
"""The cost of a rule."""
TRIGGER = _words("event", "row", "rule", "first", "matches", "status")
"""A rule triggered by an event: the number of the event in its block, its row, and the offset of the first match."""
SEGMENT = _words("next", "end")
"""The unpublished composites that one event has caused."""
FOLD = _words("count", "total")
"""The state of an aggregate: the number of values, and their sum, or the least or greatest."""
TREE = _words("column", "cell", "kind", "start", "large")
"""The nodes of the rows of a column, for aggregates of one kind over one attribute; `start` is `NONE` until used.

`large`: whether the last window that used them had many rows."""
NODE = _words("row", "before", "end", "length", "count", "value")
"""A row and the preceding rows with the same key, `length` in all, and their aggregate.

`before` is the previous row with the same key, `end` the row before all of them; less than any row if there is none.
"""
STATE = _words(
    "status", "full_column", "order", "began", "now", "reached", "pending", "outputs", "candidates", "undos",
    "consumed", "consumers", "consuming", "silences", "hierarchical", "silent", "takes_place", "chain",
    "due", "due_rule", "judged", "until", "texts", "letters", "joins", "text", "other_text", "profiled", "ticks",
    "fetching", "with_sources", "numbered", "walked", "full_tree", "shift", "event", "counting",
    "triggers", "batch_start", "batch_row",
)  # fmt: skip


class ArrayKind(NamedTuple):
    """The kind of an array: the type of its entries, its number of axes, and whether it is contiguous."""

    dtype: np.dtype[Any]
    axes: int = 1
    contiguous: bool = True

    def describes(self, array: Any) -> bool:
        """Whether an array is of this kind."""
        whole = not self.contiguous or array.flags.c_contiguous
        return bool(array.dtype == self.dtype and array.ndim == self.axes and whole)


WORD, REAL, BYTE = (np.dtype(each) for each in ("i8", "f8", "u1"))
WordArray = Annotated[Any, WORD]
WordMatrix = Annotated[Any, WORD, 2]
"""Arrays of words. An array's annotation has the fields of its `ArrayKind` that differ from the defaults."""


@cache
def array_kinds(tables: Any) -> Mapping[str, ArrayKind]:
    """Return the kinds of the arrays of a named tuple, by its annotations."""
    hints = get_type_hints(tables, include_extras=True)
    return {name: array_kind(hint) for name, hint in hints.items()}


def array_kind(hint: Any) -> ArrayKind:
    """Return the kind of an array, from its annotation."""
    return ArrayKind(*get_args(hint)[1:])


class PlanTables(NamedTuple):
    """The tables of a rule set.

    Attributes
    ----------
    keys: the code of each value of a key.
    slots: lists of registers, of rivals, of what is consumed, and of cells that form a key.
    triggered: numbers of rules: those that type t triggers are from `rules_of_type[t]` to `rules_of_type[t + 1]`,
        except rules that are found by a constant.
    constant_chains: the start of the rules of each hash value, and the end of the last.
    columns_of_type: the start of the columns of each type, and the end of the last; lookups likewise.
    trees: trees that aggregates may use; the history has where their nodes are.
    """

    rules: Annotated[Any, RULE]
    steps: Annotated[Any, STEP]
    bounds: Annotated[Any, BOUND]
    actions: Annotated[Any, ACTION]
    keys: Annotated[Any, ACTION]
    code: Annotated[Any, INSTRUCTION]
    slots: WordArray
    triggered: WordArray
    rules_of_type: WordArray
    columns: Annotated[Any, INDEXED]
    columns_of_type: WordArray
    trees: Annotated[Any, TREE]
    constant_indexes: Annotated[Any, CONSTANT_INDEX] = None
    constant_chains: WordArray = None
    constants: Annotated[Any, CONSTANT] = None
    indexes_of_type: WordArray = None
    lookups: Annotated[Any, LOOKUP] = None
    lookups_of_type: WordArray = None


class EventHistory(NamedTuple):
    """The history of a run.

    Attributes
    ----------
    consumed: a hash table of words, each an event and the consumer that may not select it again.
    silences: from a rule, a null mask and values to the time when the rule last emitted for them.
    texts: from text codes to the start and end of their `letters`.
    joins: from the codes of two texts to that of their concatenation.

    The last row is the current event, the one before it has operands of an aggregate; events that are processed
    together (`kernel.trigger_batch`) have rows before these.
    """

    columns: Annotated[Any, COLUMN]
    rows: Annotated[Any, ROW, 1, False]
    cells: Annotated[Any, WORD, 2, False]
    buckets: WordArray
    consumed: WordMatrix
    silences: WordMatrix
    texts: WordMatrix
    letters: Annotated[Any, BYTE]
    joins: WordMatrix
    undo: Annotated[Any, UNDO]
    trees: Annotated[Any, TREE]  # those of the plan, with the offsets of their nodes
    nodes: Annotated[Any, NODE]
    node_limbs: WordMatrix  # exact sums, of nodes that sum floats


class Scratch(NamedTuple):
    """Working memory for one event: registers of the match, stack, ranges of bounds, stored candidates of `each`."""

    registers: WordArray
    null: WordArray
    stack: WordArray
    reals: Annotated[Any, REAL]  # the stack, as floats
    low: WordArray
    high: WordArray
    range_cells: WordArray
    fold: Annotated[Any, FOLD]
    limbs: WordArray  # of an exact sum
    candidates: WordArray
    candidate_starts: WordArray
    cursors: WordArray  # of stored candidates: their end, and the end of those not yet taken
    consuming: WordArray
    key: WordArray  # of a hash table
    segments: Annotated[Any, SEGMENT]
    sources: WordArray  # the order numbers of the bound events
    triggered: WordArray  # the rules that the event may trigger
    costs: Annotated[Any, COST]  # of each rule, for the current event
    total_costs: Annotated[Any, COST]  # for earlier events


class CompositeWords(NamedTuple):
    """Composites in columns.

    Attributes
    ----------
    nulls: the null mask of each composite, a bit for each attribute.
    cells: a column of words for each attribute.
    sources: the order numbers of the events of each composite; not written where not requested.
    """

    types: Annotated[Any, np.dtype(np.uint16)]
    rules: Annotated[Any, np.dtype(np.int32)]
    times: WordArray
    orders: WordArray
    nulls: WordArray
    cells: WordMatrix
    sources: WordMatrix

    @classmethod
    def allocate(cls, count: int, width: int, sources: int) -> CompositeWords:
        """Allocate columns for `count` composites."""
        shapes = ((count,), (count,), (count,), (width, count), (count, sources))
        types: Any = np.empty(count, np.uint16)
        return cls(types, np.empty(count, np.int32), *(np.empty(shape, np.int64) for shape in shapes))

    def part(self, count: int) -> CompositeWords:
        """Return the first `count` composites, in the same memory."""
        return self._replace(**{
            name: each[:, :count] if each is self.cells else each[:count] for name, each in self._asdict().items()
        })  # fmt: skip


class EventWords(NamedTuple):
    """Events, with their attributes in columns that are stored one after another.

    Attributes
    ----------
    orders: `NONE` for events from outside; known for events that are read back into the history.
    type_rows: the row of each event in the columns of its type.
    columns: for each type the starts of its columns in `words`, `NONE` after the last one; the final entry is the
        start of the null masks, `NONE` if there are none.
    """

    types: WordArray
    times: WordArray
    orders: WordArray
    type_rows: WordArray
    columns: WordMatrix
    words: WordArray


def table(rows: Sequence[tuple[int, ...]], dtype: np.dtype[Any]) -> Any:
    """Build a table of records; at least one, for numba reads the type from the first."""
    return np.array(rows or [(0,) * len(dtype.names or ())], dtype).view(Records)


def build_table(lines: Sequence[Mapping[str, int]], dtype: np.dtype[Any]) -> Any:
    """Build a table from mappings of field names to values; missing fields are 0."""
    return table([tuple(line.get(name, 0) for name in dtype.names or ()) for line in lines], dtype)


def hash_table(rows: int, width: int) -> Any:
    """Build an empty hash table; `rows` must be a power of two."""
    return np.full((rows, width), NONE)


def allocate(count: int, dtype: np.dtype[Any]) -> Any:
    """Allocate records."""
    return np.zeros(count, dtype).view(Records)


def rows_with_cells(count: int, width: int) -> tuple[Any, Any]:
    """Allocate rows, and at least two cells of attributes for each.

    The cells of a row follow it, and a short row is one cache line, so that reading a row and its cells waits for
    memory once. Both are views of the same words.
    """
    header = ROW.itemsize // WORD_BYTES
    words = max(header + width, LINE_BYTES // WORD_BYTES)
    buffer = zeros(count * words + LINE_BYTES // WORD_BYTES)
    begin = -buffer.ctypes.data % LINE_BYTES // WORD_BYTES
    lines = buffer[begin : begin + count * words].reshape(count, words)
    rows = np.ndarray((count,), ROW, lines.data, strides=lines.strides[:1])
    return rows.view(Records), lines[:, header : header + width]


def zeros(*shape: int) -> Any:
    """Allocate words."""
    return np.zeros(shape, np.int64)


def enlarge(array: Any) -> Any:
    """Return a copy with twice the capacity."""
    larger = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    larger[: len(array)] = array
    return larger.view(type(array))
