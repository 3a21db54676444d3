"""What expressions and aggregates of rules are worth, as the specification has it.

The rule of this module: it is written to be read, on plain Python numbers, and shares with engines nothing but the
table of operators.

Sources: thesis, 2.3.2 (attVal), 2.3.3 (Pred_i, f_i and AGGR), 3.2.12; design of rules: integers are exact, sums and
averages of floats are the exact ones rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from workbench.core.domain import FLOAT, Domain, Value
from workbench.tesla import tree as t
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.operators import apply_operator, as_float, row_of

Attributes = Mapping[str, Value | None]
"""attVal(l, .): the values of one event or fact by the names of its attributes."""


@dataclass(frozen=True)
class Selected:
    """The events and facts that a rule has selected so far: the list s of lab(r, s).

    Attributes
    ----------
    events: those bound, in the order of the predicates; the trigger is the first.
    places: the predicate that has bound each of them, by its place in the rule.
    facts: the rows bound, by their places among those of their type.
    values: attVal of what is bound, by name.
    named: the events by name.
    parameters: their values.
    absent: the predicate about what must not follow, and what was selected where it stands; None: there is none.
    """

    events: tuple[Occurrence, ...] = ()
    places: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()
    values: Mapping[str, Attributes] = field(default_factory=dict)
    named: Mapping[str, Occurrence] = field(default_factory=dict)
    parameters: Attributes = field(default_factory=dict)
    absent: Any = None


def value(expression: t.Expression, selected: Selected, own: Attributes | None = None) -> Value | None:
    """What an expression is worth; None is null.

    Parameters
    ----------
    own: attVal of the event or fact that a predicate is about.
    """
    if isinstance(expression, t.Literal):
        return expression.value
    if isinstance(expression, t.BoundParameter):
        return selected.parameters[expression.name]
    if isinstance(expression, t.OwnAttribute):
        assert own is not None
        return own[expression.name]
    if isinstance(expression, t.OtherAttribute):
        return selected.values[expression.of][expression.name]
    if isinstance(expression, t.TimeOf):
        return selected.named[expression.name].time
    assert isinstance(expression, t.Operation)
    return apply_operator(row_of(expression), [value(operand, selected, own) for operand in expression.operands])


def fitted(found: Value | None, domain: Domain) -> Value | None:
    """What an attribute of this type gets: a whole number becomes a float where the type is one."""
    return as_float(found) if domain == FLOAT and type(found) is int else found


# --- aggregates -----------------------------------------------------------------------------------------


def aggregated(function: str, values: Sequence[Value | None], domain: Domain | None) -> Value | None:
    """AGGR(S) over the values of an attribute of this type; nulls are skipped.

    Over none `COUNT` and `SUM` are 0, the others null.
    """
    there: list[Any] = [each for each in values if each is not None]
    if function == "COUNT":
        return len(there)
    if function == "SUM":
        return _total(there, 1, domain == FLOAT)
    if not there:
        return None
    if function == "AVG":
        return _total(there, len(there), True)
    if any(each != each for each in there):
        return math.nan
    return min(there) if function == "MIN" else max(there)


def folded(declared: t.DeclaredAggregate, values: Sequence[Value | None]) -> Value | None:
    """The values combined one after the other, from the start on; nulls are skipped."""
    total: Value | None = fitted(declared.first, declared.domain)
    for each in values:
        if each is not None:
            total = combination(declared, total, fitted(each, declared.domain))
    return total


def combination(declared: t.DeclaredAggregate, one: Value | None, other: Value | None) -> Value | None:
    """What comes of two values."""
    if declared.combined is None:
        assert declared.function is not None
        return declared.function(one, other)
    own = dict(zip((each.name for each in declared.operands), (one, other), strict=True))
    return fitted(value(declared.combined, Selected(), own), declared.domain)


def _total(values: Sequence[Any], parts: int, rounded: bool) -> float:
    """The sum divided by `parts`, exactly, and rounded to a float once if it is to be one."""
    endless = [each for each in values if isinstance(each, float) and not math.isfinite(each)]
    if endless:
        return math.nan if len(set(endless)) > 1 else endless[0]  # inf - inf is no number
    total = sum(map(Fraction, values), Fraction(0)) / parts
    return _nearest(total) if rounded else int(total)


def _nearest(number: Fraction) -> float:
    """The float nearest to a fraction; what lies beyond all of them is infinite."""
    try:
        return number.numerator / number.denominator
    except OverflowError:
        return math.inf if number > 0 else -math.inf
