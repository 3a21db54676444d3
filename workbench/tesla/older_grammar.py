"""Translation of rules in the older grammar (thesis, 2.2; Cugola and Margara's paper, section 2) into the extended one.

`define CE(a: int) from A(x = $x) and 45 < $t = Avg(B(y = $x).v within 5 min from A) where a = A.z consuming A` is

    declare CE(a: int)
    from A[$x = x]() and $t = AVG(B(y == $x).v within 5 min from A) where $t > 45 emit CE(a = A.z) consuming A

The rule of this module: the first `x = $x` binds the parameter, and later ones compare with it; a bare `$x` in the
trigger binds the attribute at its position.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from workbench.core.mistakes import Mistakes
from workbench.errors import Location
from workbench.tesla import tree as t


@dataclass(frozen=True)
class OlderAggregate(t.Expression):
    """An aggregate in either grammar, with its comparison in the older one, or as an operand of an expression.

    Attributes
    ----------
    new: the aggregate without its comparison; it may have no parameter.
    sign, bound: the comparison, such as `>` and 45 for "larger than 45".
    """

    new: t.Aggregate
    sign: str = ""
    bound: t.Expression | None = None

    def __str__(self) -> str:
        return str(self.new).partition(" = ")[2]


@dataclass(frozen=True)
class Defining(t.Placed):
    """A rule in the older grammar."""

    emits: str
    attributes: tuple[t.Attribute, ...]
    trigger: t.Predicate
    predicates: tuple[t.Predicate | OlderAggregate, ...]
    assignments: tuple[t.Expression, ...]
    consuming: tuple[str, ...]
    consuming_at: tuple[Location, ...]


def translate(rule: Defining, mistakes: Mistakes, **fields: Any) -> t.RuleFile:
    """Translate a rule into a declaration of the type that it emits, and a rule."""
    bound: set[str] = set()
    trigger = _bind_parameters(rule.trigger, bound)
    predicates: list[t.Predicate | t.Aggregate] = []
    conditions: list[t.Expression] = []
    for part in rule.predicates:
        if isinstance(part, OlderAggregate):
            aggregate, condition = _translate_aggregate(part, bound, len(predicates))
            predicates.append(aggregate)
            conditions += condition
        else:
            predicates.append(_bind_parameters(part, bound))
    assigned = filter(None, (_translate_assignment(each, mistakes) for each in t.conjuncts(*rule.assignments)))
    evaluations = tuple(replace(each, value=_hoist(each.value, bound, predicates)) for each in assigned)
    translation = t.Rule(
        trigger=trigger,
        predicates=tuple(predicates),
        where_clause=tuple(conditions),
        emits=rule.emits,
        evaluations=evaluations,
        consuming=rule.consuming,
        consuming_at=rule.consuming_at,
        emits_at=rule.where,
        **fields,
    )
    return t.RuleFile((t.Declaration(rule.emits, rule.attributes, where=rule.where),), (translation,))


def _bind_parameters(part: t.Predicate, bound: set[str]) -> t.Predicate:
    """Separate a predicate's assignments from its constraints."""
    assignments, constraints = list(part.assignments), []
    new = set(bound) | {each.name for each in assignments}
    for position, constraint in enumerate(t.conjuncts(*part.constraints)):
        name, value = _find_binding(constraint, position, new)
        if name:
            assignments.append(t.Assigned(name, value, where=constraint.where))
            new.add(name)
        else:
            constraints.append(_translate_equality(constraint))
    if part.policy.binds:
        bound |= new
    return replace(part, assignments=tuple(assignments), constraints=tuple(constraints))


def _find_binding(constraint: t.Expression, position: int, bound: set[str]) -> tuple[str, t.Expression]:
    """Return the parameter that a constraint binds, and its value; an empty name if it binds none."""
    if isinstance(constraint, t.BoundParameter) and constraint.name not in bound:
        return constraint.name, t.OwnAttribute(str(position), where=constraint.where)
    if isinstance(constraint, t.Operation) and constraint.operator == "=":
        for one, other in (constraint.operands, constraint.operands[::-1]):
            if isinstance(other, t.BoundParameter) and other.name not in bound and isinstance(one, t.OwnAttribute):
                return other.name, one
    return "", constraint


def _translate_aggregate(part: OlderAggregate, bound: set[str], number: int) -> tuple[t.Aggregate, list[t.Expression]]:
    constraints = tuple(_translate_equality(each) for each in t.conjuncts(*part.new.constraints))
    name = part.new.parameter or f"aggregate{number}"
    bound.add(name)
    condition: list[t.Expression] = []
    if part.bound is not None:
        operands = (t.BoundParameter(name, where=part.where), part.bound)
        condition.append(t.Operation(part.sign, operands, where=part.where))
    return replace(part.new, parameter=name, constraints=constraints), condition


def _hoist(expression: t.Expression, bound: set[str], predicates: list[t.Predicate | t.Aggregate]) -> t.Expression:
    """Replace each aggregate in an expression by a parameter, and append the aggregate to the predicates."""
    if isinstance(expression, OlderAggregate):
        aggregate, _ = _translate_aggregate(expression, bound, len(predicates))
        predicates.append(aggregate)
        return t.BoundParameter(aggregate.parameter, where=expression.where)
    if isinstance(expression, t.Operation):
        operands = tuple(_hoist(operand, bound, predicates) for operand in expression.operands)
        return replace(expression, operands=operands)
    return expression


def _translate_assignment(assignment: t.Expression, mistakes: Mistakes) -> t.Evaluation | None:
    if isinstance(assignment, t.Operation) and assignment.operator == "=":
        target, value = assignment.operands
        if isinstance(target, t.OwnAttribute):
            return t.Evaluation(target.name, _translate_equality(value), where=target.where)
    hint = "write attribute = value; conditions go in the predicates, or in a rule that ends with emit"
    mistakes.report(f"'{assignment}' assigns nothing", assignment.where, hint)
    return None


def _translate_equality(expression: t.Expression) -> t.Expression:
    """Replace every `=` in an expression by `==`."""
    if not isinstance(expression, t.Operation):
        return expression
    operator = "==" if expression.operator == "=" else expression.operator
    return replace(expression, operator=operator, operands=tuple(map(_translate_equality, expression.operands)))
