"""Columns that tell what is aggregated of any stretch of them, without a look at each of its events.

The rule of this module: a sum is the difference of two that are kept, a least or greatest value that of the blocks in
between. What is told is what `aggregates` computes of the values one by one: exact, and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from workbench.core.domain import FLOAT, INT
from workbench.tesla import tree as t
from workbench.tesla.engines.aggregates import nearest
from workbench.tesla.engines.column import EventColumn
from workbench.tesla.engines.folds import NO_VALUE, combines, fold_of_some
from workbench.tesla.engines.rule_plan import RuleStep
from workbench.tesla.occurrence import Occurrence

BLOCK = 64
"""Values of which the extreme one is kept."""


class AggregatedColumn(EventColumn[Occurrence]):
    """A column that knows an aggregate of an attribute.

    Attributes
    ----------
    attribute: its place among the values.
    """

    __slots__ = ("attribute",)

    def __init__(self, attribute: int) -> None:
        super().__init__()
        self.attribute = attribute

    def forget(self, count: int) -> None:
        length = len(self.events)
        super().forget(count)
        if len(self.events) < length:
            self._shorten(length - len(self.events))

    def _shorten(self, count: int) -> None:
        """The events at the first places are gone."""
        raise NotImplementedError

    def aggregated(self, low: int, high: int) -> Any:
        """The aggregate over the events from one place to before another."""
        raise NotImplementedError


class SummedColumn(AggregatedColumn):
    """Counts and sums of whole numbers.

    Attributes
    ----------
    function: `COUNT`, `SUM` or `AVG`.
    before: for each event the sum and the number of those before it that are not null.
    """

    __slots__ = ("before", "function", "total")

    def __init__(self, attribute: int, function: str) -> None:
        super().__init__(attribute)
        self.function = function
        self.before: list[tuple[int, ...]] = []
        self.total: tuple[int, ...] = 0, 0

    def add(self, event: Occurrence) -> None:
        super().add(event)
        self.before.append(self.total)
        value: Any = event.values[self.attribute]
        if value is not None:
            total, count = self.total
            self.total = total if self.function == "COUNT" else total + value, count + 1

    def _shorten(self, count: int) -> None:
        del self.before[:count]

    def aggregated(self, low: int, high: int) -> Any:
        total = count = 0
        if low < high:
            total, count = self.total if high == len(self.before) else self.before[high]
            total, count = total - self.before[low][0], count - self.before[low][1]
        if self.function == "AVG":
            return nearest(total, count) if count else None
        return total if self.function == "SUM" else count


class FloatSummedColumn(SummedColumn):
    """Sums and averages of floats: whole numbers of a part of one that is small enough for all of them.

    Attributes
    ----------
    before: also how many are positive and how many negative infinity; what is no number is both.
    shift: the part of one is 1 / 2**shift.
    """

    __slots__ = ("shift",)

    def __init__(self, attribute: int, function: str) -> None:
        super().__init__(attribute, function)
        self.total = 0, 0, 0, 0
        self.shift = 0

    def add(self, event: Occurrence) -> None:
        EventColumn.add(self, event)
        self.before.append(self.total)
        value: Any = event.values[self.attribute]
        if value is None:
            return
        total, count, above, below = self.total
        if math.isfinite(value):
            whole, parts = value.as_integer_ratio()
            more = self.shift - parts.bit_length() + 1
            if more < 0:
                self._refine(-more)
                total, more = self.total[0], self.shift - parts.bit_length() + 1
            self.total = total + (whole << more), count + 1, above, below
        else:
            self.total = total, count + 1, above + (value != -math.inf), below + (value != math.inf)

    def _refine(self, more: int) -> None:
        """Smaller parts, and some more than are asked for, so that this is seldom done."""
        more += BLOCK
        self.shift += more
        self.before = [(total << more, *others) for total, *others in self.before]
        self.total = self.total[0] << more, *self.total[1:]

    def aggregated(self, low: int, high: int) -> Any:
        if low >= high:
            return None if self.function == "AVG" else 0.0
        after = self.total if high == len(self.before) else self.before[high]
        total, count, above, below = map(int.__sub__, after, self.before[low])
        if self.function == "AVG" and not count:
            return None
        if above or below:
            return math.nan if above and below else math.inf if above else -math.inf
        return nearest(total, (count if self.function == "AVG" else 1) << self.shift)


class _Nothing:
    """What every value is greater than, or, of least ones, less than."""

    def __init__(self, least: bool) -> None:
        self.least = least

    def __lt__(self, _: object) -> bool:
        return not self.least

    def __gt__(self, _: object) -> bool:
        return self.least


class BlockedValues:
    """Values, and what comes of each block of them, so that of any stretch few are looked at.

    Parameters
    ----------
    chosen: of values what comes of them, `nothing` among them; an associative function, such as the least.
    """

    def __init__(self, chosen: Callable[..., Any], nothing: Any, values: Sequence[Any] = ()) -> None:
        self.chosen, self.nothing = chosen, nothing
        self.values: list[Any] = []
        self.blocks: BlockedValues | None = None
        for value in values:
            self.add(value)

    def add(self, value: Any) -> None:
        """A value behind all others."""
        self.values.append(value)
        if len(self.values) % BLOCK == 0:
            if self.blocks is None:
                self.blocks = BlockedValues(self.chosen, self.nothing)
            self.blocks.add(self.chosen(self.values[-BLOCK:]))

    def of(self, low: int, high: int) -> Any:
        """What comes of those from one place to before another; of extreme ones that are equal it is the first."""
        first, last = -(-low // BLOCK), high // BLOCK
        if self.blocks is None or last - first < 2:
            return self.chosen(self.values[low:high], default=self.nothing)
        ends = self.values[low : first * BLOCK], self.values[last * BLOCK : high]
        before, after = (self.chosen(each, default=self.nothing) for each in ends)
        return self.chosen((before, self.blocks.of(first, last), after))


class ExtremeColumn(AggregatedColumn):
    """Least and greatest values, also of texts.

    Attributes
    ----------
    extremes: of the values; what is null or no number is nothing there.
    strange: the numbers of events whose value is no number.
    """

    __slots__ = ("extremes", "strange")

    def __init__(self, attribute: int, function: str) -> None:
        super().__init__(attribute)
        least = function == "MIN"
        self.extremes = BlockedValues(min if least else max, _Nothing(least))
        self.strange = EventColumn[Occurrence]()

    def add(self, event: Occurrence) -> None:
        super().add(event)
        value = event.values[self.attribute]
        if value != value:
            self.strange.add(event)
        self.extremes.add(self.extremes.nothing if value is None or value != value else value)

    def _shorten(self, count: int) -> None:
        all_of_them = self.extremes
        self.extremes = BlockedValues(all_of_them.chosen, all_of_them.nothing, all_of_them.values[count:])
        if self.numbers:
            self.strange.forget(self.strange.first_number(self.numbers[0]) - self.strange.start)

    def aggregated(self, low: int, high: int) -> Any:
        if low >= high:
            return None
        if self.strange.events:
            at = self.strange.first_number(self.numbers[low])
            if at < len(self.strange.events) and self.strange.numbers[at] <= self.numbers[high - 1]:
                return math.nan
        found = self.extremes.of(low, high)
        return None if found is self.extremes.nothing else found


class FoldedColumn(AggregatedColumn):
    """What comes of exact values by a function that is declared."""

    __slots__ = ("combined", "first", "folded")

    def __init__(self, attribute: int, declared: t.DeclaredAggregate) -> None:
        super().__init__(attribute)
        self.combined, self.first = combines(declared), declared.first
        self.folded = BlockedValues(fold_of_some(self.combined), NO_VALUE)

    def add(self, event: Occurrence) -> None:
        super().add(event)
        value = event.values[self.attribute]
        self.folded.add(NO_VALUE if value is None else value)

    def _shorten(self, count: int) -> None:
        self.folded = BlockedValues(self.folded.chosen, NO_VALUE, self.folded.values[count:])

    def aggregated(self, low: int, high: int) -> Any:
        found = self.folded.of(low, high) if low < high else NO_VALUE
        return self.first if found is NO_VALUE else self.combined(self.first, found)


def aggregated_column(step: RuleStep) -> Callable[[], AggregatedColumn] | None:
    """What makes the column of an aggregate, where the window is all that is asked of the events of a key."""
    code = step.code
    if not isinstance(step.part, t.Aggregate) or step.attribute is None or code.constrained or not code.indexed:
        return None
    function, declared = step.part.function, step.part.declared
    if declared is not None:
        return None if declared.domain == FLOAT else partial(FoldedColumn, step.attribute, declared)
    if function in ("MIN", "MAX"):
        return partial(ExtremeColumn, step.attribute, function)
    floats = step.values == FLOAT and function != "COUNT"
    assert floats or function == "COUNT" or step.values == INT
    return partial(FloatSummedColumn if floats else SummedColumn, step.attribute, function)
