"""Values that a question about rules needs: the constants it compares attributes with, and what leads to them.

The rule of this module: if `D.n` is compared with 150 and a rule emits `n = A.v * 2`, the model needs events with
`A.v` around 75. Of two attributes in arithmetic, each may take the whole value while the other one changes nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction

from workbench.core.domain import Value
from workbench.tesla import tree as t
from workbench.tesla.model.attribute_values import AttributeKey, ComparedAttributes, as_fraction, constant_of
from workbench.tesla.resolved import TIME, ResolvedRule, RuleSlot
from workbench.tesla.rule_set import RuleSet

FINEST = 10**6
"""Maximum denominator of a value; others are rounded to whole numbers, down and up."""


def add_origins(rule_sets: Sequence[RuleSet], compared: ComparedAttributes) -> ComparedAttributes:
    """Return comparisons of a question, with the values of other attributes at which rules compute its constants."""
    search = _OriginSearch([rule for rules in rule_sets for rule in rules.resolved])
    pairs = ((key, value) for key in compared.attributes for value in compared.constants)
    origins = (origin for key, value in pairs for origin in search.of_attribute(key, value, frozenset()))
    return compared._replace(constants=list(dict.fromkeys((*compared.constants, *origins))))


@dataclass(frozen=True)
class _OriginSearch:
    """The search for the values from which rules compute a value."""

    rules: Sequence[ResolvedRule]

    def of_attribute(self, key: AttributeKey, value: Value, seen: frozenset[AttributeKey]) -> Iterator[Value]:
        """Yield the values of what some rule computes an attribute from."""
        if key in seen:
            return
        for rule in self.rules:
            for emitted in rule.evaluations if rule.emits == key[0] else ():
                if emitted.name == key[1]:
                    yield from self._of_expression(rule, emitted.value, value, seen | {key})

    def _of_expression(
        self, rule: ResolvedRule, expression: t.Expression, value: Value, seen: frozenset[AttributeKey]
    ) -> Iterator[Value]:
        """Yield the values of the leaves of an expression at which it has a value, or one near it."""
        if isinstance(expression, RuleSlot):
            yield value
            part = rule.parts[expression.part] if expression.is_parameter else None
            if expression.value is not None:
                yield from self._of_expression(rule, expression.value, value, seen)
            elif isinstance(part, t.Aggregate):
                yield from self.of_attribute((part.type, part.attribute or ""), value, seen)
            elif part is None and expression.name != TIME:
                yield from self.of_attribute((expression.type.name, expression.name), value, seen)
        elif isinstance(expression, t.Operation) and not isinstance(value, bool | str):
            for operand, number in _operand_values(expression, as_fraction(value)):
                for each in _near(number):
                    yield from self._of_expression(rule, operand, each, seen)


def _operand_values(expression: t.Operation, value: Fraction) -> Iterator[tuple[t.Expression, Fraction]]:
    """Yield values of the operands of an arithmetic operation at which it has a value."""
    left, right = expression.operands[0], expression.operands[-1]
    one, other = (None if each is None or isinstance(each, str) else as_fraction(each)
                  for each in map(constant_of, (left, right)))  # fmt: skip
    zero, unit, vary = Fraction(0), Fraction(1), one is None and other is None
    match expression.operator:
        case "neg":
            yield left, -value
        case "+":
            yield from [(right, value - one)] if one is not None else ()
            yield from [(left, value - other)] if other is not None else ()
            yield from ((each, part) for each in (left, right) for part in (value, zero) if vary)
        case "-":
            yield from [(right, one - value)] if one is not None else ()
            yield from [(left, value + other)] if other is not None else ()
            yield from [(left, value), (left, zero), (right, -value), (right, zero)] if vary else ()
        case "*":
            yield from [(right, value / one)] if one else ()
            yield from [(left, value / other)] if other else ()
            yield from ((each, part) for each in (left, right) for part in (value, unit) if vary)
        case "/":
            yield from [(right, one / value)] if one and value else ()
            yield from [(left, value * other)] if other else ()
            yield from [(left, value), (right, unit)] if vary else ()
        case "%":
            yield left, value


def _near(number: Fraction) -> Iterator[int | float]:
    """Yield a number, or the whole numbers on both sides of one that is not a short decimal."""
    if number.denominator == 1:
        yield int(number)
    elif FINEST % number.denominator == 0:
        yield float(number)
    else:
        yield from (math.floor(number), math.ceil(number))
