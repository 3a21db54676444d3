"""Values of a column, and what comes of each block of them, for aggregates that nothing undoes.

The rule of this module: what is made of values is associative, so that of a slice few blocks and values are combined.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

BLOCK = 64
"""Values of which what comes of them is kept."""


class BlockedValues:
    """Values, and what comes of each block of them.

    Parameters
    ----------
    merge: of some values what comes of them, in their order, with a `default` of none; an associative function.
    empty: what stands for null, and changes nothing.
    finish: the aggregate, of what comes of all of them.
    """

    def __init__(self, merge: Callable[..., Any], empty: Any, finish: Callable[[Any], Any]) -> None:
        self.merge, self.empty, self.finish = merge, empty, finish
        self._reset()

    def _reset(self, values: Sequence[Any] = ()) -> None:
        self.values: list[Any] = []
        self.blocks: BlockedValues | None = None
        for value in values:
            self.append(value)

    def add(self, value: Any) -> None:
        self.append(self.empty if value is None else value)

    def append(self, value: Any) -> None:
        """Take in a value that is not null, or what stands for it."""
        self.values.append(value)
        if len(self.values) % BLOCK == 0:
            if self.blocks is None:
                self.blocks = BlockedValues(self.merge, self.empty, self.finish)
            self.blocks.append(self.merge(self.values[-BLOCK:]))

    def forget(self, count: int) -> None:
        self._reset(self.values[count:])

    def over(self, low: int, high: int) -> Any:
        return self.finish(self.combine(low, high) if low < high else self.empty)

    def combine(self, low: int, high: int) -> Any:
        """What comes of those from one index to before another; of extreme ones that are equal it is the first."""
        first, last = -(-low // BLOCK), high // BLOCK
        if self.blocks is None or last - first < 2:
            return self.merge(self.values[low:high], default=self.empty)
        ends = self.values[low : first * BLOCK], self.values[last * BLOCK : high]
        before, after = (self.merge(each, default=self.empty) for each in ends)
        return self.merge((before, self.blocks.combine(first, last), after))
