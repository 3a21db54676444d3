"""The types of attributes of events and facts, a row each: their names in languages, streams, columns, databases."""

from __future__ import annotations

import types
from dataclasses import dataclass
from typing import Any, Literal, Union, get_args, get_origin

from workbench.core.domain import BOOL, FLOAT, INT, STR, Bool, Domain, Enum, Integer, Integers, Range, Reals, Texts
from workbench.core.fields import Nullable
from workbench.errors import TypingError


@dataclass(frozen=True)
class TypeRow:
    """A type of attributes.

    Attributes
    ----------
    domain: its values.
    names: its names in rules, the written one first.
    python: the class of its literals.
    carried: the kinds of streams that carry its values.
    column: its numpy type in a column, where a text is a number.
    fitting: the affinities of SQLite columns that may hold its values, that of our own tables first.
    exact: the affinities with which SQLite compares as rules do: a whole number among floats has more digits.
    """

    domain: Domain
    names: tuple[str, ...]
    python: type
    carried: tuple[type[Domain], ...]
    column: str
    fitting: tuple[str, ...]
    exact: tuple[str, ...]


_WHOLE, _TEXT = ("INTEGER", "NUMERIC", "BLOB"), ("TEXT", "BLOB")
TYPES = (
    TypeRow(INT, ("int",), int, (Integers, Integer, Range), "i8", _WHOLE, _WHOLE),
    TypeRow(FLOAT, ("float", "double"), float, (Reals, Integers, Integer, Range), "f8", ("REAL", *_WHOLE), ("REAL",)),
    TypeRow(BOOL, ("bool",), bool, (Bool,), "?", _WHOLE, _WHOLE),
    TypeRow(STR, ("string", "str"), str, (Texts, Enum), "i8", (*_TEXT, "NUMERIC"), _TEXT),  # a DATE is NUMERIC
)
FOREIGN_TYPES = {
    **dict.fromkeys(("text", "varchar", "char", "symbol"), "texts are str"),
    **dict.fromkeys(("double", "real", "decimal", "number", "numeric"), "fractions are float, whole numbers int"),
    **dict.fromkeys(("long", "short", "byte", "bigint", "uint"), "whole numbers are int"),
    **dict.fromkeys(("date", "datetime", "timestamp"), "dates are read as seconds since 1970: float, or int"),
}
"""Types that other languages have, with a hint how to write each in ours."""
_ROWS = {row.domain: row for row in TYPES}
LITERALS = {row.python: row.domain for row in TYPES}
"""The type of a literal, by its class."""


def type_row(domain: Domain) -> TypeRow:
    """Return the row of a type; TypingError if attributes cannot have it."""
    if domain not in _ROWS:
        raise TypingError(f"no attribute has the type {domain}")
    return _ROWS[domain]


def python_domain(hint: Any) -> Domain | None:
    """Return the domain of a type in Python; None for what is no type.

    Types are domains, bool, int, float, str, `Literal["a", "b"]`, and these `| None`.
    """
    if isinstance(hint, Domain):
        return hint
    if get_origin(hint) is Literal and all(isinstance(each, str) for each in get_args(hint)):
        return Enum(get_args(hint))
    if get_origin(hint) in (Union, types.UnionType):
        inner = [each for each in get_args(hint) if each is not type(None)]
        domain = python_domain(inner[0]) if len(inner) == 1 else None
        return domain and Nullable(domain)
    return LITERALS.get(hint) if isinstance(hint, type) else None
