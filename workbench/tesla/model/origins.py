"""The values from which rules compute a value, so that a model can have them.

The rule of this module: if `D.n` is compared with 150 and a rule emits `n = A.v * 2`, then 75 is the origin of 150. Of
two attributes in arithmetic, each may take the whole value while the other one changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

from workbench.core.domain import Value
from workbench.tesla import tree as t
from workbench.tesla.resolved import TIME, ResolvedRule, RuleSlot

AttributeKey = tuple[str, str]
"""A type and the name of an attribute; or a rule and the name of a parameter, with its sign."""
FINEST = 1000
"""Maximum denominator of an origin; others are rounded to thousandths, down and up."""


def origins_of_attribute(
    rules: Sequence[ResolvedRule], key: AttributeKey, value: Value, seen: frozenset[AttributeKey] = frozenset()
) -> Iterator[Value]:
    """Yield the values of all from which some rule computes an attribute, at which it has a value or one near it."""
    for rule in rules if key not in seen else ():
        for emitted in rule.evaluations if rule.emits == key[0] else ():
            if emitted.name == key[1]:
                yield from origins(rules, rule, emitted.value, value, seen | {key})


def origins(
    rules: Sequence[ResolvedRule],
    rule: ResolvedRule,
    expression: t.Expression,
    value: Value,
    seen: frozenset[AttributeKey] = frozenset(),
) -> Iterator[Value]:
    """Yield values of all from which an expression of a rule is computed, at which it has a value or one near it.

    Parameters
    ----------
    seen: attributes whose origins are known.
    """
    if isinstance(expression, RuleSlot):
        yield value
        part = rule.parts[expression.part] if expression.is_parameter else None
        if expression.value is not None:
            yield from origins(rules, rule, expression.value, value, seen)
        elif isinstance(part, t.Aggregate):
            yield from origins_of_attribute(rules, (part.type, part.attribute or ""), value, seen)
        elif part is None and expression.name != TIME:
            yield from origins_of_attribute(rules, (expression.type.name, expression.name), value, seen)
    elif isinstance(expression, t.Operation) and not isinstance(value, bool):
        constants = [constant_of(each) for each in expression.operands]
        operands = (
            operand_texts(constants, value)
            if isinstance(value, str)
            else operand_values(expression.operator, constants, value)
        )
        for index, each in operands:
            yield from origins(rules, rule, expression.operands[index], each, seen)


def operand_texts(constants: Sequence[Value | None], value: str) -> Iterator[tuple[int, str]]:
    """Yield texts of the operands of `+` that are joined to a text, each with its index."""
    one, other = constants[0], constants[-1]
    if isinstance(one, str) and value.startswith(one):
        yield 1, value.removeprefix(one)
    if isinstance(other, str) and value.endswith(other):
        yield 0, value.removesuffix(other)
    if one is None and other is None:
        yield from ((index, text) for index in (0, 1) for text in (value, ""))


def operand_values(
    operator: str, constants: Sequence[Value | None], value: int | float
) -> Iterator[tuple[int, int | float]]:
    """Yield values of the operands of an operation at which it has a value, or one near it, each with its index.

    Parameters
    ----------
    constants: the operands that are constants; None for the others.
    """
    numbers = [None if each is None or isinstance(each, str) else as_fraction(each) for each in constants]
    for index, number in _operand_numbers(operator, numbers[0], numbers[-1], as_fraction(value)):
        yield from ((index, each) for each in _near(number))


def _operand_numbers(
    operator: str, one: Fraction | None, other: Fraction | None, value: Fraction
) -> Iterator[tuple[int, Fraction]]:
    left, right = 0, 1
    vary, zero, unit = one is None and other is None, Fraction(0), Fraction(1)
    match operator:
        case "neg":
            yield left, -value
        case "+":
            yield from [(right, value - one)] if one is not None else ()
            yield from [(left, value - other)] if other is not None else ()
            yield from ((each, part) for each in (left, right) for part in (value, zero, value / 2) if vary)
        case "-":
            yield from [(right, one - value)] if one is not None else ()
            yield from [(left, value + other)] if other is not None else ()
            yield from [(left, value), (left, zero), (right, zero)] if vary else ()
        case "*":
            yield from [(right, value / one)] if one else ()
            yield from [(left, value / other)] if other else ()
            yield from ((each, part) for each in (left, right) for part in (value, unit) if vary)
            root = math.isqrt(math.floor(max(value, zero)))
            yield from ((left, Fraction(each)) for each in (root, root + 1) if vary)
        case "/" | "div":
            yield from [(right, one / value)] if one and value else ()
            yield from [(left, value * other)] if other else ()
            yield from [(left, value), (right, unit)] if vary else ()
        case "%" | "mod":
            yield left, value
        case "abs":
            yield from ((left, value), (left, -value))


def _near(number: Fraction) -> Iterator[int | float]:
    """Yield a number, or the thousandths on both sides of one that is not a short decimal."""
    if FINEST % number.denominator == 0:
        yield int(number) if number.denominator == 1 else float(number)
    else:
        yield from (math.floor(number * FINEST) / FINEST, math.ceil(number * FINEST) / FINEST)


def constant_of(expression: t.Expression) -> Value | None:
    """Return the value of a literal, which may be negative; None for other expressions."""
    if isinstance(expression, t.Literal):
        return expression.value
    if isinstance(expression, t.Operation) and expression.operator == "neg":
        inner = constant_of(expression.operands[0])
        return None if inner is None else -inner
    return None


def as_fraction(number: Any) -> Fraction:
    """Return a number as an exact fraction of its decimal text."""
    return Fraction(Decimal(repr(number)) if isinstance(number, float) else number)
