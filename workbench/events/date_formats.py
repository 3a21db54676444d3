"""Read dates in the forms of logs: ISO 8601, the forms of common logs, and formats that the user names.

The rule of this module: the form of a text determines how it is read, and nothing is guessed. If day and month may be
in either order, the first rows of the log decide, or it is an error; a date without a year is in the newest year in
which it is not in the future, unless the user names the year of the first one.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

from workbench.errors import InputError, did_you_mean

AUTO = "auto"
"""The setting that infers the format of a text from its form."""
FINEST = "a time no finer than a microsecond"
AHEAD = timedelta(hours=14)
"""The greatest offset of a time zone before UTC."""
LEAP = 9
"""A number of successive years of which one has a 29th of February."""
WEEK, HALF_YEAR = 7, 183
"""Numbers of days between a date and the latest one before it, by which its year is chosen."""
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()

_MONTH = rf"(?P<name>{'|'.join(MONTHS)})[a-z]*"
_WEEKDAY = "(?:(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*,? +)?"
_DAY, _YEAR = r"(?P<day>\d\d?)", r"(?P<year>\d{4})"
_ZONE = r"(?: ?(?P<zone>Z|UTC|UT|GMT|[+-]\d\d:?\d\d))?"
_CLOCK = rf"(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d)(?:[.,](?P<fraction>\d+))?)?{_ZONE}"
_NUMBERS = rf"(?P<first>\d\d?)([-/.])(?P<other>\d\d?)\2{_YEAR}"
FORMS = [
    re.compile(form, re.IGNORECASE | re.ASCII)
    for form in (
        rf"{_WEEKDAY}{_MONTH} +{_DAY} +{_CLOCK}(?: {_YEAR})?",  # syslog, ctime
        rf"{_DAY}/{_MONTH}/{_YEAR}[: ]{_CLOCK}",  # Apache, nginx, HAProxy
        rf"{_WEEKDAY}{_DAY}[ -]{_MONTH}[ -]{_YEAR} +{_CLOCK}",  # RFC 2822, HTTP
        rf"{_YEAR}[-/.](?P<month>\d\d?)[-/.]{_DAY}[T ]+{_CLOCK}",  # the error log of nginx, Go
        rf"{_NUMBERS}(?:,?[T ]+{_CLOCK})?",  # spreadsheets
    )
]
_CLOCK_TEXT = re.compile(r"\d\d?:\d\d(:\d\d)?([.,]\d+)?")
_YEAR_DIRECTIVE = re.compile(r"%[YyGcx]")


class UntimedError(ValueError):
    """The error for a text that is not a time; the message describes what was expected."""

    def __init__(self, expected: str, hint: str = "") -> None:
        super().__init__(expected)
        self.hint = hint


@dataclass
class DateReader:
    """Reads the dates in a column.

    Parameters
    ----------
    column: its name in messages.
    format: a format of `datetime.strptime`, or `auto`.
    year: the year of the first date without one; None: each is in the newest year in which it is not in the future.

    Attributes
    ----------
    day_first: whether 03/04/2026 is in April; None: unknown.
    report: reports how dates are read, once for each form that is not ISO 8601.
    sample: returns the texts of the column in the first rows of the file.
    last_days: the latest day of each column (`toordinal`); None: rows are in no order, and all in `year`.

    Raises
    ------
    InputError: there is no such format, or no such year.
    """

    column: str = "time"
    format: str = AUTO
    year: int | None = None
    day_first: bool | None = field(default=None, init=False)
    report: Callable[[str], object] = field(default=str, init=False)
    sample: Callable[[], Iterable[str]] = field(default=tuple, init=False)
    last_days: dict[str, int] | None = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        self._reported = set[int]()
        if self.format != AUTO:
            _check_format(self.format)
        if self.year is not None and not 1 <= self.year <= 9999:
            raise InputError(f"--year {self.year}: there is no such year", hint="for example --year 2026")

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "report": str, "sample": tuple}  # a worker has no user

    def read(self, text: str) -> datetime:
        """Return the date of a text; UntimedError if it is none."""
        if self.format != AUTO:
            return self._of_format(text)
        try:
            date = datetime.fromisoformat(text)
        except ValueError:
            return self._of_form(text)
        if re.search(r"[.,][0-9]{6}[0-9]*[1-9]", text):
            raise UntimedError(FINEST)
        return date

    def _of_format(self, text: str) -> datetime:
        try:
            if _YEAR_DIRECTIVE.search(self.format.replace("%%", "")):
                return datetime.strptime(text, self.format)
            return self._in_year(lambda year: datetime.strptime(f"{year} {text}", f"%Y {self.format}"))
        except ValueError:
            raise UntimedError(f"a time in the format {self.format}") from None

    def _of_form(self, text: str) -> datetime:
        number, match = next(((i, m) for i, form in enumerate(FORMS) if (m := form.fullmatch(text))), (0, None))
        if match is None:
            hint = "name the format of times, for example --time-format '%d %b %Y %H:%M:%S'"
            raise UntimedError("a number, or a date such as 2024-05-01T12:00:00Z", hint)
        parts = match.groupdict()
        try:
            if parts["year"]:
                date = self._date(parts, int(parts["year"]), text)
            else:
                date = self._in_year(lambda year: self._date(parts, year, text))
        except UntimedError:
            raise
        except ValueError:
            raise UntimedError("a date that is in the calendar") from None
        if number not in self._reported:
            self._reported.add(number)
            options = "--time-format" if parts["year"] else "--year and --time-format"
            self.report(
                f"the time '{text}' in '{self.column}' is read as {date.isoformat()} ({options} can change this)"
            )
        return date

    def _date(self, parts: dict[str, str | None], year: int, text: str) -> datetime:
        if parts.get("first"):
            day, month = self._day_and_month(parts, text)
        else:
            name = parts.get("name")
            day, month = int(parts["day"] or 0), MONTHS.index(name.lower()) + 1 if name else int(parts["month"] or 0)
        fraction = (parts["fraction"] or "").rstrip("0")
        if len(fraction) > 6:
            raise UntimedError(FINEST)
        hour, minute, second = (int(parts[each] or 0) for each in ("hour", "minute", "second"))
        return datetime(year, month, day, hour, minute, second, int(fraction.ljust(6, "0")), _zone(parts["zone"]))

    def _in_year(self, date_in: Callable[[int], datetime]) -> datetime:
        """Return the date in the newest year in which it is not in the future, or from the year of the user on."""
        latest = datetime.now(UTC).replace(tzinfo=None) + AHEAD
        if self.year is not None:
            return self._near_last(date_in, self.year, latest)
        for _, date in _in_years(date_in, range(latest.year, latest.year - LEAP, -1)):
            if date.replace(tzinfo=None) <= latest:
                return date
        raise ValueError

    def _near_last(self, date_in: Callable[[int], datetime], first: int, latest: datetime) -> datetime:
        """Return the date within half a year of the latest one, if there is one; else in the same year.

        A year in the future begins only within a week of that: a machine whose clock is not set may write any date.
        """
        if self.last_days is None:
            return date_in(first)
        last = self.last_days.get(self.column)
        same = first if last is None else datetime.fromordinal(last).year
        for year, date in _in_years(date_in, () if last is None else (same, same + 1, same - 1)):
            day, limit = date.toordinal(), max(latest.toordinal(), (last or 0) + WEEK)
            if abs(day - (last or 0)) <= HALF_YEAR and year >= first and (year <= same or day <= limit):
                break
        else:
            date = date_in(same)
        self.last_days[self.column] = max(date.toordinal(), last or 0)
        return date

    # --- day and month --------------------------------------------------------------------------------------

    def _day_and_month(self, parts: dict[str, str | None], text: str) -> tuple[int, int]:
        """Return the day and the month of a numeric date; UntimedError if their order is unknown.

        Dates with points have the day first.
        """
        first, other = int(parts["first"] or 0), int(parts["other"] or 0)
        if f"{parts['first']}." in text:
            return first, other
        own = {True} if first > 12 else {False} if other > 12 else set[bool]()
        if self.day_first is None:
            orders = own.union(*map(_orders, self.sample()))
            if len(orders) == 1:
                (self.day_first,) = orders
            elif first != other:
                raise _ambiguous(first, other, parts["year"] or "", text)
        elif own == {not self.day_first}:
            raise UntimedError(f"a date with the {'day' if self.day_first else 'month'} first, as in other rows")
        return (first, other) if self.day_first else (other, first)


def _in_years(date_in: Callable[[int], datetime], years: Iterable[int]) -> Iterator[tuple[int, datetime]]:
    """Yield the years that have a date, and the date in each."""
    for year in years:
        try:
            date = date_in(year)
        except UntimedError:
            raise
        except ValueError:  # the 29th of February
            continue
        yield year, date


def _orders(text: str) -> Iterator[bool]:
    """Yield whether the day is first in a numeric date, if its numbers determine it."""
    match = FORMS[-1].fullmatch(text.strip())
    if match and int(match["first"]) > 12:
        yield True
    elif match and int(match["other"]) > 12:
        yield False


def _ambiguous(day: int, month: int, year: str, text: str) -> UntimedError:
    readings = (f"{one} {MONTHS[other - 1].title()} {year}" for one, other in ((day, month), (month, day)))
    match = FORMS[-1].fullmatch(text)
    assert match is not None
    rest = _CLOCK_TEXT.sub(_directives, text[match.end("year") :].removesuffix(match["zone"] or ""))
    rest += "%z" if match["zone"] else ""
    formats = (f"'%{one}{match[2]}%{other}{match[2]}%Y{rest}'" for one, other in ("dm", "md"))
    what = f"a date that has one meaning (this is {' or '.join(readings)}, and no row nearby decides)"
    return UntimedError(what, f"write --time-format {' or --time-format '.join(formats)}")


def _directives(match: re.Match[str]) -> str:
    fraction = f"{match[2][0]}%f" if match[2] else ""
    return f"%H:%M{':%S' if match[1] else ''}{fraction}"


def _zone(text: str | None) -> timezone | None:
    if text is None:
        return None
    if text[0] not in "+-":
        return UTC
    sign = -1 if text[0] == "-" else 1
    return timezone(sign * timedelta(hours=int(text[1:3]), minutes=int(text[-2:])))


def _check_format(format: str) -> None:
    """Raise InputError if `datetime.strptime` does not accept a format."""
    if "%" not in format:
        hint = did_you_mean(format, [AUTO])
        hint = hint if hint.startswith("did") else "write --time-format '%d/%b/%Y:%H:%M:%S %z', for example"
        raise InputError(f"--time-format {format}: this is not a format of times", hint=hint)
    try:
        datetime.strptime(datetime(2000, 1, 1, tzinfo=UTC).strftime(format), format)
    except (ValueError, re.error) as error:
        numbers = "; numbers need no format: --time-unit s names their unit" if "%s" in format else ""
        hint = f"the directives are those of Python's strptime: %Y %m %d %b %H %M %S %f %z{numbers}"
        raise InputError(f"--time-format {format}: {error}", hint=hint) from error
