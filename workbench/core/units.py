"""Units of time, in all languages and on every command line.

The rule of this module: their names are defined here only.
"""

from __future__ import annotations

ELAPSED = "elapsed"
"""The input of a model for the number of ticks before a step, where a pipeline has the time."""
MICROSECONDS = {"us": 1, "ms": 10**3, "s": 10**6, "min": 60 * 10**6, "h": 3600 * 10**6, "d": 24 * 3600 * 10**6}
"""The units, with their sizes in microseconds."""
_SHORT = {"us": "us", "ms": "ms", "s": "s", "sec": "s", "secs": "s", "min": "min", "mins": "min", "h": "h", "d": "d"}
_WORDS = {"microsecond": "us", "millisecond": "ms", "second": "s", "minute": "min", "hour": "h", "day": "d"}
SPELLINGS = _SHORT | _WORDS | {f"{word}s": unit for word, unit in _WORDS.items()}
"""The unit of each spelling."""
NAME_UNIT = '--time-unit s, in Python time_unit="s"'
"""The option for the unit of numbers in a log, for hints."""


def largest_unit(microseconds: int) -> str:
    """Return the largest unit of which a time is a whole multiple."""
    return next(name for name, size in reversed(MICROSECONDS.items()) if microseconds % size == 0)


def format_time(microseconds: int) -> str:
    """Format a time in the largest unit of which it is a whole multiple: `5 min`."""
    unit = largest_unit(microseconds)
    return f"{microseconds // MICROSECONDS[unit]} {unit}"
