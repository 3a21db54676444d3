"""`--time COLUMN` of pipelines: rows are steps in the order of time, and those of the output begin with it."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import pytest

import workbench as wb
from tests.cli.conftest import ROOT
from workbench.errors import InputError, WorkbenchError
from workbench.events import lines

SUMS = wb.parse("pipeline sums(x: int) -> int { return cumulate(x, +) }").get()
PAIRS = wb.parse("pipeline pairs(x: int, s: str) -> n: int, s: str { return cumulate(x, +), s }").get()


@pytest.fixture(params=["blocks", "rows"])
def form(request, monkeypatch):
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 0 if request.param == "blocks" else 1 << 40)
    monkeypatch.setattr(lines, "SIZE", 40)


def log(path: Path, *rows: Sequence[object], names: str = "t,x") -> Path:
    path.write_text(f"{names}\n" + "".join(",".join(map(str, row)) + "\n" for row in rows))
    return path


def in_order(logs, lateness):
    """The rows of logs in order, and those that are late: by the definition, row by row."""
    kept, late = [], []
    for rows in logs:
        newest = None
        for row in rows:
            newest = row["t"] if newest is None else max(newest, row["t"])
            (late if row["t"] < newest - lateness else kept).append(row)
    return sorted(kept, key=lambda row: row["t"]), late


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("backend", ["reference", "compiled", "threaded"])
def test_rows_are_sorted_within_the_lateness(backend: str, tmp_path: Path) -> None:
    found = wb.run(
        SUMS, log(tmp_path / "a.csv", (5, 1), (3, 10), (3, 100), (9, 1000)), time="t", late="2", backend=backend
    )
    assert found.to_dict() == {"t": [3, 3, 5, 9], "out": [10, 110, 111, 1111]}


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_late_rows_go_to_a_file_or_are_an_error(backend: str, tmp_path: Path) -> None:
    path, kept = log(tmp_path / "a.csv", (5, 1), (2, 10), (9, 100)), tmp_path / "late.csv"
    found = wb.run(SUMS, path, time="t", late="2", late_output=str(kept), backend=backend)
    assert found.to_dict() == {"t": [5, 9], "out": [1, 101]}
    assert kept.read_text() == "t,x\n2,10\n"
    with pytest.raises(InputError, match=r"a\.csv: a row of 2 \(row 2\) came later than --late 2"):
        wb.run(SUMS, path, time="t", late="2", backend=backend)


@pytest.mark.usefixtures("form")
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_times_go_back_in_no_log_without_lateness(backend: str, tmp_path: Path) -> None:
    first = log(tmp_path / "a.csv", (5, 1), (5, 10), (7, 100))
    assert wb.run(
        SUMS, [first, log(tmp_path / "b.csv", (4, 1000), (6, 10000))], time="t", backend=backend
    ).to_dict() == {"t": [4, 5, 5, 6, 7], "out": [1000, 1001, 1011, 11011, 11111]}
    with pytest.raises(
        InputError, match=r"a\.csv:3: column 't': expected a time from 5 on, the time of the row before"
    ):
        wb.run(SUMS, log(tmp_path / "a.csv", (5, 1), (4, 10)), time="t", backend=backend)


def test_dates_and_units(tmp_path: Path) -> None:
    dates = ("2026-01-01T00:00:05", 1), ("2026-01-01T00:00:03", 10), ("2026-01-01T00:00:09", 100)
    found = wb.run(SUMS, log(tmp_path / "a.csv", *dates), time="t", late="2 s")
    assert found.to_dict() == {"t": [dates[i][0] for i in (1, 0, 2)], "out": [10, 11, 111]}
    found = wb.run(SUMS, log(tmp_path / "b.csv", (5, 1), (3, 10)), time="t", late="2 s", time_unit="s")
    assert found.to_dict() == {"t": [3, 5], "out": [10, 11]}


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_the_column_may_be_an_input(backend: str, tmp_path: Path) -> None:
    program = wb.parse("pipeline gaps(t: int, x: int) -> int { return t + x }").get()
    path = log(tmp_path / "a.csv", (5, 1), (3, 10), (9, 100))
    assert wb.run(program, path, time="t", late="2 s", time_unit="s", backend=backend).to_dict() == {
        "t": [3, 5, 9],
        "out": [13, 6, 109],
    }
    with pytest.raises(InputError, match="'t': expected a time from 5 on"):
        wb.run(program, path, time="t", backend=backend)


def test_data_of_python() -> None:
    rows = [{"t": 5, "x": 1}, {"t": 3, "x": 10}, {"t": 9, "x": 100}]
    wanted = [{"t": 3, "out": 10}, {"t": 5, "out": 11}, {"t": 9, "out": 111}]
    assert wb.run(SUMS, rows, time="t", late="2") == wanted
    assert list(wb.run(SUMS, iter(rows), time="t", late="2")) == wanted
    columns = {name: [row[name] for row in rows] for name in "tx"}
    assert wb.run(SUMS, columns, time="t", late="2") == {"t": [3, 5, 9], "out": [10, 11, 111]}


def test_rows_of_an_iterator_come_when_the_watermark_has_passed_them() -> None:
    taken = []

    def rows():
        for time in range(10):
            taken.append(time)
            yield {"t": time, "x": 1}

    found = iter(wb.run(SUMS, rows(), time="t", late="2"))
    assert next(found) == {"t": 0, "out": 1}
    assert taken == [0, 1, 2, 3]


def random_logs(seed: int):
    random = Random(seed)
    logs = []
    for _ in range(random.choice([1, 1, 2, 3])):
        time, rows = 0, []
        for _ in range(random.choice([0, 3, 50, 400])):
            time += random.randrange(3)
            x = None if random.random() < 0.1 else random.randrange(9)
            row = {"t": max(0, time - random.randrange(6)), "x": x}
            rows.append(row | {"s": random.choice("uvw"), "k": random.choice("ab")})
        logs.append(rows)
    return random, logs


@pytest.mark.sampled(2)
@pytest.mark.parametrize("seed", range(8))
def test_random_logs(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What a run of rows that are in order makes is what a run makes that puts them in order."""
    random, logs = random_logs(seed)
    lateness, key = random.choice([0, 2, 9]), random.choice([{}, {}, {"key": "k"}])
    wanted, late = in_order(logs, lateness)
    (tmp_path / "sorted.jsonl").write_text("".join(text(row) for row in wanted))
    alone = tmp_path / "alone.jsonl"
    wb.run(PAIRS, tmp_path / "sorted.jsonl", output=alone, backend="reference", **key)
    files = []
    for i, rows in enumerate(logs):
        cells = [["" if row[name] is None else row[name] for name in "txsk"] for row in rows]
        files.append(log(tmp_path / f"{i}.csv", *cells, names="t,x,s,k"))
    for backend in ("reference", "compiled", "auto"):
        for size in (50, 1 << 21):
            monkeypatch.setattr(lines, "SIZE", size)
            monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 0 if size == 50 else 1024)
            output, kept = tmp_path / "out.jsonl", tmp_path / "late.jsonl"
            kept.unlink(missing_ok=True)
            options = {"time": "t", "late": str(lateness), "late_output": kept, **key}
            wb.run(PAIRS, files, output=output, backend=backend, **options)
            assert [*without_time(read(output), "t")] == read(alone)
            found = [json.loads(line)["t"] for line in kept.read_text().splitlines()] if kept.exists() else []
            assert sorted(found) == sorted(row["t"] for row in late)


def without_time(rows, column: str):
    """The rows without their times, with which they begin and which do not go back."""
    last = None
    for row in rows:
        assert next(iter(row)) == column
        assert last is None or row[column] >= last
        last = row[column]
        yield {name: value for name, value in row.items() if name != column}


def read(path: Path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def text(row) -> str:
    return json.dumps({name: value for name, value in row.items() if value is not None}) + "\n"


def test_compiled_code_gives_way_to_the_reference_with_late_rows(tmp_path: Path) -> None:
    """The rows are read and put in order once more; those that are late are written once."""
    pytest.importorskip("numba")
    rows = [(i, 1) for i in range(20_000)] + [(0, 7), (20_000, 2**62), (20_001, 2**62), (20_002, 2**62)]
    kept = tmp_path / "late.csv"
    found = wb.run(SUMS, log(tmp_path / "a.csv", *rows), time="t", late="5", late_output=str(kept)).to_dict()["out"]
    assert found[-1] == 20_000 + 3 * 2**62
    assert len(found) == 20_003
    assert kept.read_text() == "t,x\n0,7\n"


@pytest.mark.parametrize("backend", ["reference", "threaded", "compiled", "auto"])
@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@pytest.mark.parametrize("form", ["dates", "fractions", "texts"])
def test_a_column_of_times_that_is_an_input_too(form: str, ending: str, backend: str, tmp_path: Path) -> None:
    """The rows come in the order of time, begin with it as the log has it, and the input carries it in its own type."""
    count = 700
    seconds = [i + 0.5 * (i % 2) for i in range(count)]
    shown: list[Any] = list(seconds)
    if form == "dates":
        shown = [(datetime(2026, 11, 24) + timedelta(seconds=at)).isoformat() for at in seconds]
    if form == "texts":
        shown = [f"{at:.1f}" for at in seconds]
    order = [*range(0, count, 2), *range(1, count, 2)]  # later rows come long before earlier ones
    path = tmp_path / f"in{ending}"
    if ending == ".csv":
        path.write_text("x,t\n" + "".join(f"{i},{shown[i]}\n" for i in order))
    elif ending == ".jsonl":
        path.write_text("".join(json.dumps({"x": i, "t": shown[i]}) + "\n" for i in order))
    else:
        pa, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
        parquet.write_table(pa.table({"x": order, "t": [shown[i] for i in order]}), path)
    kind = "str" if form == "texts" else "float"
    text = f"pipeline p(x: int, t: {kind}) -> x: int, of: {kind} {{ return x, t }}"
    options: Any = {"time_format": "auto"} if form == "dates" else {"time_unit": "s"}
    wb.run(wb.parse(text).get(), path, output=tmp_path / "out.jsonl", time="t", late="800s", backend=backend, **options)
    start = datetime(2026, 11, 24, tzinfo=UTC).timestamp() if form == "dates" else 0
    for i, row in enumerate(read(tmp_path / "out.jsonl")):
        at = shown[i] if form == "dates" else seconds[i]
        assert row == {"t": at, "x": i, "of": shown[i] if form == "texts" else start + seconds[i]}


def test_late_rows_of_such_a_column(tmp_path: Path) -> None:
    (tmp_path / "in.csv").write_text("x,t\n1,5.5\n2,3.5\n3,6.25\n")
    program = wb.parse("pipeline p(x: int, t: float) -> int { return x }").get()
    kept = tmp_path / "late.csv"
    made = wb.run(program, tmp_path / "in.csv", time="t", time_unit="s", late="1s", late_output=str(kept))
    assert list(made) == [{"t": 5.5, "out": 1}, {"t": 6.25, "out": 3}]
    assert kept.read_text() == "t,x\n3.5,2\n"


@pytest.mark.parametrize("files", [1, 2])
def test_bad_rows_and_the_first_rows(files: int, tmp_path: Path) -> None:
    paths = [log(tmp_path / f"{i}.csv", (5, 1), ("oops", 10), (3, 100), (9, "no")) for i in range(files)]
    bad = tmp_path / "bad.jsonl"
    found = wb.run(SUMS, paths, time="t", late="2", bad_rows=str(bad)).to_dict()["out"]
    assert found == ([100, 101] if files == 1 else [100, 200, 201, 202])
    assert [json.loads(line)["row"] for line in bad.read_text().splitlines()] == [3, 5] * files
    found = wb.run(SUMS, paths, time="t", late="2", bad_rows="skip", head=3).to_dict()["out"]
    assert found == ([100, 101] if files == 1 else [100, 200, 201])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"late": "2"}, "for rules and pipelines with a clock only: --late\n.*or add --time COLUMN"),
        ({"until": "3"}, "for rules and pipelines with rules in them only: --until"),
        ({"time": "t", "until": "3"}, "for rules and pipelines with rules in them only: --until"),
        ({"time": "tt"}, "there is no column 'tt'"),
        ({"time": "t", "backend": "spark", "key": "x"}, "not for the spark backend: --time"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_refused(options, message: str, tmp_path: Path) -> None:
    if options.get("backend") == "spark":
        pytest.importorskip("pyspark")
    path = log(tmp_path / "a.csv", (5, 1))
    with pytest.raises(WorkbenchError, match=message):
        wb.run(SUMS, path, output=tmp_path / "out.csv", **options)


def test_a_row_without_a_time(tmp_path: Path) -> None:
    for backend in ("reference", "compiled"):
        with pytest.raises(InputError, match="this row has no 't'"):
            wb.run(SUMS, log(tmp_path / "a.csv", (5, 1), ("", 2)), time="t", backend=backend)


def test_rules_in_a_pipeline_see_times_in_order(tmp_path: Path) -> None:
    rows = (ROOT / "models" / "tesla" / "kitchen.jsonl").read_text().splitlines(keepends=True)
    (tmp_path / "log.jsonl").write_text("".join([rows[1], rows[0], *rows[2:]]))
    program = str(ROOT / "models" / "tesla" / "kitchen.pipe")
    wanted = list(wb.run(program, ROOT / "models" / "tesla" / "kitchen.jsonl"))
    assert [*without_time(wb.run(program, tmp_path / "log.jsonl", late="1 d"), "time")] == wanted
    assert [*without_time(wb.run(program, tmp_path / "log.jsonl", late="1 d", time="time"), "time")] == wanted
    for i in range(2):
        (tmp_path / f"{i}.jsonl").write_text("".join(rows[i::2]))
    logs = [tmp_path / "0.jsonl", tmp_path / "1.jsonl"]
    assert [*without_time(wb.run(program, logs, time="time"), "time")] == wanted
    with pytest.raises(WorkbenchError, match="the time goes back"):
        wb.run(program, tmp_path / "log.jsonl")


SILENCE = """
pipeline silence(reading: {sensor: str, room: str, value: float}) -> silent: {sensor: str, room: str}
{
    return rules("silence.tesla", reading).Silent
}
"""


@pytest.mark.parametrize("backend", ["reference", "threaded"])
@pytest.mark.parametrize("until", [300, 359, 360, 400])
def test_the_clock_moves_on_at_the_end_of_the_log(until: int, backend: str, tmp_path: Path) -> None:
    """What rules in a pipeline emit then is what the rules emit by themselves."""
    models, options = ROOT / "models" / "tesla", dict[str, Any](time_unit="s", until=until)
    (tmp_path / "silence.tesla").write_text((models / "silence.tesla").read_text())
    (tmp_path / "silence.pipe").write_text(SILENCE)
    alone = wb.run(models / "silence.tesla", models / "silence.jsonl", **options)
    wanted = [{"sensor": row["sensor"], "room": row["room"]} for row in alone if row["type"] == "Silent"]
    found = wb.run(tmp_path / "silence.pipe", models / "silence.jsonl", backend=backend, **options)
    assert found.to_dict() == {"silent": [tuple(row.values()) for row in wanted]}
    timed = list(wb.run(tmp_path / "silence.pipe", models / "silence.jsonl", backend=backend, time="time", **options))
    assert [row["silent"] for row in timed] == found.to_dict()["silent"]


def test_a_clock_that_cannot_move(tmp_path: Path) -> None:
    models, rows = ROOT / "models" / "tesla", str(ROOT / "models" / "tesla" / "kitchen.jsonl")
    with pytest.raises(WorkbenchError, match=r"(?s)--until: .*the time goes back .*hint: name a later time"):
        wb.run(models / "kitchen.pipe", rows, until="2026-01-01T00:00:00")
    with pytest.raises(WorkbenchError, match="--until soon: expected a number, or a date"):
        wb.run(models / "kitchen.pipe", rows, until="soon")
    with pytest.raises(InputError, match="--until and --key cannot be combined"):
        wb.run(models / "kitchen.pipe", rows, until="2026-01-01T00:00:00", key="temp")
