"""The records of the rules kernel: what its tables, its history and its results are made of.

The rule of this module: memory is numpy records whose fields have names, each a word of 64 bits. Whole numbers and
truth values are words as they are; floats are their bits, and texts are the numbers that `TextCodes` has for them. A
null is a bit in the mask of its row. Where a record names a part of a table, `x` is the first entry and `x_end` the one
behind the last.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum
from functools import cache
from typing import Annotated, Any, NamedTuple, get_args, get_type_hints

import numpy as np

NONE, OWN, NO_LIMIT = -1, 0, -1
"""No such entry; the register of the candidate that is examined; a rule that emits all its matches."""
LEAST_WORD, GREATEST_WORD = -(1 << 63), (1 << 63) - 1
FOREVER, FAR = 1 << 62, 1 << 61
"""A window that nothing bounds; no time of an event is as far from 0 as `FAR`, so differences of times are words."""
MOST_ATTRIBUTES = 62
"""A row has a bit for each attribute that may be null."""
WORD_BYTES, LINE_BYTES = 8, 64


class StepKind(IntEnum):
    """What a step makes of the rows that fit it; the first one of a rule, with what a match begins.

    `TAKE` takes one by one what an earlier step with `each` has put aside.
    """

    EACH, FIRST, LAST, NOT, COUNT, SUM, SUM_REAL, COMBINE = range(8)
    MIN, MAX, AVG, MEDIAN, MIN_REAL, MAX_REAL, AVG_REAL, MEDIAN_REAL, MIN_TEXT, MAX_TEXT = range(
        8, 18
    )  # null over none
    TRIGGER, WAITING, TAKE = 18, 19, 20


class WindowKind(IntEnum):
    """How a step's window is bounded: by times, by the order of events, by two events or their times; or it is not."""

    BY_TIME, BY_ORDER, BETWEEN, BETWEEN_TIMES, AFTER, ALL = range(6)


class Opcode(IntEnum):
    """The instructions of expressions in postfix: what they push, or do with what is on the stack.

    `COMPARE_MIXED` compares a whole number with a float; `KEY_REAL` and `KEY_WHOLE` make a float the word of a key, and
    `SAME_REAL` makes one of all that are the same.
    """

    ADD, SUB, MUL, MOD, EQ, NE, LT, LE, GT, GE, AND, OR = range(12)
    CELL, REGISTER, TIME, CONST, NEG, NEGATE, REQUIRE, TO_REAL = range(12, 20)
    ADD_REAL, SUB_REAL, MUL_REAL, DIV_REAL, MOD_REAL, EQ_REAL, NE_REAL, LT_REAL, LE_REAL, GT_REAL, GE_REAL = range(
        20, 31
    )
    NEG_REAL, COMPARE_MIXED, KEY_REAL, KEY_WHOLE, SAME_REAL, COMPARE_TEXTS, JOIN_TEXTS = range(31, 38)


class KernelStatus(IntEnum):
    """Why the kernel has stopped: all is done, an array is full, bands are too narrow, or an event is not for it."""

    DONE, FULL_COLUMN, FULL_CANDIDATES, FULL_PENDING, FULL_OUTPUT, FULL_CONSUMED, FULL_CONSUMING, FULL_UNDO = range(8)
    FULL_SILENCES, FULL_NODES, WIDE_BAND, MISSING_TEXT, MISSING_JOINED, BEYOND, ENDLESS, LATE = range(8, 16)


class UndoKind(IntEnum):
    """What an entry of the undo log restores."""

    BUCKET, APPENDED, CONSUMED, SILENCED, EMITTED = range(5)


def _words(*names: str) -> np.dtype[Any]:
    return np.dtype([(name, "i8") for name in names], align=True)  # a GPU loads words whole only where they are aligned


RULE = _words(  # what it emits, when, and a chain that has a row if there is a match; what it consumes;
    # how long its matches wait, and where, and who decides
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
"""A comparison of a candidate's attribute with what is bound before it: evaluated once a scan, into a range."""
ACTION = _words("slot", "code", "code_end")
"""An expression, and the register that gets its value: of the match, or of a cell of the composite. Without a register
it is a condition, and the match ends where it does not hold."""
INSTRUCTION = _words("op", "leaf", "a", "b", "required")
"""What is pushed first (or `NONE`), and of where; the operation, if it is more than that; whether that has to hold."""
INDEXED = _words("type", "filter", "filter_end", "keys", "keys_end", "lookback", "count", "banded")
"""Which events of a type a column retains, by what values they are found, and how far back rules look for them.

`banded` is an attribute that all rules bound on both sides: its values without their last bits are part of the key."""
CONSTANT_INDEX = _words("cell", "chains", "chain_mask")
CONSTANT = _words("constant", "rule")
"""A rule that is triggered only where an attribute is a constant; rules of one hash value follow one another."""
LOOKUP = _words("column", "cells", "cells_end", "joins", "banded")
"""A chain that an event of a type is looked up in, or joins, found by attributes of its own alone."""

COLUMN = _words("start", "mask", "appended", "first", "buckets", "bucket_mask", "shift")
"""A ring buffer of rows, whose rows of one hash value are a chain; rows are numbered from 0, `first` is the oldest.

Where it is banded, `shift` is how many bits of the attribute are not part of the key."""
ROW = _words("time", "order", "older", "key", "nulls")
"""An event; `older` is the number of the row before it in its chain."""
UNDO = _words("kind", "place", "old")
COST = _words("partial", "matches", "composites", "ticks")
"""What a rule has cost."""
TRIGGER = _words("event", "row", "rule", "first", "matches", "status")
"""A rule that an event triggers: the number of the event in its stretch, its row, and the place of the first match."""
SEGMENT = _words("next", "end")
"""The composites that one event has caused, of those that wait to be published."""
FOLD = _words("count", "total")
"""How many values an aggregate has seen, and their sum, or the least or greatest one."""
TREE = _words("column", "cell", "kind", "start", "large")
"""Nodes of the rows of a column, for aggregates of one kind over one attribute; `start` is `NONE` until one asks.

`large` says that the last window for which they were used had many rows."""
NODE = _words("row", "before", "end", "length", "count", "value")
"""A row and the ones before it with the same key, `length` in all, and what an aggregate has seen of them.

`before` is the row before this one with the same key, `end` the one before them all; less than any row if none is.
"""
STATE = _words(
    "status", "full_column", "order", "began", "now", "reached", "pending", "outputs", "candidates", "undos",
    "consumed", "consumers", "consuming", "silences", "hierarchical", "silent", "takes_place", "chain",
    "due", "due_rule", "judged", "until", "texts", "letters", "joins", "text", "other_text", "profiled", "ticks",
    "fetching", "with_sources", "numbered", "walked", "full_tree", "shift", "event", "counting",
    "triggers", "stretch", "aside",
)  # fmt: skip


class ArrayKind(NamedTuple):
    """What an array is: of what entries, with how many axes, and whether these lie one behind the other."""

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
"""An array of words. The annotation of an array has the fields of its kind, as far as they are not the usual ones."""


@cache
def array_kinds(tables: Any) -> Mapping[str, ArrayKind]:
    """What the arrays of a named tuple are, by its annotations."""
    hints = get_type_hints(tables, include_extras=True)
    return {name: array_kind(hint) for name, hint in hints.items()}


def array_kind(hint: Any) -> ArrayKind:
    """What an array is, by its annotation."""
    return ArrayKind(*get_args(hint)[1:])


class PlanTables(NamedTuple):
    """What the rules say.

    Attributes
    ----------
    keys: the code of each value of a key.
    slots: lists of registers, of rivals and of what is consumed, and of cells that are a key.
    triggered: numbers of rules, those that type t triggers from `rules_of_type[t]` to `rules_of_type[t + 1]`, but for
        those that are found by a constant.
    constant_chains: where the rules of each hash value begin, and behind the last one where they end.
    columns_of_type: where the columns of each type begin, and behind the last type where they end; lookups likewise.
    trees: those that aggregates may have; where their nodes are is said by the history.
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
    """What has happened.

    Attributes
    ----------
    consumed: a hash table of words, each an event and who selects it no more.
    silences: of rules, nulls among values and values to when the rule has emitted something for them last.
    texts: of the numbers of texts to where their `letters` begin and end.
    joins: of the numbers of two texts to that of what they are behind one another.

    The last row is the event that is processed, the one before it operands of an aggregate; events that are processed
    together (`kernel.stretch`) have rows before these.
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
    trees: Annotated[Any, TREE]  # those of the plan, and where their nodes are
    nodes: Annotated[Any, NODE]
    node_limbs: WordMatrix  # of those that sum floats


class Scratch(NamedTuple):
    """Room for one event: registers of the match, the stack, ranges of bounds, candidates of `each` put aside."""

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
    cursors: WordArray  # of what is taken later: where it ends, and up to where it is not taken yet
    consuming: WordArray
    key: WordArray  # of a hash table
    segments: Annotated[Any, SEGMENT]
    sources: WordArray  # the orders of the events that are bound
    asked: WordArray  # the rules that the event may trigger
    costs: Annotated[Any, COST]  # of each rule, for the event that is processed
    total_costs: Annotated[Any, COST]  # for those before it


class CompositeWords(NamedTuple):
    """Composites as columns.

    Attributes
    ----------
    nulls: of each one a bit for each attribute that is null.
    cells: of each attribute a column of words.
    sources: of each one the orders of the events that it is made of; not written where nobody asks for them.
    """

    types: Annotated[Any, np.dtype(np.uint16)]
    rules: Annotated[Any, np.dtype(np.int32)]
    times: WordArray
    orders: WordArray
    nulls: WordArray
    cells: WordMatrix
    sources: WordMatrix

    @classmethod
    def room(cls, count: int, width: int, sources: int) -> CompositeWords:
        """Room for composites."""
        shapes = ((count,), (count,), (count,), (width, count), (count, sources))
        types: Any = np.empty(count, np.uint16)
        return cls(types, np.empty(count, np.int32), *(np.empty(shape, np.int64) for shape in shapes))

    def part(self, count: int) -> CompositeWords:
        """The first ones, in the same memory."""
        return self._replace(**{
            name: each[:, :count] if each is self.cells else each[:count] for name, each in self._asdict().items()
        })  # fmt: skip


class EventWords(NamedTuple):
    """Events, with their attributes in columns that lie one behind the other.

    Attributes
    ----------
    orders: `NONE` of events from outside, and known of those that are read back into the history.
    places: where each event's values stand in the columns of its type.
    columns: of each type where its columns begin in `words`, `NONE` behind the last one; in the end that of the masks
        of nulls, `NONE` where there are none.
    """

    types: WordArray
    times: WordArray
    orders: WordArray
    places: WordArray
    columns: WordMatrix
    words: WordArray


def table(rows: Sequence[tuple[int, ...]], dtype: np.dtype[Any]) -> Any:
    """A table of records; at least one, for numba asks the first one for its type."""
    return np.array(rows or [(0,) * len(dtype.names or ())], dtype).view(np.recarray)


def build_table(lines: Sequence[Mapping[str, int]], dtype: np.dtype[Any]) -> Any:
    """A table of entries that are given by the names of fields; what one does not name is 0."""
    return table([tuple(line.get(name, 0) for name in dtype.names or ()) for line in lines], dtype)


def hash_table(rows: int, width: int) -> Any:
    """A hash table of a power of two of rows, which are free."""
    return np.full((rows, width), NONE)


def room(count: int, dtype: np.dtype[Any]) -> Any:
    """Room for records."""
    return np.zeros(count, dtype).view(np.recarray)


def rows_with_cells(count: int, width: int) -> tuple[Any, Any]:
    """Room for rows, and for the cells of their attributes, at least two of them.

    The cells of a row lie behind it, and a short row is one line of the processor's cache: who looks at a row and its
    cells waits for memory once. Both are views of the same words.
    """
    header = ROW.itemsize // WORD_BYTES
    words = max(header + width, LINE_BYTES // WORD_BYTES)
    buffer = zeros(count * words + LINE_BYTES // WORD_BYTES)
    begin = -buffer.ctypes.data % LINE_BYTES // WORD_BYTES
    lines = buffer[begin : begin + count * words].reshape(count, words)
    rows = np.ndarray((count,), ROW, lines.data, strides=lines.strides[:1])
    return rows.view(np.recarray), lines[:, header : header + width]


def zeros(*shape: int) -> Any:
    """Room for words."""
    return np.zeros(shape, np.int64)


def enlarge(array: Any) -> Any:
    """The same with twice the room."""
    found = np.zeros((2 * len(array), *array.shape[1:]), array.dtype)
    found[: len(array)] = array
    return found.view(type(array))
