"""Merges two rules into one.

The rule of this module: no event is emitted twice or in another order. So no event may trigger both rules, and no
rule with the same trigger may stand between them; the memory of a rule (consumed events, the last emission,
waiting matches) is its own, so rules with memory are not merged.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

from workbench.core.domain import FLOAT
from workbench.core.types import LITERALS
from workbench.tesla import tree as t
from workbench.tesla.operators import readings
from workbench.tesla.resolved import RuleSlot, unresolve
from workbench.tesla.rewriting.implications import Known, divides, leaves, normalize
from workbench.tesla.rule_set import RuleSet


def merge_rules(rules: RuleSet) -> Iterator[RuleSet]:
    """Yield the rule sets in which two rules are merged."""
    for first, second in combinations(range(len(rules.rules)), 2):
        one, other = rules.resolved[first], rules.resolved[second]
        union = None if _is_triggered_between(rules.rules[first + 1 : second], one) else _merge(one, other)
        if union is not None:
            others = [each for at, each in enumerate(rules.rules) if at != second]
            others[first] = unresolve(union)
            yield replace(rules, rules=tuple(others))


def _is_triggered_between(between: Sequence[t.Rule], one: t.Rule) -> bool:
    """Whether one of the rules has the same trigger type."""
    return one.trigger.type in {each.trigger.type for each in between}


def _merge(one: t.Rule, other: t.Rule) -> t.Rule | None:
    """Merge two rules; None if that is impossible."""
    if one.trigger.type != other.trigger.type or _remembers(one) or _remembers(other):
        return None
    texts = {str(each) for each in one.trigger.constraints} & {str(each) for each in other.trigger.constraints}
    common = [each for each in one.trigger.constraints if str(each) in texts]
    own_constraints, theirs = (
        [each for each in rule.trigger.constraints if str(each) not in texts] for rule in (one, other)
    )
    if len(own_constraints) != 1 or len(theirs) != 1:
        return None
    evaluations = _evaluations(one, other, own_constraints[0], theirs[0])
    if evaluations is None or _format_rest(one) != _format_rest(other):
        return None
    held, (a,), (b,) = normalize(common), normalize(own_constraints), normalize(theirs)
    if not Known([*held, a, b]).impossible or not _null_together(held, a, b):
        return None
    at = one.trigger.constraints.index(own_constraints[0])
    constraints = (*one.trigger.constraints[:at], _either(own_constraints[0], theirs[0]))
    trigger = replace(one.trigger, constraints=(*constraints, *one.trigger.constraints[at + 1 :]))
    comment = "\n".join(filter(None, (one.comment, other.comment)))
    return replace(one, trigger=trigger, evaluations=evaluations, comment=comment)


def _remembers(rule: t.Rule) -> bool:
    return rule.absence is not None or rule.pause is not None or bool(rule.consuming)


def _format_rest(rule: t.Rule) -> str:
    """Format the parts that two merged rules must have in common."""
    trigger = replace(rule.trigger, constraints=())
    return str(replace(rule, name="", named=False, trigger=trigger, evaluations=(), comment=""))


def _null_together(held: list[t.Expression], one: t.Expression, other: t.Expression) -> bool:
    """Whether `or` of them is null only if neither holds."""
    known = Known(held)
    if divides(one) or divides(other):
        return False
    return leaves(one) == leaves(other) or (known.never_null(one) and known.never_null(other))


def _evaluations(
    one: t.Rule, other: t.Rule, own_constraint: t.Expression, theirs: t.Expression
) -> tuple[t.Evaluation, ...] | None:
    """Return the common evaluations; constants that equal an attribute of the trigger in both rules become it."""
    evaluations = []
    for each, there in zip(one.evaluations, other.evaluations, strict=True) if one.emits == other.emits else ():
        if str(each) == str(there):
            evaluations.append(each)
            continue
        name = _find_equal_attribute(one, own_constraint, each.value)
        if each.name != there.name or name is None or name != _find_equal_attribute(other, theirs, there.value):
            return None
        evaluations.append(replace(each, value=t.OtherAttribute(one.trigger.name, name)))
    return tuple(evaluations) if one.emits == other.emits else None


def _find_equal_attribute(rule: t.Rule, constraint: t.Expression, value: t.Expression) -> str | None:
    """Return the trigger's attribute that a constraint equates with a constant, of a type with unique values."""
    names = [each.name for each in rule.parts if isinstance(each, t.Predicate)]
    if not isinstance(value, t.Literal) or names.count(rule.trigger.name) > 1:
        return None
    for sign, own, constant in readings(constraint):
        if sign != "==" or not isinstance(own, RuleSlot) or not own.is_attribute or str(constant) != str(value):
            continue
        if own.domain != FLOAT and LITERALS[type(value.value)] == own.domain:
            return own.name
    return None


def _either(one: t.Expression, other: t.Expression) -> t.Expression:
    """Return `one or other`; `x > 5 or x == 5` becomes `x >= 5`."""
    if isinstance(one, t.Operation) and isinstance(other, t.Operation):
        first, last = sorted((one.operator, other.operator))
        joined = {("<", "=="): "<=", ("==", ">"): ">="}.get((first, last))
        if joined is not None and [str(each) for each in one.operands] == [str(each) for each in other.operands]:
            return t.Operation(joined, one.operands)
    return t.Operation("or", (one, other))
