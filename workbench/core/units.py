"""Units of time, in all languages and on every command line.

The rule of this module: it alone says what they are called.
"""

from __future__ import annotations

ELAPSED = "elapsed"
"""The input on which a model has how many ticks have passed, where a pipeline has the time."""
MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 24 * 3600 * 10**6}
"""The units, and how many microseconds each has."""
_SHORT = {"us": "us", "ms": "ms", "s": "s", "sec": "s", "secs": "s", "min": "min", "mins": "min", "h": "h", "d": "d"}
_WORDS = {"microsecond": "us", "millisecond": "ms", "second": "s", "minute": "min", "hour": "h", "day": "d"}
SPELLINGS = _SHORT | _WORDS | {f"{word}s": unit for word, unit in _WORDS.items()}
"""The unit that each spelling means."""


def largest_unit(microseconds: int) -> str:
    """The largest unit of which a time is a whole number."""
    return next(name for name, size in reversed(MICROSECONDS.items()) if microseconds % size == 0)


def format_time(microseconds: int) -> str:
    """A time in the largest unit of which it is a whole number: `5 min`."""
    unit = largest_unit(microseconds)
    return f"{microseconds // MICROSECONDS[unit]} {unit}"
