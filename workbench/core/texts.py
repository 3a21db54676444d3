"""Functions of texts. They are total: a text that is not a number becomes null, and a part beyond a text is empty."""

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
    """Compile a regular expression of Python; TypingError if it is invalid."""
    try:
        return re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        raise TypingError(f'"{pattern}" is not a regular expression: {error}') from error


def matches(text: str, pattern: str) -> bool:
    """Whether a part of the text matches a regular expression; `^` and `$` stand for its ends."""
    return regex(pattern).search(text) is not None


def replace(text: str, old: str, new: str) -> str:
    """Return the text with `new` for each `old`; unchanged where `old` is empty."""
    return text.replace(old, new) if old else text


def substring(text: str, start: int, length: int) -> str:
    """Return at most `length` letters from `start`, which counts from 0, or from the end if it is negative."""
    return text[start:][: max(length, 0)]


def to_int(value: str | float) -> int | None:
    """Return the whole number of a text, or a number rounded down; None if there is none."""
    if isinstance(value, int):
        return value
    if not isinstance(value, str):
        return math.floor(value) if math.isfinite(value) else None
    try:
        return int(value) if _INTEGER.fullmatch(value) else None
    except ValueError:  # more digits than Python reads
        return None


def to_float(text: str | float) -> float | None:
    """Return the number of a text, None if there is none; a number as a float."""
    if not isinstance(text, str):
        return as_float(text)
    return float(text) if _FLOAT.fullmatch(text) else None


def to_text(value: bool | float | str) -> str:
    """Return the value as it is written in a log."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        return str(value)
    except ValueError:  # more digits than Python writes
        return str(Decimal(value))
