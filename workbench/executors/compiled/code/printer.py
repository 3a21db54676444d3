"""The printer of generated code: functions of the intermediate representation as Python source.

The output runs as it is, and numba compiles it, for a CPU or a GPU.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.operators import OPERATORS

INDENT = "    "


def print_function(function: ir.CodeFunction, *, typed: bool = False) -> str:
    """Return the source of a function; with `typed`, with the types of its parameters, for readers."""
    names = (f"{p.name}: {print_type(p.type)}" if typed else p.name for p in function.parameters)
    lines = [f"def {function.name}({', '.join(names)}):", *_indent(function.body)]
    return "\n".join(lines) + "\n"


def print_block(block: ir.CodeBlock) -> str:
    """Return the source of statements."""
    return "\n".join(line for statement in block for line in _lines(statement))


def print_type(kind: ir.CodeType) -> str:
    """Return the name of a type."""
    if isinstance(kind, ir.ArrayType):
        return f"{kind.item.name}[{', '.join(':' * kind.axes)}]"
    return kind.name


def print_expr(expr: ir.Expr) -> str:
    """Return the source of an expression."""
    match expr:
        case ir.Const(value):
            return _print_float(value) if isinstance(value, float) else repr(value)
        case ir.Var(name):
            return name
        case ir.Op(name, args):
            return OPERATORS[name].python.format(*map(print_expr, args))
        case ir.Load(array, index):
            return f"{print_expr(array)}[{', '.join(map(_print_index, index))}]"
        case ir.Select(condition, then, otherwise):
            return f"({print_expr(then)} if {print_expr(condition)} else {print_expr(otherwise)})"


def _print_index(index: ir.Expr) -> str:
    """Return the source of an index that is not negative, so that machine code need not handle negative indices."""
    return print_expr(index) if isinstance(index, ir.Const) else f"at({print_expr(index)})"


def _print_float(value: float) -> str:
    """Return the source of a float, without names."""
    if math.isnan(value):
        return "(1e999 - 1e999)"
    return {math.inf: "1e999", -math.inf: "-1e999"}.get(value, repr(value))


def _indent(body: Sequence[ir.Statement]) -> Iterator[str]:
    for statement in body:
        for line in _lines(statement):
            yield INDENT + line
    if not body:
        yield f"{INDENT}pass"


def _lines(statement: ir.Statement) -> Iterator[str]:
    """Yield the lines of a statement."""
    match statement:
        case ir.Let(name, value):
            yield f"{name} = {print_expr(value)}"
        case ir.Store(target, value):
            yield f"{print_expr(target)} = {print_expr(value)}"
        case ir.Do(call):
            yield print_expr(call)
        case ir.ReturnValues(values):
            several = ", ".join(map(print_expr, values))
            yield f"return {several}" if len(values) == 1 else f"return ({several})"
        case ir.Break() | ir.Continue():
            yield type(statement).__name__.lower()
        case ir.If() | ir.For() | ir.ForEach() | ir.While():
            yield _head(statement)
            yield from _indent(statement.body)


def _head(statement: Any) -> str:
    """Return the first line of a compound statement."""
    match statement:
        case ir.For(name, start, stop, _, step):
            steps = f", {step}" if step != 1 else ""
            return f"for {name} in range({print_expr(start)}, {print_expr(stop)}{steps}):"
        case ir.ForEach(name, entries):
            return f"for {name} in {print_expr(entries)}:"
        case ir.While(number):
            return f"while {print_expr(number)}:"
    return f"if {print_expr(statement.condition)}:"


def executable(source: str, scope: Mapping[str, Any], name: str = "run") -> Any:
    """Execute a source and return the function that it defines."""
    names = dict(scope)
    exec(compile(source, "<compiled pipeline>", "exec"), names)
    return names[name]
