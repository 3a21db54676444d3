"""Logs of rules in columns say what their rows say one by one, and composites in columns are written as rows are."""

import json
from datetime import datetime, timedelta
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pyarrow import parquet

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.rule_cases import random_case
from workbench.errors import InputError, WorkbenchError
from workbench.events import lines as lines_of
from workbench.events import typed
from workbench.events.account import Reporter
from workbench.events.clock import Clock
from workbench.events.reading_options import Reading
from workbench.events.times import times_to_arrow
from workbench.events.write import write_events
from workbench.runner.order import singly
from workbench.runner.rules import opening
from workbench.runner.rules.columns import EventColumns, text_codes
from workbench.runner.rules.composites import event_columns, event_row
from workbench.runner.rules.log import RuleLog
from workbench.runner.rules.order import event_form
from workbench.runner.source import DataSource, source_of
from workbench.tesla.engines.engine import rule_engine
from workbench.tesla.event_block import EventBlock, event_block

RULES = wb.rules.parse_rules("""
declare A(x: int, f: float)
declare B(name: string, x: int, yes: bool)
declare C()
""")
START = datetime(2024, 5, 1)
KINDS = ["int", "decimal", "float", "date", "zoned", "odd"]


def cell(random: Random, kind: str, at: float) -> object:
    """A time as logs have it, at so many seconds."""
    if kind == "odd":
        kind = random.choice(KINDS[:-1])
    if random.random() < 0.01:
        return random.choice(
            ["", "x", "0x10", "1e3", " 7 ", "2024-05-01T12:00:00.1234567", "inf", None, True, 1.0000001]
        )
    date = START + timedelta(seconds=at)
    return {
        "int": int(at), "decimal": f"{at:.3f}", "float": int(at) if at % 1 == 0 else round(at, 3),
        "date": date.isoformat(), "zoned": date.isoformat() + random.choice(["Z", "+00:00"]),
    }[kind]  # fmt: skip


def log(random: Random) -> list[dict[str, object]]:
    """Rows of events: late ones, odd ones, some of no known type."""
    kind, at, found = random.choice(KINDS), 100.0, []
    jump, odd = random.choice([0, 0, 3]), random.choice([0, 0, 0.03])
    for _ in range(random.randrange(60)):
        at += random.choice([0, 0.5, 1])
        row = {
            "type": random.choice(["A", "A", "B", "C", " B ", "Z"]),
            "time": cell(random, kind, at - random.uniform(0, jump)),
            "x": random.choice([0, 1, -7, 2**40]), "f": random.choice([0.5, 2, -1.0]), "name": random.choice("nm "),
            "yes": random.choice([True, False]),
        }  # fmt: skip
        for name in ("x", "f", "name", "yes"):
            if random.random() < 0.2:
                row[name] = None
            elif random.random() < odd:
                row[name] = random.choice(["", "x", 1.5, 2**70, True, "nan", '"', "é", [1]])
        found.append(row)
    return found


def write(rows: list[dict[str, object]], path, random: Random) -> None:
    """The rows in a file of the format that its name says, damaged now and then."""
    names = ["type", "time", "x", "f", "name", "yes"]
    if path.suffix == ".parquet":
        columns = {}
        for name in names:
            try:
                columns[name] = pa.array([row[name] for row in rows])
            except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
                columns[name] = pa.array([None if row[name] is None else str(row[name]) for row in rows])
        if pa.types.is_string(columns["time"].type) and random.random() < 0.5:
            unit = random.choice(["s", "ms", "us", "ns"])
            try:
                columns["time"] = columns["time"].cast(pa.timestamp(unit, random.choice([None, "UTC"])))
            except pa.ArrowInvalid:
                columns["time"] = columns["time"].dictionary_encode()
        parquet.write_table(pa.table(columns), path, row_group_size=random.choice([7, 1000]))
        return
    if path.suffix == ".csv":
        cells = [["" if row[n] is None else str(row[n]) for n in names] for row in rows]
        text = "".join(",".join(row) + "\n" for row in [names, *cells])
    else:
        text = "".join(
            json.dumps({n: v for n, v in row.items() if v is not None or random.random() < 0.5}) + "\n" for row in rows
        )
    if random.random() < 0.1 and text:
        at = random.randrange(len(text))
        text = text[:at] + random.choice(["\n", '"', "\0", "9", ",", "}", "\r"]) + text[at:]
    path.write_text(text, "utf-8")


def refuse(event, *_):
    raise InputError(f"late: {event}")


def read(given, time_unit, late, bad_rows, keep=True, several=False):
    """Everything that a log says.

    Parameters
    ----------
    keep: whether it is not an error to come too late.
    several: whether it is several logs: how far the others have been read when one fails, or a row comes too late, is
        left open.
    """
    lates: list[Any] = []
    clock, reporter, told = Clock("time", time_unit, late), Reporter(), list[Any]()
    reporter.keep = told.append
    source = RuleLog(RULES, clock, Reading(bad_rows=bad_rows), reporter)
    try:
        source.late = (lambda event, *_: lates.append(event)) if keep else refuse
        told += map(repr, singly(given(source), event_form(RULES)))
    except WorkbenchError as error:
        return [*told, *([] if several else [lates]), str(error)]  # whatever has been read beyond that
    told += source.notes()
    lates = sorted(lates, key=repr) if several else lates
    return [*told, lates, clock.dates, reporter.account.rows, reporter.account.events_in, reporter.account.bad]


@examples(60)
@given(seed=st.integers(0, 2**32))
@example(seed=379)
@example(seed=6601)
@example(seed=68715)
def test_columns_say_what_rows_say(seed, tmp_path, monkeypatch):
    random = Random(seed)
    ending = random.choice(["csv", "jsonl", "parquet"])
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    monkeypatch.setattr(lines_of, "SIZE", random.choice([100, 1 << 20]))
    monkeypatch.setattr(typed, "LARGE", random.choice([5, 1000]))
    paths = []
    for number in range(random.choice([1, 1, 2, 3])):
        path = tmp_path / f"{number}.{ending}"
        write(log(random), path, random)
        paths.append(f"{random.choice('AB')}={path}" if random.random() < 0.2 else path)
    options = (
        lambda source: source.pieces(source_of(paths).logs()),
        random.choice([None, "s", "ms", "min"]),
        random.choice([None, None, "2"]),
        random.choice(["error", "skip"]),
        random.choice([True, False]),
        len(paths) > 1,
    )
    in_columns = read(*options)
    with monkeypatch.context() as by_rows:
        by_rows.setattr(EventColumns, "block", lambda *_: None)
        assert in_columns == read(*options)


class BlockEngine:
    """Takes blocks, and gives blocks."""

    by_blocks = False

    def __init__(self, rules, name, facts, settings):
        self.engine = rule_engine(rules, name, facts, settings)
        self.rules = rules

    def __getattr__(self, name):
        return getattr(self.engine, name)

    def takes_block(self, events: int) -> bool:
        return events > 0

    def process_block(self, block: EventBlock, *, sources: bool) -> list[EventBlock]:
        parts = (block.part(0, 2), block.part(2, len(block)))
        made = ([each for event in part.occurrences(self.rules) for each in self.process(event)] for part in parts)
        return [event_block(self.rules, found, text_codes) for found in made]


def written(case, path, output, options):
    """What is written, or the error."""
    try:
        wb.run(case.rules, path, output=output, **options)
    except WorkbenchError as error:
        return error.what
    return repr(parquet.read_table(output).to_pylist()) if output.suffix == ".parquet" else output.read_bytes()


@pytest.mark.sampled(5)
@pytest.mark.parametrize("seed", range(25))
def test_composites_in_columns_are_written_as_rows_are(seed, tmp_path, monkeypatch):
    random, case = Random(seed), random_case(seed)
    with write_events(tmp_path / "log.jsonl", event_columns(case.rules, Clock(), case.rules.events)) as writer:
        for event in case.events:
            if all(not isinstance(value, int) or abs(value) < 2**63 for value in event.values):
                writer.row(event_row(event, case.rules, Clock()))
    declared = case.rules.declarations
    options = {
        "facts": {
            name: [dict(zip(declared[name].domains, row, strict=True)) for row in rows]
            for name, rows in case.facts.items()
        },
        "with_sources": random.random() < 0.5, "time_unit": random.choice([None, "s", "ms", "min"]),
    }  # fmt: skip
    for ending in ("csv", "jsonl", "parquet"):
        output = tmp_path / f"out.{ending}"
        rows = written(case, tmp_path / "log.jsonl", output, options)
        with monkeypatch.context() as blocks:
            blocks.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
            blocks.setattr(opening, "rule_engine", BlockEngine)
            assert rows == written(case, tmp_path / "log.jsonl", output, options)


@pytest.mark.parametrize("dates", ["", "naive", "aware"])
@pytest.mark.parametrize("unit", [None, "us", "ms", "s", "h"])
def test_times_in_columns_are_shown_as_one_by_one(unit, dates):
    random, clock = Random(7), Clock("time", unit)
    clock.dates = dates
    large = 10**17 if dates else 2**62
    times = [0, -1, 1, 10**6, 1500, 3600 * 10**6, *(random.randrange(-(10**16), large) for _ in range(50))]
    times += [random.randrange(10**15, 2 * 10**15) for _ in range(50)]
    for some in (times, times[:6], times[-50:]):
        shown = times_to_arrow(np.array(some), clock)
        texts = pa.types.is_string(shown.type) and not dates
        found = [json.loads(each) if texts else each for each in shown.to_pylist()]
        assert list(map(repr, found)) == [repr(clock.show(each)) for each in some]


TIMES = {
    "integers": [1, 2, 2, 9], "floats": [0.5, 1.0, 1.25, 2.0], "texts": ["1.5", "2", "2", "7"],
    "dates": ["2024-05-01", "2024-05-01T12:00", "2024-05-02", "2024-05-02T00:00:00.5"],
    "back": [1, 3, 2, 4], "mixed": [1, "2", 3, 4], "none": [1, None, 3, 4], "large": [1, 2, 3, 2**70],
}  # fmt: skip

PLAIN = ("integers", "floats", "texts", "dates")


@pytest.mark.sampled(8)
@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("arrays", [False, True])
def test_arrays_say_what_rows_say(times, arrays, monkeypatch):
    data = {"type": ["A", "B", "A", "Z"], "time": TIMES[times], "x": [1, 2, 3, 4], "name": ["n", "m", "n", "n"]}
    if arrays:
        kinds = {"time": "M8[ms]"} if times == "dates" else {}
        data = {name: np.array(values, kinds.get(name)) for name, values in data.items()}
    blocks, made = [], EventColumns.block

    def block(*given):
        blocks.append(made(*given))
        return blocks[-1]

    monkeypatch.setattr(EventColumns, "block", block)
    in_columns = read(lambda source: source.pieces([DataSource(data)]), "s", None, "error")
    assert any(blocks) == (times in PLAIN or (arrays and times == "mixed"))  # which is an array of texts
    monkeypatch.setattr(EventColumns, "block", lambda *_: None)
    assert in_columns == read(lambda source: source.pieces([DataSource(data)]), "s", None, "error")


@pytest.mark.parametrize(
    ("time", "expected"),
    [
        ("0000-01-01T00:00:00", "a date that is in the calendar"),
        ("9999-12-31T23:59:59-05:00", "a date in the years 1 to 9999, also in UTC"),
        ("0001-01-01T00:00:00+00:01", "a date in the years 1 to 9999, also in UTC"),
        ("2024-05-01T12:00:00.1234567", "a time no finer than a microsecond"),
        (pa.scalar(2**62, pa.timestamp("us")), "a number, or a date such as .*, not timestamp.us. 4611686018427387904"),
    ],
)
def test_dates_that_there_are_not(time, expected, tmp_path):
    parquet.write_table(pa.table({"type": ["C"], "time": pa.array([time])}), tmp_path / "log.parquet")
    with pytest.raises(InputError, match=expected):
        wb.run(FOUND, tmp_path / "log.parquet")
    assert list(wb.run(FOUND, tmp_path / "log.parquet", bad_rows="skip")) == []


FOUND = wb.rules.parse_rules("declare C() declare D() from C emit D")


@pytest.mark.parametrize("few", [0, 1 << 20])
@pytest.mark.parametrize("late", [None, "1"])
def test_the_first_rows_of_several_files_are_the_first_events(few, late, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", few)
    for name, times in (("a", "1359"), ("b", "2248")):
        (tmp_path / f"{name}.csv").write_text(
            "".join(f"{each}\n" for each in ["type,time", *(f"C,{t}" for t in times)])
        )
    for head in (1, 4, 8, 100):
        found = wb.run(FOUND, [tmp_path / "a.csv", tmp_path / "b.csv"], head=head, late=late)
        assert [each["time"] for each in found] == [1, 2, 2, 3, 4, 5, 8, 9][:head]


def test_times_beyond_64_bits_may_come_late(tmp_path):
    (tmp_path / "a.csv").write_text(f"type,time\nC,{2**63}\n")
    parquet.write_table(pa.table({"type": ["C"] * 3, "time": [1, 2, 5]}), tmp_path / "b.parquet")
    found = wb.run(FOUND, [tmp_path / "a.csv", tmp_path / "b.parquet"], late="100")
    assert [each["time"] for each in found] == [1, 2, 5, 2**63]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize("rows", [3, 3000])
def test_times_beyond_64_bits_in_texts(form, rows, tmp_path):
    """They are whole numbers like others, also where a block is read as columns."""
    times = [*range(rows), 2**63 + 5, 10**23]
    lines = [f"{at},1" if form == "csv" else json.dumps({"time": at, "v": 1}) for at in times]
    path = tmp_path / f"log.{form}"
    path.write_text("\n".join(["time,v"] * (form == "csv") + lines) + "\n")
    rules = wb.rules.parse_rules("declare Temp(v: int)\ndeclare Alarm(v: int)\nfrom Temp emit Alarm(v = Temp.v)")
    for backend in ("cdp", "aip", "auto"):
        found = wb.run(rules, f"Temp={path}", backend=backend)
        assert [row["time"] for row in found] == times, backend
