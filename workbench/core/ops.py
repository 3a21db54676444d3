"""The operators: one table, with one fixed total meaning each.

Every operator is defined once, here: its typing rule and its exact meaning on Python values. An arithmetic
result in a finite integer domain is `domain.fit(exact result)`; that is the whole of modular, saturating and
checked arithmetic. Everything is total, because both branches of a conditional may be computed:

- `a div b` rounds towards minus infinity, and `a div 0 = 0`;
- `a mod b = a - b * (a div b)`, so it has the sign of `b`, and `a mod 0 = a`;
- values of modular domains are compared by their representatives 0..N-1.

An operator called on Python values computes; called with a term among its arguments it builds a simplified
term; called on streams it lets them `lift` it over their events. Processors' steps are written with these calls.
"""

from __future__ import annotations

import importlib
import math
import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, Literal

from workbench.core import typing_rules as rules
from workbench.core.domain import BOOL, Anything, Bool, Domain, Integer, Integers, Overflowing, Range, Reals, SomeFloats
from workbench.core.fields import IndexedTuple, Nullable, Record, parts
from workbench.core.term import FALSE, OVERLOADS, TRUE, Fields, Items, Term, const, intern, is_symbolic, is_view, like
from workbench.core.typing_rules import coerce, corners, literal_domain, unify
from workbench.errors import TypingError

_MIRRORED = str.maketrans("<>", "><")
Rounding = Callable[[float], int]
PLAIN = frozenset((bool, int, float, str, type(None)))
"""Types of values that are neither terms nor streams, nor contain any."""


_ROWS: dict[str, Operator] = {}
"""The operators by name."""


def _restore_row(name: str, values: dict[str, Any]) -> Operator:
    """Return the operator of a name; create one that this process does not have."""
    for module in ("named_operators", "maps", "memory"):  # they have rows
        importlib.import_module(f"workbench.core.{module}")
    return _ROWS.get(name) or Operator(**values)


@dataclass(frozen=True, eq=False)
class Operator:
    """One row of the table. `python` is the format of its exact meaning as Python source."""

    name: str
    arity: int
    symbol: str
    result: rules.TypingRule
    exact: Callable[..., Any]
    python: str
    simplify: Callable[[tuple[Term, ...]], Term | None] = lambda _: None
    binds: bool = False
    """Whether it has a variable of its own, for which its last argument is evaluated many times (`memory.RowFold`)."""
    by_table: bool = False
    """Whether models support it only as a table of a function over small finite domains."""
    null: Literal["strict", "may", "sees"] = "strict"
    """Its treatment of null: it is null for null; it may also be null otherwise; it reads null as a value."""
    holds: str = ""
    """For a comparison: the orders of its operands for which it is true, among `<`, `=` and `>`."""
    sql: str = ""
    """For a comparison that a database supports in a selection: its sign in SQL."""
    escapes_from: Operator | None = None
    """For a test whether an exact result leaves the domain of the operands: the operator whose result it is. `exact`
    and `python` are then those of that operator."""

    def __post_init__(self) -> None:
        _ROWS.setdefault(self.name, self)

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle the operator by name, since code compares operators by identity in every process."""
        if _ROWS[self.name] is not self:
            return super().__reduce_ex__(protocol)
        return _restore_row, (self.name, {each.name: getattr(self, each.name) for each in fields(self)})

    @property
    def mirror(self) -> str:
        """The sign of the comparison after its operands are exchanged."""
        return self.symbol.translate(_MIRRORED)

    def implies(self, other: Operator) -> bool:
        """Whether another comparison of the same operands is true wherever this one is."""
        return set(self.holds) <= set(other.holds)

    def excludes(self, other: Operator) -> bool:
        """Whether two comparisons are never true for the same operands."""
        return not set(self.holds) & set(other.holds)

    def __call__(self, *args: Any) -> Any:
        """Apply the operator to values, terms or streams."""
        for arg in args:
            if type(arg) not in PLAIN:
                return self._overload(args)
        return self.exact(*args)

    def _overload(self, args: tuple[Any, ...]) -> Any:
        for arg in args:
            if hasattr(type(arg), "lift"):
                return arg.lift(self, args)
        return self.build(args) if is_symbolic(args) else self.exact(*args)

    def build(self, args: tuple[Any, ...]) -> Term:
        """Return the term, type-checked and simplified; Python values among the arguments become constants."""
        if len(args) != self.arity:
            raise TypingError(f"'{self.symbol}' takes {self.arity} arguments, not {len(args)}")
        terms = coerce(self, args)
        domain = self.result(self, terms)
        simple = self.simplify(terms)
        if simple is not None:
            return simple
        for term in terms:
            if not term.is_const:
                break
        else:
            value = self.exact(*(t.payload for t in terms))
            if value in domain:
                return const(value, domain)  # type: ignore[no-any-return]
        return intern(self, terms, domain)

    def rebuild(self, args: tuple[Term, ...], domain: Domain) -> Term:
        """Return the same node over new arguments (used by substitution)."""
        return Conversion.to(args[0], domain) if self is CAST else self.build(args)

    def leaves_word(self, args: tuple[Term, ...]) -> Term:
        """Return, for an operator that `binds`, whether its result is outside a word of 64 bits."""
        return FALSE

    def __repr__(self) -> str:
        return self.symbol


# --- exact meanings ---------------------------------------------------------------------------------------


def _div(a: Any, b: Any) -> Any:
    return a // b if b else 0 * b  # a zero of the divisor's type


def _mod(a: Any, b: Any) -> Any:
    return a % b if b else a


def _eq(a: Any, b: Any) -> bool:
    if isinstance(a, tuple) and isinstance(b, tuple):  # Python treats a field as equal to itself, NaN too
        return len(a) == len(b) and all(map(_eq, a, b))
    return bool(a == b)


# --- simplifications: only what keeps derived models small and readable -------------------------------------


def _neutral(right: Any, real: float | None, *, both_sides: bool) -> Callable[[tuple[Term, ...]], Term | None]:
    """Return the rule `a op right = a`, and perhaps `right op b = b`. On floats `real` is neutral, with its sign."""

    def is_neutral(term: Term, other: Domain) -> bool:
        if isinstance(term.domain, Range | Integer | Integers) and isinstance(other, Range | Integer | Integers):
            return term.is_const and bool(term.payload == right)
        both_real = isinstance(term.domain, Reals) and isinstance(other, Reals)
        return both_real and term.is_const and repr(term.payload) == repr(real)

    def simplify(args: tuple[Term, ...]) -> Term | None:
        a, b = args
        if a.domain != b.domain and not isinstance(a.domain, Range):
            return None
        if is_neutral(b, a.domain):
            return a
        return b if both_sides and is_neutral(a, b.domain) else None

    return simplify


_sum = _neutral(0, -0.0, both_sides=True)


def _sum_or_text(args: tuple[Term, ...]) -> Term | None:
    return CONCAT.build(args) if any(rules.is_text(arg.domain) for arg in args) else _sum(args)


def _low_bits(args: tuple[Term, ...]) -> Term | None:
    """Return the rule `bit_and(x, 2^k - 1) = x mod 2^k`."""
    for a, mask in (args, args[::-1]):
        count = mask.payload + 1 if mask.is_const and type(mask.payload) is int else 0
        if 1 < count <= WORD_HI and count & (count - 1) == 0:
            below = isinstance(a.domain, Range | Integer) and a.domain.hi < count
            return a if below else MOD.build((a, count))
    return None


def _connective(unit: Term, zero: Term) -> Callable[[tuple[Term, ...]], Term | None]:
    """Return the rules `a op unit = a`, `a op zero = zero`, `a op a = a`, `a op not a = zero`."""

    def simplify(args: tuple[Term, ...]) -> Term | None:
        a, b = args
        if a is zero or b is zero or a is negate(b):
            return zero
        if a is unit or a is b:
            return b
        return a if b is unit else None

    return simplify


def _simplify_not(args: tuple[Term, ...]) -> Term | None:
    (a,) = args
    if a is TRUE:
        return FALSE
    if a is FALSE:
        return TRUE
    return a.args[0] if a.op is NOT else None


def _simplify_eq(args: tuple[Term, ...]) -> Term | None:
    a, b = args
    if a is b and a.domain.reflexive:
        return TRUE
    for one, other in ((a, b), (b, a)):
        if isinstance(one.domain, Range) and _fraction(other):
            equal = int(other.payload) if other.payload.is_integer() else one.domain.hi + 1
            return EQ.build((one, _whole(equal)))
    return FALSE if _apart(a.domain, b.domain) else _below(EQ, a, b)


def _fraction(term: Term) -> bool:
    """Whether a term is a float constant: models compare whole numbers with whole constants instead."""
    return term.is_const and isinstance(term.domain, Reals) and math.isfinite(term.payload)


def _make_comparison(name: str, left: Rounding, right: Rounding) -> Callable[[tuple[Term, ...]], Term | None]:
    """Return the rule `x < 2.5` as `x < 3`; `left` and `right` round a constant on that side of a whole number."""

    def simplify(args: tuple[Term, ...]) -> Term | None:
        a, b = args
        if isinstance(a.domain, Range) and _fraction(b):
            return OPERATORS[name].build((a, _whole(right(b.payload))))
        if isinstance(b.domain, Range) and _fraction(a):
            return OPERATORS[name].build((_whole(left(a.payload)), b))
        return _below(OPERATORS[name], a, b)

    return simplify


def _inequality(name: str, sign: str, exact: Callable[[Any, Any], bool], left: Rounding, right: Rounding) -> Operator:
    python, simplify = f"({{0}} {sign} {{1}})", _make_comparison(name, left, right)
    return Operator(name, 2, sign, rules.order, exact, python, simplify, holds=sign, sql=sign)


def _below(op: Operator, a: Term, b: Term) -> Term | None:
    """Replace a comparison with a constant below all values by the equivalent one with zero, which every N contains."""
    if not rules.below_all(a, b):
        return None
    one, other = (a, b) if b.is_const else (b, a)
    true = op.exact(*(term.payload if term is other else 0 for term in (a, b)))
    return (GE if true else LT).build((one, 0))


def _whole(value: int) -> Term:
    constant: Term = const(value, Range(value, value))
    return constant


def _apart(a: Domain, b: Domain) -> bool:
    """Whether two ranges have no value in common, whatever the bounds of a model are."""
    if isinstance(a, SomeFloats) or isinstance(b, SomeFloats):
        return False
    return isinstance(a, Range) and isinstance(b, Range) and (a.hi < b.lo or b.hi < a.lo)


def _simplify_ne(args: tuple[Term, ...]) -> Term | None:
    same = _simplify_eq(args)
    return None if same is None else negate(same)


def _simplify_ite(args: tuple[Term, ...]) -> Term | None:
    c, a, b = args
    if c is TRUE or a is b:
        return a if c is TRUE or a.domain == b.domain else None
    if c is FALSE:
        return b
    if isinstance(a.domain, Bool) and isinstance(b.domain, Bool):
        if a is TRUE:
            return OR.build((c, b))
        if b is FALSE:
            return AND.build((c, a))
        if a is FALSE:
            return AND.build((negate(c), b))
        if b is TRUE:
            return OR.build((negate(c), a))
    if c.op is NOT:
        return ITE.build((c.args[0], b, a))
    if b.op is ITE and b.args[0] is c:
        return ITE.build((c, a, b.args[2]))
    if a.op is ITE and a.args[0] is c:
        return ITE.build((c, a.args[1], b))
    return None


def _no_typing(op: Operator, args: tuple[Term, ...]) -> Domain:
    del op, args
    return BOOL


# --- the table ----------------------------------------------------------------------------------------------

_add_range = rules.sum_of(lambda a, b: corners(operator.add, a, b))
_sub_range = rules.arithmetic(lambda a, b: corners(operator.sub, a, b))
_mul_range = rules.arithmetic(lambda a, b: corners(operator.mul, a, b))

CONCAT = Operator("concat", 2, "+", rules.text_of, operator.add, "({0} + {1})", by_table=True)
ADD = Operator("add", 2, "+", _add_range, operator.add, "({0} + {1})", _sum_or_text)
SUB = Operator("sub", 2, "-", _sub_range, operator.sub, "({0} - {1})", _neutral(0, 0.0, both_sides=False))
MUL = Operator("mul", 2, "*", _mul_range, operator.mul, "({0} * {1})", _neutral(1, 1.0, both_sides=True))
DIV = Operator("div", 2, "div", rules.arithmetic(rules.div_range), _div, "({0} // {1} if {1} else 0 * {1})")
MOD = Operator("mod", 2, "mod", rules.arithmetic(rules.mod_range), _mod, "({0} % {1} if {1} else {0})")
MIN = Operator("min", 2, "min", rules.arithmetic(lambda a, b: corners(min, a, b)), min, "min({0}, {1})")
MAX = Operator("max", 2, "max", rules.arithmetic(lambda a, b: corners(max, a, b)), max, "max({0}, {1})")
EVEN = Operator("even", 1, "even", rules.order, lambda a: a % 2 == 0, "({0} % 2 == 0)")
ODD = Operator("odd", 1, "odd", rules.order, lambda a: a % 2 == 1, "({0} % 2 == 1)")

XOR = Operator("xor", 2, "xor", rules.bitwise(rules.fill_bits), operator.xor, "({0} ^ {1})")
BIT_AND = Operator("bit_and", 2, "bit_and", rules.bitwise(rules.both_bits), operator.and_, "({0} & {1})", _low_bits)
BIT_OR = Operator("bit_or", 2, "bit_or", rules.bitwise(rules.fill_bits), operator.or_, "({0} | {1})")

EQ = Operator("eq", 2, "=", rules.equality, _eq, "({0} == {1})", _simplify_eq, null="sees", holds="=", sql="=")
NE = Operator(
    "ne", 2, "!=", rules.equality, lambda a, b: not _eq(a, b), "({0} != {1})", _simplify_ne, null="sees", holds="<>"
)
LT = _inequality("lt", "<", operator.lt, math.floor, math.ceil)
LE = _inequality("le", "<=", operator.le, math.ceil, math.floor)
GT = _inequality("gt", ">", operator.gt, math.ceil, math.floor)
GE = _inequality("ge", ">=", operator.ge, math.floor, math.ceil)

COMPARISONS = {row.symbol: row for row in (EQ, NE, LT, LE, GT, GE)}
"""The comparisons of pipelines by their signs."""

NOT = Operator("not", 1, "not", rules.logic, operator.not_, "(not {0})", _simplify_not)
AND = Operator("and", 2, "and", rules.logic, lambda a, b: a and b, "({0} and {1})", _connective(TRUE, FALSE))
OR = Operator("or", 2, "or", rules.logic, lambda a, b: a or b, "({0} or {1})", _connective(FALSE, TRUE))
IMPLIES = Operator("implies", 2, "->", rules.logic, lambda a, b: not a or b, "(not {0} or {1})")

ITE = Operator(
    "ite", 3, "if", rules.choice, lambda c, a, b: a if c else b, "({1} if {0} else {2})", _simplify_ite, null="sees"
)

IS_NULL = Operator(
    "is_null", 1, "is_null", rules.check_known, lambda a: a is None, "({0} is None)",
    lambda args: None if isinstance(args[0].domain, Nullable | Anything) else FALSE, null="sees",
)  # fmt: skip
PRESENT = Operator(
    "present", 1, "present", rules.present, lambda a: a, "{0}",
    lambda args: None if isinstance(args[0].domain, Nullable) else args[0], null="sees",
)  # fmt: skip
"""The identity on values that are not null, with the domain without null."""

CAST = Operator("cast", 1, "cast", _no_typing, lambda a: a, "{0}")


class Conversion:
    """The conversion of a number into another numeric domain, by that domain's own rule (`fit`)."""

    @staticmethod
    def to(value: Any, domain: Domain) -> Any:
        """Return `value` in `domain`: wrapped, clamped or flagged as the domain defines; exact in ranges."""
        if not isinstance(value, Term):
            return domain.fit(value)
        if value.domain == domain:
            return value
        if not (value.domain.numeric and domain.numeric):
            raise TypingError(f"cannot convert values of {value.domain} to {domain}")
        if value.is_const and value.payload in domain:
            return const(value.payload, domain)
        if isinstance(domain, Range) and not _within(value.domain, domain):
            raise TypingError(
                f"values of {value.domain} do not all fit {domain}", hint="ranges are exact: widen the range"
            )
        return intern(CAST, (value,), domain)

    @staticmethod
    def check_range(value: Term, domain: Range) -> Any:
        """Convert an integer to a range that may lack some of its values: these are flagged as in a checked domain."""
        hull = value.domain
        if not isinstance(hull, Range | Integer | Integers) or _within(hull, domain):
            return Conversion.to(value, domain)
        exact = Conversion.to(value, Range(hull.lo, hull.hi)) if isinstance(hull, Integer) else value
        counted = Conversion.to(SUB(exact, domain.lo), Integer(domain.size, Overflowing.CHECKED))
        return ADD(Conversion.to(counted, Range(0, domain.size - 1)), domain.lo)


def _within(hull: Domain, domain: Domain) -> bool:
    return isinstance(hull, Range | Integer) and hull.lo in domain and hull.hi in domain


def restrict_to_range(value: Any, domain: Domain) -> Any:
    """Narrow the type of a term, whose values are all in a range, to that range."""
    hull = value.domain if isinstance(value, Term) else domain
    if not (isinstance(hull, Range) and isinstance(domain, Range)):
        return value
    value = MAX(value, domain.lo) if hull.lo < domain.lo else value
    return MIN(value, domain.hi) if hull.hi > domain.hi else value


# Whether the exact result of an arithmetic node leaves the finite domain of its operands; see `escapes`.


ESCAPES = {
    op.name: Operator(f"escapes_{op.name}", 2, f"escapes {op.symbol}", _no_typing, op.exact, op.python, escapes_from=op)
    for op in (ADD, SUB, MUL)
}

# Whether the result of an operation on integers without bounds is outside a word of 64 bits.

WORD_HI = 2**63 - 1
"""The largest integer of a word."""
WORD_LO = -(2**63)
"""The smallest integer of a word."""


def _leaves_word(name: str, op: Operator) -> Operator:
    def outside(a: Any, b: Any) -> bool:
        return not WORD_LO <= op.exact(a, b) <= WORD_HI

    python = f"(not {WORD_LO} <= {op.python} <= {WORD_HI})"
    return Operator(f"{name}_overflows", 2, f"overflows {name}", _no_typing, outside, python)


OVERFLOWS = {
    op.name: _leaves_word(name, op)
    for name, op in (("sum", ADD), ("difference", SUB), ("product", MUL), ("quotient", DIV))
}

OPERATORS: dict[str, Operator] = {
    op.name: op
    for op in (
        ADD, SUB, MUL, DIV, MOD, MIN, MAX, XOR, BIT_AND, BIT_OR, EVEN, ODD, EQ, NE, LT, LE, GT, GE, NOT, AND, OR,
        IMPLIES, ITE,
    )
}  # fmt: skip
"""The operators a user may name; conversions and escape tests have their own constructors."""


def escapes(term: Term) -> Term:
    """Return whether this node's exact result lies outside its finite integer domain (False if it cannot).

    For integers without bounds: whether it lies outside a word of 64 bits.
    """
    if term.op is not None and term.op.binds:
        return term.op.leaves_word(term.args)
    if term.op is not None and isinstance(term.domain, Integers) and term.op.name in OVERFLOWS:
        return intern(OVERFLOWS[term.op.name], term.args, BOOL)
    if not isinstance(term.domain, Integer) or term.op is None:
        return FALSE
    if term.op is CAST:
        inner, source = term.args[0], term.args[0].domain
        if isinstance(source, Integers):
            lo, hi = WORD_LO, WORD_HI
        elif isinstance(source, Integer | Range):
            lo, hi = source.lo, source.hi
        else:
            return FALSE
        below = LT.build((inner, 0)) if lo < 0 else FALSE
        above = GE.build((inner, term.domain.n)) if hi > term.domain.hi else FALSE
        return OR.build((below, above))
    if term.op.name not in ESCAPES:
        return FALSE
    return intern(ESCAPES[term.op.name], term.args, BOOL)


# --- calls for processors' steps -------------------------------------------------------------------------------


def value_or(value: Any, otherwise: Any) -> Any:
    """Return the value, or `otherwise` if it is null."""
    return ite(IS_NULL(value), otherwise, PRESENT(value))


def ite(condition: Any, then: Any, otherwise: Any) -> Any:
    """Return `then` if the condition is true, else `otherwise`; field by field on tuples."""
    if not isinstance(condition, Term):
        return then if condition else otherwise
    if isinstance(then, tuple) and isinstance(otherwise, tuple):
        _same_length("'if ... then ... else'", then, otherwise)
        return like(then, (ite(condition, a, b) for a, b in zip(then, otherwise, strict=True)))
    if not is_symbolic((then, otherwise)):
        # two literals: a range (or bool) that holds both
        domain = unify("'if'", literal_domain(then), literal_domain(otherwise))
        return ITE.build((condition, const(then, domain), const(otherwise, domain)))
    return ITE.build((condition, then, otherwise))


def equal(a: Any, b: Any) -> Any:
    """Return whether two values are equal; on tuples, whether all fields are."""
    if isinstance(a, tuple) and isinstance(b, tuple) and is_symbolic((a, b)):
        _same_length("'='", a, b)
        return conjunction(equal(x, y) for x, y in zip(a, b, strict=True))
    return EQ(a, b)


def _same_length(what: str, a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
    if len(a) != len(b):
        raise TypingError(f"{what} combines a tuple of {len(a)} fields and one of {len(b)}")


def both(a: Any, b: Any) -> Any:
    """Return the conjunction of two values."""
    return a and b if type(a) is type(b) is bool else AND(a, b)


def either(a: Any, b: Any) -> Any:
    """Return the disjunction of two values."""
    return a or b if type(a) is type(b) is bool else OR(a, b)


def negate(a: Any) -> Any:
    """Return the negation of a value."""
    return not a if type(a) is bool else NOT(a)


OVERLOADS |= {
    "+": ADD, "-": SUB, "*": MUL, "//": DIV, "%": MOD, "<": LT, "<=": LE, ">": GT, ">=": GE, "=": EQ, "!=": NE,
    "&": AND, "|": OR, "~": NOT, "equal": equal, "pos": lambda a: a, "divmod": lambda a, b: (DIV(a, b), MOD(a, b)),
}  # fmt: skip


def conjunction(items: Any) -> Any:
    """Return the conjunction of any number of values (True for none)."""
    total: Any = True
    for item in items:
        total = item if total is True else both(total, item)
    return total


def disjunction(items: Any) -> Any:
    """Return the disjunction of any number of values (False for none)."""
    total: Any = False
    for item in items:
        total = item if total is False else either(total, item)
    return total


def as_term(value: Any, domain: Domain) -> Any:
    """Return a value or term as a term of exactly this domain (converted where the domains differ)."""
    if is_view(value):
        return value
    if isinstance(value, tuple) and is_symbolic(value):
        items = (as_term(v, d) for v, (_, d) in zip(value, parts(domain), strict=True))
        kind = Fields if isinstance(domain, Record) else Items if isinstance(domain, IndexedTuple) else None
        return kind.of(domain, items) if kind is not None else like(value, items)
    if not isinstance(value, Term):
        return const(value, domain)
    return value if value.domain == domain else Conversion.to(value, domain)
