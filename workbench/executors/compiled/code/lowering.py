"""Lowering of terms to the intermediate representation: a name for every operation, and loops over rows of tables.

The rule of this module: terms that depend on the number of a row are computed in a loop over rows; all others before
it, once. Equal terms are one object, and so computed once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

from workbench.core.domain import Domain, Integer, Integers, Overflowing, Range, Reals
from workbench.core.fold import list_eager_arguments, postorder
from workbench.core.memory import (
    ANY_ROW,
    ENTRIES,
    EXTENT,
    FINDS,
    IS_USED,
    READS,
    ROW,
    SOME_ENTRY,
    SOME_ROW_OF,
    SUM_ROWS,
    Array,
    RowFold,
    RowSearch,
    is_row,
)
from workbench.core.named_operators import FLOAT_OPERATORS
from workbench.core.ops import CAST
from workbench.core.term import Term
from workbench.errors import UnsupportedNode
from workbench.executors.compiled.code import ir
from workbench.executors.compiled.code.numbers import encode_any
from workbench.executors.compiled.code.operators import OPERATORS, add, op
from workbench.executors.compiled.lower.words import refuse_large

EXACT = 2**53
"""The bound up to which every integer is a float."""

ROW_VAR = ir.number("row")
"""The number of a row (`ROW`), in a loop over a table."""


def constant(term: Term) -> ir.Const:
    """Return the number that represents a constant."""
    return ir.Const(encode_any(term.domain, term.payload), ir.type_of(term.domain))


class _Scope(NamedTuple):
    """A list of statements: of a loop over rows or, without a row, outside of all loops."""

    row: Term | None
    memo: dict[Term, ir.Expr]
    block: list[ir.Statement]


class Lowering:
    """Lowers terms to expressions, and appends the statements that they need to `block`.

    Parameters
    ----------
    names: expressions for variables and arrays.
    suffix: end of each name that is bound.
    """

    def __init__(self, names: Mapping[Term, ir.Expr], suffix: str = "") -> None:
        self._suffix, self._count = suffix, 0
        self._scopes = [_Scope(None, dict(names), [])]
        self._rows: dict[Term, frozenset[Term]] = {row: frozenset() for row in names}
        self._links: dict[str, ir.Var] = {}

    @property
    def block(self) -> list[ir.Statement]:
        """The statements outside of all loops over rows."""
        return self._scopes[0].block

    def __contains__(self, term: object) -> bool:
        """Whether a term has been lowered in a scope that is open."""
        return any(term in scope.memo for scope in self._scopes)

    def __call__(self, term: Term) -> ir.Expr:
        """Return the expression of a term: a name, a constant, or a read of one."""
        expr = self._find_lowered(term)
        if expr is None:
            order = list(postorder([term], self))
            for node in order:
                refuse_large(node)
            for node in order:
                if self._is_here(node):
                    self._scope_of(node).memo[node] = self._visit(node)
            expr = self._find_lowered(term)
        assert expr is not None
        return expr

    def bind(self, value: ir.Expr, term: Term | None = None) -> ir.Var:
        """Bind a value to a new name, in the scope of a term."""
        let = ir.Let(self._fresh(), value)
        (self._scope_of(term) if term is not None else self._scopes[-1]).block.append(let)
        return let.var

    def for_rows(
        self, used: ir.Expr, condition: ir.Expr, fill: Callable[[list[ir.Statement]], None], keys: ir.Expr | None = None
    ) -> ir.Statement:
        """Build a loop over the used rows of a table, under a condition; `fill` appends the body.

        The rows come in any order, or in the order of the keys in this array.
        """
        with self._inside(ROW, ROW_VAR) as body:
            fill(body)
        loop: ir.For | ir.ForEach
        if keys is None:
            rows = ir.If(ir.Load(_array(used), (ROW_VAR,)), tuple(body))
            loop = ir.For(ROW_VAR.name, ir.integer(1), op("len", used), (rows,))
        else:
            loop = ir.ForEach(ROW_VAR.name, op("order_rows", used, keys), tuple(body))
        return loop if condition == ir.TRUE else ir.If(condition, (loop,))

    # --- scopes -------------------------------------------------------------------------------------------

    def _fresh(self) -> str:
        self._count += 1
        return f"t{self._count - 1}{self._suffix}"

    def _find_lowered(self, term: Term) -> ir.Expr | None:
        return next((scope.memo[term] for scope in self._scopes if term in scope.memo), None)

    @contextmanager
    def _inside(self, row: Term, var: ir.Var) -> Iterator[list[ir.Statement]]:
        """Open a scope with the number of a row."""
        self._scopes.append(_Scope(row, {row: var}, []))
        yield self._scopes[-1].block
        self._scopes.pop()

    def _rows_in(self, node: Term) -> frozenset[Term]:
        """Return the rows on whose numbers a term depends, except its own; its arguments must be known."""
        if node not in self._rows:
            if node is ROW or is_row(node):
                self._rows[node] = frozenset((node,))
            else:
                search = isinstance(node.op, RowSearch)
                args = node.args if search else list_eager_arguments(node)
                rows = frozenset[Term]().union(*(self._rows_in(arg) for arg in args))
                self._rows[node] = rows - {node.args[-3]} if search else rows
        return self._rows[node]

    def _is_here(self, node: Term) -> bool:
        """Whether the scopes have the numbers of all rows on which a term depends."""
        return self._rows_in(node) <= {scope.row for scope in self._scopes}

    def _scope_of(self, node: Term) -> _Scope:
        """Return the outermost scope in which a term can be computed."""
        rows = self._rows_in(node)
        return next(scope for scope in reversed(self._scopes) if scope.row in rows or scope.row is None)

    # --- operators ----------------------------------------------------------------------------------------

    def _visit(self, term: Term) -> ir.Expr:
        if term.is_const:
            return constant(term)
        if term.op is None:
            raise UnsupportedNode(f"there is no name for {term!r} in generated code")
        if isinstance(term.op, RowFold):
            return self._collect(term)
        if isinstance(term.op, RowSearch):
            return self._search(term)
        expr = lower_operation(term, [self(arg) for arg in term.args])
        return expr if isinstance(expr, ir.Const | ir.Var) else self.bind(expr, term)

    def _collect(self, term: Term) -> ir.Var:
        """Write a loop that folds a value of each row."""
        scope = self._scope_of(term)
        used, condition, value = self(term.args[0]), self(term.args[1]), term.args[2]
        start = ir.integer(0) if term.op is SUM_ROWS else ir.FALSE
        result = ir.Let(self._fresh(), start)
        scope.block.append(result)
        total = ir.Let(self._fresh(), ir.integer(0))
        if term.op not in (SUM_ROWS, ANY_ROW):
            scope.block.append(total)

        def fill(body: list[ir.Statement]) -> None:
            here = self(value)
            if term.op is SUM_ROWS:
                body.append(ir.Store(result.var, op("add", result.var, here)))
            elif term.op is ANY_ROW:
                body.append(ir.Store(result.var, op("or", result.var, here)))
            else:
                leaves = op("sum_overflows", total.var, here)
                body.append(ir.Store(result.var, op("or", result.var, leaves)))
                body.append(ir.Store(total.var, op("add", total.var, here)))

        scope.block.append(self.for_rows(used, condition, fill))
        return result.var

    def _search(self, term: Term) -> ir.Var:
        """Write a loop that searches for a row that meets a condition."""
        scope = self._scope_of(term)
        used, *operands, row, guard, condition = term.args
        array, others, guard_value = _array(self(used)), [self(each) for each in operands], self(guard)
        result = ir.Let(self._fresh(), ir.FALSE)
        scope.block.append(result)
        outermost = not any(each.row is not None and is_row(each.row) for each in self._scopes)
        links = self._link(term) if outermost else []
        number = ir.number(f"row_{row.name.rpartition(' ')[2]}")
        with self._inside(row, number) as body:
            holds = self(condition)
            body.append(ir.If(holds, (ir.Store(result.var, ir.TRUE), ir.Break())))
        loop: list[ir.Statement]
        if term.op is SOME_ENTRY:
            begin, end = (ir.Load(array, (add(others[0], ir.integer(k)),)) for k in (0, 1))
            loop = [ir.For(number.name, begin, end, tuple(body))]
        elif term.op is SOME_ROW_OF:
            chains, keys = self._links[array.name], others[0]
            body.append(ir.Store(number, op("next_linked", chains, keys, number)))
            loop = [ir.Let(number.name, op("first_linked", chains, *others)), ir.While(number, tuple(body))]
        else:
            loop = [
                ir.For(number.name, ir.integer(1), op("len", array), (ir.If(ir.Load(array, (number,)), tuple(body)),))
            ]
        ends_links = [ir.Do(op("free", each.var)) for each in links]
        if outermost:
            self._links = {}
        scope.block.append(ir.If(guard_value, (*links, *loop, *ends_links)))
        return result.var

    def _link(self, term: Term) -> list[ir.Let]:
        """Return the statements that link the rows of tables in which a search visits only the rows of one key."""
        pairs = {each.args[:2] for each in postorder([term]) if each.op is SOME_ROW_OF}
        links = []
        for used, keys in sorted(pairs, key=repr):
            array = _array(self(used))
            links.append(ir.Let(f"{array.name}_links", op("link_rows", array, self(keys))))
            self._links[array.name] = ir.Var(links[-1].name, ir.LINKS)
        return links


def _array(expr: ir.Expr) -> ir.Var:
    assert isinstance(expr, ir.Var)
    return expr


def entry(array: ir.Expr, domain: Domain, position: ir.Expr) -> ir.Load:
    """Return an entry of an array; an endless array is stored as a ring buffer."""
    if isinstance(domain, Array) and domain.endless:
        position = op("bit_and", position, op("sub", op("len", array), ir.integer(1)))
    return ir.Load(_array(array), (position,))


def lower_operation(term: Term, args: list[ir.Expr]) -> ir.Expr:
    """Lower an operation on computed values."""
    assert term.op is not None
    name = term.op.name
    if term.op in READS:
        return entry(args[0], term.args[0].domain, args[1])
    if term.op is ENTRIES:
        return op("sub", *(ir.Load(_array(args[0]), (add(args[1], ir.integer(k)),)) for k in (1, 0)))
    if term.op is EXTENT:
        return op("len", args[0])
    if name == "ite":
        predictable = term.args[0].op is IS_USED or term.args[1].op in FINDS
        return ir.Select(args[0], args[1], args[2], predictable)
    if term.op.holds and (exact := _compare_exactly(term, args)) is not None:
        return exact
    if (exact_operator := term.op.escapes_from) is not None:
        domain = term.args[0].domain
        assert isinstance(domain, Integer)
        return op("outside", op(exact_operator.name, *args), ir.integer(0), ir.integer(domain.hi))
    if name in ("div", "mod"):
        return fit(term, _lower_division(name, term, *args))
    if term.op is CAST:
        return fit(term, args[0])
    if term.op in FLOAT_OPERATORS:
        return op(name, *(arg if arg.type == ir.FLOAT else op("float", arg) for arg in args))
    if name not in OPERATORS:
        raise UnsupportedNode(f"generated code has no operator '{name}', in {term!r}")
    return fit(term, op(name, *args))


def _lower_division(name: str, term: Term, a: ir.Expr, b: ir.Expr) -> ir.Expr:
    """Lower a quotient or a remainder; cheaper by a positive constant."""
    divisor = term.args[1].payload if term.args[1].is_const else 0
    divisor = divisor if isinstance(divisor, int) and divisor > 0 else 0
    if name == "mod" and divisor:
        if divisor & (divisor - 1) == 0 and isinstance(term.domain, Range | Integer | Integers):
            return op("bit_and", a, ir.integer(divisor - 1))
        left = term.args[0].domain
        if isinstance(left, Range) and left.lo >= 0 and left.hi < 2 * divisor:  # a cyclic counter
            return ir.Select(op("lt", a, b), a, op("sub", a, b), predictable=True)
    return op({"div": "quotient", "mod": "remainder"}[name] if divisor else name, a, b)


def fit(term: Term, exact: ir.Expr) -> ir.Expr:
    """Fit an exact result to the domain of a term."""
    domain = term.domain
    if isinstance(domain, Reals):
        return op("float", exact) if term.op is CAST or exact.type == ir.INTEGER else exact
    if not isinstance(domain, Integer) or (term.op is not None and term.op.name in ("min", "max")):
        return exact
    if domain.overflow is not Overflowing.MODULAR:
        return op("min", op("max", exact, ir.integer(0)), ir.integer(domain.hi))
    if domain.n & domain.hi == 0:  # the low bits, also of a negative number
        return op("bit_and", exact, ir.integer(domain.hi))
    return op("remainder", exact, ir.integer(domain.n))


_WHOLE_FIRST = {
    "=": ("int_same",),
    "!=": ("not", "int_same"),
    "<": ("int_below",),
    ">": ("int_above",),
    "<=": ("int_below", "int_same"),
    ">=": ("int_above", "int_same"),
}
"""Exact comparisons of an integer with a float, where converting the integer would round it."""


def _compare_exactly(term: Term, args: list[ir.Expr]) -> ir.Expr | None:
    """Lower a comparison of an integer with a float exactly, where a machine would round the former; else None."""
    assert term.op is not None
    (a, b), (left, right) = term.args, args
    if _is_long(a) and _has_many_digits(b):
        symbol, pair = term.op.symbol, (left, right)
    elif _has_many_digits(a) and _is_long(b):
        symbol, pair = term.op.mirror, (right, left)
    else:
        return None
    names = _WHOLE_FIRST[symbol]
    calls = [op(name, *pair) for name in names if name != "not"]
    comparison = calls[0] if len(calls) == 1 else op("or", *calls)
    return op("not", comparison) if "not" in names else comparison


def _is_long(term: Term) -> bool:
    """Whether it is an integer that a float may not represent."""
    domain = term.domain
    if term.is_const:
        return not isinstance(domain, Reals) and domain.numeric and abs(term.payload) > EXACT
    return isinstance(domain, Integers) or (isinstance(domain, Integer | Range) and max(-domain.lo, domain.hi) > EXACT)


def _has_many_digits(term: Term) -> bool:
    """Whether it is a float that may be so large that adjacent integers are not floats."""
    return isinstance(term.domain, Reals) and not (term.is_const and abs(term.payload) < EXACT)
