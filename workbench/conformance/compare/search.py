"""The settings of a search for disagreements, and the greedy minimisation of a failure.

The rule of this module: it imports nothing of workbench, since the command line shows the defaults defined here; and it
knows nothing about the parts that are removed. Hypothesis shrinks the examples that it draws (`shrinking`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

ROUND = 100
"""Number of examples in a round."""


@dataclass(frozen=True)
class Search:
    """The settings for drawing examples.

    Parameters
    ----------
    examples: the number of traces for each pipeline and contender; slow contenders get a share of it.
    seed: the seed of the first round.
    steps: the maximum number of steps of a trace, without its end.
    n, q: the size of `int` in models, and the capacity of queues where one is needed.
    """

    examples: int = 100
    seed: int = 0
    steps: int = 24
    n: int = 4
    q: int = 4

    def rounds(self, share: float = 1.0) -> Iterator[tuple[int, int]]:
        """Yield the seed and the number of examples of each round."""
        left = max(1, round(self.examples * share))
        for number in range(self.seed, self.seed + -(-left // ROUND)):
            yield number, min(left, ROUND)
            left -= ROUND


_Example = TypeVar("_Example")
_Failure = TypeVar("_Failure")


def minimize(
    failure: _Failure, smaller: Callable[[_Failure], Iterable[_Example]], check: Callable[[_Example], _Failure | None]
) -> _Failure:
    """Return the failure of a minimal example, from which nothing can be removed without losing the failure.

    Parameters
    ----------
    smaller: yields the examples with one part less than a failure, in the order in which to try them.
    check: returns the failure of an example; None if it does not fail.
    """
    while (next_failure := next(filter(None, map(check, smaller(failure))), None)) is not None:
        failure = next_failure
    return failure
