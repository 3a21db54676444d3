"""Passes over generated code: each takes a function and returns an equivalent one.

The rule of this module: a pass depends only on the intermediate representation. `run_passes` verifies the result of
each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.operators import add, op
from workbench.executors.compiled.code.verify import verify

Pass = Callable[[ir.CodeFunction], ir.CodeFunction]

EARLIER = 24
"""Number of steps by which a row is prefetched before its use."""

LARGE = 1 << 16
"""Number of rows from which on a table is prefetched: smaller ones are in the cache."""

DEEPEST = 40
"""Maximum depth of an expression on one line; Python's parser gives up at 200 nested parentheses."""


def run_passes(function: ir.CodeFunction, passes: Sequence[Pass]) -> ir.CodeFunction:
    """Apply passes to a function, and verify it before them and after each."""
    verify(function)
    for each in passes:
        function = verify(each(function))
    return function


def _list_changed_names(function: ir.CodeFunction) -> set[str]:
    """Return the names that are changed after they are bound."""
    stores = (each.target for each in ir.within(function.body) if isinstance(each, ir.Store))
    return {target.name for target in stores if isinstance(target, ir.Var)}


def drop_unused(function: ir.CodeFunction) -> ir.CodeFunction:
    """Remove the names that nothing reads."""
    read = Counter(name for each in function.body for name in ir.read_names(each))
    changed = _list_changed_names(function)

    def needed(block: ir.CodeBlock) -> ir.CodeBlock:
        statements: list[ir.Statement] = []
        for statement in reversed(block):
            if isinstance(statement, ir.Let) and not read[statement.name] and statement.name not in changed:
                read.subtract(ir.variables((statement.value,)))
            else:
                statements.append(statement)
        return tuple(reversed(statements))

    return replace(function, body=ir.map_blocks(needed, function.body))


def inline_single_uses(function: ir.CodeFunction) -> ir.CodeFunction:
    """Move values that are used once to their use, unless something that they read is written in between."""
    uses = Counter(name for each in function.body for name in ir.read_names(each))
    once = {name for name, count in uses.items() if count == 1} - _list_changed_names(function)
    return replace(function, body=ir.map_blocks(partial(_inline_in_block, once), function.body))


def _inline_in_block(once: Collection[str], block: ir.CodeBlock) -> ir.CodeBlock:
    movable: dict[str, tuple[int, int, ir.Expr, set[str]]] = {}
    """By name: the statement that binds it, the depth of its value, the value, and all names that it reads."""
    moved, last_written, statements = set[str](), dict[str, int](), list[ir.Statement]()
    for number, statement in enumerate(block):
        inside: list[str] = []

        def put(expr: ir.Expr, inside: list[str] = inside) -> ir.Expr:
            if not isinstance(expr, ir.Var) or expr.name not in movable:
                return expr
            bound, _, value, reads = movable[expr.name]
            if any(last_written.get(name, -1) > bound for name in reads):
                return expr
            inside.append(expr.name)
            return value

        changed = ir.with_expressions(statement, put)
        moved.update(inside)
        if isinstance(changed, ir.Let) and changed.name in once and not changed.pinned and not _is_array(changed.value):
            depth = 1 + max((movable[name][1] for name in inside), default=0)
            if depth < DEEPEST:
                movable[changed.name] = number, depth, changed.value, set(ir.variables((changed.value,)))
        last_written.update(dict.fromkeys(ir.list_written_names(changed), number))
        statements.append(changed)
    return tuple(each for each in statements if not (isinstance(each, ir.Let) and each.name in moved))


def _is_array(expr: ir.Expr) -> bool:
    """Whether an expression is an array, which `Load` needs a name for."""
    return isinstance(expr.type, ir.ArrayType)


def _with_rule(function: ir.CodeFunction, rule: Callable[[ir.Expr], ir.Expr]) -> ir.CodeFunction:
    """Apply a rule to all expressions of a function."""

    def change(block: ir.CodeBlock) -> ir.CodeBlock:
        return tuple(ir.with_expressions(each, rule) for each in block)

    return replace(function, body=ir.map_blocks(change, function.body))


def select_without_jumps(function: ir.CodeFunction) -> ir.CodeFunction:
    """Compute both sides of unpredictable conditionals, which depend on data."""

    def rule(expr: ir.Expr) -> ir.Expr:
        return op("pick", *ir.parts(expr)) if isinstance(expr, ir.Select) and not expr.predictable else expr

    return _with_rule(function, rule)


_ROUNDED = {
    "mul": "rounded_product",
    "div": "rounded_div",
    "mod": "rounded_mod",
    "quotient": "rounded_div",
    "remainder": "rounded_mod",
}


def round_as_processors(function: ir.CodeFunction) -> ir.CodeFunction:
    """Compute floats as a CPU does, where a device would round differently.

    A device fuses multiplication and addition, and computes remainders from rounded quotients.
    """

    def rule(expr: ir.Expr) -> ir.Expr:
        rounded = isinstance(expr, ir.Op) and expr.type == ir.FLOAT and expr.name in _ROUNDED
        return op(_ROUNDED[expr.name], *expr.args) if rounded and isinstance(expr, ir.Op) else expr

    return _with_rule(function, rule)


# --- loops over rows of tables ----------------------------------------------------------------------------


def fuse_row_loops(function: ir.CodeFunction) -> ir.CodeFunction:
    """Fuse loops over the same rows, unless one depends on another."""
    return replace(function, body=ir.map_blocks(_fuse_in_block, function.body))


class _RowLoop(NamedTuple):
    """A loop over the rows that a table uses, under a condition."""

    condition: ir.Expr
    loop: ir.For
    rows: ir.If

    @classmethod
    def of(cls, statement: ir.Statement) -> _RowLoop | None:
        """Return the loop in a statement, if it only folds: it has no break, and writes to no array."""
        condition: ir.Expr = ir.TRUE
        if isinstance(statement, ir.If) and len(statement.body) == 1:
            condition, statement = statement.condition, statement.body[0]
        if not (isinstance(statement, ir.For) and len(statement.body) == 1 and isinstance(statement.body[0], ir.If)):
            return None
        rows = statement.body[0]
        effects = (each for each in ir.within(rows.body) if isinstance(each, ir.Break | ir.Do | ir.Store))
        collects = all(isinstance(each, ir.Store) and isinstance(each.target, ir.Var) for each in effects)
        return cls(condition, statement, rows) if collects else None

    @property
    def header(self) -> tuple[ir.Expr, ...]:
        """The range and the conditions of the loop."""
        return self.condition, self.loop.start, self.loop.stop, self.rows.condition

    def with_body(self, body: ir.CodeBlock) -> ir.Statement:
        """Return the loop with another body."""
        loop = replace(self.loop, body=(replace(self.rows, body=body),))
        return loop if self.condition == ir.TRUE else ir.If(self.condition, (loop,))


def _fuse_in_block(block: ir.CodeBlock) -> ir.CodeBlock:
    statements = list(block)
    first = 0
    while first < len(statements):
        one = _RowLoop.of(statements[first])
        second = first + 1
        while one is not None and second < len(statements):
            other = _RowLoop.of(statements[second])
            moved = (
                _find_needed(statements, first, second) if other is not None and other.header == one.header else None
            )
            if moved is not None and other is not None:
                rest = [each for k, each in enumerate(statements) if k > first and k != second and k not in moved]
                one = one._replace(rows=replace(one.rows, body=(*one.rows.body, *other.rows.body)))
                statements = [*statements[:first], *(statements[k] for k in moved), one.with_body(one.rows.body), *rest]
                first += len(moved)
                second = first
            second += 1
        first += 1
    return tuple(statements)


def _find_needed(block: Sequence[ir.Statement], first: int, second: int) -> list[int] | None:
    """Return the statements between two on which the second depends; None where it depends on the first."""
    needed, indices = ir.outer_names(block[second]), list[int]()
    for k in range(second - 1, first, -1):
        if not needed.isdisjoint(ir.list_written_names(block[k])):
            indices.insert(0, k)
            needed |= ir.outer_names(block[k])
    return indices if needed.isdisjoint(ir.list_written_names(block[first])) else None


# --- loops over steps -------------------------------------------------------------------------------------


def hoist_invariants(function: ir.CodeFunction) -> ir.CodeFunction:
    """Move computations that are the same in each iteration out of a loop."""

    def hoist(block: ir.CodeBlock) -> Iterator[ir.Statement]:
        for statement in block:
            if isinstance(statement, ir.For):
                varying = {statement.name} | {name for each in statement.body for name in ir.list_written_names(each)}
                varying -= {each.name for each in statement.body if isinstance(each, ir.Let)}
                inside = list[ir.Statement]()
                for each in statement.body:
                    if isinstance(each, ir.Let) and varying.isdisjoint(ir.read_names(each)):
                        yield each
                    else:
                        varying |= ir.list_written_names(each)
                        inside.append(each)
                statement = replace(statement, body=tuple(inside))
            yield statement

    return replace(function, body=ir.map_blocks(lambda block: tuple(hoist(block)), function.body))


def read_ahead(function: ir.CodeFunction, outputs: Collection[str]) -> ir.CodeFunction:
    """Read all inputs at the beginning of an iteration of the loop over steps, and write outputs at its end.

    High-latency memory, as of a GPU, then serves many reads at a time. (A compiler cannot do this: outputs might alias
    inputs.)
    """

    def ahead(statement: ir.Statement) -> ir.Statement:
        if not isinstance(statement, ir.For):
            return statement
        first = [each for each in statement.body if isinstance(each, ir.Let) and each.pinned]
        middle, last = list[ir.Statement](), list[ir.Statement]()
        for each in statement.body:
            if isinstance(each, ir.Store) and isinstance(each.target, ir.Load) and each.target.array.name in outputs:
                index, value = ir.Let(f"place{len(last)}", each.target.index[0]), ir.Let(f"late{len(last)}", each.value)
                middle += [index, value]
                last.append(ir.Store(replace(each.target, index=(index.var,)), value.var))
            elif each not in first:
                middle.append(each)
        return replace(statement, body=(*first, *middle, *last))

    return replace(function, body=tuple(map(ahead, function.body)))


def prefetch_rows(function: ir.CodeFunction, tables: Sequence[Sequence[ir.Var]]) -> ir.CodeFunction:
    """Prefetch the rows of large tables that a later step will look up for its inputs.

    Parameters
    ----------
    tables: the arrays of each, the usage flags first.
    """

    def prefetch(statement: ir.Statement) -> ir.Statement:
        if not isinstance(statement, ir.For) or statement.step != 1:
            return statement
        prefetches = [each for arrays in tables for each in _prefetches(statement, arrays)]
        return replace(statement, body=(*prefetches, *statement.body))

    return replace(function, body=tuple(map(prefetch, function.body)))


def _prefetches(loop: ir.For, arrays: Sequence[ir.Var]) -> Iterator[ir.Statement]:
    """Yield the prefetches of a table: for each key that is an input, or computed from one."""
    later = op("min", add(ir.number(loop.name), ir.integer(EARLIER)), op("sub", loop.stop, ir.integer(1)))

    def then(expr: ir.Expr) -> ir.Expr:
        return later if expr == ir.number(loop.name) else expr

    lets = {each.name: each for each in loop.body if isinstance(each, ir.Let)}
    arriving = {
        name: ir.rewrite(then, each.value)
        for name, each in lets.items()
        if each.pinned and loop.name in ir.variables((each.value,))
    }
    ops = [
        each for statement in ir.within(loop.body) for expr in ir.own_expressions(statement) for each in ir.nodes(expr)
    ]
    finds = [each for each in ops if isinstance(each, ir.Op) and each.name.startswith("find")]
    finds = [each for each in finds if each.args[0] == arrays[0]]
    keys = [each.args[2] for each in finds if each.name == "find"]
    keys += [lets[key.name].value for key in keys if isinstance(key, ir.Var) and key.name in lets]
    rows = [op("first_row", arrays[0], arriving[name]) for name in sorted({*ir.variables(keys)} & arriving.keys())]
    for pair in dict.fromkeys(each.args[3:] for each in finds if each.name == "find_pair"):
        names = list(ir.variables(pair))
        if len(names) == len(pair) and set(names) <= arriving.keys():
            rows.append(op("first_row_of_pair", arrays[0], *(arriving[name] for name in names)))
    statements = list[ir.Statement]()
    for number, row in enumerate(rows):
        let = ir.Let(f"early_{arrays[0].name}_{number}", row)
        statements += [let, *(ir.Do(op("soon", array, let.var)) for array in arrays)]
    if statements:
        yield ir.If(op("gt", op("len", arrays[0]), ir.integer(LARGE)), tuple(statements))
