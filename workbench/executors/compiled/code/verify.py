"""The verifier of generated code, which checks the rules of the intermediate representation."""

from __future__ import annotations

from collections.abc import Mapping

from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.operators import MalformedCode, op
from workbench.executors.compiled.code.printer import print_block, print_expr


def verify(function: ir.CodeFunction) -> ir.CodeFunction:
    """Check a function, and return it.

    Raises
    ------
    MalformedCode: a rule is broken; names the statement.
    """
    _verify_block(function.body, {each.name: each.type for each in function.parameters})
    return function


def _verify_block(block: ir.CodeBlock, scope: dict[str, ir.CodeType]) -> None:
    for statement in block:
        try:
            for expr in ir.own_expressions(statement):
                _check(expr, scope)
        except MalformedCode as error:
            raise MalformedCode(f"{error.what}, in `{print_block((statement,))}`") from error
        match statement:
            case ir.Let(name, value):
                _bind(name, value.type, scope)
            case ir.Store(target, value):
                if _check(target, scope) != value.type:
                    raise MalformedCode(f"`{print_block((statement,))}` writes {value.type} where {target.type} is")
            case ir.If(condition) if condition.type != ir.BOOLEAN:
                raise MalformedCode(f"{print_expr(condition)} is not a condition")
        inner = dict(scope)
        if isinstance(statement, ir.For | ir.ForEach):
            _bind(statement.name, ir.INTEGER, inner)
        _verify_block(ir.body_of(statement), inner)


def _bind(name: str, kind: ir.CodeType, scope: dict[str, ir.CodeType]) -> None:
    if name in scope:
        raise MalformedCode(f"'{name}' is bound twice")
    scope[name] = kind


def _check(expr: ir.Expr, scope: Mapping[str, ir.CodeType]) -> ir.CodeType:
    """Return the type of an expression, after checking that all types agree."""
    types = [_check(part, scope) for part in ir.parts(expr)]
    match expr:
        case ir.Const(value, kind) if isinstance(value, bool) != (kind == ir.BOOLEAN):
            raise MalformedCode(f"{value!r} is no {kind}")
        case ir.Var(name, kind) if scope.get(name) != kind:
            raise MalformedCode(f"'{name}' is not bound here as {kind}")
        case ir.Load(array) if not isinstance(array, ir.Var):
            raise MalformedCode(f"an entry of {print_expr(array)}, which has no name, is read")
        case ir.Load(array, index) if not (isinstance(array.type, ir.ArrayType) and len(index) <= array.type.axes):
            raise MalformedCode(f"{print_expr(expr)} has more indices than the array has axes")
        case ir.Load() if set(types[1:]) - {ir.INTEGER}:
            raise MalformedCode(f"{print_expr(expr)} has an index that is not a whole number")
        case ir.Select() if types[0] != ir.BOOLEAN or types[1] != types[2]:
            raise MalformedCode(f"{print_expr(expr)} chooses between {types[1]} and {types[2]}")
        case ir.Op(name, args, kind) if op(name, *args).type != kind:
            raise MalformedCode(f"{print_expr(expr)} is no {kind}")
    return expr.type
