"""Times in expressions of rules in a model, which has only ages of events.

The rule of this module: an expression is one of ages where it stays the same when all times are moved: where as many
times are added as are taken away. Whether it does is told by its text.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from workbench.core.domain import INT
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.operators import is_comparison
from workbench.tesla.rule_set import RuleSet


@dataclass(frozen=True)
class TimeDegree:
    """How much an expression grows when all times do by one; whether it is a whole number; `known`: if that is so."""

    count: int = 0
    whole: bool = False
    known: bool = True


UNKNOWN = TimeDegree(known=False)


@dataclass
class TimeDegrees:
    """The degrees of what a rule computes.

    Attributes
    ----------
    parameters: those of what was met so far.
    """

    rules: RuleSet
    rule: t.Rule
    parameters: dict[str, TimeDegree] = field(default_factory=dict)

    def of(self, expression: t.Expression, own: str = "") -> TimeDegree:
        """That of an expression; `own` is the type of event that it is about."""
        if isinstance(expression, t.Literal):
            return TimeDegree(whole=type(expression.value) is int)
        if isinstance(expression, t.TimeOf):
            return TimeDegree(1, whole=True)
        if isinstance(expression, t.BoundParameter):
            return self.parameters.get(expression.name, TimeDegree())
        if isinstance(expression, t.OwnAttribute | t.OtherAttribute):
            type_ = own if isinstance(expression, t.OwnAttribute) else self._types[expression.of]
            return TimeDegree(whole=self.rules.declarations[type_].domains[expression.name] == INT)
        assert isinstance(expression, t.Operation)
        return _combined(expression, [self.of(each, own) for each in expression.operands])

    @property
    def _types(self) -> Mapping[str, str]:
        return {part.name: part.type for part in self.rule.parts if isinstance(part, t.Predicate)}

    def conditions(self) -> Iterator[tuple[t.Expression, TimeDegree]]:
        """What decides about matches; parameters are met on the way."""
        for part in self.rule.parts:
            for each in part.assignments:
                self.parameters[each.name] = self.of(each.value, part.type)
            for constraint in part.constraints:
                yield constraint, self.of(constraint, part.type)
            if isinstance(part, t.Aggregate):
                self.parameters[part.parameter] = TimeDegree(whole=aggregate_row(part).counts)
        for condition in (*self.rule.where_clause, *self.rule.per):
            yield condition, self.of(condition)


def _combined(operation: t.Operation, parts: list[TimeDegree]) -> TimeDegree:
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
