"""The operators of rules, one row each: types, meaning, Python text, and which comparisons imply others.

The rule of this module: rows are those of `core.ops`, except where rules differ: their floats are those of
IEEE 754, a whole number too large for a float becomes infinite, texts are ordered, and division by zero is null. An
operator with a null operand is null, whatever the other operand is (`or` too).

Sources: thesis, 2.3.3 (f_i); design of rules: integers are exact.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeGuard

from workbench.core import typing_rules
from workbench.core.domain import BOOL, FLOAT, STR, Domain, Value
from workbench.core.floats import as_float
from workbench.core.ops import ADD, AND, EQ, GE, GT, LE, LT, MUL, NE, NOT, OR, SUB, Operator
from workbench.core.term import Term
from workbench.core.typing_rules import TypingRule
from workbench.errors import TypingError
from workbench.language.syntax import Expression, Literal, Operation


def _of_floats(exact: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Make an arithmetic operator: exact on whole numbers, with float arithmetic if an operand is a float."""

    def computed(a: Any, b: Any) -> Any:
        return exact(as_float(a), as_float(b)) if float in (type(a), type(b)) else exact(a, b)

    return computed


def _quotient(a: float, b: float) -> float | None:
    """Return `a / b`, a division of floats; null if b is zero."""
    return None if b == 0 else as_float(a) / as_float(b)


def _remainder(a: float, b: float) -> float | None:
    """Return `a % b`, with the sign of b; null if b is zero."""
    return None if b == 0 else _of_floats(operator.mod)(a, b)


def _of_texts(rule: TypingRule, domain: Domain) -> TypingRule:
    """Extend a typing rule to texts, with the given result type."""
    return lambda op, terms: domain if all(each.domain == STR for each in terms) else rule(op, terms)


def _real(op: Operator, terms: tuple[Term, ...]) -> Domain:
    typing_rules.numeric(op, terms)
    return FLOAT


RULE_OPERATORS: Mapping[tuple[str, int], Operator] = {
    (row.symbol, row.arity): row
    for row in (
        Operator("rule_add", 2, "+", _of_texts(typing_rules.numeric, STR), _of_floats(operator.add), ADD.python),
        Operator("rule_sub", 2, "-", typing_rules.numeric, _of_floats(operator.sub), SUB.python),
        Operator("rule_mul", 2, "*", typing_rules.numeric, _of_floats(operator.mul), MUL.python),
        Operator("rule_div", 2, "/", _real, _quotient, "({0} / {1})", null="may"),
        Operator("rule_mod", 2, "%", typing_rules.numeric, _remainder, "({0} % {1})", null="may"),
        Operator("rule_neg", 1, "neg", typing_rules.numeric, operator.neg, "(-{0})"),
        *(replace(row, name=f"rule_{row.name}", result=_of_texts(row.result, BOOL)) for row in (LT, LE, GT, GE)),
        replace(EQ, symbol="==", null="strict"), replace(NE, null="strict"), AND, OR, NOT,
    )
}  # fmt: skip
"""The operators by sign and number of operands."""


def operator_of(sign: str, operands: int = 2) -> Operator:
    """Return the operator of rules with a sign; raise a TypingError if there is none."""
    try:
        return RULE_OPERATORS[sign, operands]
    except KeyError:
        raise TypingError(f"rules have no operator '{sign}' of {operands} operands") from None


def row_of(expression: Operation) -> Operator:
    """Return the operator of an expression."""
    return operator_of(expression.operator, len(expression.operands))


def apply_operator(row: Operator, operands: Sequence[Value | None]) -> Value | None:
    """Apply an operator to values, where None is null."""
    return None if None in operands else row.exact(*operands)


def is_comparison(expression: Expression) -> TypeGuard[Operation]:
    """Whether an expression compares two values."""
    return isinstance(expression, Operation) and bool(row_of(expression).holds)


def may_divide_by_zero(expression: Expression) -> TypeGuard[Operation]:
    """Whether the outermost operator may return null for operands that are not null."""
    return isinstance(expression, Operation) and row_of(expression).null == "may"


def gives_null(expression: Expression) -> bool:
    """Whether the outermost operator can return null here: a division by a nonzero literal cannot."""
    if not may_divide_by_zero(expression):
        return False
    *_, last = expression.operands
    return not (isinstance(last, Literal) and last.value)


def readings(expression: Expression) -> Iterator[tuple[str, Expression, Expression]]:
    """Yield a comparison as (sign, left, right), also mirrored; yield nothing for other expressions."""
    if isinstance(expression, Operation) and (row := row_of(expression)).holds:
        one, other = expression.operands
        yield row.symbol, one, other
        yield row.mirror, other, one


# --- comparisons with constants -------------------------------------------------------------------------


def implies_bound(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Whether every value that satisfies one comparison with a constant satisfies the other."""
    return all(second for first, second in _truths(one, other) if first)


def bounds_exclude(one: tuple[str, Any], other: tuple[str, Any]) -> bool:
    """Whether no value satisfies both comparisons with constants."""
    return not any(first and second for first, second in _truths(one, other))


def _truths(one: tuple[str, Any], other: tuple[str, Any]) -> Iterator[tuple[bool, bool]]:
    """Yield the truths of two comparisons with constants: for values below, at, between and above the constants."""
    (sign, known), (other_sign, constant) = one, other
    pairs = (known, constant), (constant, known)
    at, other_at = (1 + 2 * (a > b) if a == a else math.nan for a, b in pairs)  # other values lie around them
    for sample in range(5):
        yield operator_of(sign).exact(sample, at), operator_of(other_sign).exact(sample, other_at)
