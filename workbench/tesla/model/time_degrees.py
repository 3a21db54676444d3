"""Times in expressions of rules in a model, which only has ages of events.

The rule of this module: an expression depends on ages alone if shifting all times leaves it unchanged: if as many
times are added as are subtracted. This is decided by its text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from workbench.core.domain import INT
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.operators import is_comparison
from workbench.tesla.resolved import TIME, ResolvedRule, RuleSlot


@dataclass(frozen=True)
class TimeDegree:
    """The growth of an expression when all times grow by one; whether it is a whole number; whether this is `known`."""

    count: int = 0
    whole: bool = False
    known: bool = True


UNKNOWN = TimeDegree(known=False)


def time_degree(rule: ResolvedRule, expression: t.Expression) -> TimeDegree:
    """Return the time degree of an expression of a rule."""
    if isinstance(expression, t.Literal):
        return TimeDegree(whole=type(expression.value) is int)
    if isinstance(expression, t.Operation):
        return _combine(expression, [time_degree(rule, each) for each in expression.operands])
    assert isinstance(expression, RuleSlot)
    if expression.value is not None:
        return time_degree(rule, expression.value)
    part = rule.parts[expression.part]
    if expression.is_parameter and isinstance(part, t.Aggregate):
        return TimeDegree(whole=aggregate_row(part).counts)
    return TimeDegree(count=expression.name == TIME, whole=expression.domain == INT)


def deciding(rule: ResolvedRule) -> Iterator[t.Expression]:
    """Yield the expressions that decide about matches."""
    for part in rule.parts:
        yield from part.constraints
    yield from (*rule.where_clause, *rule.per)


def _combine(operation: t.Operation, parts: list[TimeDegree]) -> TimeDegree:
    if not all(each.known for each in parts):
        return UNKNOWN
    whole, operator = all(each.whole for each in parts), operation.operator
    if not any(each.count for each in parts):
        return TimeDegree(whole=whole and operator in ("+", "-", "*", "neg"))
    counts = [each.count for each in parts]
    if is_comparison(operation):
        return TimeDegree() if counts[0] == counts[1] and whole else UNKNOWN
    if operator == "neg":
        return TimeDegree(-counts[0], whole)
    if operator in ("+", "-") and whole:
        return TimeDegree(counts[0] + counts[1] * (1 if operator == "+" else -1), whole)
    factors = [each.value for each in operation.operands if isinstance(each, t.Literal)]
    if operator == "*" and whole and factors:
        return TimeDegree(sum(counts) * int(factors[0]), whole)
    return UNKNOWN
