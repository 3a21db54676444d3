"""The intermediate representation of generated code: typed expressions and statements.

Its rules, which `verify` checks after each pass: every expression has a type; a name is bound once, by `Let`, by a loop
or as a parameter; `Store` changes a name that has been bound before, or an entry of an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from workbench.core.domain import Bool, Domain, Reals

# --- types ------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class ScalarType:
    """A type of single values."""

    name: str


BOOLEAN, INTEGER, FLOAT = ScalarType("Bool"), ScalarType("Int"), ScalarType("Float")
LINKS = ScalarType("Links")
"""What `link_rows` returns: hash chains through the rows of a table."""
NOTHING = ScalarType("Nothing")


@dataclass(frozen=True)
class ArrayType:
    """An array of scalars."""

    item: ScalarType
    axes: int = 1


CodeType = ScalarType | ArrayType


def type_of(domain: Domain) -> ScalarType:
    """Return the type of the numbers that represent values of a scalar domain."""
    if isinstance(domain, Bool):
        return BOOLEAN
    return FLOAT if isinstance(domain, Reals) else INTEGER


# --- expressions ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Const:
    """A known number."""

    value: Any
    type: CodeType


@dataclass(frozen=True)
class Var:
    """A parameter or a bound name."""

    name: str
    type: CodeType


@dataclass(frozen=True)
class Op:
    """An operator of the table `operators.OPERATORS`, or a call of one of its kernels."""

    name: str
    args: tuple[Expr, ...]
    type: CodeType


@dataclass(frozen=True)
class Load:
    """An entry of an array; with fewer indices than axes, a row of it."""

    array: Var
    index: tuple[Expr, ...]

    @property
    def type(self) -> CodeType:
        """The type of the entry, or of the row."""
        kind = self.array.type
        assert isinstance(kind, ArrayType)
        left = kind.axes - len(self.index)
        return replace(kind, axes=left) if left else kind.item


@dataclass(frozen=True)
class Select:
    """`then if condition else otherwise`; `predictable`: branch prediction works, so that a jump is cheap."""

    condition: Expr
    then: Expr
    otherwise: Expr
    predictable: bool = False

    @property
    def type(self) -> CodeType:
        """The type of both sides."""
        return self.then.type


Expr = Const | Var | Op | Load | Select
TRUE, FALSE = Const(True, BOOLEAN), Const(False, BOOLEAN)


def number(name: str) -> Var:
    """Return a name for an integer."""
    return Var(name, INTEGER)


def array(name: str, item: ScalarType, axes: int = 1) -> Var:
    """Return a name for an array."""
    return Var(name, ArrayType(item, axes))


def integer(value: int) -> Const:
    """Return an integer constant."""
    return Const(value, INTEGER)


# --- statements -------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Let:
    """Binds a name; if `pinned`, the value is not moved into the statement that uses it."""

    name: str
    value: Expr
    pinned: bool = False

    @property
    def var(self) -> Var:
        """The name as an expression."""
        return Var(self.name, self.value.type)


@dataclass(frozen=True)
class Store:
    """Changes a name or an entry of an array."""

    target: Var | Load
    value: Expr


@dataclass(frozen=True)
class If:
    """Statements under a condition."""

    condition: Expr
    body: CodeBlock


@dataclass(frozen=True)
class For:
    """A loop over `range(start, stop, step)`."""

    name: str
    start: Expr
    stop: Expr
    body: CodeBlock
    step: int = 1


@dataclass(frozen=True)
class ForEach:
    """A loop over the entries of an array of integers."""

    name: str
    entries: Expr
    body: CodeBlock


@dataclass(frozen=True)
class While:
    """A loop that runs until a number is 0."""

    number: Var
    body: CodeBlock


@dataclass(frozen=True)
class Do:
    """A call for its effect."""

    call: Op


@dataclass(frozen=True)
class Break:
    """Exit from the loop."""


@dataclass(frozen=True)
class Continue:
    """Start of the next iteration of the loop."""


@dataclass(frozen=True)
class ReturnValues:
    """Return from the function with a value, or with a tuple of several."""

    values: tuple[Expr, ...]


Statement = Let | Store | If | For | ForEach | While | Do | Break | Continue | ReturnValues
CodeBlock = tuple[Statement, ...]


@dataclass(frozen=True)
class CodeFunction:
    """A function of generated code."""

    name: str
    parameters: tuple[Var, ...]
    body: CodeBlock


# --- walks ------------------------------------------------------------------------------------------------


def parts(expr: Expr) -> tuple[Expr, ...]:
    """Return the direct subexpressions of an expression."""
    match expr:
        case Op(_, args):
            return args
        case Load(array, index):
            return (array, *index)
        case Select(condition, then, otherwise):
            return condition, then, otherwise
    return ()


def with_parts(expr: Expr, inside: Sequence[Any]) -> Expr:
    """Return the expression with other subexpressions."""
    match expr:
        case Op():
            return replace(expr, args=tuple(inside))
        case Load():
            return Load(inside[0], tuple(inside[1:]))
        case Select():
            condition, then, otherwise = inside
            return Select(condition, then, otherwise, expr.predictable)
    return expr


def rewrite(rule: Callable[[Expr], Expr], expr: Expr) -> Expr:
    """Apply a rule to an expression and all its subexpressions, bottom-up."""
    before = parts(expr)
    after = [rewrite(rule, part) for part in before]
    if any(a is not b for a, b in zip(after, before, strict=True)):
        expr = with_parts(expr, after)
    return rule(expr)


def nodes(expr: Expr) -> Iterator[Expr]:
    """Yield an expression and all its subexpressions."""
    yield expr
    for part in parts(expr):
        yield from nodes(part)


def variables(exprs: Iterable[Expr]) -> Iterator[str]:
    """Yield the names in expressions, with repetitions."""
    for expr in exprs:
        if isinstance(expr, Var):
            yield expr.name
        yield from variables(parts(expr))


def own_expressions(statement: Statement) -> Iterator[Expr]:
    """Yield the expressions of a statement, without those in its body and the name that it changes."""
    for name, value in vars(statement).items():
        if isinstance(value, Expr) and not (name == "target" and isinstance(value, Var)):
            yield value
        elif name == "values":
            yield from value


def with_expressions(statement: Statement, rule: Callable[[Expr], Expr]) -> Statement:
    """Rewrite the expressions of a statement by a rule, without those in its body."""
    own = list(own_expressions(statement))
    if isinstance(statement, ReturnValues):
        return ReturnValues(tuple(rewrite(rule, each) for each in own))
    changes = {name: rewrite(rule, value) for name, value in vars(statement).items() if any(value is e for e in own)}
    return replace(statement, **changes)  # type: ignore[arg-type]


def body_of(statement: Statement) -> CodeBlock:
    """Return the statements inside a statement."""
    return statement.body if isinstance(statement, If | For | ForEach | While) else ()


def within(block: Iterable[Statement]) -> Iterator[Statement]:
    """Yield all statements of a block, including nested ones, outer ones first."""
    for statement in block:
        yield statement
        yield from within(body_of(statement))


def count_statements(function: CodeFunction) -> int:
    """Return the number of statements in a function."""
    return sum(1 for _ in within(function.body))


def map_blocks(change: Callable[[CodeBlock], CodeBlock], block: CodeBlock) -> CodeBlock:
    """Apply a change to all blocks inside a block, then to the block."""
    inside = (
        replace(each, body=map_blocks(change, each.body)) if isinstance(each, If | For | ForEach | While) else each
        for each in block
    )
    return change(tuple(inside))


def read_names(statement: Statement) -> Iterator[str]:
    """Yield the names that a statement reads, also in its body."""
    for each in within((statement,)):
        yield from variables(own_expressions(each))


def outer_names(statement: Statement) -> set[str]:
    """Return the names that a statement binds, reads or changes, except names bound inside it."""
    inside = (each.name for each in within(body_of(statement)) if isinstance(each, Let | For | ForEach))
    own = {statement.name} if isinstance(statement, For | ForEach) else set[str]()
    return {*read_names(statement), *list_written_names(statement)} - own - {*inside}


def list_written_names(statement: Statement) -> set[str]:
    """Return the names that a statement binds or changes, including arrays, also in its body."""
    names = set()
    for each in within((statement,)):
        match each:
            case Let(name) | For(name) | ForEach(name) | Store(Var(name)) | Store(Load(Var(name))):
                names.add(name)
            case Do(call):
                names.update(variables(call.args))
    return names
