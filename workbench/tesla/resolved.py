"""Expressions of rules in which names are resolved: each leaf says which part of the rule it is of, and its type.

The rule of this module: a resolved expression is of the tree, with slots for leaves, and is shown as it is written.
What it means, which may be null, and what it depends on follow from its slots alone.
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
"""The place of what a part itself is about, in its own expressions."""
TIME = "TIME()"
"""The name of the time of an event."""


@dataclass(frozen=True)
class RuleSlot(t.Expression):
    """A leaf of an expression.

    Attributes
    ----------
    place: the part of the rule that binds it, or `OWN`.
    name: of an attribute, or of a parameter with its `$`; `TIME`.
    domain: its type.
    declared: the type of the event or fact that it is of; None of a parameter, and where it is not asked for.
    source: the leaf as it is written.
    value: what a parameter is assigned; None of all others, and of what an aggregate is.
    """

    place: int
    name: str
    domain: Domain = field(compare=False)
    declared: t.Declaration | None = field(compare=False)
    source: t.Expression = field(compare=False)
    value: t.Expression | None = field(default=None, compare=False)

    @property
    def is_parameter(self) -> bool:
        """Whether it is a parameter, of an aggregate or of a predicate."""
        return self.name.startswith("$")

    @property
    def is_attribute(self) -> bool:
        """Whether it is an attribute of an event or a fact."""
        return self.name != TIME and not self.is_parameter

    @cached_property
    def type(self) -> t.Declaration:
        """The type of the event or fact that it is of."""
        assert self.declared is not None
        return self.declared

    @property
    def index(self) -> int:
        """Where the attribute lies among the values."""
        return self.type.positions[self.name]

    def __str__(self) -> str:
        return str(self.source)


@dataclass(frozen=True)
class ResolvedRule(t.Rule):
    """A rule all of whose expressions are resolved, which knows its events by the places of the parts that bind them.

    Attributes
    ----------
    declarations: all types of events and facts, by name.
    """

    declarations: Mapping[str, t.Declaration] = field(default_factory=dict, compare=False, repr=False)

    @classmethod
    def of(cls, rule: t.Rule, declarations: Mapping[str, t.Declaration]) -> Self:
        """A rule whose expressions are resolved already."""
        return cls(**_fields_of(rule), declarations=declarations)

    @cached_property
    def events(self) -> Mapping[int, t.Predicate]:
        """The parts that bind events by their places, in the order of a match's events."""
        parts = enumerate(self.parts)
        return {at: part for at, part in parts if t.binds(part) and not self.declarations[part.type].fact}

    @cached_property
    def consumed(self) -> tuple[int, ...]:
        """The places of the parts whose events a match consumes."""
        places = {part.name: place for place, part in self.events.items()}
        return tuple(places[name] for name in self.consuming)


def _fields_of(rule: t.Rule) -> dict[str, Any]:
    return {each.name: getattr(rule, each.name) for each in fields(t.Rule)}


def slots(*expressions: t.Expression) -> Iterator[RuleSlot]:
    """The leaves of resolved expressions that are no literals."""
    return (leaf for each in expressions for leaf in t.within(each) if isinstance(leaf, RuleSlot))


def map_leaves(expression: t.Expression, leaf: Callable[[t.Expression], t.Expression]) -> t.Expression:
    """The same with other leaves."""
    if not isinstance(expression, t.Operation):
        return leaf(expression)
    operands = tuple([map_leaves(each, leaf) for each in expression.operands])
    if all(map(operator.is_, operands, expression.operands)):
        return expression
    return t.Operation(expression.operator, operands, where=expression.where)


def expand_parameters(expression: t.Expression, *, own: bool = False) -> t.Expression:
    """The same with what is assigned for parameters; `own`: for those alone that the part itself assigns."""

    def leaf(each: t.Expression) -> t.Expression:
        if isinstance(each, RuleSlot) and each.value is not None and (each.place == OWN or not own):
            return expand_parameters(each.value, own=own)
        return each

    return map_leaves(expression, leaf)


class OwnComparison(NamedTuple):
    """An attribute of what a part is about, compared with what has nothing to do with it.

    Attributes
    ----------
    sign: of the comparison with the attribute on its left.
    """

    attribute: RuleSlot
    sign: str
    bound: t.Expression


def own_comparisons(constraint: t.Expression) -> Iterator[OwnComparison]:
    """A constraint of a part as such a comparison, if it is one; parameters of the part are what they are assigned."""
    for sign, one, bound in readings(constraint):
        mine = expand_parameters(one, own=True)
        if isinstance(mine, RuleSlot) and mine.place == OWN and all(slot.place != OWN for slot in slots(bound)):
            yield OwnComparison(mine, sign, bound)


def move_to_place(expression: t.Expression, place: int) -> t.Expression:
    """The same, seen from another part: what was its own is that of a place."""

    def leaf(each: t.Expression) -> t.Expression:
        if isinstance(each, RuleSlot) and each.place == OWN:
            return replace(each, place=place, value=each.value and move_to_place(each.value, place))
        return each

    return map_leaves(expression, leaf)


def exact_text(expression: t.Expression) -> str:
    """A text that is the same for what is the same, whatever it is called."""

    def leaf(each: t.Expression) -> t.Expression:
        return t.OwnAttribute(f"{each.place}.{each.name}") if isinstance(each, RuleSlot) else each

    return str(map_leaves(expression, leaf))


def with_expressions(rule: t.Rule, of: Callable[[t.Expression], t.Expression]) -> t.Rule:
    """The rule with another expression for each of its expressions."""

    def part_of(part: t.Predicate | t.Aggregate) -> t.Predicate | t.Aggregate:
        found = replace(part, constraints=tuple(map(of, part.constraints)))
        if isinstance(found, t.Predicate):
            found = replace(found, assignments=tuple(replace(a, value=of(a.value)) for a in found.assignments))
        return found

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
    """A resolved expression as it is written."""

    def leaf(each: t.Expression) -> t.Expression:
        return replace(each.source, where=each.where) if isinstance(each, RuleSlot) else each

    return map_leaves(expression, leaf)


def unresolve(rule: t.Rule) -> t.Rule:
    """A resolved rule as it is written."""
    return t.Rule(**_fields_of(with_expressions(rule, as_written)))


def domain_of(expression: t.Expression) -> Domain:
    """The type of a resolved expression.

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
    """The type of an operation on operands of these types; TypingError where it has none."""
    row = row_of(operation)
    return row.result(row, tuple(map(_OPERANDS.__getitem__, domains)))


_OPERANDS: dict[Domain, Term] = {row.domain: var("x", row.domain) for row in TYPES}
"""What stands for an operand of a type."""
