"""Functions of texts. They are total: a text that is no number gives null, and what lies outside of a text is empty."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from functools import lru_cache

from workbench.core.floats import as_float
from workbench.errors import TypingError

_INTEGER = re.compile(r"\s*[+-]?[0-9]+\s*")
_FLOAT = re.compile(r"\s*[+-]?(([0-9]+\.?[0-9]*|\.[0-9]+)(e[+-]?[0-9]+)?|inf(inity)?|nan)\s*", re.IGNORECASE)


@lru_cache(64)
def regex(pattern: str) -> re.Pattern[str]:
    """A regular expression of Python's; TypingError if it is none."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise TypingError(f'"{pattern}" is no regular expression: {error}') from error


def matches(text: str, pattern: str) -> bool:
    """Whether a part of the text matches a regular expression; `^` and `$` stand for its ends."""
    return regex(pattern).search(text) is not None


def replace(text: str, old: str, new: str) -> str:
    """The text with `new` for each `old`; unchanged where `old` is empty."""
    return text.replace(old, new) if old else text


def substring(text: str, start: int, length: int) -> str:
    """At most `length` letters from `start`, which counts from 0, or from the end if it is negative."""
    return text[start:][: max(length, 0)]


def to_int(value: str | float) -> int | None:
    """The whole number that a text is, or that a number is rounded down to; None if there is none."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return math.floor(value) if math.isfinite(value) else None
    try:
        return int(value) if _INTEGER.fullmatch(value) else None
    except ValueError:  # more digits than Python reads
        return None


def to_float(text: str | float) -> float | None:
    """The number that a text is, None if it is none; a number as a float."""
    if not isinstance(text, str):
        return as_float(text)
    return float(text) if _FLOAT.fullmatch(text) else None


def to_text(value: bool | float | str) -> str:
    """The value as it is written in a log."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return str(Decimal(value))
