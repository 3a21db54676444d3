"""What a property of rules compares attributes with, so that its model has such values.

The rule of this module: it reads the text of the property only; `tesla.model.origins` has what leads to these values.
"""

from __future__ import annotations

from collections.abc import Iterator

from workbench.language.properties import join_dotted
from workbench.language.syntax import Expression, Literal, Operation, PropertySyntax, walk
from workbench.tesla.model.attribute_values import ComparedAttributes
from workbench.tesla.model.origins import AttributeKey
from workbench.tesla.rule_set import RuleSet

EQUALITY, ORDER = ("=", "!="), ("<", "<=", ">", ">=")


def list_comparisons(rules: RuleSet, prop: PropertySyntax) -> tuple[ComparedAttributes, ...]:
    """Return the comparisons of attributes in the argument of a property."""
    if not isinstance(prop.argument, Expression):
        return ()
    comparisons = (each for each in walk(prop.argument) if isinstance(each, Operation))
    return tuple(_list_compared(rules, each) for each in comparisons if each.operator in (*EQUALITY, *ORDER))


def _list_compared(rules: RuleSet, comparison: Operation) -> ComparedAttributes:
    inside = [each for operand in comparison.operands for each in walk(operand)]
    arithmetic = [each for each in inside if isinstance(each, Operation) and each.operator in ("+", "-", "*", "/")]
    negative = [each for each in inside if isinstance(each, Operation) and each.operator == "neg"]
    negated = {id(each.operands[0]) for each in negative}
    literals = [each for each in inside if isinstance(each, Literal)]
    constants = [
        -each.value if id(each) in negated and isinstance(each.value, int | float) else each.value for each in literals
    ]
    if any(not isinstance(leaf, Literal) for each in arithmetic for leaf in each.operands[1:]):
        constants.append(0)  # such as for 20 in `D.x - D.y > 20`: values at that distance
    shifts = [(each.operator, leaf.value) for each in arithmetic for leaf in each.operands if isinstance(leaf, Literal)]
    attributes = [key for each in inside for key in _attribute(rules, each)]
    return ComparedAttributes(attributes, constants, shifts, comparison.operator in ORDER)


def _attribute(rules: RuleSet, expression: Expression) -> Iterator[AttributeKey]:
    """Yield the type and the name of an attribute, if an expression is one."""
    type, _, name = (join_dotted(expression) or "").removesuffix(".value").partition(".")
    if type in rules.events and name in rules.declarations[type].domains:
        yield type, name
