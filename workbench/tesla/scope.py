"""Scopes: the names and parameters that are bound at a place in a rule, and the types of expressions there.

The rule of this module: a name is known after the predicate that binds it, and every mistake is located.
All names are resolved here; the result is a resolved expression.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from workbench.core.domain import BOOL, INT, Domain
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.errors import LanguageError, TypingError, did_you_mean
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_row, aggregate_rows
from workbench.tesla.mistakes import NO_FUNCTIONS, NO_NULL
from workbench.tesla.older_grammar import OlderAggregate
from workbench.tesla.operators import row_of
from workbench.tesla.resolved import OWN, TIME, ResolvedRule, RuleSlot, domain_of, map_leaves, move_to_part, result_of


class BoundEvent(NamedTuple):
    """A bound event or fact: the part of the rule that binds it, and its type."""

    part: int
    declared: t.Declaration


@dataclass(frozen=True)
class RuleScope:
    """The names and parameters that are visible at a place.

    Attributes
    ----------
    own: the type of the predicate's events; None in where and emit.
    bound: the bound events and facts, by name; None if a name is ambiguous.
    parameters: the parameters by name; None for one whose value has a mistake.
    """

    own: t.Declaration | None = None
    bound: Mapping[str, BoundEvent | None] = field(default_factory=dict)
    parameters: Mapping[str, RuleSlot | None] = field(default_factory=dict)

    def about(self, own: t.Declaration | None) -> RuleScope:
        """Return the scope inside a predicate on a type."""
        return RuleScope(own, self.bound, self.parameters)

    def with_parameter(
        self, name: str, domain: Domain | None, index: int = OWN, value: t.Expression | None = None
    ) -> RuleScope:
        """Return the scope with another parameter.

        Parameters
        ----------
        domain: None if its value has a mistake.
        index, value: the part that binds it and the assigned expression, needed to resolve expressions.
        """
        slot = None if domain is None else RuleSlot(index, f"${name}", domain, None, t.BoundParameter(name), value)
        return RuleScope(self.own, self.bound, {**self.parameters, name: slot})

    def with_bound(self, name: str, declared: t.Declaration, index: int = OWN) -> RuleScope:
        """Return the scope with another name; a name that is bound twice is ambiguous."""
        event = None if name in self.bound else BoundEvent(index, declared)
        return RuleScope(self.own, {**self.bound, name: event}, self.parameters)

    def event(self, name: str, where: t.Placed) -> BoundEvent:
        """Return the event or fact bound under a name; raise a LanguageError if there is none, or several."""
        if name not in self.bound:
            hint = did_you_mean(name, self.bound, "bound before this point: ")
            raise LanguageError(f"no event '{name}' is bound here", where=where.where, hint=hint)
        event = self.bound[name]
        if event is None:
            what = f"two predicates are called '{name}'"
            raise LanguageError(what, where=where.where, hint=f"name them: {name} as {name}1")
        return event

    # --- expressions ------------------------------------------------------------------------------------

    def domain(self, expression: t.Expression) -> Domain:
        """Return the type of an expression.

        Raises
        ------
        LanguageError: a name in it is unknown here, or an operator is not defined on such values.
        """
        if not isinstance(expression, t.Operation):
            return domain_of(self._leaf(expression))
        domains = Mistakes().all(expression.operands, self.domain)
        if expression.operator == "=":
            raise LanguageError("equality is written ==", where=expression.where)
        try:
            return result_of(expression, domains)
        except TypingError:
            row, type_names = row_of(expression), " and ".join(t.SPELLED[domain] for domain in domains)
            what = f"'{'-' if row.arity == 1 and row.symbol == 'neg' else row.symbol}' is not defined on {type_names}"
            raise LanguageError(what, where=expression.where, hint=_advise(expression, domains)) from None

    def resolve(self, expression: t.Expression) -> t.Expression:
        """Replace names by slots in an expression; raise a LanguageError for unknown names, as `domain` does."""
        return map_leaves(expression, self._leaf)

    def _leaf(self, expression: t.Expression) -> t.Expression:
        if isinstance(expression, t.Literal):
            return expression
        if isinstance(expression, t.BoundParameter):
            return replace(self._parameter(expression), where=expression.where)
        if isinstance(expression, t.OwnAttribute):
            named = () if self.own is None else self.own.positions
            if expression.name.lower() in ("null", "none", "nil") and expression.name not in named:
                raise LanguageError(f"'{expression}' is not a value of rules", where=expression.where, hint=NO_NULL)
            if self.own is None:
                raise self._of_which(expression)
            domain = attribute(self.own, expression.name, expression)
            return RuleSlot(OWN, expression.name, domain, self.own, expression, where=expression.where)
        if isinstance(expression, t.OtherAttribute):
            if self.own is not None and expression.of == self.own.name and expression.of not in self.bound:
                what = f"{expression} is an attribute of the event of this constraint"
                raise LanguageError(what, where=expression.where, hint=f"write it alone: {expression.name}")
            index, declared = self.event(expression.of, expression)
            domain = attribute(declared, expression.name, expression)
            return RuleSlot(index, expression.name, domain, declared, expression, where=expression.where)
        called = expression.new if isinstance(expression, OlderAggregate) else None
        if called is not None and called.window is None and called.function not in aggregate_rows():
            what = f"there is no function '{called.function}' in rules"
            raise LanguageError(what, where=expression.where, hint=NO_FUNCTIONS)
        if not isinstance(expression, t.TimeOf):
            hint = f"write it as a predicate, and its parameter here: and $n = {expression}"
            raise LanguageError("an aggregate cannot be part of an expression", where=expression.where, hint=hint)
        index, declared = self.event(expression.name, expression)
        if declared.fact:
            raise LanguageError(f"facts such as '{expression.name}' have no time", where=expression.where)
        return RuleSlot(index, TIME, INT, declared, expression, where=expression.where)

    def _parameter(self, expression: t.BoundParameter) -> RuleSlot:
        name = expression.name
        if name not in self.parameters:
            hint = did_you_mean(name, self.parameters, "bound before this point: ")
            hint = hint or f"bind it in an earlier predicate: A[${name} = attribute]()"
            raise LanguageError(f"the parameter '${name}' is not bound here", where=expression.where, hint=hint)
        slot = self.parameters[name]
        if slot is None:
            raise FollowUp
        return slot

    def _of_which(self, expression: t.OwnAttribute) -> LanguageError:
        names = [name for name, event in self.bound.items() if event and expression.name in event.declared.domains]
        known = [f"{name}.{each}" for name, event in self.bound.items() if event for each in event.declared.positions]
        near = did_you_mean(f"{next(iter(self.bound), '')}.{expression.name}", known, "attributes here are: ")
        hint = f"write {names[0]}.{expression.name}" if names else near or "write a text in quotes"
        if expression.name.lower() == "time" and self.bound and not names:
            hint = f"write TIME({next(iter(self.bound))})"
        return LanguageError(f"'{expression.name}' is written without its event", where=expression.where, hint=hint)


def _advise(expression: t.Operation, domains: Sequence[Domain]) -> str:
    """Return the advice about operands that an operator does not take."""
    if expression.operator in ("and", "or", "not"):
        return "compare it with something"
    if BOOL in domains:
        return "compare truth values with == and !=, and combine them with and, or, not"
    return 'numbers go with numbers, and texts, as "3", with texts: change one, or its declared type'


def resolve_rule(rule: t.Rule, declared: Mapping[str, t.Declaration]) -> ResolvedRule:
    """Replace names by slots in all expressions of a checked rule."""
    scope, parts = RuleScope(), list[t.Predicate | t.Aggregate]()
    for index, part in enumerate(rule.parts):
        inside, assigned = scope.about(declared[part.type]), list[t.Assigned]()
        for each in part.assignments:
            assigned.append(replace(each, value=inside.resolve(each.value)))
            inside = inside.with_parameter(each.name, domain_of(assigned[-1].value), OWN, assigned[-1].value)
        constraints = tuple(map(inside.resolve, part.constraints))
        if isinstance(part, t.Aggregate):
            values = None if part.attribute is None else declared[part.type].domains[part.attribute]
            parts.append(replace(part, constraints=constraints))
            scope = scope.with_parameter(part.parameter, aggregate_row(part).result(values), index)
            continue
        parts.append(replace(part, constraints=constraints, assignments=tuple(assigned)))
        if part.policy.binds:
            for each in assigned:
                scope = scope.with_parameter(each.name, domain_of(each.value), index, move_to_part(each.value, index))
            scope = scope.with_bound(part.name, declared[part.type], index)
    trigger, *predicates = parts
    assert isinstance(trigger, t.Predicate)
    resolved = replace(
        rule,
        trigger=trigger,
        predicates=tuple(predicates),
        where_clause=tuple(map(scope.resolve, rule.where_clause)),
        evaluations=tuple(replace(each, value=scope.resolve(each.value)) for each in rule.evaluations),
        per=tuple(map(scope.resolve, rule.per)),
    )
    return ResolvedRule.of(resolved, declared)


def attribute(declared: t.Declaration, name: str, where: t.Placed) -> Domain:
    """Return the type of an attribute; raise a LanguageError with a suggestion if there is none of this name."""
    if name not in declared.positions:
        hint = did_you_mean(name, declared.positions, f"{declared.name} has: ")
        if declared.inferred and not hint.startswith("did"):
            hint = f"no row of {declared.name} that --infer has read has a value for it"
        if isinstance(where, t.OtherAttribute) and name.lower() in ("time", "timestamp") and not declared.fact:
            hint = f"TIME({where.of}) is its time"
        hint = hint or f"{declared.name} is declared without attributes"
        raise LanguageError(f"{declared.name} has no attribute '{name}'", where=where.where, hint=hint)
    if name not in declared.domains:
        raise FollowUp
    return declared.domains[name]
