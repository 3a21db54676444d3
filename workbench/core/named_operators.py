"""The operators that are written as calls, a row each: of floats (`floats`) and of texts (`texts`).

The rule of this module: generated Python calls them by the names of their rows (`SCOPE`). Models have no terms for
them: a function over small finite domains becomes a table (`function`), other functions are refused.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from workbench.core import floats, texts
from workbench.core import typing_rules as rules
from workbench.core.domain import BOOL, FLOAT, INT, STR, Anything, Bool, Domain, Enum, Reals, SomeFloats, Texts
from workbench.core.fields import Nullable
from workbench.core.floats import as_float
from workbench.core.ops import CONCAT, Conversion, Operator
from workbench.core.term import Term
from workbench.errors import TypingError


def _row(
    symbol: str, arity: int, result: rules.TypingRule, exact: Callable[..., Any], name: str, **more: Any
) -> Operator:
    """Return a row whose Python source is a call."""
    python = f"{name}({', '.join(f'{{{k}}}' for k in range(arity))})"
    return Operator(name, arity, symbol, result, exact, python, by_table=True, **more)


# --- of floats ------------------------------------------------------------------------------------------------


def _of_floats(symbol: str, arity: int, exact: Callable[..., float]) -> Operator:
    """Return the row of a function of floats; whole numbers are converted to floats."""

    def of_one(x: Any) -> float:
        return exact(x if type(x) is float else as_float(x))

    def of_two(a: Any, b: Any) -> float:
        return exact(a if type(a) is float else as_float(a), b if type(b) is float else as_float(b))

    return _row(symbol, arity, rules.real, of_one if arity == 1 else of_two, exact.__name__)


def _rounding(symbol: str, exact: Callable[[float], float]) -> Operator:
    """Return the row of a rounding to a whole number of the same type; whole numbers stay."""

    def rounded(x: Any) -> Any:
        return exact(x) if isinstance(x, float) else x

    return _row(symbol, 1, rules.numeric, rounded, exact.__name__, simplify=_unless(Reals))


def _unless(*kinds: type[Domain]) -> Callable[[tuple[Term, ...]], Term | None]:
    """Return the simplification `f(x) = x` for x of other types than these."""
    return lambda args: None if isinstance(args[0].domain, (*kinds, Anything)) else args[0]


FLOAT_OPERATORS = (
    _of_floats("/", 2, floats.divide),
    _of_floats("sqrt", 1, floats.sqrt), _of_floats("exp", 1, floats.exp), _of_floats("log", 1, floats.log),
    _of_floats("pow", 2, floats.power),
    _rounding("round", floats.round_even), _rounding("floor", floats.round_down), _rounding("ceil", floats.round_up),
)  # fmt: skip

# --- of texts -------------------------------------------------------------------------------------------------


def _condition(op: Operator, args: tuple[Term, ...]) -> Domain:
    rules.only_texts(op, args)
    return BOOL


def _regex(op: Operator, args: tuple[Term, ...]) -> Domain:
    rules.only_texts(op, args)
    if not args[1].is_const:
        raise TypingError("the regular expression of 'matches' is a constant", hint='write matches(x, "[0-9]+")')
    texts.regex(args[1].payload)
    return BOOL


def _check_text_and_numbers(op: Operator, args: tuple[Term, ...]) -> Domain:
    """Return the domain of the text; check that whole numbers follow it."""
    for arg in args[1:]:
        if not arg.domain.numeric or isinstance(arg.domain, Reals):
            raise TypingError(f"'{op}' needs whole numbers after the text, not values of {arg.domain}")
    return rules.text_of(op, args, args[:1])


def _whole(op: Operator, args: tuple[Term, ...]) -> Domain:
    domain = args[0].domain
    if rules.is_text(domain) or isinstance(domain, Reals):
        return Nullable(INT)
    return rules.numeric(op, args)


def _number(op: Operator, args: tuple[Term, ...]) -> Domain:
    domain = args[0].domain
    if rules.is_text(domain):
        return Nullable(FLOAT)
    return rules.numeric(op, args) if isinstance(domain, SomeFloats) else rules.real(op, args)


def _convert_to_float(args: tuple[Term, ...]) -> Term | None:
    """Convert a number to a float."""
    (arg,) = args
    if rules.is_text(arg.domain) or isinstance(arg.domain, Anything):
        return None
    term: Term = arg if isinstance(arg.domain, SomeFloats) else Conversion.to(arg, FLOAT)
    return term


def _text_result(op: Operator, args: tuple[Term, ...]) -> Domain:
    domain = args[0].domain
    if rules.is_text(domain):
        return domain
    if not (domain.numeric or isinstance(domain, Bool | Enum)):
        raise TypingError(f"'{op}' needs a number, a truth value or a text, not a value of {domain}")
    return STR


MATCHES = _row("matches", 2, _regex, texts.matches, "matches")
TEXT_OPERATORS = (
    CONCAT,
    _row("length", 1, rules.text_length, len, "text_length"),
    _row("lower", 1, rules.text_of, str.lower, "lower"), _row("upper", 1, rules.text_of, str.upper, "upper"),
    _row("contains", 2, _condition, lambda text, part: part in text, "contains"),
    _row("starts_with", 2, _condition, str.startswith, "starts_with"),
    _row("ends_with", 2, _condition, str.endswith, "ends_with"),
    MATCHES,
    _row("replace", 3, rules.text_of, texts.replace, "replace"),
    _row("substring", 3, _check_text_and_numbers, texts.substring, "substring"),
    _row("to_int", 1, _whole, texts.to_int, "to_int", null="may", simplify=_unless(Reals, Texts, Enum)),
    _row("to_float", 1, _number, texts.to_float, "to_float", null="may", simplify=_convert_to_float),
    _row("to_text", 1, _text_result, texts.to_text, "to_text",
         simplify=lambda args: args[0] if rules.is_text(args[0].domain) else None),
)  # fmt: skip

NAMED_OPERATORS = (*FLOAT_OPERATORS, *TEXT_OPERATORS[1:])
"""The operators that are called by their symbol, and `/`."""

SCOPE: Mapping[str, Callable[..., Any]] = {op.name: op.exact for op in NAMED_OPERATORS}
"""The functions that generated Python calls."""
