"""Aggregates as rows: result types, value over a sequence of values, and running form for columns.

The rule of this module: a row is all that other modules know about an aggregate. They look it up (`aggregate_table`)
and never compare its name.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from workbench.core.domain import FLOAT, INT, STR, Domain, Value


class RunningAggregate(Protocol):
    """The aggregate over any slice of a column's values, without visiting all of them."""

    def add(self, value: Any) -> None:
        """Append a value, which may be null."""

    def forget(self, count: int) -> None:
        """Remove the oldest `count` values."""

    def over(self, low: int, high: int) -> Any:
        """Return the aggregate over the values from index `low` to before `high`; over no values if these are equal."""


StartsRunning = Callable[[], RunningAggregate]


@dataclass(frozen=True, eq=False)
class AggregateRow:
    """The definition of an aggregate.

    Attributes
    ----------
    name: its word in the language.
    doc: a description in one line.
    result: its type over values of a type, None if undefined; over None: of events, without an attribute.
    compute: for a type of values: the aggregate of a sequence of non-null values, which may be empty.
    running: for a type of values: a factory of its running form for a column; None: computed each time.
    nullable: whether it may be null.
    counts: whether it is the number of values, whatever they are.
    selects: whether it is one of the values, and over two parts equals the aggregate of the two results.
    ordered: whether the order of values matters.
    rank: its position in lists.
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
        """Return AGGR(S) over values of a type, where S are the values that are not null; None is null."""
        aggregate: Value | None = self.compute(domain)([each for each in values if each is not None])
        return aggregate


def of_numbers(domain: Domain | None) -> Domain | None:
    """Return the result type of an aggregate of numbers that keeps their type."""
    return domain if domain in (INT, FLOAT) else None


def of_means(domain: Domain | None) -> Domain | None:
    """Return the result type of an aggregate that lies between numbers, such as a mean."""
    return FLOAT if domain in (INT, FLOAT) else None


def of_ordered(domain: Domain | None) -> Domain | None:
    """Return the result type of an aggregate that is one of its values, which have an order."""
    return domain if domain in (INT, FLOAT, STR) else None
