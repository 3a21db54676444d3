"""The types of attributes of events and facts, a row each: what languages, streams, columns and databases call them."""

from __future__ import annotations

from dataclasses import dataclass

from workbench.core.domain import BOOL, FLOAT, INT, STR, Bool, Domain, Enum, Integer, Integers, Range, Reals, Texts
from workbench.errors import TypingError


@dataclass(frozen=True)
class TypeRow:
    """A type.

    Attributes
    ----------
    domain: its values.
    names: what it is called in rules, first as it is written.
    python: the class of its literals.
    carried: the kinds of streams that carry its values.
    column: what numpy calls them in a column, where a text is a number.
    fitting: the affinities of SQLite's columns in which they may lie, first that of a table of our own.
    exact: those of columns in which SQLite compares as rules do: a whole number among floats has more digits.
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
_ROWS = {row.domain: row for row in TYPES}
LITERALS = {row.python: row.domain for row in TYPES}
"""The type of a literal, by its class."""


def type_row(domain: Domain) -> TypeRow:
    """The row of a type; TypingError where attributes have no such type."""
    if domain not in _ROWS:
        raise TypingError(f"no attribute has the type {domain}")
    return _ROWS[domain]
