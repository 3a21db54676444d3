"""The maximum of a quantity: one search for queues, buffers in processors, columns of rules and effects.

The rule of this module: a run reaches the lower bound; an argument or a verdict proves the upper bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from workbench.verify.answer.trace import Growth, InputSteps
from workbench.verify.answer.verdict import Verdict

TOGETHER = 8
"""Maximum number of values in one question: they share the reachable states."""


class SearchAbandoned(Exception):
    """The search ends without an answer; the reason is for the user."""


@dataclass(kw_only=True)
class KnownMaximum:
    """The knowledge about the maximum of a quantity.

    Attributes
    ----------
    at_least: the value that some run reaches, `reaching`.
    at_most: a value that no run exceeds; infinite if no bound is known.
    growth: a run that makes the quantity grow.
    argument: the proof that no more is reached, if it is not a model checker's.
    verdict: the verdict of the model checker.
    reason: why no more is known.
    """

    at_least: int = 0
    at_most: float = math.inf
    reaching: InputSteps = ()
    growth: Growth | None = None
    argument: str = ""
    verdict: Verdict | None = None
    reason: str = ""

    @property
    def is_complete(self) -> bool:
        """Whether the search is over."""
        return self.at_least == self.at_most or (self.growth is not None and self.growth.endless)

    def learn(self, value: int, inputs: InputSteps) -> bool:
        """Record the value that a run reaches; return whether it is larger than before."""
        if value <= self.at_least:
            return False
        self.at_least, self.reaching = value, inputs
        return True


class Counted(NamedTuple):
    """A quantity, and the question whether it can exceed a value.

    Attributes
    ----------
    known: what is known of the quantity.
    exceeds: whether the quantity can exceed each of some numbers, in a model with a capacity not below any of them;
        `most` learns from the runs that are found. None: not known yet; a model with a larger capacity may decide.
    unit: the unit, in the plural.
    limit: the largest capacity of the search.
    factor: the factor by which a capacity grows that was exceeded.
    """

    known: KnownMaximum
    exceeds: Callable[[int, Sequence[int]], Sequence[bool | None]]
    unit: str
    limit: float
    factor: int


def find_maximum(counted: Counted) -> None:
    """Raise the capacity until it is enough, or something grows without end; then narrow the bounds, within limits."""
    maximum, capacity = counted.known, 0
    try:
        while maximum.at_most == math.inf and not maximum.is_complete:
            capacity = int(min(max(capacity, maximum.at_least), counted.limit))
            (more,) = counted.exceeds(capacity, [capacity])
            if more is False:
                maximum.at_most = capacity
            elif more and not maximum.is_complete:
                if capacity >= counted.limit:
                    grows = "no pumping stream was found"
                    raise SearchAbandoned(f"{maximum.at_least} {counted.unit} can wait, and {grows}")
                capacity *= counted.factor
        while maximum.at_least < maximum.at_most and not maximum.is_complete:
            numbers = spread(maximum.at_least, int(maximum.at_most) - 1)
            for number, more in zip(numbers, counted.exceeds(int(maximum.at_most), numbers), strict=True):
                if more is False:
                    maximum.at_most = min(maximum.at_most, number)
    except SearchAbandoned as end:
        maximum.reason = str(end)


def spread(low: int, high: int) -> list[int]:
    """At most `TOGETHER` numbers from `low` to `high`, spread evenly."""
    count = high - low + 1
    if count <= TOGETHER:
        return list(range(low, high + 1))
    return sorted({low + (i * count) // TOGETHER for i in range(TOGETHER)})
