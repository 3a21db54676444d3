"""How a search for disagreements draws its examples, and how one that was found is made smaller, thing by thing.

The rule of this module: it imports nothing, since the command line shows what is here as its defaults; and it knows
nothing of what is left out. What hypothesis draws, hypothesis makes smaller (`shrinking`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeVar

ROUND = 100
"""Examples of a round."""


@dataclass(frozen=True)
class Search:
    """How examples are drawn.

    Parameters
    ----------
    examples: how many traces, for each pipeline and contender; those of which running takes long get a part.
    seed: of the first round.
    steps: the most steps of a trace, without its end.
    n, q: the domain of `int` in models, and the capacity of queues in what needs one.
    """

    examples: int = 100
    seed: int = 0
    steps: int = 24
    n: int = 4
    q: int = 4

    def rounds(self, share: float = 1.0) -> Iterator[tuple[int, int]]:
        """The seeds of the rounds, and how many examples each has."""
        left = max(1, round(self.examples * share))
        for number in range(self.seed, self.seed + -(-left // ROUND)):
            yield number, min(left, ROUND)
            left -= ROUND


_Example = TypeVar("_Example")
_Failure = TypeVar("_Failure")


def minimize(
    failure: _Failure, smaller: Callable[[_Failure], Iterable[_Example]], check: Callable[[_Example], _Failure | None]
) -> _Failure:
    """The failure of an example from which nothing can be left out without that it no longer fails.

    Parameters
    ----------
    smaller: of a failure the examples with one thing less, in the order in which they are tried.
    check: the failure of an example; None where it does not fail.
    """
    while (found := next(filter(None, map(check, smaller(failure))), None)) is not None:
        failure = found
    return failure
