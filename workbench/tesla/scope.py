"""What names and parameters stand for at a place in a rule, and the types of expressions there.

The rule of this module: a name is known from the predicate on that binds it, and every mistake is told at its place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from workbench.core.domain import INT, Domain
from workbench.core.term import Term, var
from workbench.core.types import LITERALS, TYPES
from workbench.errors import LanguageError, TypingError, did_you_mean
from workbench.language.findings import FollowUp
from workbench.tesla import tree as t
from workbench.tesla.operators import row_of


@dataclass(frozen=True)
class RuleScope:
    """What is known at a place.

    Attributes
    ----------
    own: the type that a predicate is about; None in where and emit.
    bound: the events and facts that are bound, by name; None where a name stands for several.
    parameters: the types of the parameters; None of those whose value has a mistake.
    """

    own: t.Declaration | None = None
    bound: Mapping[str, t.Declaration | None] = field(default_factory=dict)
    parameters: Mapping[str, Domain | None] = field(default_factory=dict)

    def about(self, own: t.Declaration | None) -> RuleScope:
        """The same in a predicate about this type."""
        return replace(self, own=own)

    def with_parameter(self, name: str, domain: Domain | None) -> RuleScope:
        """The same with a parameter more."""
        return replace(self, parameters={**self.parameters, name: domain})

    def with_bound(self, name: str, declared: t.Declaration) -> RuleScope:
        """The same with a name more; one that is bound twice stands for neither."""
        return replace(self, bound={**self.bound, name: None if name in self.bound else declared})

    def event(self, name: str, where: t.Placed) -> t.Declaration:
        """The type of an event that is bound; LanguageError if none is bound under this name."""
        if name not in self.bound:
            hint = did_you_mean(name, self.bound, "bound before this place are: ")
            raise LanguageError(f"no event '{name}' is bound here", where=where.where, hint=hint)
        found = self.bound[name]
        if found is None:
            what = f"two predicates are called '{name}'"
            raise LanguageError(what, where=where.where, hint=f"name them: {name} as {name}1")
        return found

    # --- types of expressions ---------------------------------------------------------------------------

    def domain(self, expression: t.Expression) -> Domain:
        """The type of an expression.

        Raises
        ------
        LanguageError: a name in it is not known here, or an operator is not defined on such values.
        """
        if isinstance(expression, t.Literal):
            return LITERALS[type(expression.value)]
        if isinstance(expression, t.Operation):
            return self._operation(expression)
        if isinstance(expression, t.BoundParameter):
            return self._parameter(expression)
        if isinstance(expression, t.OwnAttribute):
            return self._own(expression)
        if isinstance(expression, t.OtherAttribute):
            return attribute(self.event(expression.of, expression), expression.name, expression)
        if not isinstance(expression, t.TimeOf):
            hint = f"write it as a predicate, and its parameter here: and $n = {expression}"
            raise LanguageError("an aggregate is no part of an expression", where=expression.where, hint=hint)
        if self.event(expression.name, expression).fact:
            raise LanguageError(f"facts such as '{expression.name}' have no time", where=expression.where)
        return INT

    def _parameter(self, expression: t.BoundParameter) -> Domain:
        name = expression.name
        if name not in self.parameters:
            hint = did_you_mean(name, self.parameters, "bound before this place are: ")
            hint = hint or f"bind it in an earlier predicate: A[${name} = attribute]()"
            raise LanguageError(f"the parameter '${name}' is not bound here", where=expression.where, hint=hint)
        found = self.parameters[name]
        if found is None:
            raise FollowUp
        return found

    def _own(self, expression: t.OwnAttribute) -> Domain:
        if self.own is None:
            names = [name for name, declared in self.bound.items() if declared and expression.name in declared.domains]
            hint = f"write {names[0]}.{expression.name}" if names else "name the event: Smoke.area"
            raise LanguageError(f"'{expression.name}' of which event?", where=expression.where, hint=hint)
        return attribute(self.own, expression.name, expression)

    def _operation(self, expression: t.Operation) -> Domain:
        domains = [self.domain(operand) for operand in expression.operands]
        if expression.operator == "=":
            raise LanguageError("equality is written ==", where=expression.where)
        row = row_of(expression)
        try:
            return row.result(row, tuple(map(_OPERANDS.__getitem__, domains)))
        except TypingError:
            shown = " and ".join(t.SPELLED[domain] for domain in domains)
            what = f"'{'-' if row.arity == 1 and row.symbol == 'neg' else row.symbol}' is not defined on {shown}"
            raise LanguageError(what, where=expression.where) from None


_OPERANDS: dict[Domain, Term] = {row.domain: var("x", row.domain) for row in TYPES}
"""What stands for an operand of a type, where types are asked."""


def attribute(declared: t.Declaration, name: str, where: t.Placed) -> Domain:
    """The type of an attribute; LanguageError with a suggestion if there is none of this name."""
    if name not in declared.positions:
        hint = did_you_mean(name, declared.positions, f"{declared.name} has: ")
        if declared.inferred and not hint.startswith("did"):
            hint = f"no row of {declared.name} has a value for it, of those that --infer has read"
        hint = hint or f"{declared.name} is declared without attributes"
        raise LanguageError(f"{declared.name} has no attribute '{name}'", where=where.where, hint=hint)
    if name not in declared.domains:
        raise FollowUp
    return declared.domains[name]
