"""Convert times of rows from a column of a log to whole numbers, and back.

The rule of this module: a time is a whole number of microseconds if it is a date, or if the unit of the column is known
(`--time-unit`); else it is the number of the column. A finer time is refused, never rounded; so is a time before that
of the row above, unless it may be late.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, TypeVar

from workbench.core.domain import FLOAT, INT, STR, Domain, Value
from workbench.core.program import Port, Ports
from workbench.core.units import MICROSECONDS, NAME_UNIT, SPELLINGS, format_time
from workbench.errors import InputError, did_you_mean
from workbench.events.date_formats import AUTO, FINEST, DateReader, UntimedError

T = TypeVar("T")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
UNIT_REMEDY = f"name the unit of numbers: {NAME_UNIT}"
WRITE_TIME = "name the column of times: --time NAME"
_EPOCH, _EPOCH_UTC = datetime(1970, 1, 1), datetime(1970, 1, 1, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
FIRST, LAST = -62_135_596_800_000_000, 253_402_300_799_999_999
"""The first and the last microsecond of the years 1 to 9999, the range of dates."""
FAR = 95_617_584_000_000_000
"""The first microsecond of the year 5000."""
_EXAMPLES = {"": "300", "naive": "2024-05-01T12:05:00", "aware": "2024-05-01T12:05:00Z"}
_KINDS = {"": "a number", "naive": "a date without a time zone", "aware": "a date with a time zone"}


@dataclass
class Clock:
    """The form of the times of a log.

    Parameters
    ----------
    column: the name of the column.
    unit: the unit of its numbers (see `MICROSECONDS`); None: unknown, and the numbers are whole.
    late: the allowed lateness, as a user writes it: `10s`.
    format, year: the format and year of dates; see `DateReader`.

    Attributes
    ----------
    reader: reads the dates.
    dates: `naive` or `aware` if times are dates, without or with a time zone; empty if they are numbers; None
        before the first one.

    Raises
    ------
    InputError: there is no such unit, format or year.
    """

    column: str = "time"
    unit: str | None = None
    late: str | None = None
    format: str = AUTO
    year: int | None = None
    dates: str | None = field(default=None, init=False)
    reader: DateReader = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        self.reader = DateReader(self.column, self.format, self.year)
        self.unit = SPELLINGS.get(self.unit or "", self.unit)
        if self.unit is not None and self.unit not in MICROSECONDS:
            raise InputError(f"'{self.unit}' is not a unit of time", hint=did_you_mean(self.unit, MICROSECONDS))

    def read(self, cell: str | datetime) -> int:
        """Return the time of a text, or of a cell in a typed column; UntimedError if it is none."""
        text = cell.strip() if isinstance(cell, str) else ""
        if self.format == AUTO and NUMBER.fullmatch(text):
            kind, time = "", self._number(text)
        else:
            kind, time = _instant(self.reader.read(text) if isinstance(cell, str) else cell)
        if self.dates is None:
            self.begin(kind, time)
        if kind != self.dates:
            raise UntimedError(f"{_KINDS[self.dates or '']}, as in the rows before")
        return time

    def begin(self, kind: str, time: int) -> None:
        """Set the kind of times, and report a first time that is too late for the unit of the column."""
        self.dates = kind
        number = time // self.scale
        unit = next((each for each in ("s", "ms", "us") if number * MICROSECONDS[each] < FAR), "")
        if not kind and self.unit and unit and time >= FAR:
            date = (_EPOCH + number * MICROSECONDS[unit] * _TICK).isoformat()
            what = f"the time {number} in '{self.column}' is after the year 5000 if it counts {self.unit} since 1970"
            self.reader.report(f"{what}: --time-unit {unit} reads it as {date}")

    @property
    def scale(self) -> int:
        """The number of times per unit of the column."""
        return MICROSECONDS.get(self.unit or "", 1)

    def _number(self, text: str) -> int:
        value = Decimal(text) * self.scale
        if value != value.to_integral_value():
            raise UntimedError(FINEST) if self.unit else UntimedError("a whole number", UNIT_REMEDY)
        return int(value)

    def of_rows(self) -> Times:
        """Return the domain of the column in successive rows of one log."""
        return Times(self)

    def show(self, time: int) -> Value:
        """Return a time in the form of the log."""
        if self.dates:
            date = (_EPOCH_UTC if self.dates == "aware" else _EPOCH) + time * _TICK
            return date.isoformat().replace("+00:00", "Z")
        return time // self.scale if time % self.scale == 0 else float(Decimal(time) / self.scale)

    def duration(self, text: str) -> int:
        """Return a duration such as `10s`, `1.5 min` or `10` in whole units of these times, rounded up.

        Raises
        ------
        InputError: it is not a duration, has a unit where times have none, or has none where times are dates.
        """
        match = re.fullmatch(rf"\s*([0-9]+\.?[0-9]*)\s*({'|'.join(SPELLINGS)})?\s*", text)
        if match is None:
            raise InputError(
                f"'{text}' is not a duration", hint="write 10s, 1.5 min, or a number in the unit of the times"
            )
        if not match[2] and self.dates:
            hint = f"the times of the log are dates: write {match[1]}s, {match[1]}min or {match[1]}h"
            raise InputError(f"the duration {text.strip()} has no unit", hint=hint)
        if match[2] and self.unit is None and not self.dates:
            raise InputError(f"{text} in which unit?", hint=f"name the unit of the log's numbers: {NAME_UNIT}")
        return int(-(-Decimal(match[1]) * MICROSECONDS.get(SPELLINGS.get(match[2]) or self.unit or "", 1) // 1))


def instant(clock: Clock, text: str) -> int:
    """Return the time that `--until` names: in the form of the log, or of ISO 8601."""
    try:
        return clock.read(text)
    except UntimedError as error:
        with suppress(ValueError):
            return clock.read(datetime.fromisoformat(text))
        hint = error.hint
        if clock.format == AUTO and clock.dates is not None:  # a format for this time would not be that of the log
            hint = f"write a time as the log does: {_EXAMPLES[clock.dates]}"
        raise InputError(f"--until {text}: expected {error}", hint=hint) from error


def _instant(date: datetime) -> tuple[str, int]:
    kind, epoch = ("naive", _EPOCH) if date.tzinfo is None else ("aware", _EPOCH_UTC)
    time = (date - epoch) // _TICK
    if not FIRST <= time <= LAST:
        raise UntimedError("a date in the years 1 to 9999, also in UTC")
    return kind, time


def with_clock(ports: Ports, clock: Clock | None) -> Ports:
    """Adapt the ports of a program for a reader: the time of steps has the form of the log (`Port.clock`).

    Without a clock, or for numbers without a unit, numbers are taken as they are. The consumer checks whether times
    decrease: between the rows of a key there may be rows of others.
    """
    if clock is None or not any(port.clock for port in ports.inputs):
        return ports
    return replace(ports, inputs=tuple(_with_clock(port, clock) if port.clock else port for port in ports.inputs))


def _with_clock(port: Port, clock: Clock) -> Port:
    return replace(port, domain=Times(replace(clock, unit=None) if port.clock == "numbers" else clock, port.clock))


def is_timed(row: Mapping[str, Any]) -> bool:
    """Whether a row must have a time: each row must."""
    del row
    return True


def time_port(column: str, times: Times, required: Callable[[Mapping[str, Any]], bool] = is_timed) -> Port:
    """Return the port of the column of times, where it is no input."""
    remedy = WRITE_TIME.replace("--time NAME", 'time="NAME"')
    return Port(column, times, required=required, remedy=WRITE_TIME, data_remedy=remedy)


def time_domain(clock: Clock) -> Domain:
    """Return the domain of written times, which is known when the first time has been read."""
    return STR if clock.dates else INT if clock.unit in (None, "us") else FLOAT


@dataclass(frozen=True)
class Times(Domain):
    """The domain of a column of times in successive rows of one log.

    Attributes
    ----------
    kind: the required form, as in `Port.clock`; empty: any form.
    last: the time of the last row, if there was one, times may not decrease, and `kind` is empty: with a key, rows of
        another one may come between, so that the consumer has to check the order.
    """

    clock: Clock = field(compare=False)
    kind: str = field(default="", compare=False)
    last: list[int] = field(default_factory=list, init=False, compare=False)

    def read(self, cell: str | datetime) -> int:
        """Return the time of the next row; UntimedError if it is none."""
        time = self.clock.read(cell)
        if self.clock.late is None and not self.kind:
            if self.last and time < self.last[0]:
                behind = self.last[0] - time
                is_known = bool(self.clock.dates or self.clock.unit)
                late = format_time(behind).replace(" ", "") if is_known else behind
                waits = (
                    f"--late {late} waits for this row; others may be later still, and --late-output FILE saves those"
                )
                hint = "" if is_known and behind > MICROSECONDS["d"] else waits
                raise UntimedError(f"a time from {self.clock.show(self.last[0])} on, the time of the row before", hint)
            self.last[:] = [time]
        if self.kind == "us" and not self.clock.dates and self.clock.unit is None:
            raise UntimedError("a date, or a number in a known unit", UNIT_REMEDY)
        if self.kind == "numbers" and self.clock.dates:
            raise UntimedError("a number, since the windows of the rules have no units")
        return time

    def follow(self, times: Any) -> bool:
        """Whether these can be the times of the next rows; if so, record the last one."""
        if self.clock.late is None and len(times):
            if (self.last and times[0] < self.last[0]) or (times[1:] < times[:-1]).any():
                return False
            self.last[:] = [int(times[-1])]
        return True

    def __contains__(self, value: Any) -> bool:
        return type(value) is int

    def __str__(self) -> str:
        return "a time"
