"""Declared aggregates: their types, and a test that their functions are associative.

An aggregate is a function of two values of one type with a value to start from. The user promises that it is
associative; it is tried on small values, and a triple that refutes it is a mistake. Floats may round.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cache, lru_cache, partial
from itertools import product
from typing import Any

from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain
from workbench.core.mistakes import FollowUp, Mistakes
from workbench.core.types import LITERALS
from workbench.errors import InputError, LanguageError, did_you_mean
from workbench.tesla import tree as t
from workbench.tesla.aggregate_table import aggregate_rows, combination
from workbench.tesla.declared import Combines
from workbench.tesla.mistakes import NO_PARENTHESES
from workbench.tesla.scope import RuleScope

AggregateDefinitions = Mapping[str, t.DeclaredAggregate | tuple[Combines, Any]]
"""Aggregates declared elsewhere, or a function with the value to start from."""
OwnAggregates = Mapping[str, t.DeclaredAggregate | None]
TRIED: Mapping[Domain, Sequence[Any]] = {
    INT: (0, 1, 2, -1, 3, 5, -4), FLOAT: (0.0, 1.0, 2.0, -1.0, 0.5, 3.0, -4.0), BOOL: (False, True),
    STR: ("", "a", "b", "ab", "ba"),
}  # fmt: skip
"""Values on which functions are tried, besides literals in their expressions."""
MAX_NAMED = 5
OTHER_NAMES = {
    "MEAN": "the mean is AVG", "AVERAGE": "the mean is AVG", "TOTAL": "the sum is SUM",
    "MINIMUM": "the least value is MIN", "MAXIMUM": "the greatest value is MAX",
    "NOT": NO_PARENTHESES,
}  # fmt: skip
"""Names of aggregates in other languages, with a hint for each."""


def read_declarations(
    written: Sequence[t.DeclaredAggregate], aggregates: AggregateDefinitions, mistakes: Mistakes
) -> OwnAggregates:
    """Return all aggregates by name; None for one with a mistake, so that it is reported only once."""
    by_name: dict[str, t.DeclaredAggregate | None] = {}
    for each in (*(_declare(name, each) for name, each in aggregates.items()), *written):
        before, by_name[each.name] = by_name.get(each.name), None
        with mistakes.apart():
            if before not in (None, each):
                what = f"two aggregates are called '{each.name}'"
                raise LanguageError(what, where=each.where, hint="rename one")
            _check(each)
            by_name[each.name] = each
    return by_name


def resolve_call(part: t.Aggregate, own: OwnAggregates) -> t.Aggregate:
    """Attach the declaration to an aggregate; raise a LanguageError if no aggregate has this name."""
    if part.function in aggregate_rows():
        return part
    if part.function not in own:
        names, capitals = (*aggregate_rows(), *own), part.function.upper()
        name = capitals if capitals in names else part.function
        hint = OTHER_NAMES.get(capitals) or did_you_mean(name, names, "aggregates are: ")
        raise LanguageError(f"no aggregate '{part.function}' is declared", where=part.where, hint=hint)
    declared = own[part.function]
    if declared is None:
        raise FollowUp
    return replace(part, declared=declared)


def _declare(name: str, aggregate: t.DeclaredAggregate | tuple[Combines, Any]) -> t.DeclaredAggregate:
    """Build the declaration of an aggregate given in Python; raise an InputError if it is not an aggregate."""
    if isinstance(aggregate, t.DeclaredAggregate):
        return aggregate
    try:
        function, start = aggregate
        domain = LITERALS[type(start)]
        assert callable(function)
    except (TypeError, ValueError, KeyError, AssertionError):
        what = f"'{name}' is not an aggregate: {aggregate!r}"
        hint = "pass a function of two values and its start, an int, a float, a bool or a str: (math.gcd, 0)"
        raise InputError(what, hint=hint) from None
    operands = (t.Attribute("a", domain), t.Attribute("b", domain))
    return t.DeclaredAggregate(name, operands, None, t.Literal(start), _guard(name, function, domain))


def _guard(name: str, function: Combines, domain: Domain) -> Combines:
    """Wrap a function: null operands give null without a call, and results are checked for their type."""
    kinds: dict[Domain, tuple[type, ...]] = {INT: (int,), FLOAT: (int, float), BOOL: (bool,), STR: (str,)}

    def combined(one: Any, other: Any) -> Any:
        if one is None or other is None:
            return None
        try:
            result = function(one, other)
        except Exception as error:
            what = f"{name}({one!r}, {other!r}) fails: {type(error).__name__}: {error}"
            raise InputError(what, hint="return None where it has no value: the aggregate is null then") from error
        if result is not None and (
            not isinstance(result, kinds[domain]) or (domain != BOOL and isinstance(result, bool))
        ):
            what = f"{name}({one!r}, {other!r}) is {result!r}, not of type {t.SPELLED[domain]}"
            raise InputError(what, hint="all values of an aggregate have the type of its start")
        return float(result) if domain == FLOAT and isinstance(result, int) else result

    return combined


def _check(each: t.DeclaredAggregate) -> None:
    """Raise a LanguageError if the declaration is invalid, or the function not associative."""
    if each.name.upper() in (*aggregate_rows(), "TIME"):
        what = f"'{each.name}' is a word of the language"
        raise LanguageError(what, where=each.where, hint="choose another name")
    one, other = each.operands
    if one.domain != other.domain:
        what = f"'{each.name}' combines two values of one type, but these are {one} and {other}"
        raise LanguageError(what, where=other.where, hint="declare both with one type")
    if one.name == other.name:
        raise LanguageError(f"both values are called '{one.name}'", where=other.where, hint="rename one")
    start = each.start
    plain = start.operands[0] if isinstance(start, t.Operation) and start.operator == "neg" else start
    if not isinstance(plain, t.Literal):
        what = f"'{each.name}' starts from a value, which this is not"
        raise LanguageError(what, where=start.where, hint="write a number, a text, true or false")
    _check_type(each, RuleScope().domain(start), start)
    if each.combined is not None:
        _check_type(each, RuleScope(each.scope).domain(each.combined), each.combined)
    if what := _find_counterexample(each):
        hint = "any two neighbours may be combined first, and the result must be the same"
        raise LanguageError(f"'{each.name}' is not associative: {what}", where=each.where, hint=hint)


def _check_type(each: t.DeclaredAggregate, domain: Domain, where: t.Placed) -> None:
    if domain != each.domain and (domain, each.domain) != (INT, FLOAT):
        what = f"'{each.name}' is of {t.SPELLED[each.domain]}, but this is {t.SPELLED[domain]}"
        raise LanguageError(what, where=where.where, hint="all its values must have one type")


# --- promises -------------------------------------------------------------------------------------------


@lru_cache(maxsize=256)
def _find_counterexample(each: t.DeclaredAggregate) -> str:
    """Describe three values for which the order of combination matters; empty if none are found."""
    name, combine = each.name, cache(partial(combination, each))
    for a, b, c in product(_choose_values(each), repeat=3):
        with suppress(InputError):  # a Python function that fails refutes nothing
            left, right = combine(combine(a, b), c), combine(a, combine(b, c))
            if not _is_same(left, right):
                a, b, c, left, right = map(_format, (a, b, c, left, right))
                return f"{name}({name}({a}, {b}), {c}) is {left}, and {name}({a}, {name}({b}, {c})) is {right}"
    return ""


@lru_cache(maxsize=256)
def not_neutral(each: t.DeclaredAggregate) -> str:
    """Describe a combined value that changes when combined with the start; empty if none is found."""
    for a, b in product(_choose_values(each), repeat=2):
        with suppress(InputError):
            value = combination(each, a, b)
            result = combination(each, each.first, value)
            if not _is_same(result, value):
                return f"{each.name}({_format(each.first)}, {_format(value)}) is {_format(result)}"
    return ""


def _choose_values(each: t.DeclaredAggregate) -> Sequence[Any]:
    parts = () if each.combined is None else t.within(each.combined)
    named = [part.value for part in parts if isinstance(part, t.Literal) and LITERALS[type(part.value)] == each.domain]
    return list(dict.fromkeys([*TRIED[each.domain], *named[:MAX_NAMED]]))


def _is_same(one: Any, other: Any) -> bool:
    """Whether values are equal, up to the rounding of floats."""
    if one is None or other is None:
        return one is other
    if isinstance(one, float):
        return (one != one and other != other) or math.isclose(one, other, rel_tol=1e-9, abs_tol=1e-9)
    return bool(one == other)


def _format(value: Any) -> str:
    return "null" if value is None else str(t.Literal(value))
