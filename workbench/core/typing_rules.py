"""The typing rules of the operators: the domain of a result, and the domain a literal takes.

Finite integer domains must agree and are closed under arithmetic; ranges are exact, so theirs grow. Every rule
refuses arguments for which it is undefined with a TypingError that gives advice.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from workbench.core.domain import (
    ANY,
    BOOL,
    FLOAT,
    INT,
    LOOKED_AT,
    LOOKS,
    STR,
    Anything,
    Bool,
    Domain,
    Enum,
    Integer,
    Integers,
    Label,
    Range,
    Reals,
    SomeFloats,
    SomeTexts,
    Texts,
    Unknown,
    outside,
)
from workbench.core.fields import Nullable, without_null
from workbench.core.finite import FRACTION
from workbench.core.term import Term, const, python_value
from workbench.errors import Refused, TypingError

if TYPE_CHECKING:
    from workbench.core.ops import Operator

TABLE_LIMIT = 4096
"""Maximum number of entries of a function that becomes a table."""

TypingRule = Callable[["Operator", tuple[Term, ...]], Domain]
"""Returns the domain of an operator's result, from its arguments."""


def literal_domain(value: Any, like: Domain | None = None, *, compared: bool = False) -> Domain:
    """Return the domain of a literal beside an operand of domain `like`, with which it may be compared."""
    value = python_value(value)
    if isinstance(like, Integer | Enum | Reals | Integers | Anything) and not isinstance(value, bool):
        if value not in like and isinstance(like, Integer):
            what, hint = f"the constant {value} is not in the domain {like}", "use a domain that has this value"
            if isinstance(value, str):
                what, hint = f'the text "{value}" is used with a number of {like}', "write a number, or to_text(NAME)"
            elif isinstance(value, float):
                hint = FRACTION
            raise outside(what, value, like, hint, more=compared)
        if value in like:
            return like
    if isinstance(value, bool):
        return ANY if isinstance(like, Anything) else BOOL
    if isinstance(value, int):
        return Range(value, value)
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, Label) and not isinstance(like, Texts):
        return value.domain
    return Texts() if isinstance(value, str) else ANY


def coerce(op: Operator, args: Sequence[Any]) -> tuple[Term, ...]:
    """Convert arguments to terms: literals take the domain of their term neighbours."""
    like = None
    for arg in args:
        if isinstance(arg, Term) and not isinstance(arg.domain, Bool):
            like = arg.domain
            break
    if op.result is real and isinstance(like, Integer):
        like = None  # every operand becomes a float
    fitting = isinstance(like, Integer)
    out = []
    for arg in args:
        if isinstance(arg, tuple):
            raise TypingError(f"'{op.symbol}' is not defined on tuples", hint="apply it to their fields")
        if isinstance(arg, Term) and fitting and arg.is_const and isinstance(arg.domain, Range):
            arg = arg.payload
        if isinstance(arg, Term):
            out.append(arg)
        elif fitting and type(arg) is int and arg < 0 and op.result in (order, equality):
            out.append(const(arg, Range(arg, arg)))  # below every value
        elif isinstance(like, SomeFloats) and isinstance(arg, float) and arg.is_integer():
            out.append(const(int(arg), Range(int(arg), int(arg))))
        else:
            out.append(const(arg, literal_domain(arg, like, compared=op.result is order)))
    return tuple(out)


def unify(what: str, a: Domain, b: Domain) -> Domain:
    """Return the smallest domain that holds both; TypingError when there is none."""
    if a == b:
        return a
    for wide in (Anything, Reals, Integers):
        if isinstance(a, wide) or isinstance(b, wide):
            winner = a if isinstance(a, wide) else b
            other = b if winner is a else a
            if wide is Anything or (other.numeric and not isinstance(other, Integer)):
                return winner
    if isinstance(a, Range) and isinstance(b, Range):
        kind = SomeFloats if isinstance(a, SomeFloats) or isinstance(b, SomeFloats) else Range
        both = kind(min(a.lo, b.lo), max(a.hi, b.hi))
        return next((each for each in (a, b) if each == both), both)
    raise TypingError(
        f"{what} combines values of {_show_declared(a)} and of {_show_declared(b)}",
        hint="both sides need the same domain" + _suggest(a, b),
    )


def _show_declared(domain: Domain) -> str:
    """Return the domain as text, with the declared type that it replaces in a model."""
    declared = "float" if isinstance(domain, SomeFloats) else "int" if isinstance(domain, Integer) else ""
    return f"{declared} ({domain} in a check)" if declared else str(domain)


def _null_hint(*domains: Domain) -> str:
    """Return the advice about operands of these domains, if one may be null."""
    odd = next((each.of for each in domains if isinstance(each, Nullable)), None)
    return "" if odd is None else f"write value_or(NAME, {0 if odd.numeric else 'VALUE'}) for a value that may be null"


def _suggest(a: Domain, b: Domain) -> str:
    if hint := _null_hint(a, b):
        return f"; {hint}"
    if a.numeric and b.numeric and {Reals, SomeFloats} & {type(a), type(b)}:
        return "; a check has other numbers for int than for float: give both a range in the program, such as 0..7"
    if a.numeric and b.numeric:
        return "; declare both with the same type, or convert one with cast(NAME, TYPE)"
    if isinstance(a, Bool) or isinstance(b, Bool):
        return "; compare the number first (for example NAME > 0), or use 'if ... then ... else'"
    return ""


def numeric(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Return the common domain of numeric arguments."""
    for arg in args:
        if not arg.domain.numeric:
            text = "to_int(NAME) and to_float(NAME) convert a text to a number"
            truth = "write (if NAME then 1 else 0) for a truth value"
            if op.result is order:
                truth = f"leave the comparison out: it is a condition by itself; or {truth}"
            hint = truth if isinstance(arg.domain, Bool) else text if is_text(arg.domain) else _null_hint(arg.domain)
            raise TypingError(f"'{op.symbol}' needs numbers, not values of {arg.domain}", hint=hint)
    domain = args[0].domain
    for arg in args[1:]:
        domain = unify(f"'{op.symbol}'", domain, arg.domain)
    return domain


def real(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Type a function of floats: arguments have one numeric domain, and constants any."""
    varying = tuple(arg for arg in args if not arg.is_const)
    for part in (varying or args, *((arg,) for arg in args if arg.is_const)):
        numeric(op, part)
    return FLOAT


def corners(f: Callable[[int, int], int], a: Range, b: Range) -> Range:
    """Return the range of a function that is monotone in each argument."""
    results = [f(x, y) for x in (a.lo, a.hi) for y in (b.lo, b.hi)]
    return Range(min(results), max(results))


def div_range(a: Range, b: Range) -> Range:
    """Return the range of quotients."""
    if b.lo > 0:
        return corners(operator.floordiv, a, b)
    size = max(abs(a.lo), abs(a.hi))
    return Range(-size, size)


def mod_range(a: Range, b: Range) -> Range:
    """Return the range of remainders."""
    if b.lo > 0:
        return a if a.lo >= 0 and a.hi < b.lo else Range(0, b.hi - 1)
    size = max(abs(b.lo), abs(b.hi), 1) - 1
    return Range(min(-size, a.lo), max(size, a.hi))


def arithmetic(on_ranges: Callable[[Range, Range], Range]) -> TypingRule:
    """Return a rule for arithmetic: closed on integers of a domain, `on_ranges` on ranges."""

    def result(op: Operator, args: tuple[Term, ...]) -> Domain:
        domain = numeric(op, args)
        if isinstance(domain, Range):
            a, b = (t.domain for t in args)
            assert isinstance(a, Range)
            assert isinstance(b, Range)
            bounds = on_ranges(a, b)
            return SomeFloats(bounds.lo, bounds.hi) if isinstance(domain, SomeFloats) else bounds
        return domain

    return result


def whole_number(op: object, domain: Domain) -> None:
    """Refuse fractions."""
    if isinstance(domain, Reals | SomeFloats):
        raise TypingError(f"'{op}' needs whole numbers, not values of {domain}", hint="convert: cast(NAME, 0..255)")


def has_bits(domain: Domain) -> bool:
    """Whether bitwise operations stay among the numbers of a domain, or of a range of as many bits."""
    filled = not isinstance(domain, Integer) or domain.n & domain.hi == 0
    return domain.numeric and filled and not (isinstance(domain, Range) and domain.lo < 0)


def bitwise(on_ranges: Callable[[Range, Range], Range]) -> TypingRule:
    """Return a rule for operations on bits: of `int`, of ranges from 0 on, and of 2^k numbers that stay in a domain."""
    of_numbers = arithmetic(on_ranges)

    def result(op: Operator, args: tuple[Term, ...]) -> Domain:
        for arg in args:
            whole_number(op, arg.domain)
            if isinstance(arg.domain, Integer) and not has_bits(arg.domain):
                wide = replace(arg.domain, n=1 << arg.domain.hi.bit_length())
                what = f"'{op}' works on bits, and {_show_declared(arg.domain)} is not of 2^k values"
                hint = f"declare {wide} or 0..{wide.hi} where the type is written, else -N {wide.n}"
                raise TypingError(what, hint=hint)
            if isinstance(arg.domain, Range) and not has_bits(arg.domain):
                bits = max(-arg.domain.lo - 1, arg.domain.hi).bit_length() + 1
                hint = f"NAME mod {1 << bits} is the number with the same {bits} bits, in 0..{(1 << bits) - 1}"
                raise TypingError(f"'{op}' works on bits, and {arg.domain} has negative numbers", hint=hint)
        return of_numbers(op, args)

    return result


def fill_bits(a: Range, b: Range) -> Range:
    """Return the range of all numbers with as many bits as those of two ranges from 0 on."""
    return Range(0, (1 << max(a.hi, b.hi).bit_length()) - 1)


def both_bits(a: Range, b: Range) -> Range:
    """Return the range of the bitwise conjunctions of numbers in two ranges from 0 on."""
    return Range(0, min(a.hi, b.hi))


def sum_of(on_ranges: Callable[[Range, Range], Range]) -> TypingRule:
    """Return the rule of `+`: arithmetic, and concatenation on texts."""
    of_numbers = arithmetic(on_ranges)

    def result(op: Operator, args: tuple[Term, ...]) -> Domain:
        return text_of(op, args) if any(is_text(arg.domain) for arg in args) else of_numbers(op, args)

    return result


# --- texts: a model has some, and results of operators are among them, or refused --------------------------------


def is_text(domain: Domain) -> bool:
    """Whether a domain has texts, those of models included."""
    return isinstance(domain, Texts | SomeTexts)


def only_texts(op: Operator, args: Iterable[Term]) -> None:
    """Refuse arguments that are not texts."""
    for arg in args:
        if not (is_text(arg.domain) or isinstance(arg.domain, Anything)):
            hint = "to_text(NAME) converts a number to a text" if arg.domain.numeric else _null_hint(arg.domain)
            raise TypingError(f"'{op.symbol}' needs texts, not values of {arg.domain}", hint=hint)


def _all_of_model(op: Operator, args: tuple[Term, ...]) -> list[Any]:
    """Return the results of an operator on all texts of a model; nothing outside of models."""
    kinds = [(arg.payload,) if arg.is_const else arg.domain for arg in args]
    sizes = [1 if isinstance(kind, tuple) else kind.size or TABLE_LIMIT + 1 for kind in kinds]
    if not any(isinstance(arg.domain, SomeTexts) for arg in args) or math.prod(sizes) > TABLE_LIMIT:
        return []
    values = (kind if isinstance(kind, tuple) else kind.values() for kind in kinds)
    return [op.exact(*arguments) for arguments in itertools.product(*values)]


def text_of(op: Operator, args: tuple[Term, ...], texts: tuple[Term, ...] | None = None) -> Domain:
    """Type a text that is computed from texts (`texts`, or else all arguments)."""
    only_texts(op, args if texts is None else texts)
    some = next((arg.domain for arg in args if isinstance(arg.domain, SomeTexts)), None)
    other = next((text for text in _all_of_model(op, args) if some is not None and text not in some), None)
    if other is not None:
        raise Refused(
            f"'{op.symbol}' makes \"{other}\", which is none of the texts of the model, {some}",
            hint="list the texts, also those that are computed: --values str=a,b,c",
        )
    return some or STR


def text_length(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Type the number of letters."""
    only_texts(op, args)
    lengths = _all_of_model(op, args)
    return Range(min(lengths), max(lengths)) if lengths else INT


def order(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Type predicates on numbers: comparison, parity."""
    if not below_all(*args[:1], *args[-1:]):
        numeric(op, args)
    return BOOL


def below_all(a: Term, b: Term) -> bool:
    """Whether one of these is a constant below every value of the integer domain of the other."""
    return any(
        isinstance(one.domain, Integer) and isinstance(other.domain, Range) and other.is_const and other.domain.hi < 0
        for one, other in ((a, b), (b, a))
    )


def check_known(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Type a predicate on any values that a model has."""
    for arg in args:
        if isinstance(arg.domain, Unknown):
            raise TypingError(f"'{op.symbol}': {LOOKED_AT}", hint=LOOKS)
    return BOOL


def equality(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Type equality: of numbers, or of values of one domain."""
    check_known(op, args)
    a, b = (t.domain for t in args)
    if not (a.numeric and b.numeric):
        unify(f"'{op.symbol}'", a, b)
    return BOOL


def logic(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Type connectives."""
    for arg in args:
        if not isinstance(arg.domain, Bool | Anything):
            what = f"'{op.symbol}' needs bool, not values of {arg.domain}"
            raise TypingError(what, hint=advise_condition(arg.domain))
    return BOOL


def advise_condition(domain: Domain, value: str = "NAME") -> str:
    """Return the advice about a value that is not a condition, where one is needed."""
    operand = f"({value})" if value.startswith("if ") else value
    if isinstance(domain, Texts | SomeTexts):
        return f'compare it, e.g. {operand} = "text"'
    if isinstance(domain, Enum):
        return f"compare it, e.g. {f'NAME = {value}' if value in domain.labels else f'{operand} = {domain.labels[0]}'}"
    return f"compare it, e.g. {operand} > 0" if domain.numeric else _null_hint(domain)


def present(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Return the domain without null."""
    check_known(op, args)
    return without_null(args[0].domain)


def choice(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Type a conditional: both branches in one domain."""
    logic(op, args[:1])
    return unify("'if ... then ... else'", args[1].domain, args[2].domain)
