"""The table of aggregates: built-in ones, and rows for declared ones.

The rule of this module: a declared aggregate combines values in the order of their events, beginning with the declared
start. Floats are combined one after the other, as they round; for other types neighbours may be combined first, as
the function is associative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, reduce
from typing import Any

from workbench.core.domain import FLOAT, INT, Domain, Value
from workbench.core.floats import as_float
from workbench.errors import TypingError, did_you_mean
from workbench.extensions import rows
from workbench.tesla import tree as t
from workbench.tesla.aggregate import AggregateRow, StartsRunning
from workbench.tesla.blocked_values import BlockedValues
from workbench.tesla.declared import Combines
from workbench.tesla.operators import gives_null
from workbench.tesla.values import Selected, fit_value, value

_NO_VALUE = object()
"""Result over no values, before the start is applied."""


@cache
def aggregate_rows() -> Mapping[str, AggregateRow]:
    """Return the built-in aggregates by name, in the order in which they are listed."""
    return rows("workbench.tesla.aggregates")


def aggregate_row(part: t.Aggregate, combines: Callable[[t.DeclaredAggregate], Combines] | None = None) -> AggregateRow:
    """Return the row of an aggregate in a rule.

    Parameters
    ----------
    combines: returns a declared aggregate's function of two values; None: as the specification defines it.

    Raises
    ------
    TypingError: there is no aggregate of this name.
    """
    if part.declared is not None:
        return _make_declared_row(part.declared, combines or (lambda each: partial(combination, each)))
    try:
        return aggregate_rows()[part.function]
    except KeyError:
        hint = did_you_mean(part.function, aggregate_rows(), "there are: ")
        raise TypingError(f"rules have no aggregate '{part.function}'", hint=hint) from None


def combination(declared: t.DeclaredAggregate, one: Value | None, other: Value | None) -> Value | None:
    """Combine two values by the function of a declared aggregate."""
    if declared.combined is None:
        assert declared.function is not None
        return declared.function(one, other)
    own = dict(zip((each.name for each in declared.operands), (one, other), strict=True))
    return fit_value(value(declared.combined, Selected(), own), declared.domain)


def _make_declared_row(
    declared: t.DeclaredAggregate, combines: Callable[[t.DeclaredAggregate], Combines]
) -> AggregateRow:
    real = declared.domain == FLOAT

    def result(domain: Domain | None) -> Domain | None:
        return declared.domain if domain == declared.domain or (real and domain == INT) else None

    def compute(_: Domain | None) -> Callable[[Sequence[Any]], Any]:
        combine, first = combines(declared), declared.first
        return lambda values: reduce(combine, map(as_float, values) if real else values, first)

    def running(_: Domain | None) -> StartsRunning | None:
        if real:
            return None
        combine, first = combines(declared), declared.first
        finish = lambda aggregate: first if aggregate is _NO_VALUE else combine(first, aggregate)  # noqa: E731
        return partial(BlockedValues, partial(_reduce, combine), _NO_VALUE, finish)

    nullable = declared.combined is None or any(map(gives_null, t.within(declared.combined)))
    return AggregateRow(declared.name, str(declared), result, compute, running, nullable, ordered=True)


def _reduce(combine: Combines, values: Iterable[Any], default: Any = _NO_VALUE) -> Any:
    there = [value for value in values if value is not _NO_VALUE]
    return reduce(combine, there) if there else default
