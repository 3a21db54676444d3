"""Aggregates that are declared: values combined in the order of their events.

The rule of this module: nulls are skipped, and it starts from the declared value. Floats are combined one after the
other, for they round; of exact values neighbours may be combined first, as the function is associative.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial, reduce
from typing import Any

from workbench.core.domain import FLOAT
from workbench.tesla import tree as t
from workbench.tesla.declared import Combines
from workbench.tesla.engines.expressions import MatchScope, PythonLines
from workbench.tesla.scope import RuleScope
from workbench.tesla.values import as_float

NO_VALUE = object()
"""What comes of no values at all."""


def combines(declared: t.DeclaredAggregate) -> Combines:
    """The function of two values."""
    if declared.combined is None:
        assert declared.function is not None
        return declared.function
    code = PythonLines(MatchScope(RuleScope(declared.scope)), "e")
    code.lines.append(f"return {code.value(declared.combined, as_real=declared.domain == FLOAT)}")
    of_row = code.function()
    return lambda one, other: of_row((one, other))


def fold(declared: t.DeclaredAggregate) -> Callable[[Sequence[Any]], Any]:
    """What combines values of which none is null."""
    combined, first = combines(declared), declared.first
    if declared.domain == FLOAT:
        return lambda values: reduce(combined, map(as_float, values), first)
    return lambda values: reduce(combined, values, first)


def fold_of_some(combined: Combines) -> Callable[..., Any]:
    """What combines values and `NO_VALUE`s without a start."""
    return partial(_reduced, combined)


def _reduced(combined: Combines, values: Iterable[Any], default: Any = NO_VALUE) -> Any:
    there = [value for value in values if value is not NO_VALUE]
    return reduce(combined, there) if there else default
