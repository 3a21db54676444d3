"""The operators of generated code: one row each, with its text and its type rule.

The rule of this module: operators are total, and both sides of a conditional may be computed. A function call is a
kernel, which the environment provides (`plain.SCOPE`, `kernels.SCOPE`, `gpu.cuda.SCOPE`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from workbench.core.named_operators import FLOAT_OPERATORS
from workbench.core.ops import BIT_AND, BIT_OR, COMPARISONS, OVERFLOWS, XOR
from workbench.errors import WorkbenchError
from workbench.executors.compiled.code import ir

TypeRule = Callable[[str, Sequence[ir.CodeType]], ir.CodeType]


class MalformedCode(WorkbenchError):
    """Generated code that breaks a rule of the intermediate representation: a defect of its generator."""


class OperatorRow(NamedTuple):
    """The Python notation of an operator, and its type rule."""

    python: str
    result: TypeRule


def _expect(name: str, types: Sequence[ir.CodeType], *allowed: ir.CodeType) -> None:
    for each in types:
        if each not in allowed:
            raise MalformedCode(f"operator '{name}' is applied to {each}, but takes {', '.join(map(str, allowed))}")


def _arithmetic(name: str, types: Sequence[ir.CodeType]) -> ir.CodeType:
    _expect(name, types, ir.INTEGER, ir.FLOAT)
    return ir.FLOAT if ir.FLOAT in types else ir.INTEGER


def _as_float(name: str, types: Sequence[ir.CodeType]) -> ir.CodeType:
    _expect(name, types, ir.INTEGER, ir.FLOAT)
    return ir.FLOAT


def _floating(name: str, types: Sequence[ir.CodeType]) -> ir.CodeType:
    _expect(name, types, ir.FLOAT)
    return ir.FLOAT


def _comparison(name: str, types: Sequence[ir.CodeType]) -> ir.CodeType:
    _expect(name, types, *((ir.BOOLEAN,) if ir.BOOLEAN in types else (ir.INTEGER, ir.FLOAT)))
    return ir.BOOLEAN


def _make_type_rule(operand: ir.ScalarType, result: ir.ScalarType) -> TypeRule:
    """Return the type rule of an operator on scalars of one type."""

    def rule(name: str, types: Sequence[ir.CodeType]) -> ir.CodeType:
        _expect(name, types, operand)
        return result

    return rule


def _type_choice(name: str, types: Sequence[ir.CodeType]) -> ir.CodeType:
    _expect(name, types[:1], ir.BOOLEAN)
    _expect(name, types[2:], types[1])
    return types[1]


def _type_count(name: str, types: Sequence[ir.CodeType]) -> ir.CodeType:
    _expect(name, types[:1], ir.INTEGER)
    _expect(name, types[1:], ir.BOOLEAN)
    return ir.INTEGER


def _kernel(name: str, arity: int, result: ir.CodeType) -> OperatorRow:
    return OperatorRow(f"{name}({', '.join(f'{{{k}}}' for k in range(arity))})", lambda *_: result)


_whole, _logic = _make_type_rule(ir.INTEGER, ir.INTEGER), _make_type_rule(ir.BOOLEAN, ir.BOOLEAN)

OPERATORS: dict[str, OperatorRow] = {
    "add": OperatorRow("({0} + {1})", _arithmetic),
    "sub": OperatorRow("({0} - {1})", _arithmetic),
    "mul": OperatorRow("({0} * {1})", _arithmetic),
    **{op.name: OperatorRow(op.python, _comparison) for op in COMPARISONS.values()},
    "div": OperatorRow("({0} // {1} if {1} else 0 * {1})", _arithmetic),
    "mod": OperatorRow("({0} % {1} if {1} else {0})", _arithmetic),
    "quotient": OperatorRow("({0} // {1})", _arithmetic),
    "remainder": OperatorRow("({0} % {1})", _arithmetic),
    "min": OperatorRow("min({0}, {1})", _arithmetic),
    "max": OperatorRow("max({0}, {1})", _arithmetic),
    **{op.name: OperatorRow(op.python, _whole) for op in (XOR, BIT_AND, BIT_OR)},
    "shift_left": OperatorRow("({0} << {1})", _whole),
    "shift_right": OperatorRow("({0} >> {1})", _whole),
    "even": OperatorRow("({0} % 2 == 0)", _comparison),
    "odd": OperatorRow("({0} % 2 == 1)", _comparison),
    "outside": OperatorRow("(not {1} <= {0} <= {2})", _comparison),
    "not": OperatorRow("(not {0})", _logic),
    "and": OperatorRow("({0} & {1})", _logic),
    "or": OperatorRow("({0} | {1})", _logic),
    "implies": OperatorRow("((not {0}) | {1})", _logic),
    "float": OperatorRow("float({0})", _as_float),
    **{op.name: OperatorRow(op.python, _floating) for op in FLOAT_OPERATORS},
    "word": OperatorRow("int({0})", _make_type_rule(ir.BOOLEAN, ir.INTEGER)),
    "truth": OperatorRow("({0} != 0)", _make_type_rule(ir.INTEGER, ir.BOOLEAN)),
    "count": OperatorRow("({0} + {1})", _type_count),
    "pick": OperatorRow("pick({0}, {1}, {2})", _type_choice),
    "rounded_product": OperatorRow("rounded_product({0}, {1})", _arithmetic),
    "rounded_div": OperatorRow("(float_quotient({0}, {1}) if {1} else 0 * {1})", _arithmetic),
    "rounded_mod": OperatorRow("(float_remainder({0}, {1}) if {1} else {0})", _arithmetic),
    **{op.name: _kernel(op.name, 2, ir.BOOLEAN) for op in OVERFLOWS.values()},
    **{name: _kernel(name, 2, ir.BOOLEAN) for name in ("int_same", "int_below", "int_above")},
    "find": _kernel("find", 3, ir.INTEGER),
    "find_pair": _kernel("find_pair", 5, ir.INTEGER),
    "find_entry": _kernel("find_entry", 4, ir.INTEGER),
    "first_row": _kernel("first_row", 2, ir.INTEGER),
    "first_row_of_pair": _kernel("first_row_of_pair", 3, ir.INTEGER),
    "link_rows": _kernel("link_rows", 2, ir.LINKS),
    "first_linked": _kernel("first_linked", 3, ir.INTEGER),
    "next_linked": _kernel("next_linked", 3, ir.INTEGER),
    "free": _kernel("free", 1, ir.NOTHING),
    "order_rows": _kernel("order_rows", 2, ir.ArrayType(ir.INTEGER)),
    "soon": _kernel("soon", 2, ir.NOTHING),
    "len": _kernel("len", 1, ir.INTEGER),
    "output_capacity": _kernel("get_output_capacity", 1, ir.INTEGER),
    "at": _kernel("at", 1, ir.INTEGER),
    "thread": OperatorRow("cuda.grid(1)", lambda *_: ir.INTEGER),
    "column": OperatorRow("{0}[:, {1}]", lambda _, types: ir.ArrayType(types[0].item)),  # type: ignore[union-attr]
}
"""`div` and `mod` by 0 are as in `core.ops`; `quotient` and `remainder` are for nonzero divisors; `count` adds a truth
value to a number; `at` makes an index of a number that is not negative."""


def op(name: str, *args: ir.Expr) -> ir.Op:
    """Build an operation, with the type that its row gives."""
    if name not in OPERATORS:
        raise MalformedCode(f"there is no operator '{name}'")
    return ir.Op(name, args, OPERATORS[name].result(name, [arg.type for arg in args]))


def add(a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Build a sum of integers; constants are folded."""
    if isinstance(a, ir.Const) and isinstance(b, ir.Const):
        return ir.Const(a.value + b.value, ir.INTEGER)
    return a if b == ir.Const(0, ir.INTEGER) else op("add", a, b)


def increase(count: ir.Expr, condition: ir.Expr) -> ir.Expr:
    """Build the sum of a count and a truth value."""
    return add(count, ir.Const(1, ir.INTEGER)) if condition == ir.TRUE else op("count", count, condition)
