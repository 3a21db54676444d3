"""Implications between constraints that hold.

The rule of this module: a constraint holds if it is true; a null constraint does not hold, and NaN equals
nothing. So nothing follows from `x == x`, and `a or b` does not follow from `a` if `b` may be null.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import cached_property

from workbench.core.domain import Value
from workbench.tesla import tree as t
from workbench.tesla.operators import bounds_exclude, implies_bound, may_divide_by_zero, operator_of, readings
from workbench.tesla.resolved import OWN, TIME, RuleSlot, exact_text, map_leaves, move_to_part, slots
from workbench.tesla.values import Selected, value

_Comparison = tuple[str, str, str]
"""An operator and the texts of its operands."""


def normalize(expressions: Iterable[t.Expression], index: int = OWN) -> list[t.Expression]:
    """Normalize expressions of a part at a place, so that equal ones have equal texts.

    A parameter is replaced by the expression assigned to it unless that is an operation.
    """

    def leaf(each: t.Expression) -> t.Expression:
        plain = isinstance(each, RuleSlot) and each.value is not None and not isinstance(each.value, t.Operation)
        return leaf(each.value) if plain else each  # type: ignore[attr-defined]

    return [map_leaves(move_to_part(each, index), leaf) for each in expressions]


def leaves(expression: t.Expression) -> set[str]:
    """Return the texts of the slots in an expression, which may be null."""
    return set(map(exact_text, slots(expression)))


def divides(expression: t.Expression) -> bool:
    """Whether a division in an expression may make it null."""
    return any(map(may_divide_by_zero, t.within(expression)))


class Known:
    """Constraints of resolved rules that hold, seen from outside their parts (`normalize`)."""

    def __init__(self, held: Iterable[t.Expression]) -> None:
        self.held = tuple(t.conjuncts(*held))
        self._constants: dict[str, Value] = {}
        self._texts = {_text(each) for each in self.held}
        self._compared = {comparison for each in self.held for comparison in self._comparisons(each)}

    def implies(self, expression: t.Expression) -> bool:
        """Whether an expression holds if these hold."""
        if not leaves(expression):
            return value(expression, Selected()) is True
        if _text(expression) in self._texts:
            return True
        if isinstance(expression, t.Operation) and expression.operator == "and":
            return all(map(self.implies, expression.operands))
        if isinstance(expression, t.Operation) and expression.operator == "or":
            return any(map(self.implies, expression.operands)) and self.never_null(expression)
        return any(self._follows(*each) for each in list(self._comparisons(expression))[:1])

    def never_null(self, expression: t.Expression) -> bool:
        """Whether an expression is not null if these hold: all their operators are strict in null."""
        times = {exact_text(slot) for slot in slots(expression) if slot.name == TIME}
        return not divides(expression) and leaves(expression) <= self._there | times

    @cached_property
    def impossible(self) -> bool:
        """Whether nothing satisfies them."""
        if any(not leaves(each) and value(each, Selected()) is not True for each in self.held):
            return True
        return any(self._is_excluded(*each) for each in self._compared)

    # --- comparisons ------------------------------------------------------------------------------------

    @cached_property
    def _there(self) -> set[str]:
        return {leaf for each in self.held for leaf in leaves(each)}

    def _comparisons(self, expression: t.Expression) -> Iterator[_Comparison]:
        """Return an expression as a comparison, in both directions."""
        return ((sign, self._name_operand(one), self._name_operand(other)) for sign, one, other in readings(expression))

    def _name_operand(self, operand: t.Expression) -> str:
        text = exact_text(operand)
        if not leaves(operand) and (constant := value(operand, Selected())) is not None:
            self._constants[text] = constant
        return text

    @cached_property
    def _equal(self) -> Mapping[str, set[str]]:
        """For each operand of an equation the operands that equal it, also indirectly."""
        classes: dict[str, set[str]] = {}
        for sign, one, other in self._compared:
            if sign == "==" and one != other:
                joined = classes.get(one, {one}) | classes.get(other, {other})
                classes.update(dict.fromkeys(joined, joined))
        return classes

    def _same(self, operand: str) -> set[str]:
        return self._equal.get(operand, {operand})

    def _between(self, one: str, other: str) -> Iterator[str]:
        """Yield the comparisons that hold between operands equal to these."""
        aliases, others = self._same(one), self._same(other)
        yield from (sign for sign, a, b in self._compared if a in aliases and b in others)
        if one != other and other in aliases:
            yield "=="

    def _bounds(self, operand: str) -> Iterator[tuple[str, Value]]:
        """Yield the comparisons of an operand with constants."""
        aliases = self._same(operand)
        yield from (
            (sign, self._constants[b]) for sign, a, b in self._compared if a in aliases and b in self._constants
        )
        yield from (("==", self._constants[each]) for each in aliases if each in self._constants)

    def _follows(self, sign: str, one: str, other: str) -> bool:
        if one == other:  # only for numbers that are not null
            return _implies("==", sign) and any(s != "!=" and one in (a, b) for s, a, b in self._compared)
        if any(_implies(each, sign) for each in self._between(one, other)):
            return True
        if one in self._constants:
            sign, one, other = operator_of(sign).mirror, other, one
        if other not in self._constants:
            return False
        return any(implies_bound(each, (sign, self._constants[other])) for each in self._bounds(one))

    def _is_excluded(self, sign: str, one: str, other: str) -> bool:
        if one == other:
            return sign in ("<", ">")
        if any(operator_of(each).excludes(operator_of(sign)) for each in self._between(one, other)):
            return True
        if other not in self._constants:
            return False
        return any(bounds_exclude(each, (sign, self._constants[other])) for each in self._bounds(one))


def _text(expression: t.Expression) -> str:
    """Return a text that is the same for a comparison in both directions."""
    directions = ((exact_text(one), sign, exact_text(other)) for sign, one, other in readings(expression))
    return min(map(" ".join, directions), default=exact_text(expression))


def _implies(sign: str, other: str) -> bool:
    return operator_of(sign).implies(operator_of(other))
