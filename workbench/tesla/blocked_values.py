"""Values of a column with combined results per block, for aggregates that cannot be subtracted.

The rule of this module: the combining function is associative, so a slice is combined from few blocks and values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

BLOCK = 64
"""Number of values in a block, whose combined result is stored."""


class BlockedValues:
    """Values, and the combined result of each block of them.

    Parameters
    ----------
    merge: combines a sequence of values in their order, with a `default` for none; an associative function.
    empty: stands for null, and is neutral in `merge`.
    finish: computes the aggregate from the combined result.
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
        """Append a value, or `empty` for null."""
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
        """Combine the values with indices from `low` to before `high`; of equal extremes, the first one counts."""
        first, last = -(-low // BLOCK), high // BLOCK
        if self.blocks is None or last - first < 2:
            return self.merge(self.values[low:high], default=self.empty)
        ends = self.values[low : first * BLOCK], self.values[last * BLOCK : high]
        before, after = (self.merge(each, default=self.empty) for each in ends)
        return self.merge((before, self.blocks.combine(first, last), after))
