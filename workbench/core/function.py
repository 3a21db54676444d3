"""Functions: stateless, event to event.

A `Function` is written once, as a Python callable over overloaded operands; `specialise` runs it once on symbols of
given domains, which type-checks it and gives the term from which all else is derived. An opaque Python function is
not analysed: it is called on values, and over small finite domains it is tabulated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from inspect import unwrap
from math import inf
from typing import Any, overload

from workbench.core import maps, ops
from workbench.core.domain import (
    Anything,
    Bool,
    Domain,
    Integer,
    Integers,
    ModelScope,
    Overflowing,
    Range,
    Reals,
    SomeTexts,
    Value,
)
from workbench.core.evaluate import compile_terms, compile_value
from workbench.core.fields import Map, Tuple, join_parts, resolve, split, within
from workbench.core.fold import map_leaves, substitute
from workbench.core.lookup import read_item, read_table, shift_left, shift_right, write_item
from workbench.core.named_operators import NAMED_OPERATORS
from workbench.core.ops import PLAIN, Operator
from workbench.core.range_escape import can_escape, escape_condition
from workbench.core.ranges import narrow
from workbench.core.tabulation import decision_tree, needs_table, takes
from workbench.core.term import (
    FALSE,
    OVERLOADS,
    O,
    Term,
    const,
    domain_of,
    has_view,
    is_symbolic,
    leaves,
    remove_names,
    var,
)
from workbench.core.typing_rules import TABLE_LIMIT, is_text, literal_domain
from workbench.errors import DomainError, Overflow, PipelineError, Refused, TypingError, WorkbenchError
from workbench.extensions import PartTable
from workbench.python_files import describe, locate


@dataclass(frozen=True)
class Function:
    """A stateless function of `arity` events.

    Parameters
    ----------
    name: its name in texts and drawings.
    arity: number of arguments.
    build: a callable over Python values and terms alike (operators of `core.ops`).
    opaque: whether `build` is an ordinary Python function that must not be run on symbols.
    result: the domain of the results; needed for opaque functions only.
    start: the value a cumulation starts from (the paper's implicit sigma_0), if the function has one;
        a callable takes the domain, e.g. `max` starts from the smallest value.
    associative: the domains on which f(f(a, b), c) is exactly f(a, f(b, c)), and the start value changes nothing.
    rounds: the domains on which the grouping of its cumulation (or of the sum that it is) changes the rounding, and
        nothing else.
    inverse: an operation that undoes it, g(f(a, b), b) = a, if it is commutative as well.
    takes: the types of the arguments of an opaque function, where it declares them.
    """

    name: str
    arity: int
    build: Callable[..., Any] = field(repr=False)
    opaque: bool = False
    result: Domain | None = None
    start: Value | Callable[[Domain], Value] | None = field(default=None, repr=False)
    associative: Callable[[Domain], bool] | None = field(default=None, repr=False, compare=False)
    rounds: Callable[[Domain], bool] | None = field(default=None, repr=False, compare=False)
    inverse: Operator | None = field(default=None, repr=False, compare=False)
    takes: tuple[Domain, ...] = ()

    @overload
    def __call__(self, first: O, /, *rest: Any) -> O: ...
    @overload
    def __call__(self, first: object, second: O, /, *rest: Any) -> O: ...
    @overload
    def __call__(self, *args: Any) -> Any: ...
    def __call__(self, *args: Any) -> Any:
        """Apply the function to streams (lifting), terms or values."""
        for arg in args:
            if hasattr(type(arg), "lift"):
                return arg.lift(self, args)
        if self.opaque and is_symbolic(args):
            what = f"the Python function '{self.name}' cannot be applied to symbols"
            raise Refused(what, hint="apply it to streams, in a pipeline, not in a function")
        return self.build(*args)

    def resolve(self, over: Domain | ModelScope) -> Function:
        """Return this function with the unbounded types in its declared result replaced."""
        if self.result is None:
            return self
        return replace(self, result=resolve(self.result, over))

    def is_associative(self, domain: Domain) -> bool:
        """Whether the function is known to be exactly associative on the values of this domain."""
        return self.associative is not None and self.associative(domain)

    def is_rounding(self, domain: Domain) -> bool:
        """Whether only rounding keeps the function from being associative on the values of this domain."""
        return self.rounds is not None and self.rounds(domain)

    def start_in(self, domain: Domain) -> Value | None:
        """Return the start value of a cumulation over `domain`, or None if the function has none."""
        return self.start(domain) if callable(self.start) else self.start

    def specialise(self, domains: Sequence[Domain]) -> TypedFunction:
        """Return this function over given argument domains; TypingError where it is not defined on them."""
        domains = tuple(domains)
        if len(domains) != self.arity:
            raise PipelineError(f"function '{self.name}' takes {self.arity} arguments, not {len(domains)}")
        symbols = tuple(var(f"_{i}", d) for i, d in enumerate(domains))
        if not self.opaque:
            body = self.build(*symbols)
            body = map_leaves(lambda v: v if isinstance(v, Term) else const(v, literal_domain(v)), body)
            result = domain_of(body)
            if needs_table(body, (*domains, result)):
                table = self._table(symbols, domains, result, compile_value(body, symbols))
                body = body if table is None else table
            return TypedFunction(self, domains, symbols, body, result)
        if self.result is None:
            raise TypingError(
                f"the Python function '{self.name}' does not declare the domain of its results",
                hint="give it one: user_function(f, result=BOOL)",
            )
        for i, (domain, parameter) in enumerate(zip(domains, self.takes, strict=False), 1):
            if not takes(parameter, domain):
                raise TypingError(f"argument {i} of '{self.name}' is {parameter}, not {domain}")
        table, failure = None, ""
        try:
            table = self._table(symbols, domains, self.result, lambda *args: self.called(args))
        except WorkbenchError as error:  # the error is about an event that may never come
            failure = error.what
            if error.__cause__ is not None and (
                texts := next((d.labels for d in domains if isinstance(d, SomeTexts)), ())
            ):
                failure += f" (in a check the texts are {', '.join(texts)}: --values str=de,fr gives others)"
        return TypedFunction(self, domains, symbols, table, self.result, failure)

    def _table(
        self, symbols: tuple[Any, ...], domains: tuple[Domain, ...], result: Domain, run: Callable[..., Value]
    ) -> Any:
        size = 1
        for domain in domains:
            size *= domain.size or TABLE_LIMIT + 1
        if size > TABLE_LIMIT or not result.finite:
            return None

        def constant(*arguments: Value) -> Any:
            value = run(*arguments)
            if value not in result:
                raise DomainError(f"{self.name}{arguments} = {value!r} is not in its result domain {result}")
            return const(value, result)

        return decision_tree(list(symbols), [tuple(d.values()) for d in domains], constant)

    def called(self, args: Sequence[Any]) -> Value:
        """Return an opaque function's result; its exceptions become an error that names it."""
        try:
            return self.build(*args)
        except WorkbenchError:
            raise
        except Exception as error:
            arguments, code = ", ".join(map(repr, args)), getattr(unwrap(self.build), "__code__", None)
            location = f", in {locate(code.co_filename, error)}" if code is not None else ""
            what = f"the Python function '{self.name}' failed on {arguments}: {describe(error)}{location}"
            raise WorkbenchError(what) from error

    def __str__(self) -> str:
        return self.name


class TypedFunction:
    """A function over fixed domains. Call it on values to compute and on terms to build a term."""

    def __init__(
        self,
        function: Function,
        domains: tuple[Domain, ...],
        symbols: tuple[Any, ...],
        body: Any,
        result: Domain,
        failure: str = "",
        *,
        obliged: bool = False,
    ) -> None:
        self.function = function
        self.domains = domains
        self.symbols = symbols
        self.body = body
        self.result = result
        """The domain of the results."""
        self.failure = failure
        """The reason why its table could not be computed, or an empty string."""
        self.obliged = obliged
        """Whether neither types nor conditions prove that its results are in their range."""

    @property
    def name(self) -> str:
        """The function's name."""
        return self.function.name

    def __call__(self, *args: Any) -> Any:
        """Return the result on values, or a term when any argument is symbolic."""
        for arg in args:
            if type(arg) not in PLAIN and is_symbolic(arg):
                return self.apply(args)
        return self.plain(*args)

    @cached_property
    def plain(self) -> Callable[..., Any]:
        """This function on values alone, without tests of its arguments."""
        if self.function.opaque:
            return self._opaque
        flag = escape_condition([self.body], Overflowing.CHECKED)
        parts = (part for domain in (*self.domains, self.result) for part in within(domain))
        if flag is FALSE and not any(isinstance(part, Map) and part.finite for part in parts):
            return compile_value(self.body, self.symbols)
        values = compile_terms([self.body], self.symbols)
        escaped = compile_terms([flag], self.symbols)

        def run(*args: Any) -> Any:
            flat = [part for domain, arg in zip(self.domains, args, strict=True) for part in split(domain, arg)]
            if escaped(*flat)[0]:
                arguments = ", ".join(map(str, args))
                raise Overflow(
                    f"'{self.name}' on {arguments} leaves the checked domain {self.result}",
                    hint="choose a larger domain, or modular or saturating integers",
                )
            return join_parts(self.result, iter(values(*flat)))

        return run

    def into(self, domain: Domain, conditions: Sequence[Term] = (), *, checked: bool = False) -> TypedFunction:
        """Return this function with its results converted to a domain; unchanged where `fits` does not allow that.

        Whole numbers become floats; numbers that are in a range wherever the `conditions` are true are of that
        range. With `checked`, other numbers are converted, too, and one that leaves the range ends the run.
        """
        if self.body is None or (not isinstance(domain, Reals) and (self.function.opaque or fits(self.result, domain))):
            return self
        body = (
            ops.as_term(self.body, domain)
            if isinstance(domain, Reals)
            else _fit(self.body, domain, conditions, checked)
        )
        if body is None:
            return self
        obliged = can_escape([body], Overflowing.CHECKED) and not can_escape([self.body], Overflowing.CHECKED)
        return TypedFunction(self.function, self.domains, self.symbols, body, domain, obliged=obliged)

    @property
    def obstacle(self) -> str:
        """The reason why this function has no term, or an empty string."""
        if self.body is not None:
            return ""
        if self.failure:
            return f"function '{self.name}' has no translation: {self.failure}"
        infinite = next((d for d in (*self.domains, self.result) if not d.finite), None)
        if infinite is not None:
            return f"function '{self.name}' has no translation and its domain {infinite} is not finite"
        return f"function '{self.name}' has no translation and more than {TABLE_LIMIT} argument values"

    def apply(self, args: tuple[Any, ...]) -> Any:
        """Return the function's term over symbolic arguments."""
        if self.obstacle:
            raise Refused(self.obstacle, hint="use workbench functions, or choose a smaller finite domain")
        if has_view(args):
            arg_domains = zip(args, self.domains, strict=True)
            body = self.function.build(*(a if has_view(a) else ops.as_term(a, d) for a, d in arg_domains))
            return ops.as_term(body, self.result)
        bindings: dict[Term, Term] = {}
        for symbol, arg, domain in zip(self.symbols, args, self.domains, strict=True):
            pairs = zip(leaves(symbol), leaves(ops.as_term(arg, domain)), strict=True)
            bindings.update(pairs)
        return substitute(self.body, bindings)

    def _opaque(self, *args: Any) -> Any:
        value = self.function.called(args)
        if value not in self.result:
            arguments = ", ".join(map(repr, args))
            raise DomainError(f"{self.name}({arguments}) = {value!r} is not in its result domain {self.result}")
        return value

    def __repr__(self) -> str:
        return f"{self.name}: {', '.join(map(str, self.domains))} -> {self.result}"


class NumberTable(Function):
    """A function that reads an entry of a constant table."""

    @classmethod
    def of(cls, name: str, entries: Sequence[int]) -> NumberTable:
        """Return the table of these entries, which count from 0; beyond them it is 0."""
        if len(entries) > TABLE_LIMIT:
            raise PipelineError(f"the table '{name}' has {len(entries)} entries, more than {TABLE_LIMIT}")
        table = tuple(entries)
        return cls(name, 1, lambda index: read_table(table, index))


def user_function(call: Callable[..., Any], *, result: Domain, arity: int | None = None, name: str = "") -> Function:
    """Make a stream function of an opaque Python function.

    Executors call it as it is; the model tabulates it when its domains are finite and small, and refuses it
    otherwise.
    """
    count = arity if arity is not None else call.__code__.co_argcount
    return Function(name or call.__name__, count, call, opaque=True, result=result)


def on_values(function: Function | TypedFunction) -> Callable[..., Any]:
    """Return the function for arguments that are values, never terms or streams."""
    return function.plain if isinstance(function, TypedFunction) else function


def require_typed(function: Function | TypedFunction) -> TypedFunction:
    """Return a function that has been typed, as the functions of a typed processor are."""
    assert isinstance(function, TypedFunction)
    return function


def remove_types(function: Function | TypedFunction) -> Function:
    """Return the function without the domains for which it may have been typed."""
    return function.function if isinstance(function, TypedFunction) else function


def same_domain(a: Domain, b: Domain) -> bool:
    """Whether two domains hold the same values under the same arithmetic (record names aside)."""
    return remove_names(a) == remove_names(b)


def fits(result: Domain, domain: Domain) -> bool:
    """Whether results of one domain are values of another without being changed."""
    if same_domain(result, domain) or (result.numeric and domain.numeric and not domain.finite):
        return True
    if isinstance(result, Range) and isinstance(domain, Range | Integer):
        return domain.lo <= result.lo and result.hi <= domain.hi
    if isinstance(result, Tuple) and isinstance(domain, Tuple) and len(result.fields) == len(domain.fields):
        return all(map(fits, result.fields, domain.fields))
    return False


def is_part(carried: Domain, declared: Domain) -> bool:
    """Whether a domain is the declared one, up to ranges of whole numbers that are narrower."""
    if isinstance(declared, Anything):
        return True
    if isinstance(carried, Tuple) and isinstance(declared, Tuple):
        return len(carried.fields) == len(declared.fields) and all(map(is_part, carried.fields, declared.fields))
    narrower = isinstance(declared, Range | Integers) and isinstance(carried, Range) and fits(carried, declared)
    return narrower or same_domain(carried, declared)


def _fit(value: Any, domain: Domain, conditions: Sequence[Term], checked: bool) -> Any:
    """Convert a value to a domain, as `into` does; None where it cannot be."""
    if fits(domain_of(value), domain):
        return value
    if isinstance(value, tuple) and isinstance(domain, Tuple) and len(value) == len(domain.fields):
        items = [_fit(v, d, conditions, checked) for v, d in zip(value, domain.fields, strict=True)]
        return None if any(item is None for item in items) else tuple(items)
    return narrow(value, domain, conditions, checked=checked) if isinstance(value, Term) else None


# --- the library: operators with the start values of their cumulations ---------------------------------------


def _of(op: Operator, start: Any = None, **known: Any) -> Function:
    return Function(op.symbol, op.arity, op, start=start, **known)


def _wraps(domain: Domain) -> bool:
    """Whether sums and products are those of integers, perhaps modulo N: exact, and never clamped."""
    return isinstance(domain, Integers | Range) or (
        isinstance(domain, Integer) and domain.overflow is Overflowing.MODULAR
    )


def _is_rounded(domain: Domain) -> bool:
    """Whether sums and products are rounded."""
    return isinstance(domain, Reals)


def _is_ordered(domain: Domain) -> bool:
    """Whether the order of the values is total (that of floats is not)."""
    return isinstance(domain, Integers | Integer | Range)


def _truth(domain: Domain) -> bool:
    return isinstance(domain, Bool)


def _negative(a: Any) -> Any:
    """Return the negated number; a float zero changes its sign, too, which 0 - x would not do."""
    whole = isinstance(a, Term) and isinstance(a.domain, Integer | Range | Integers)
    return ops.SUB(0, a) if whole else ops.MUL(a, -1)


def _differ(a: Any, b: Any) -> Any:
    """Return whether two truth values differ (exclusive or); TypingError for other values."""
    if any(not isinstance(x.domain if isinstance(x, Term) else literal_domain(x), Bool) for x in (a, b)):
        raise TypingError("'^' is exclusive or, and needs bool", hint="of whole numbers: wb.functions.XOR(x, y)")
    return ops.NE(a, b)


ADD, SUB = (
    _of(ops.ADD, lambda domain: "" if is_text(domain) else 0, associative=_wraps, rounds=_is_rounded, inverse=ops.SUB),
    _of(ops.SUB, 0),
)
MUL = _of(ops.MUL, 1, associative=_wraps, rounds=_is_rounded)
DIV, MOD = _of(ops.DIV), _of(ops.MOD)
MIN = _of(ops.MIN, lambda domain: getattr(domain, "hi", inf), associative=_is_ordered)
MAX = _of(ops.MAX, lambda domain: getattr(domain, "lo", -inf), associative=_is_ordered)
EVEN, ODD = _of(ops.EVEN), _of(ops.ODD)
EQ, NE = Function("=", 2, ops.equal), Function("!=", 2, lambda a, b: ops.negate(ops.equal(a, b)))
LT, LE, GT, GE = _of(ops.LT), _of(ops.LE), _of(ops.GT), _of(ops.GE)
NOT, IMPLIES = _of(ops.NOT), _of(ops.IMPLIES)
AND, OR = _of(ops.AND, True, associative=_truth), _of(ops.OR, False, associative=_truth)
IF = ite = Function("if", 3, ops.ite)
XOR = _of(ops.XOR, 0, associative=_is_ordered, inverse=ops.XOR)
BIT_AND, BIT_OR = _of(ops.BIT_AND, associative=_is_ordered), _of(ops.BIT_OR, 0, associative=_is_ordered)
SHIFT_LEFT, SHIFT_RIGHT = Function("shift_left", 2, shift_left), Function("shift_right", 2, shift_right)
READ_ITEM, WRITE_ITEM = Function("[]", 2, read_item), Function("[]:=", 3, write_item)
GET, HAS, SIZE = Function("get", 3, maps.get), Function("has", 2, maps.has), Function("size", 1, maps.size)
ALL_VALUES, ANY_VALUE = Function("all_values", 1, maps.all_values), Function("any_value", 1, maps.any_value)
PUT, REMOVE = Function("put", 3, maps.put), Function("remove", 2, maps.remove)
SUM_VALUES = Function(  # maps have no order
    "sum_values", 1, maps.sum_values, rounds=lambda domain: isinstance(domain, Map) and _is_rounded(domain.value)
)
NEG = Function("neg", 1, _negative)
ABS = Function("abs", 1, lambda a: ops.ite(ops.LE(a, 0), ops.SUB(0, a), a))  # -0.0 too

NAMED = {op.symbol: _of(op) for op in NAMED_OPERATORS}
"""The functions of floats and texts, by their names in the language."""

OVERLOADS |= {"/": NAMED["/"], "neg": NEG, "abs": ABS, "^": Function("!=", 2, _differ)}

IS_NULL, VALUE_OR = _of(ops.IS_NULL), Function("value_or", 2, ops.value_or)

_NAMED = (
    ADD, SUB, MUL, DIV, MOD, MIN, MAX, EVEN, ODD, EQ, NE, LT, LE, GT, GE, NOT, AND, OR, IMPLIES, IF, NEG, ABS,
    XOR, BIT_AND, BIT_OR, SHIFT_LEFT, SHIFT_RIGHT,
    GET, HAS, PUT, REMOVE, SIZE, ALL_VALUES, ANY_VALUE, SUM_VALUES, IS_NULL, VALUE_OR,
)  # fmt: skip
LIBRARY = PartTable({f.name: f for f in _NAMED} | NAMED, Function)
"""The functions that have a name in the language."""


def as_function(value: Any) -> Function:
    """Return the Function for a Function, an operator of `core.ops` or a name in the library."""
    if isinstance(value, Function):
        return value
    if isinstance(value, Operator):
        value = value.symbol
    if isinstance(value, str) and value in LIBRARY:
        return LIBRARY[value]
    raise PipelineError(
        f"{value!r} is not a function",
        hint="use a workbench function, a name such as '+', or user_function(f, result=DOMAIN)",
    )
