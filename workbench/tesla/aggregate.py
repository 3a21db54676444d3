"""What an aggregate is, as a row: its types, its value over any values, and how columns keep it.

The rule of this module: what a row says is all that others know of an aggregate. They look it up (`aggregate_table`),
and never compare its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from workbench.core.domain import FLOAT, INT, STR, Domain, Value


class RunningAggregate(Protocol):
    """The aggregate over any slice of a column's values, without a walk through all of them."""

    def add(self, value: Any) -> None:
        """Take in a value, null or not, behind all others."""

    def forget(self, count: int) -> None:
        """Forget the first values."""

    def over(self, low: int, high: int) -> Any:
        """The aggregate over the values from one index to before another; over none where they meet."""


StartsRunning = Callable[[], RunningAggregate]


@dataclass(frozen=True, eq=False)
class AggregateRow:
    """An aggregate.

    Attributes
    ----------
    name: as it is written.
    doc: what it is, in a line.
    result: its type over values of a type, None where it has no meaning; over None: of events, without an attribute.
    compute: for a type of values: the aggregate over a sequence of some that are not null, also over an empty one.
    running: for a type of values: what keeps it for a column; None: it is computed each time.
    nullable: whether it may be null.
    counts: whether it is the number of values, whatever these are.
    selects: whether it is one of the values, and over two parts what it is over the two that it selects of these.
    ordered: whether the order of values matters.
    rank: its place among the others where they are listed.
    """

    name: str
    doc: str
    result: Callable[[Domain | None], Domain | None]
    compute: Callable[[Domain | None], Callable[[Sequence[Any]], Any]]
    running: Callable[[Domain | None], StartsRunning | None] = lambda _: None
    nullable: bool = True
    counts: bool = False
    selects: bool = False
    ordered: bool = False
    rank: int = 100

    def over(self, values: Sequence[Value | None], domain: Domain | None) -> Value | None:
        """AGGR(S) over values of a type, S those of them that are not null; None is null."""
        found: Value | None = self.compute(domain)([each for each in values if each is not None])
        return found


def of_numbers(domain: Domain | None) -> Domain | None:
    """The type of what is made of numbers and is one of their type."""
    return domain if domain in (INT, FLOAT) else None


def of_means(domain: Domain | None) -> Domain | None:
    """The type of what lies between numbers."""
    return FLOAT if domain in (INT, FLOAT) else None


def of_ordered(domain: Domain | None) -> Domain | None:
    """The type of one of the values, which have an order."""
    return domain if domain in (INT, FLOAT, STR) else None
