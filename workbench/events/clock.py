"""Times of rows: from a column of a log to whole numbers, and back.

The rule of this module: a time is a whole number, of microseconds where it is known what the numbers of the column
count (`--time-unit`) or where they are dates, else as it is written. What is finer is refused, never rounded.
Source: design section 10.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any

from workbench.core.domain import Domain, Value
from workbench.core.units import MICROSECONDS
from workbench.errors import InputError, did_you_mean

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_EPOCH, _EPOCH_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)


class UntimedError(ValueError):
    """Not a time; the message says what was expected."""


@dataclass
class Clock:
    """How the times of a log are written.

    Parameters
    ----------
    column: what the column is called.
    unit: what its numbers count (see `MICROSECONDS`); None: not known, and they are whole.

    Attributes
    ----------
    dates: `naive` or `aware` where times are dates, without and with a time zone; empty where they are numbers; None
        before the first one.
    """

    column: str = "time"
    unit: str | None = None
    dates: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in MICROSECONDS:
            raise InputError(f"'{self.unit}' is no unit of time", hint=did_you_mean(self.unit, MICROSECONDS))

    @property
    def in_microseconds(self) -> bool:
        """Whether times are microseconds."""
        return self.unit is not None or bool(self.dates)

    def read(self, text: str) -> int:
        """The time that a text says; UntimedError if it says none."""
        text = text.strip()
        number = _NUMBER.fullmatch(text)
        kind, time = ("", self._number(text)) if number else self._date(text)
        if self.dates is None:
            self.dates = kind
        if kind != self.dates:
            raise UntimedError(f"{_SHOWN[self.dates]}, as in the rows before")
        return time

    def _number(self, text: str) -> int:
        value = Decimal(text) * MICROSECONDS.get(self.unit or "", 1)
        if value != value.to_integral_value():
            raise UntimedError(
                "a time no finer than a microsecond" if self.unit else "a whole number (or say --time-unit s)"
            )
        return int(value)

    def _date(self, text: str) -> tuple[str, int]:
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            raise UntimedError("a number, or a date such as 2024-05-01T12:00:00Z") from None
        if date.tzinfo is None:
            return "naive", (date - _EPOCH) // _TICK
        return "aware", (date - _EPOCH_UTC) // _TICK

    def show(self, time: int) -> Value:
        """A time as the log has them."""
        if self.dates:
            date = (_EPOCH_UTC if self.dates == "aware" else _EPOCH) + time * _TICK
            return date.isoformat().replace("+00:00", "Z")
        scale = MICROSECONDS.get(self.unit or "", 1)
        return time // scale if time % scale == 0 else float(Decimal(time) / scale)

    def duration(self, text: str) -> int:
        """A duration such as `10s`, `1.5 min` or `10` in whole units of these times, rounded up.

        Raises
        ------
        InputError: it is none, or has a unit where times have none.
        """
        found = re.fullmatch(rf"\s*([0-9]+\.?[0-9]*)\s*({'|'.join(MICROSECONDS)})?\s*", text)
        if found is None:
            raise InputError(
                f"'{text}' is no duration", hint="write 10s, 1.5 min, or a number in the unit of the times"
            )
        unit = found[2] or self.unit
        if found[2] and not self.in_microseconds and self.dates is not None:
            raise InputError(f"{text} of which times?", hint="say what the numbers of the log count: --time-unit s")
        return -(-Decimal(found[1]) * MICROSECONDS.get(unit or "", 1) // 1).__int__()


_SHOWN = {"": "a number", "naive": "a date without a time zone", "aware": "a date with a time zone"}


@dataclass(frozen=True)
class Times(Domain):
    """What a column of times holds, as `read` makes it of a text."""

    read: Callable[[str], int] = field(compare=False)

    def __contains__(self, value: Any) -> bool:
        return type(value) is int

    def __str__(self) -> str:
        return "a time"
