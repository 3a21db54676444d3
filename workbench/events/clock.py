"""Times of rows: from a column of a log to whole numbers, and back.

The rule of this module: a time is a whole number, of microseconds where it is known what the numbers of the column
count (`--time-unit`) or where they are dates, else as it is written. What is finer is refused, never rounded; so is a
time before that of the row above, unless it may come late.
Source: design section 10.
"""

from __future__ import annotations

import heapq
import itertools
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from workbench.core.domain import Domain, Value
from workbench.core.program import Port, Ports
from workbench.core.units import MICROSECONDS
from workbench.errors import InputError, did_you_mean

T = TypeVar("T")
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
_EPOCH, _EPOCH_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_KINDS = {"": "a number", "naive": "a date without a time zone", "aware": "a date with a time zone"}


class UntimedError(ValueError):
    """Not a time; the message says what was expected."""


@dataclass
class Clock:
    """How the times of a log are written.

    Parameters
    ----------
    column: what the column is called.
    unit: what its numbers count (see `MICROSECONDS`); None: not known, and they are whole.
    late: how late events may come, as a user writes it: `10s`.

    Attributes
    ----------
    dates: `naive` or `aware` where times are dates, without and with a time zone; empty where they are numbers; None
        before the first one.

    Raises
    ------
    InputError: there is no such unit.
    """

    column: str = "time"
    unit: str | None = None
    late: str | None = None
    dates: str | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.unit is not None and self.unit not in MICROSECONDS:
            raise InputError(f"'{self.unit}' is no unit of time", hint=did_you_mean(self.unit, MICROSECONDS))

    def read(self, text: str) -> int:
        """The time that a text says; UntimedError if it says none."""
        text = text.strip()
        kind, time = ("", self._number(text)) if _NUMBER.fullmatch(text) else _date(text)
        if self.dates is None:
            self.dates = kind
        if kind != self.dates:
            raise UntimedError(f"{_KINDS[self.dates]}, as in the rows before")
        return time

    def _number(self, text: str) -> int:
        value = Decimal(text) * MICROSECONDS.get(self.unit or "", 1)
        if value != value.to_integral_value():
            finest = "a time no finer than a microsecond"
            raise UntimedError(finest if self.unit else "a whole number (--time-unit s says what numbers count)")
        return int(value)

    def of_rows(self) -> Times:
        """What the column holds in successive rows of one log, whose times do not decrease unless they may be late."""
        last: list[int] = []

        def read(text: str) -> int:
            time = self.read(text)
            if self.late is None:
                if last and time < last[0]:
                    shown = self.show(last[0])
                    raise UntimedError(f"a time from {shown} on, as in the row before (--late 10s waits for late rows)")
                last[:] = [time]
            return time

        return Times(read)

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
        if found[2] and self.unit is None and not self.dates:
            raise InputError(f"{text} of which times?", hint="say what the numbers of the log count: --time-unit s")
        return int(-(-Decimal(found[1]) * MICROSECONDS.get(found[2] or self.unit or "", 1) // 1))

    def ordered(self, rows: Iterable[T], time: Callable[[T], int], too_late: Callable[[T], object]) -> Iterator[T]:
        """Rows in the order of time, those of one time as they come; each waits for what may come late.

        Parameters
        ----------
        too_late: is told of rows that come later still, which are left out.
        """
        if self.late is None:
            yield from rows
            return
        waiting: list[tuple[int, int, T]] = []
        newest = done = None
        late = 0
        for number, row in enumerate(rows):
            now = time(row)
            if newest is None:
                newest, late = now, self.duration(self.late)
            if done is not None and now < done:
                too_late(row)
                continue
            newest = max(newest, now)
            heapq.heappush(waiting, (now, number, row))
            while waiting[0][0] < newest - late:
                done, _, first = heapq.heappop(waiting)
                yield first
        yield from (heapq.heappop(waiting)[2] for _ in itertools.repeat(None, len(waiting)))


def _date(text: str) -> tuple[str, int]:
    try:
        date = datetime.fromisoformat(text)
    except ValueError:
        raise UntimedError("a number, or a date such as 2024-05-01T12:00:00Z") from None
    if date.tzinfo is None:
        return "naive", (date - _EPOCH) // _TICK
    return "aware", (date - _EPOCH_UTC) // _TICK


def timed(ports: Ports, clock: Clock | None) -> Ports:
    """The ports of a program for who reads a log, where the time of steps is read as the log writes it (`Port.clock`).

    Without a clock, or where no unit counts, numbers are taken as they are.
    """
    if clock is None or not any(port.clock for port in ports.inputs):
        return ports
    return replace(ports, inputs=tuple(_timed(port, clock) if port.clock else port for port in ports.inputs))


def _timed(port: Port, clock: Clock) -> Port:
    own = replace(clock, unit=None) if port.clock == "numbers" else clock
    times = own.of_rows()

    def read(text: str) -> int:
        time = times.read(text)
        if port.clock == "us" and not own.dates and own.unit is None:
            raise UntimedError("a date, or a number of which it is known what it counts (--time-unit s)")
        if port.clock == "numbers" and own.dates:
            raise UntimedError("a number, for the windows of the rules have no units")
        return time

    return replace(port, domain=Times(read))


@dataclass(frozen=True)
class Times(Domain):
    """What a column of times holds, as `read` makes it of a text."""

    read: Callable[[str], int] = field(compare=False)

    def __contains__(self, value: Any) -> bool:
        return type(value) is int

    def __str__(self) -> str:
        return "a time"
