"""The arrays of a running rule program, and how they grow.

The rule of this module: an array grows by twice at least, and what is in it keeps its meaning. Regions of `W` and `H`
that have moved give their place back: it takes no room until the next one of the same size comes there.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from operator import is_
from typing import Any

import numpy as np

from workbench.core.domain import FLOAT
from workbench.errors import Refused
from workbench.executors.compiled.rules import layout as at
from workbench.executors.compiled.rules.lines import OTHERS
from workbench.executors.compiled.rules.orders import order_words
from workbench.executors.compiled.rules.pages import LARGE, free_large, give_back, longer_words
from workbench.executors.compiled.rules.program import RuleProgram
from workbench.tesla.engines.facts.order import sort_facts
from workbench.tesla.engines.set_plan import PlannedColumn
from workbench.tesla.event_block import CodesOfTexts, LargeNumberError, attribute_column
from workbench.tesla.occurrence import Facts

FIRST = 64
"""Rows of a type, and entries of a ring or a table, at first: a power of two."""

BEGINS, JOINED = 1 << 12, 1 << 11
"""Beginnings of texts, at first, and texts put together that are at hand."""

MUCH, SELDOM = 4 * LARGE, 1 << 15
"""Bytes of rows of which some are given back when they are old, and after how many events that is done again."""


class RuleArrays:
    """What a program knows of what has happened.

    Parameters
    ----------
    answers: where the function is that answers about texts.

    Attributes
    ----------
    W, H, V, O, X, J, S, B: see `layout`: rows; columns; where it is; what comes out; scratch; what has been changed;
        what is to be published; where in `O` what has been published is.
    """

    def __init__(self, program: RuleProgram, facts: Facts, codes: CodesOfTexts, answers: int) -> None:
        self.program = program
        self.T, self.K, self.R = (array.copy() for array in (program.T, program.K, program.R))
        self.W: Any = np.zeros(1 << 10, np.int64)
        self.H: Any = np.zeros(1 << 10, np.int64)
        self.V: Any = np.zeros(at.STATE_WORDS, np.int64)
        self.X: Any = np.zeros(at.FIXED + (1 << 10), np.int64)
        self.J: Any = np.zeros(1 << 10, np.int64)
        self._free: dict[tuple[str, int], list[int]] = {}
        self._freed = 0
        self._told: tuple[Any, ...] = (None,)
        self._arrays: tuple[Any, ...] = ()
        self._used = {"W": 0, "H": 2 * len(program.types)}
        self._output(1 << 12)
        for y in range(len(program.types)):
            self._rows(y, FIRST)
        self.V[at.TABLE_WIDTH] = 4 + max((len(each.rule.per) for each in program.plan.plans), default=0)
        self._table(FIRST)
        self.V[at.DUE], (self.V[at.AWAITING], self.V[at.AWAITING_END]) = at.NEVER, program.awaiting
        self.V[at.COSTS], self.V[at.MANY] = -1, at.MANY_COMPOSITES if program.runs else at.NEVER
        self.V[at.SPANS] = self._place("H", len(program.spans.planned))
        self.V[at.LISTS] = self._place("H", at.LIST_WORDS * program.lists)
        self.H[self.V[at.SPANS] :][: len(program.spans.planned)] = -1
        self.V[at.ANSWERS] = answers
        if program.asks:
            self.V[at.JOINED], self.V[at.JOINED_MASK] = self._place("H", at.JOIN_WORDS * JOINED), JOINED - 1
            self.more_begins(BEGINS)
        if program.settings.profiled:
            size = 1 + len(self.R) * at.COST_WORDS + len(program.types)
            self.V[at.COSTS] = self._place("H", size) + 1
        for planned in program.columns:
            if not planned.fact and not planned.whole and not planned.keys:
                self._ring(planned.number, FIRST)
        for name in dict.fromkeys(each.type for each in program.columns if each.fact):
            self.put_facts(name, facts.get(name, ()), codes, program.plain())
        for order in range(len(program.plan.columns), len(self.K) - 1):
            self.K[order, at.LEVELS], self.K[order, at.ORDER_STATE] = -1, self._place("H", at.ORDER_WORDS)

    def _place(self, name: str, size: int) -> int:
        """Where so many words begin that are zero."""
        if free := self._free.get((name, size)):
            return free.pop()
        array, used = getattr(self, name), self._used[name]
        if used + size > len(array):
            setattr(self, name, longer_words(array, max(2 * len(array), used + size)))
        self._used[name] = used + size
        return used

    # --- rows -------------------------------------------------------------------------------------------

    def _rows(self, y: int, size: int) -> None:
        row = self.T[y]
        row[at.BASE], row[at.MASK] = self._place("W", size * int(row[at.WIDTH])), size - 1
        for k in self._chains(y):
            self.K[k, at.HEADS], self.K[k, at.HEADS_MASK] = self._place("H", size), size - 1
            self.H[self.K[k, at.HEADS] : self.K[k, at.HEADS] + size] = -1

    def _chains(self, y: int) -> list[int]:
        columns = (each for each in self.program.columns if each.keys and not each.fact)
        return [each.number for each in columns if self.K[each.number, at.TYPE] == y]

    def rows_of(self, y: int) -> Any:
        """The rows of a type that are there, in their order."""
        start, end = self.H[2 * y : 2 * y + 2].tolist()
        return self._rows_at(y)[np.arange(start, end) & int(self.T[y, at.MASK])]

    def _rows_at(self, y: int) -> Any:
        width, base, mask = self.T[y, : at.MASK + 1].tolist()
        return self.W[base : base + (mask + 1) * width].reshape(mask + 1, width)

    def grow_rows(self, y: int) -> None:
        """Twice as many rows of a type; its chains are to be made anew."""
        there, mask, base = self._rows_at(y), int(self.T[y, at.MASK]), int(self.T[y, at.BASE])
        start, end = self.H[2 * y : 2 * y + 2].tolist()
        self._no_spans(y)
        for k in self._chains(y):
            self._leave("H", int(self.K[k, at.HEADS]), mask + 1)
        self._rows(y, 2 * (mask + 1))
        more, middle = self._rows_at(y), min(end, (start | mask) + 1)
        for first, last in ((start, middle), (middle, end)):  # in one piece here and there
            more[first & (2 * mask + 1) :][: last - first] = there[first & mask :][: last - first]
        self._leave("W", base, there.size)

    def first_rows(self, y: int, count: int) -> Any:
        """Room for so many rows of a type that has none, where they will be when they are put into columns."""
        self._rows(y, max(int(self.T[y, at.MASK]) + 1, 1 << (2 * count).bit_length()))
        return self._rows_at(y)[:count]

    def _no_spans(self, y: int) -> None:
        """Forget the spans of a type, whose rows are as many as before still."""
        for number, (_, of, words) in enumerate(self.program.spans.planned, int(self.V[at.SPANS])):
            if of == y and self.H[number] >= 0:
                self._leave("W", int(self.H[number]), words * (int(self.T[y, at.MASK]) + 1))
                self.H[number] = -1

    def make_spans(self, number: int) -> None:
        """Room for spans of all rows of a type."""
        _, y, words = self.program.spans.planned[number]
        self.H[self.V[at.SPANS] + number] = self._place("W", words * (int(self.T[y, at.MASK]) + 1))

    def free_pages(self) -> None:
        """Where rows were that have made room, and their spans, large pages are given back; now and then is enough."""
        count = int(self.V[at.COUNT])
        if 8 * len(self.W) < MUCH or count - self._freed < SELDOM:
            return
        self._freed = count
        for y in range(len(self.program.types)):
            (start, end), (width, base, mask) = self.H[2 * y : 2 * y + 2].tolist(), self.T[y, : at.MASK + 1].tolist()
            if 8 * width * mask < MUCH:
                continue
            spans = enumerate(self.program.spans.planned, int(self.V[at.SPANS]))
            of_rows = ((int(self.H[n]), words) for n, (_, of, words) in spans if of == y and self.H[n] >= 0)
            oldest = max(0, end - mask - 1)  # those before have others in their places
            middle = min(start, (oldest | mask) + 1)
            for begin, words in ((base, width), *of_rows):
                for first, last in ((oldest, middle), (middle, start)):  # in one piece here and there
                    low = begin + (first & mask) * words
                    free_large(self.W, low, low + (last - first) * words)

    # --- columns ----------------------------------------------------------------------------------------

    def _ring(self, k: int, size: int) -> None:
        ring = self._place("H", size + 2) + 2
        self.K[k, at.RING], self.K[k, at.RING_MASK] = ring, size - 1

    def grow_ring(self, k: int) -> None:
        """Twice as many entries of a column."""
        ring, mask = self.K[k, at.RING : at.RING_MASK + 1].tolist()
        start, end = self.H[ring - 2 : ring].tolist()
        places = np.arange(start, end)
        there = self.H[ring + (places & mask)]
        self._leave("H", ring - 2, mask + 3)
        self._ring(k, 2 * (mask + 1))
        ring, mask = self.K[k, at.RING : at.RING_MASK + 1].tolist()
        self.H[ring - 2 : ring] = start, end
        self.H[ring + (places & mask)] = there

    def grow_order(self, order: int) -> None:
        """Room for the blocks of an order, as large as the ring of its column is."""
        column = self.K[self.K[order, at.OF_COLUMN]]
        levels, mask, state = (int(self.K[order, each]) for each in (at.LEVELS, at.LEVELS_MASK, at.ORDER_STATE))
        if levels >= 0:
            self._leave("H", levels, order_words(mask))
        mask = int(column[at.RING_MASK] if column[at.RING] >= 0 else self.T[column[at.TYPE], at.MASK])
        self.K[order, at.LEVELS], self.K[order, at.LEVELS_MASK] = self._place("H", order_words(mask)), mask
        self.H[state : state + at.DEBT] = 0

    # --- facts ------------------------------------------------------------------------------------------

    def put_facts(
        self, type: str, rows: Sequence[Sequence[Any]], codes: CodesOfTexts, loop: Callable[..., int]
    ) -> None:
        """The rows of a type of facts, in the place of those there were.

        Parameters
        ----------
        loop: the code, which tells by what they are found.

        Raises
        ------
        Refused: a whole number has more than 64 bits.
        """
        y = self.program.types.index(type)
        if len(rows) > self.T[y, at.MASK] + 1:
            self._leave("W", int(self.T[y, at.BASE]), (int(self.T[y, at.MASK]) + 1) * int(self.T[y, at.WIDTH]))
            self._rows(y, 1 << (len(rows) - 1).bit_length())
        self.H[2 * y + 1] = len(rows)
        there = self._rows_at(y)[: len(rows)]
        there[:, at.TIME], there[:, at.NUMBER], there[:, at.NULLS] = 0, np.arange(len(rows)), 0
        try:
            for n, domain in enumerate(self.program.plan.rules.declarations[type].domains.values()):
                column = attribute_column([row[n] for row in rows], domain, codes, {})
                there[:, at.VALUES + n] = column.values.view(np.int64) if domain == FLOAT else column.values
                if column.nulls is not None:
                    there[column.nulls, at.VALUES + n] = 0
                    there[:, at.NULLS] |= column.nulls.astype(np.int64) << n
        except LargeNumberError as error:
            what = f"the engine 'compiled' has no room for a fact {type}: {error.what}"
            raise Refused(what, hint=OTHERS) from error
        for planned in self.program.columns:
            if planned.type == type:
                self._put_places(planned, rows, loop)

    def _put_places(self, planned: PlannedColumn, rows: Sequence[Sequence[Any]], loop: Callable[..., int]) -> None:
        """The places of facts in the order that is written, those of one hash together."""
        k, (_, step) = planned.number, planned.users[0]
        order: Any = np.arange(len(rows))
        if planned.ordering:
            placed = [(*row, place) for place, row in enumerate(rows)]
            order = np.array([row[-1] for row in sort_facts(step.part, step.declared, placed)], np.int64)
        size = 1 << max(len(rows) - 1, 0).bit_length()
        if self.K[k, at.RING] < 0 or size > self.K[k, at.RING_MASK] + 1:
            if self.K[k, at.RING] >= 0:
                self._leave("H", int(self.K[k, at.HEADS]), int(self.K[k, at.HEADS_MASK]) + 2)
                self._leave("H", int(self.K[k, at.RING]), int(self.K[k, at.RING_MASK]) + 1)
            self.K[k, at.HEADS_MASK], self.K[k, at.RING_MASK] = size - 1 if planned.keys else 0, size - 1
            self.K[k, at.HEADS] = self._place("H", int(self.K[k, at.HEADS_MASK]) + 2)
            self.K[k, at.RING] = self._place("H", size)
        heads, mask, ring = (int(self.K[k, each]) for each in (at.HEADS, at.HEADS_MASK, at.RING))
        asked_of(loop, self, 5, k, len(rows))
        hashes = self.H[ring : ring + len(rows)][order]
        there = np.flatnonzero(hashes >= 0)
        buckets = hashes[there] & mask
        self.H[heads : heads + mask + 2] = 0
        self.H[heads + 1 : heads + mask + 2] = np.cumsum(np.bincount(buckets, minlength=mask + 1))
        found = order[there[np.argsort(buckets, kind="stable")]]
        self.H[ring : ring + len(found)] = found

    def _leave(self, name: str, place: int, size: int) -> None:
        """Words of an array are free."""
        give_back(getattr(self, name), place, place + size)
        self._free.setdefault((name, size), []).append(place)

    # --- the rest ---------------------------------------------------------------------------------------

    def _table(self, size: int) -> None:
        width = int(self.V[at.TABLE_WIDTH])
        self.V[at.TABLE], self.V[at.TABLE_MASK] = self._place("H", 1 + size * width) + 1, size - 1

    @property
    def crowded(self) -> bool:
        """Whether the table is too full to be used for long."""
        return bool(4 * self.H[self.V[at.TABLE] - 1] > self.V[at.TABLE_MASK])

    def other_table(self, move: Callable[[int, int], object], *, larger: bool) -> None:
        """Another table: what still counts is moved there, given where the old one lies and how many entries it has."""
        old, mask = self.V[at.TABLE : at.TABLE_MASK + 1].tolist()
        events = range(len(self.program.plan.rules.events))
        numbers = [int(rows[0, at.NUMBER]) for y in events if len(rows := self.rows_of(y))]
        self.V[at.LEAST] = min(numbers, default=int(self.V[at.COUNT]))
        self._table((mask + 1) * (2 if larger else 1))
        move(old, mask + 1)
        self._leave("H", old - 1, 1 + (mask + 1) * int(self.V[at.TABLE_WIDTH]))

    def _output(self, size: int) -> None:
        longer: Any = np.zeros(size, np.int64)
        if hasattr(self, "O"):
            longer[: len(self.O)] = self.O
        self.O: Any = longer
        most = size // at.RECORD + len(self.program.plan.plans) + 1
        self.S: Any = np.zeros(most, np.int64)
        published: Any = np.zeros(most, np.int64)
        if hasattr(self, "B"):
            published[: len(self.B)] = self.B
        self.B: Any = published

    def costs(self) -> Any:
        """What each rule has cost; all ticks; and how many events of each type there were."""
        at_rules, words = int(self.V[at.COSTS]), len(self.R) * at.COST_WORDS
        events = self.H[at_rules + words : at_rules + words + len(self.program.types)]
        rules = self.H[at_rules : at_rules + words].reshape(len(self.R), at.COST_WORDS)
        return rules[:-1], max(1, int(self.H[at_rules - 1])), events

    def more_begins(self, size: int) -> None:
        """Room for the beginnings of so many texts, a power of two."""
        self.V[at.BEGINS], self.V[at.BEGINS_MASK] = self._place("H", at.BEGIN_WORDS * size), size - 1

    def grow_output(self) -> None:
        """Room for what is wanted, twice as much as there is at least."""
        self._output(max(2 * len(self.O), int(self.V[at.WANTED]) + 1))

    def grow(self, name: str, least: int = 0) -> None:
        """Twice as many words in an array."""
        array = getattr(self, name)
        longer: Any = np.zeros(max(2 * len(array), 2 * least), np.int64)
        longer[: len(array)] = array
        setattr(self, name, longer)

    def arrays(self) -> tuple[Any, ...]:
        """What every call is given, in the order of `matching.run`; the same object as long as nothing has moved."""
        whole = self.T, self.K, self.R, self.program.C, self.W, self.H, self.V, self.O, self.X, self.J, self.S, self.B
        if not all(map(is_, whole, self._told)):
            T, K, R, C, W, H, V, O, X, J, S, B = self._told = whole
            CF, F, OF, XF = (each.view(np.float64) for each in (C, W, O, X))
            self._arrays = T, K, R, C, CF, W, F, H, V, O, OF, X, XF, J, self.program.L, S, B
        return self._arrays


def asked_of(loop: Callable[..., int], memory: RuleArrays, mode: int, first: int, last: int) -> int:
    """What a program answers that is asked for something else than events (`matching.run`)."""
    nothing: Any = np.zeros(1, np.int64)
    types: Any = np.zeros(1, np.uint16)
    columns: Any = np.zeros((1, 3), np.int64)
    return loop(mode, first, last, types, nothing, nothing, columns, *memory.arrays())
