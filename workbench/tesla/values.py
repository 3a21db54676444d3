"""The values of expressions in rules, as the specification defines them.

The rule of this module: it is written for readers, on plain Python numbers, and shares with engines only the
table of operators.

Sources: thesis, 2.3.2 (attVal), 2.3.3 (Pred_i, f_i and AGGR), 3.2.12; design of rules: integers are exact, sums and
averages of floats are the exact ones rounded once.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from workbench.core.domain import FLOAT, Domain, Value
from workbench.core.floats import as_float
from workbench.tesla import tree as t
from workbench.tesla.occurrence import Occurrence
from workbench.tesla.operators import apply_operator, row_of

Attributes = Mapping[str, Value | None]
"""attVal(l, .): the values of one event or fact by attribute name."""


@dataclass(frozen=True)
class Selected:
    """The events and facts that a rule has selected so far: the list s of lab(r, s).

    Attributes
    ----------
    events: the bound events, in the order of the predicates; the trigger is the first.
    indices: for each event the place of the predicate that bound it.
    facts: the bound rows, by their index among those of their type.
    values: attVal of the bound events and facts, by name.
    named: the events by name.
    parameters: their values.
    absent: the `absent` predicate with the selection at its place; None if there is none.
    """

    events: tuple[Occurrence, ...] = ()
    indices: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()
    values: Mapping[str, Attributes] = field(default_factory=dict)
    named: Mapping[str, Occurrence] = field(default_factory=dict)
    parameters: Attributes = field(default_factory=dict)
    absent: Any = None


def value(expression: t.Expression, selected: Selected, own: Attributes | None = None) -> Value | None:
    """Return the value of an expression; None is null.

    Parameters
    ----------
    own: attVal of the event or fact that the predicate is applied to.
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


def fit_value(raw_value: Value | None, domain: Domain) -> Value | None:
    """Convert a value to the type of an attribute: a whole number becomes a float if the type is float."""
    return as_float(raw_value) if domain == FLOAT and type(raw_value) is int else raw_value
