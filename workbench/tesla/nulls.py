"""Which attributes of composites may be null, by what rules say.

The rule of this module: what it says is never null is never null; what may be null may also never be. Every operator is
strict in null, so all that stands in a constraint or condition that was satisfied is there.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row
from workbench.tesla.operators import gives_null
from workbench.tesla.rule_set import RuleSet

Nulls = Mapping[str, frozenset[str]]
"""The attributes of each type that may be null."""
_Known = frozenset[tuple[str, str]]
"""What is not null: the name of an event and an attribute of it, or `$` and a parameter."""


def may_be_null(rules: RuleSet, fed: Nulls) -> Nulls:
    """The attributes of all types that may be null, where those from outside are as `fed` says; the others never come.

    The least solution: a composite has a null only for some null from which it is made.
    """
    found: dict[str, frozenset[str]] = {name: fed.get(name, frozenset()) for name in rules.declarations}
    while True:
        before = dict(found)
        for rule in rules.rules:
            found[rule.emits] |= _RuleNulls(rule, found).emitted
        if found == before:
            return found


class _RuleNulls:
    def __init__(self, rule: t.Rule, nulls: Nulls) -> None:
        self.rule, self.nulls = rule, nulls
        self.types = {part.name: part.type for part in rule.binding}
        self.assigned = {each.name: (part.name, each.value) for part in rule.binding for each in part.assignments}
        self.made = {part.parameter: part for part in rule.parts if isinstance(part, t.Aggregate)}
        self.known: _Known = frozenset(_leaves(rule))

    @property
    def emitted(self) -> frozenset[str]:
        """The attributes that may be null in what it emits."""
        return frozenset(each.name for each in self.rule.evaluations if self.may(each.value, ""))

    def may(self, expression: t.Expression, own: str) -> bool:
        """Whether an expression may be null; `own` is the event that it is about."""
        if isinstance(expression, t.BoundParameter):
            return ("$", expression.name) not in self.known and self._parameter(expression.name)
        if isinstance(expression, t.OwnAttribute):
            return self._attribute(own, expression.name)
        if isinstance(expression, t.OtherAttribute):
            return self._attribute(expression.of, expression.name)
        if not isinstance(expression, t.Operation):
            return False
        return gives_null(expression) or any(self.may(operand, own) for operand in expression.operands)

    def _parameter(self, name: str) -> bool:
        if name in self.made:
            return aggregate_row(self.made[name]).nullable
        own, expression = self.assigned[name]
        return self.may(expression, own)

    def _attribute(self, of: str, name: str) -> bool:
        return (of, name) not in self.known and name in self.nulls[self.types[of]]


def _leaves(rule: t.Rule) -> Iterator[tuple[str, str]]:
    """What stands in what every match satisfies."""
    conditions: list[tuple[str, Iterable[t.Expression]]] = [("", rule.where_clause)]
    for own, satisfied in [*conditions, *((part.name, part.constraints) for part in rule.binding)]:
        for leaf in (leaf for each in satisfied for leaf in t.within(each)):
            if isinstance(leaf, t.BoundParameter):
                yield "$", leaf.name
            elif isinstance(leaf, t.OwnAttribute):
                yield own, leaf.name
            elif isinstance(leaf, t.OtherAttribute):
                yield leaf.of, leaf.name
