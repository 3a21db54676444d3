"""Generated code from its text, for tests of passes: what `print_function(typed=True)` prints, read again."""

from __future__ import annotations

import ast
from typing import Any

from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.operators import op

TYPES = {"Int": ir.INTEGER, "Bool": ir.BOOLEAN, "Float": ir.FLOAT}
BINARY = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.FloorDiv: "quotient", ast.Mod: "remainder",
    ast.Eq: "eq", ast.NotEq: "ne", ast.Lt: "lt", ast.LtE: "le", ast.Gt: "gt", ast.GtE: "ge",
}  # fmt: skip


def parse_function(text: str) -> ir.CodeFunction:
    """The function that a text says."""
    (function,) = ast.parse(text).body
    assert isinstance(function, ast.FunctionDef)
    names = {each.arg: _type(each.annotation) for each in function.args.args}
    parameters = tuple(ir.Var(name, kind) for name, kind in names.items())
    return ir.CodeFunction(function.name, parameters, _block(function.body, names))


def _type(node: Any) -> ir.CodeType:
    if isinstance(node, ast.Subscript):
        axes = len(node.slice.elts) if isinstance(node.slice, ast.Tuple) else 1
        return ir.ArrayType(TYPES[ast.unparse(node.value)], axes)
    return TYPES[node.id]


def _block(nodes: list[ast.stmt], names: dict[str, ir.CodeType]) -> ir.CodeBlock:
    return tuple(_statement(node, names) for node in nodes if not isinstance(node, ast.Pass))


def _statement(node: Any, names: dict[str, ir.CodeType]) -> ir.Statement:
    match node:
        case ast.Assign([ast.Name(name)], value):
            made = _expr(value, names)
            if name in names:
                return ir.Store(ir.Var(name, names[name]), made)
            names[name] = made.type
            return ir.Let(name, made)
        case ast.Assign([target], value):
            entry = _expr(target, names)
            assert isinstance(entry, ir.Load)
            return ir.Store(entry, _expr(value, names))
        case ast.If(condition, body):
            return ir.If(_expr(condition, names), _block(body, dict(names)))
        case ast.For(ast.Name(name), ast.Call(ast.Name("range"), ends), body):
            start, stop, *step = (_expr(each, names) for each in ends)
            inside = _block(body, names | {name: ir.INTEGER})
            return ir.For(name, start, stop, inside, *(each.value for each in step if isinstance(each, ir.Const)))
        case ast.Expr(call):
            called = _expr(call, names)
            assert isinstance(called, ir.Op)
            return ir.Do(called)
        case ast.Return(ast.Tuple(values)):
            return ir.ReturnValues(tuple(_expr(each, names) for each in values))
        case ast.Return(value):
            return ir.ReturnValues((_expr(value, names),))
        case ast.Break():
            return ir.Break()
    raise AssertionError(ast.dump(node))


def _expr(node: Any, names: dict[str, ir.CodeType]) -> ir.Expr:
    def inside(each: Any) -> ir.Expr:
        return _expr(each, names)

    match node:
        case ast.Constant(value):
            return ir.Const(value, _kind(value))
        case ast.Name(name):
            return ir.Var(name, names[name])
        case ast.BinOp(left, sign, right) if isinstance(sign, ast.BitAnd | ast.BitOr):
            a, b = inside(left), inside(right)
            logic = ("and", "or") if a.type == ir.BOOLEAN else ("bit_and", "bit_or")
            return op(logic[isinstance(sign, ast.BitOr)], a, b)
        case ast.BinOp(left, sign, right):
            a, b = inside(left), inside(right)
            return op("count" if b.type == ir.BOOLEAN else BINARY[type(sign)], a, b)
        case ast.Compare(left, [sign], [right]):
            return op(BINARY[type(sign)], inside(left), inside(right))
        case ast.UnaryOp(ast.Not(), operand):
            return op("not", inside(operand))
        case ast.IfExp(condition, then, otherwise):
            return ir.Select(inside(condition), inside(then), inside(otherwise))
        case ast.Subscript(ast.Name(name), ast.Tuple(index)):
            return ir.Load(ir.Var(name, names[name]), tuple(map(inside, index)))
        case ast.Subscript(ast.Name(name), index):
            return ir.Load(ir.Var(name, names[name]), (inside(index),))
        case ast.Call(ast.Name("at"), [index]):
            return inside(index)
        case ast.Call(ast.Name(name), args):
            return op(name, *map(inside, args))
    raise AssertionError(ast.dump(node))


def _kind(value: Any) -> ir.ScalarType:
    return {bool: ir.BOOLEAN, int: ir.INTEGER, float: ir.FLOAT}[type(value)]
