"""What a property of rules compares attributes with, so that its model has such values.

The rule of this module: it reads the text of the property only; `tesla.model.origins` has what leads to these values.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from workbench.core.domain import Value
from workbench.core.ops import COMPARISONS
from workbench.language.properties import join_dotted
from workbench.language.syntax import Call, Expression, Literal, Operation, PropertySyntax, walk
from workbench.tesla.model.origins import AttributeKey, operand_values
from workbench.tesla.model.sample_values import ComparedAttributes
from workbench.tesla.rule_set import RuleSet

ARITHMETIC = {"+": "+", "-": "-", "*": "*", "/": "/", "div": "/", "mod": "%"}
"""The operators of rules that do what operators of properties do."""


def list_comparisons(rules: RuleSet, prop: PropertySyntax) -> tuple[ComparedAttributes, ...]:
    """Return the comparisons of attributes in the argument of a property."""
    if not isinstance(prop.argument, Expression):
        return ()
    comparisons = (each for each in walk(prop.argument) if isinstance(each, Operation))
    return tuple(_list_compared(rules, each) for each in comparisons if each.operator in COMPARISONS)


def _list_compared(rules: RuleSet, comparison: Operation) -> ComparedAttributes:
    inside = [each for operand in comparison.operands for each in walk(operand)]
    attributes = [key for each in inside for key in _attribute(rules, each)]
    pairs = [(side, constant_of(other)) for side, other in itertools.permutations(comparison.operands)]
    constants = [origin for side, value in pairs if value is not None for origin in _list_origins(side, value)]
    arithmetic = (
        (ARITHMETIC[each.operator], [leaf.value for leaf in each.operands if isinstance(leaf, Literal)])
        for each in inside if isinstance(each, Operation) and each.operator in ARITHMETIC
    )  # fmt: skip
    ordered = comparison.operator not in ("=", "!=")
    return ComparedAttributes.of(attributes, constants, arithmetic, ordered=ordered)


def _list_origins(expression: Expression, value: Value) -> Iterator[Value]:
    """Yield a value of an expression, and the values from which it is computed."""
    yield value
    operator, operands = "", tuple[Expression, ...]()
    if isinstance(expression, Operation):
        operator, operands = expression.operator, expression.operands
    elif isinstance(expression, Call):
        operator, operands = expression.name, expression.arguments
    if operands and isinstance(value, int | float) and not isinstance(value, bool):
        for index, each in operand_values(operator, list(map(constant_of, operands)), value):
            yield from _list_origins(operands[index], each)


def _attribute(rules: RuleSet, expression: Expression) -> Iterator[AttributeKey]:
    """Yield the type and the name of an attribute, if an expression is one."""
    type, _, name = (join_dotted(expression) or "").removesuffix(".value").partition(".")
    if type in rules.events and name in rules.declarations[type].domains:
        yield type, name


def constant_of(expression: Expression) -> Value | None:
    """Return the value of a literal, which may be negative; None for other expressions."""
    if isinstance(expression, Literal):
        value: Value = expression.value
        return value
    if isinstance(expression, Operation) and expression.operator == "neg":
        inner = constant_of(expression.operands[0])
        return -inner if isinstance(inner, int | float) else None
    return None
