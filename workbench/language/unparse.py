"""Printing of expressions as text that parses to the same tree, with no more parentheses than needed."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from workbench.language import syntax as s

BINARY = {
    "->": 1, "or": 2, "and": 3, "U": 4, "R": 4, "=": 6, "==": 6, "!=": 6, "<": 6, "<=": 6, ">": 6, ">=": 6,
    "+": 7, "-": 7, "*": 8, "div": 8, "mod": 8, "/": 8, "%": 8,
}  # fmt: skip
"""Binary operators, of pipelines and of rules, with their precedence."""

_RIGHT = frozenset({"->", "U", "R"})
_ALONE = frozenset({"=", "==", "!=", "<", "<=", ">", ">="})
_NOT, _NEG, _POSTFIX = 5, 9, 10
_LOOSEST = 0


def show(expression: s.Expression) -> str:
    """Return the text of an expression."""
    return _show(expression)[0]


def _show(expression: s.Expression) -> tuple[str, int]:
    """Return the text, and the precedence of its outermost operator."""
    rule = _RULES.get(type(expression).__name__)
    return (str(expression), _POSTFIX) if rule is None else rule(expression)


def _inside(expression: s.Expression, level: int) -> str:
    text, own = _show(expression)
    return text if own >= level else f"({text})"


def _list(items: tuple[s.Expression, ...]) -> str:
    return ", ".join(map(show, items))


def _literal(e: s.Literal) -> tuple[str, int]:
    if isinstance(e.value, bool):
        return str(e.value).lower(), _POSTFIX
    if isinstance(e.value, str):
        quote = "'" if '"' in e.value else '"'
        return f"{quote}{e.value}{quote}", _POSTFIX
    return "1e999" if e.value == math.inf else str(e.value), _POSTFIX


def _operation(e: s.Operation | s.Temporal) -> tuple[str, int]:
    if e.operator == "if":
        condition, then, otherwise = map(show, e.operands)
        return f"if {condition} then {then} else {otherwise}", _LOOSEST
    if e.operator in BINARY and len(e.operands) == 2:
        return _binary(e.operator, e.operands)
    if e.operator == "neg":
        return f"-{_inside(e.operands[0], _NEG)}", _NEG
    return f"{e.operator} {_inside(e.operands[0], _NOT)}", _NOT


def _binary(operator: str, operands: tuple[s.Expression, ...]) -> tuple[str, int]:
    level = BINARY[operator]
    left = _inside(operands[0], level + 1 if operator in _RIGHT | _ALONE else level)
    right = _inside(operands[1], level if operator in _RIGHT else level + 1)
    return f"{left} {operator} {right}", level


def _temporal(e: s.Temporal) -> tuple[str, int]:
    if e.operator in ("AU", "EU"):
        return f"{e.operator[0]}[{_binary('U', e.operands)[0]}]", _NOT
    return _operation(e)


def _call(e: s.Call) -> tuple[str, int]:
    parameters = f"<{_list(e.parameters)}>" if e.parameters else ""
    return f"{e.name}{parameters}({_list(e.arguments)})", _POSTFIX


def _field(e: s.Field) -> tuple[str, int]:
    number = type(e.value).__name__ == "Literal"  # 0.1 would parse as a number
    inner = f"({e.value})" if number else _inside(e.value, _POSTFIX)
    return f"{inner}.{e.name}", _POSTFIX


_RULES: dict[str, Callable[[Any], tuple[str, int]]] = {
    "Literal": _literal,
    "Identifier": lambda e: (e.name, _POSTFIX),
    "Field": _field,
    "Index": lambda e: (f"{_inside(e.value, _POSTFIX)}[{e.index}]", _POSTFIX),
    "ItemUpdate": lambda e: (f"{e.array} with [{e.index}] := {e.value}", _LOOSEST),
    "Operation": _operation,
    "Temporal": _temporal,
    "TupleOf": lambda e: (f"({_list(e.items)}{',' if len(e.items) == 1 else ''})", _POSTFIX),
    "ParameterArgument": lambda e: (f"{e.name} = {e.value}" if e.name else str(e.value), _POSTFIX),
    "Call": _call,
    "Instantiation": lambda e: (f"{e.name}<{_list(e.parameters)}>", _POSTFIX),
    "Sign": lambda e: (e.symbol, _POSTFIX),
    "FiniteType": lambda e: (f"{e.base} {e.kind} {e.bound}", _POSTFIX),
    "RangeType": lambda e: (f"{e.lo}..{e.hi}", _POSTFIX),
    "EnumType": lambda e: ("{" + ", ".join(e.labels) + "}", _POSTFIX),
    "PortSyntax": lambda e: (f"{e.name}: {e.type}" if e.name else str(e.type), _POSTFIX),
    "MapType": lambda e: (f"{e.base}({e.key}, {e.value})", _POSTFIX),
    "NullableType": lambda e: (f"{e.of}?", _POSTFIX),
    "RecordType": lambda e: ("{" + _list(e.ports) + "}", _POSTFIX),
}
"""Printers by the name of the expression's class, since `syntax` imports this module. Classes that are missing here
have their own `__str__`, and are atoms."""
