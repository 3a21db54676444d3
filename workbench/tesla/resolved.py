"""Expressions of rules with resolved names: each leaf knows the part of the rule that binds it, and its type.

The rule of this module: a resolved expression is a tree with slots as leaves, and prints as it was written.
Its meaning, whether it may be null, and its dependencies follow from its slots alone.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from typing import Any, NamedTuple, Self

from workbench.core.domain import Domain
from workbench.core.term import Term, var
from workbench.core.types import LITERALS, TYPES
from workbench.tesla import tree as t
from workbench.tesla.operators import readings, row_of

OWN = -1
"""The place of the event or fact that a part itself selects, in the part's own expressions."""
TIME = "TIME()"
"""The slot name of an event's time."""


@dataclass(frozen=True)
class RuleSlot(t.Expression):
    """A leaf of a resolved expression: an attribute, a time or a parameter.

    Attributes
    ----------
    part: the part of the rule that binds it, or `OWN`.
    name: the attribute, the parameter with its `$`, or `TIME`.
    domain: its type.
    declared: the type of its event or fact; None for a parameter, and where it is not needed.
    source: the leaf as it was written.
    value: the expression assigned to a parameter; None for an aggregate and for all other leaves.
    """

    part: int
    name: str
    domain: Domain = field(compare=False)
    declared: t.Declaration | None = field(compare=False)
    source: t.Expression = field(compare=False)
    value: t.Expression | None = field(default=None, compare=False)

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter, bound by an aggregate or a predicate."""
        return self.name.startswith("$")

    @property
    def is_attribute(self) -> bool:
        """Whether it is an attribute of an event or a fact."""
        return self.name != TIME and not self.is_parameter

    @cached_property
    def type(self) -> t.Declaration:
        """The type of its event or fact."""
        assert self.declared is not None
        return self.declared

    @property
    def index(self) -> int:
        """The position of the attribute among the values of its event or fact."""
        return self.type.positions[self.name]

    def __str__(self) -> str:
        return str(self.source)


@dataclass(frozen=True)
class ResolvedRule(t.Rule):
    """A rule with resolved expressions, which refers to its events by the places of the parts that bind them.

    Attributes
    ----------
    declarations: all types of events and facts, by name.
    """

    declarations: Mapping[str, t.Declaration] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, rule: t.Rule, declarations: Mapping[str, t.Declaration]) -> Self:
        """Make a resolved rule of a rule whose expressions are already resolved."""
        return cls(**_fields_of(rule), declarations=declarations)

    @cached_property
    def events(self) -> Mapping[int, t.Predicate]:
        """The parts that bind events, by place, in the order of a match's events."""
        parts = enumerate(self.parts)
        return {at: part for at, part in parts if t.binds(part) and not self.declarations[part.type].fact}

    @cached_property
    def consumed(self) -> tuple[int, ...]:
        """The places of the parts whose events a match consumes."""
        indices = {part.name: index for index, part in self.events.items()}
        return tuple(indices[name] for name in self.consuming)


def _fields_of(rule: t.Rule) -> dict[str, Any]:
    return {each.name: getattr(rule, each.name) for each in fields(t.Rule)}


def slots(*expressions: t.Expression) -> Iterator[RuleSlot]:
    """Return the slots in resolved expressions: all leaves except literals."""
    return (leaf for each in expressions for leaf in t.within(each) if isinstance(leaf, RuleSlot))


def map_leaves(expression: t.Expression, leaf: Callable[[t.Expression], t.Expression]) -> t.Expression:
    """Return an expression with each leaf replaced by the result of `leaf`."""
    if not isinstance(expression, t.Operation):
        return leaf(expression)
    operands = tuple([map_leaves(each, leaf) for each in expression.operands])
    if all(map(operator.is_, operands, expression.operands)):
        return expression
    return t.Operation(expression.operator, operands, where=expression.where)


def expand_parameters(expression: t.Expression, *, own: bool = False) -> t.Expression:
    """Replace parameters by the expressions assigned to them; `own`: only parameters that the part itself assigns."""

    def leaf(each: t.Expression) -> t.Expression:
        if isinstance(each, RuleSlot) and each.value is not None and (each.part == OWN or not own):
            return expand_parameters(each.value, own=own)
        return each

    return map_leaves(expression, leaf)


class OwnComparison(NamedTuple):
    """A comparison of an attribute of the part's own event or fact with an expression that does not depend on it.

    Attributes
    ----------
    sign: the operator of the comparison with the attribute on its left.
    """

    attribute: RuleSlot
    sign: str
    bound: t.Expression


def own_comparisons(constraint: t.Expression) -> Iterator[OwnComparison]:
    """Yield a constraint as comparisons of an own attribute, if it is one; own parameters are expanded."""
    for sign, one, bound in readings(constraint):
        attribute = expand_parameters(one, own=True)
        if isinstance(attribute, RuleSlot) and attribute.part == OWN and all(slot.part != OWN for slot in slots(bound)):
            yield OwnComparison(attribute, sign, bound)


def move_to_part(expression: t.Expression, index: int) -> t.Expression:
    """Rewrite an expression for use outside its part: its own slots become slots of a place."""

    def leaf(each: t.Expression) -> t.Expression:
        if isinstance(each, RuleSlot) and each.part == OWN:
            return replace(each, part=index, value=each.value and move_to_part(each.value, index))
        return each

    return map_leaves(expression, leaf)


def exact_text(expression: t.Expression) -> str:
    """Return a text that is equal for equal expressions, whatever names they use."""

    def leaf(each: t.Expression) -> t.Expression:
        return t.OwnAttribute(f"{each.part}.{each.name}") if isinstance(each, RuleSlot) else each

    return str(map_leaves(expression, leaf))


def with_expressions(rule: t.Rule, of: Callable[[t.Expression], t.Expression]) -> t.Rule:
    """Return the rule with `of` applied to each of its expressions."""

    def part_of(part: t.Predicate | t.Aggregate) -> t.Predicate | t.Aggregate:
        replacement = replace(part, constraints=tuple(map(of, part.constraints)))
        if isinstance(replacement, t.Predicate):
            replacement = replace(
                replacement, assignments=tuple(replace(a, value=of(a.value)) for a in replacement.assignments)
            )
        return replacement

    trigger, *predicates = map(part_of, rule.parts)
    assert isinstance(trigger, t.Predicate)
    return replace(
        rule,
        trigger=trigger,
        predicates=tuple(predicates),
        where_clause=tuple(map(of, rule.where_clause)),
        evaluations=tuple(replace(each, value=of(each.value)) for each in rule.evaluations),
        per=tuple(map(of, rule.per)),
    )


def as_written(expression: t.Expression) -> t.Expression:
    """Return a resolved expression as it was written."""

    def leaf(each: t.Expression) -> t.Expression:
        return replace(each.source, where=each.where) if isinstance(each, RuleSlot) else each

    return map_leaves(expression, leaf)


def unresolve(rule: t.Rule) -> t.Rule:
    """Return a resolved rule as it was written."""
    return t.Rule(**_fields_of(with_expressions(rule, as_written)))


def domain_of(expression: t.Expression) -> Domain:
    """Return the type of a resolved expression.

    Raises
    ------
    TypingError: an operator is not defined on such values.
    """
    if isinstance(expression, RuleSlot):
        return expression.domain
    if isinstance(expression, t.Literal):
        return LITERALS[type(expression.value)]
    assert isinstance(expression, t.Operation)
    return result_of(expression, list(map(domain_of, expression.operands)))


def result_of(operation: t.Operation, domains: Sequence[Domain]) -> Domain:
    """Return the type of an operation on operands of these types; raise a TypingError if it has none."""
    row = row_of(operation)
    return row.result(row, tuple(map(_OPERANDS.__getitem__, domains)))


_OPERANDS: dict[Domain, Term] = {row.domain: var("x", row.domain) for row in TYPES}
"""Placeholder operands by type."""
