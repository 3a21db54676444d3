"""Dates as logs write them: read as other parsers read them, and never guessed."""

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pyarrow as pa
import pytest

from workbench import parse, run
from workbench.errors import InputError
from workbench.events.clock import Clock
from workbench.events.date_formats import DateReader, UntimedError
from workbench.events.times import times_in

NOON = datetime(2026, 11, 24, 3, 37, 50)
PASS_ON = parse("pipeline p(x: int) -> int { return x }").get().pipeline


@pytest.mark.parametrize(
    "format",
    [
        "%d/%b/%Y:%H:%M:%S %z",  # Apache, nginx
        "%a, %d %b %Y %H:%M:%S %z",  # RFC 2822
        "%d %B %Y %H:%M:%S %z",
        "%Y/%m/%d %H:%M:%S",  # the error log of nginx
        "%a %b %d %H:%M:%S %Y",  # ctime
        "%b %d %H:%M:%S %Y",
        "%d.%m.%Y %H:%M:%S",
        "%m/%d/%Y, %H:%M:%S",
        "%Y-%m-%d %H:%M:%S,%f",  # Python's logging, log4j
        "%d/%b/%Y:%H:%M:%S.%f",  # HAProxy
        "%Y-%m-%d %H:%M:%S %z",
    ],
)
def test_a_form_is_read_as_strptime_reads_its_format(format: str) -> None:
    text = NOON.replace(microsecond=120_000, tzinfo=UTC).strftime(format)
    assert DateReader().read(text) == datetime.strptime(text, format)
    assert DateReader(format=format).read(text) == datetime.strptime(text, format)


@pytest.mark.parametrize("zone", ["Z", "UTC", "GMT", "+0000", " +00:00"])
def test_zones(zone: str) -> None:
    assert DateReader().read(f"24/Nov/2026:03:37:50{zone}") == NOON.replace(tzinfo=UTC)


def test_a_date_as_mails_write_it() -> None:
    date = NOON.replace(tzinfo=UTC)
    assert DateReader().read(format_datetime(date)) == DateReader().read(format_datetime(date, usegmt=True)) == date


def test_finer_than_a_microsecond_is_refused() -> None:
    assert DateReader().read("Nov 24 2026 03:37:50.1234560".replace(" 2026", "")).microsecond == 123_456
    for text in ("2026/11/24 03:37:50.1234567", "2026-11-24T03:37:50.1234567"):
        with pytest.raises(UntimedError, match="no finer than a microsecond"):
            DateReader().read(text)


def test_years() -> None:
    """A date without a year is in the newest year in which it is not in the future, whatever zone it is of."""
    now = datetime.now(UTC).replace(tzinfo=None, microsecond=0)
    for date in (now - timedelta(hours=1), now + timedelta(hours=13), now - timedelta(days=300)):
        assert DateReader().read(date.strftime("%b %e %H:%M:%S")) == date
    coming = now + timedelta(days=2)
    assert DateReader().read(coming.strftime("%b %e %H:%M:%S")) < now - timedelta(days=360)
    assert DateReader().read("Feb 29 12:00:00").year % 4 == 0
    assert DateReader(year=2019).read("Dec  3 12:00:00") == datetime(2019, 12, 3, 12)
    assert DateReader(year=2019, format="%d.%m. %H:%M").read("03.12. 12:00") == datetime(2019, 12, 3, 12)
    with pytest.raises(UntimedError, match="in the calendar"):
        DateReader(year=2019).read("Feb 29 12:00:00")


def test_the_year_of_the_user_is_that_of_the_first_row() -> None:
    reader = DateReader(year=2019)
    dates = "Jan  5", "Nov 24", "Dec 31", "Jan  1", "Dec 31", "Jan  2"
    assert [reader.read(f"{date} 12:00:00").year for date in dates] == [2019, 2019, 2019, 2020, 2019, 2020]
    months = [("Apr", 2020), ("Sep", 2020), ("Dec", 2020), ("Feb", 2021), ("Nov", 2020), ("Jan", 2021)]
    assert [(month, reader.read(f"{month}  3 12:00:00").year) for month, _ in months] == months
    coming = DateReader(year=9998)  # no clock is that wrong, but one that is not set may write January
    rows = ("Dec 24", 9998), ("Jan  1", 9998), ("Dec 31", 9998), ("Jan  1", 9999), ("Dec 31", 9998)
    later = ("Jun  1", 9999), ("Nov 24", 9999), ("Jan  1", 9999), ("Nov 25", 9999)
    assert [(date, coming.read(f"{date} 12:00:00").year) for date, _ in (*rows, *later)] == [*rows, *later]
    leap = DateReader(year=2019)
    leap.read("Dec  1 12:00:00")
    assert leap.read("Feb 29 12:00:00").year == 2020


def test_a_worker_reads_all_dates_in_the_year_of_the_user() -> None:
    reader = DateReader(year=2019)
    reader.last_days = None
    assert [reader.read(f"{date} 12:00:00").year for date in ("Dec 31", "Jan  1")] == [2019, 2019]


def test_no_hint_proposes_to_wait_for_days() -> None:
    times = Clock(year=2019).of_rows()
    times.read("Jun 10 12:00:00")
    with pytest.raises(UntimedError) as error:
        times.read("Jun 10 11:00:00")
    assert error.value.hint.startswith("--late 1h waits for this row")
    with pytest.raises(UntimedError) as error:
        times.read("Jun  8 12:00:00")
    assert error.value.hint == ""


def test_day_and_month() -> None:
    reader = DateReader()
    with pytest.raises(UntimedError, match="3 Apr 2026 or 4 Mar 2026") as found:
        reader.read("03/04/2026 10:00:05")
    assert found.value.hint == "write --time-format '%d/%m/%Y %H:%M:%S' or --time-format '%m/%d/%Y %H:%M:%S'"
    assert reader.read("03.04.2026") == datetime(2026, 4, 3)  # with points the day is first everywhere
    assert reader.read("05/05/2026") == datetime(2026, 5, 5)  # either way
    assert reader.read("13/04/2026") == datetime(2026, 4, 13)
    assert reader.read("03/04/2026") == datetime(2026, 4, 3)
    with pytest.raises(UntimedError, match="the day first, as in other rows"):
        reader.read("04/13/2026")
    reader = DateReader()
    reader.sample = lambda: ["03/04/2026", "what", "04/13/2026"]
    assert reader.read("03/04/2026") == datetime(2026, 3, 4)
    reader = DateReader()
    reader.sample = lambda: ["13/04/2026", "04/13/2026"]
    with pytest.raises(UntimedError, match="one meaning"):
        reader.read("03/04/2026")


def test_a_form_is_reported_once() -> None:
    lines = list[str]()
    reader = DateReader("at", year=2026)
    reader.report = lines.append
    for text in ("2026-11-24T03:37:50", "2026-11-24 03:37:50,5", "Nov 24 03:37:50", "Nov 24 03:37:51"):
        reader.read(text)
    (line,) = lines
    assert "'Nov 24 03:37:50' in 'at' is read as 2026-11-24T03:37:50" in line
    assert "--year" in line


@pytest.mark.parametrize(
    ("format", "hint"),
    [("aut", "did you mean 'auto'"), ("%s", "--time-unit s"), ("%Y %Q", "directives"), ("%d %d", "")],
)
def test_formats_that_are_none(format: str, hint: str) -> None:
    with pytest.raises(InputError, match="--time-format") as found:
        DateReader(format=format)
    assert hint in found.value.hint


def test_a_column_of_arrow_is_read_as_its_cells_are() -> None:
    texts = ["24/Nov/2026:03:37:50 +0000", "24/Nov/2026:03:37:51 +0100"]
    clock, cells = Clock(), Clock()
    assert times_in(pa.array(texts), clock).tolist() == list(map(cells.read, texts))
    assert clock.dates == cells.dates == "aware"
    digits = pa.array([20261124033750])  # with a format, digits are no number
    assert times_in(digits, Clock(format="%Y%m%d%H%M%S")) is None
    assert times_in(digits.cast("string"), Clock(format="%Y%m%d%H%M%S")).tolist() == [
        (NOON - datetime(1970, 1, 1)) // timedelta(microseconds=1)
    ]
    assert times_in(pa.array(["24/Nov/2026:03:37:50 +0000", "?"]), Clock()) is None


def test_the_first_rows_of_a_file_decide(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("at,x\n03/04/2026 10:00,1\n04/04/2026 09:00,2\n13/04/2026 10:00,3\n")
    found = run(PASS_ON, log, time="at")
    assert [row["at"] for row in found] == ["2026-04-03T10:00:00", "2026-04-04T09:00:00", "2026-04-13T10:00:00"]
    log.write_text("at,x\n03/04/2026 10:00,1\n")
    with pytest.raises(InputError, match="3 Apr 2026 or 4 Mar 2026"):
        list(run(PASS_ON, log, time="at"))
    found = run(PASS_ON, log, time="at", time_format="%m/%d/%Y %H:%M")
    assert [row["at"] for row in found] == ["2026-03-04T10:00:00"]


def test_options_are_for_times() -> None:
    with pytest.raises(InputError, match="--year"):
        run(PASS_ON, [{"x": 1}], year=2026)
    with pytest.raises(InputError, match="no such year"):
        run(PASS_ON, [{"x": 1, "at": 1}], time="at", year=0)
