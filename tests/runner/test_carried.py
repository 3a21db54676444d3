"""Rows that come out with cells of the rows that caused them: the columns of `--carry`, times, and row numbers."""

import csv
import json
import random
import sys
import types
from datetime import datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from workbench.cli.main import main
from workbench.errors import InputError
from workbench.events import lines
from workbench.executors.reference.executor import Reference

TEXT = """
pipeline hot(x: int) -> bool { return window(x, 2, cumulate(+)) > 5 }
pipeline both(x: int, y: int) -> hot: bool, sum: int { return window(x, 2, cumulate(+)) > 5, cumulate(y, +) }
pipeline late(x: int, y: int) -> out: int { return stutter(x + trim(y, 2), 2) }
pipeline last(x: int, y: int) -> a: int, b: bool { return keep_last(x), y > 1 }
pipeline pairs(x: int, y: int) -> (int, bool) { return (x, y > 0) }
"""
SOURCE = wb.parse(TEXT)
NAMES = ["hot", "both", "late", "last", "pairs"]
BACKENDS = ["reference", "threaded", "dataflow", "compiled"]


def log(seed: int, rows: int = 60) -> list[dict[str, Any]]:
    """Rows of a log; some cells are empty."""
    draw = random.Random(seed)
    found = []
    for at in range(rows):
        row = {"at": at // 2, "host": draw.choice("abc"), "x": draw.randrange(9), "y": draw.randrange(-3, 4)}
        found.append({name: value for name, value in row.items() if name == "at" or draw.random() < 0.9})
    return found


def expected(program: Any, rows: list[dict[str, Any]], key: str | None = None) -> list[dict[str, Any]]:
    """What comes out of each step by itself, beside its row, and then of the end."""
    inputs, runs, found = program.pipeline.ports.domains, {}, []

    def add(outputs: Any, own: dict[str, Any]) -> None:
        for i in range(max(map(len, outputs.values()))):
            found.append({**own, **{name: each[i] for name, each in outputs.items() if i < len(each)}})

    for number, row in enumerate(rows, 1):
        if key and key not in row:
            continue
        running = runs.setdefault(row.get(key) if key else None, Reference(program.pipeline))
        of_key = {key: row[key]} if key else {}
        cells = {name: row[name] for name in ("host",) if name in row and name != key}
        events = {name: value for name, value in row.items() if name in inputs}
        add(running.step(events).outputs, {"at": row["at"], **of_key, "row": number, **cells})
    for of, running in runs.items():
        add(running.end(), {key: of} if key else {})
    return found


def written(path: Path, rows: list[dict[str, Any]]) -> Path:
    """A log in the format of the name."""
    names = ["at", "host", "x", "y"]
    if path.suffix == ".csv":
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, names)
            writer.writeheader()
            writer.writerows(rows)
    elif path.suffix == ".jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        pa = pytest.importorskip("pyarrow")
        from pyarrow import parquet

        parquet.write_table(pa.table({name: [row.get(name) for row in rows] for name in names}), path)
    return path


@pytest.mark.sampled(20)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("name", NAMES)
def test_each_row_has_cells_of_the_row_that_caused_it(name: str, backend: str, tmp_path: Path) -> None:
    program = SOURCE.get(name)
    options: dict[str, Any] = {"carry": "host", "with_row": True, "time": "at", "backend": backend}
    for seed, ending in enumerate((".csv", ".jsonl", ".parquet")):
        rows = log(seed, 40)
        given = written(tmp_path / f"in{ending}", rows)
        wb.run(program, given, output=tmp_path / "out.jsonl", **options)
        found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        right = json.loads(json.dumps(expected(program, rows)))  # tuples are lists there
        assert found == right
        if found:
            assert [*found[0]][:2] == ["at", "row"]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_of_each_key(backend: str, tmp_path: Path) -> None:
    rows = [row for row in log(7) if "host" in row]
    given = written(tmp_path / "in.csv", rows)
    for name in ("both", "late"):
        program = SOURCE.get(name)
        wb.run(
            program, given, output=tmp_path / "out.jsonl", key="host", with_row=True, time="at", backend=backend
        )  # fmt: skip
        found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert found == expected(program, rows, "host")


@pytest.mark.parametrize("backend", [*BACKENDS, "auto"])
def test_rows_of_the_end_are_reported(backend: str, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """No row of the log has caused them, so they have no cells; where there are none, nothing is reported."""
    given = tmp_path / "in.csv"
    given.write_text("x,y,host\n" + "1,2,a\n" * 9)
    said = "1 output row came after the end of the log, without host, since no row caused that"
    for name, count in (("last", 1), ("hot", 0)):
        caplog.clear()
        with caplog.at_level("INFO", "workbench"):
            wb.run(SOURCE.get(name), given, output=tmp_path / "out.jsonl", carry="host", backend=backend)
        assert caplog.text.count(said) == count
    assert "came after the end of the log" not in caplog.text


@pytest.mark.parametrize("backend", BACKENDS)
def test_only_true(backend: str, tmp_path: Path) -> None:
    rows = log(3)
    given = written(tmp_path / "in.csv", rows)
    for name, flags in (("hot", ["out"]), ("both", ["hot"]), ("last", ["b"])):
        program = SOURCE.get(name)
        wb.run(program, given, output=tmp_path / "out.jsonl", only_true=True, with_row=True, backend=backend)
        found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        right = [
            {name: value for name, value in row.items() if name not in ("at", "host")}
            for row in expected(program, rows)
            if any(row.get(flag) is True for flag in flags)
        ]
        assert found == right
    with pytest.raises(InputError, match="no output of pipeline late is a truth value"):
        wb.run(SOURCE.get("late"), given, only_true=True)


DATES = [f"2026-01-01T00:00:{second:02}" for second in (0, 20, 10, 30)]


@pytest.mark.parametrize("backend", ["reference", "compiled", "auto"])
def test_times_are_written_as_the_log_has_them(backend: str, tmp_path: Path) -> None:
    cases: list[tuple[list[str], dict[str, Any]]] = [
        (DATES, {}),
        ([f"{date}Z" for date in DATES], {}),
        (["0", "20", "10", "30"], {"time_unit": "s"}),
        (["0.5", "20.25", "10", "30"], {"time_unit": "s"}),
    ]
    for cells, options in cases:
        lines = "".join(f"{x},{at}\n" for x, at in zip((1, 9, 2, 0), cells, strict=True))
        (tmp_path / "in.csv").write_text(f"x,at\n{lines}")
        late = "11s"
        wb.run(
            SOURCE.get("hot"), tmp_path / "in.csv", output=tmp_path / "out.csv", time="at", late=late,
            backend=backend, **options,
        )  # fmt: skip
        right = f"at,out\n{cells[2]},false\n{cells[1]},true\n{cells[3]},true\n"
        assert (tmp_path / "out.csv").read_text() == right


@pytest.mark.parametrize("options", [{}, {"late": "1s"}], ids=["as they come", "in order"])
@pytest.mark.parametrize("suffix", ["csv", "jsonl", "arrow"])
def test_dates_of_rules_in_a_pipeline(suffix: str, options: dict[str, Any], tmp_path: Path) -> None:
    """Their rows are read one by one; what times are is known before the output is opened all the same."""
    rules = "declare Level(v: int)\ndeclare Hit(v: int)\nfrom Level(v > 1) emit Hit(v = Level.v)"
    (tmp_path / "hit.tesla").write_text(rules)
    (tmp_path / "p.pipe").write_text('pipeline p(x: int) -> int { return rules("hit.tesla", x).Hit.v }')
    (tmp_path / "in.csv").write_text("".join(f"{x},{at}\n" for x, at in [("x", "at"), (2, DATES[0]), (9, DATES[1])]))
    out = tmp_path / f"out.{suffix}"
    wb.run(wb.load(tmp_path / "p.pipe"), tmp_path / "in.csv", output=out, time="at", **options)
    again = wb.run(wb.parse("pipeline q(at: str, out: int) -> str, int { return at, out }").get(), out)
    assert list(again) == [{"out1": DATES[0], "out2": 2}, {"out1": DATES[1], "out2": 9}]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_an_answer_as_data_of_other_packages(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    (tmp_path / "in.csv").write_text("x\n1\n9\n")
    outputs = "y: int, late: bool, both: {n: int, big: bool}"
    text = f"pipeline p(x: int) -> {outputs} {{ return x, trim(x > 5, 1), {{n: x, big: x > 5}} }}"
    found = wb.run(wb.parse(text).get(), tmp_path / "in.csv", backend=backend)
    assert isinstance(found, wb.RunOutputs)
    first = {"y": 1, "both": {"n": 1, "big": False}}
    assert found.to_json() == [first, {"y": 9, "late": True, "both": {"n": 9, "big": True}}]
    assert json.loads(json.dumps(found.to_json())) == found.to_json()
    frames = types.ModuleType("polars")
    frames.from_arrow = lambda table: ("frame", table)  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "polars", frames)
    kind, table = found.to_polars()
    assert (kind, table.column("late").to_pylist()) == ("frame", [None, True])
    assert isinstance(table, pa.Table)


def test_of_data_in_memory() -> None:
    both = SOURCE.get("both")
    given = {"x": [1, 9, 2], "y": [1, 1, 1], "host": ["a", None, "b"]}
    right = {"host": ["a", None, "b"], "hot": [None, True, True], "sum": [1, 2, 3]}
    assert wb.run(both, given, carry="host") == right
    rows = [{"x": 9, "y": 1, "t": 1}, {"x": 9, "y": 1, "t": 3}]
    assert wb.run(both, rows, time="t") == [{"t": 1, "sum": 1}, {"t": 3, "hot": True, "sum": 2}]
    assert list(wb.run(both, iter(rows), carry=["t", "x"])) == [
        {"t": 1, "x": 9, "sum": 1},
        {"t": 3, "x": 9, "hot": True, "sum": 2},
    ]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_times_of_a_table_are_known_before_its_answer_is_made(backend: str) -> None:
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"x": [1, 9], "at": DATES[:2]})
    right = {"at": [DATES[1]], "out": [True]}
    assert wb.run(SOURCE.get("hot"), table, time="at", backend=backend).to_pydict() == right
    assert wb.run(SOURCE.get("hot"), table.to_reader(), time="at", backend=backend).read_all().to_pydict() == right
    frame = pytest.importorskip("pandas").DataFrame(table.to_pydict())
    assert wb.run(SOURCE.get("hot"), frame, time="at", backend=backend).to_dict("list") == right


def test_a_time_that_is_an_input_or_an_output() -> None:
    program = wb.parse("pipeline p(at: int, x: int) -> int { return at + x }").get()
    assert wb.run(program, [{"at": 2, "x": 1}], time="at") == [{"at": 2, "out": 3}]
    program = wb.parse("pipeline p(x: int) -> at: int { return x + 1 }").get()
    assert wb.run(program, [{"at": 2, "x": 4}, {"at": 3, "x": 6}], time="at") == [{"at": 5}, {"at": 7}]


def test_names(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "p.pipe").write_text("pipeline p(x: int) -> row: int { return x }")
    (tmp_path / "in.csv").write_text("x,host,row\n1,a,5\n")
    command = ["run", str(tmp_path / "p.pipe"), "--input", str(tmp_path / "in.csv")]
    for more, told in (
        (["--with-row"], "an output of pipeline p and the number of the row are both called 'row'"),
        (["--carry", "row"], "an output of pipeline p and a copied column are both called 'row'"),
        (["--carry", "host", "--carry", "host"], "two columns of the output would be called 'host'"),
        (["--carry", "hots"], "there is no column 'hots'"),
        (["--carry", "host", "--backend", "spark"], "not for the spark backend: --carry"),
    ):
        assert main([*command, *more]) == 2
        assert told in capsys.readouterr().err


def test_objects_are_no_keys() -> None:
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    with pytest.raises(InputError, match=r"'request': expected a text or a number, not \{'id': 3\}") as found:
        wb.run(program, [{"x": 1, "request": {"id": 3}}], key="request")
    assert found.value.hint == "a key is a text or a number, not an object"


JSON_CELLS: dict[str, list[Any]] = {
    "int": [1, 2, 3],
    "float": [1.5, 2, -0.25],
    "bool": [True, False, None],
    "text": ["1", 'a"b\\', None],
    "nested": [{"a": [1, {"b": None}]}, [], {}],
    "mixed": [1, "1", None],
    "large": [2**70, 1, 2],
    "late": [None, 7, "x"],
}
"""What a key of three rows has; null is a missing key."""


@pytest.mark.sampled(6)
@pytest.mark.parametrize("many", [1, 400], ids=["rows", "columns"])
@pytest.mark.parametrize("backend", BACKENDS)
def test_cells_of_json_are_copied_as_they_are(backend: str, many: int, tmp_path: Path) -> None:
    """In all forms in which rows come: alone, in blocks that Arrow reads, and in blocks of which it reads some."""
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    for name, values in JSON_CELLS.items():
        cells = [value for value in values for _ in range(many)]
        rows = [{"x": i, "at": i, "v": value} for i, value in enumerate(cells)]
        given, out = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
        given.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        right = [{"v": row["v"], "out": row["x"]} if row["v"] is not None else {"out": row["x"]} for row in rows]
        wb.run(program, given, output=out, carry="v", backend=backend)
        assert out.read_text() == "".join(f"{json.dumps(row)}\n" for row in right), name
        wb.run(program, given, output=out, carry="v", backend=backend, time="at", late="2")
        timed = [{"at": row["out"], **row} for row in right]
        assert out.read_text() == "".join(f"{json.dumps(row)}\n" for row in timed), name
        assert wb.run(program, rows, carry="v", backend=backend) == right


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_cells_of_json_in_formats_of_columns_are_texts(ending: str, backend: str, tmp_path: Path) -> None:
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    texts = {
        "int": ["1", "2", "3"],
        "float": ["1.5", "2", "-0.25"],
        "bool": ["true", "false", None],
        "nested": ['{"a": [1, {"b": null}]}', "[]", "{}"],
        "mixed": ["1", "1", None],
    }
    for name, right in texts.items():
        rows = [{"x": i, "v": value} for i, value in enumerate(JSON_CELLS[name])]
        (tmp_path / "in.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
        out = tmp_path / f"out{ending}"
        wb.run(program, tmp_path / "in.jsonl", output=out, carry="v", backend=backend)
        if ending == ".csv":
            with out.open(newline="") as file:
                assert [row["v"] or None for row in csv.DictReader(file)] == right, name
        else:
            parquet = pytest.importorskip("pyarrow.parquet")
            assert parquet.read_table(out)["v"].to_pylist() == right, name


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_columns_of_types_keep_them(backend: str, tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    day = datetime(2026, 11, 24, 3, 37, 50)
    kinds: list[tuple[Any, list[Any], list[Any]]] = [
        (pa.bool_(), [True, None, False], [True, None, False]),
        (pa.int64(), [1, None, -(2**60)], [1, None, -(2**60)]),
        (pa.uint64(), [1, None, 2**64 - 1], [1, None, 2**64 - 1]),
        (pa.float64(), [1.0, None, 0.1], [1.0, None, 0.1]),
        (pa.string(), ["1", None, "a"], ["1", None, "a"]),
        (pa.decimal128(9, 2), [Decimal("1.50"), None, Decimal("2.00")], [1.5, None, 2]),
        (pa.timestamp("us"), [day, None, day], ["2026-11-24T03:37:50", None, "2026-11-24T03:37:50"]),
        (pa.date32(), [day.date(), None, day.date()], ["2026-11-24", None, "2026-11-24"]),
        (pa.list_(pa.int64()), [[1, 2], None, []], [[1, 2], None, []]),
        (pa.struct({"a": pa.int64()}), [{"a": 1}, None, {"a": None}], [{"a": 1}, None, {"a": None}]),
    ]
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    for kind, cells, as_json in kinds:
        table = pa.table({"x": [1, 2, 3], "v": pa.array(cells, kind)})
        parquet.write_table(table, tmp_path / "in.parquet")
        wb.run(program, tmp_path / "in.parquet", output=tmp_path / "out.parquet", carry="v", backend=backend)
        assert parquet.read_table(tmp_path / "out.parquet")["v"].combine_chunks() == table["v"].combine_chunks()
        wb.run(program, tmp_path / "in.parquet", output=tmp_path / "out.jsonl", carry="v", backend=backend)
        found = [json.loads(line).get("v") for line in (tmp_path / "out.jsonl").read_text().splitlines()]
        assert (found, list(map(type, found))) == (as_json, list(map(type, as_json)))
        assert wb.run(program, table, carry="v", backend=backend)["v"].combine_chunks() == table["v"].combine_chunks()


@pytest.mark.parametrize("seed", range(20))
def test_logs_of_several_formats_and_types_are_merged(seed: int, tmp_path: Path) -> None:
    """However the cells of one column are cut into blocks and files, they come out as they are."""
    draw = random.Random(seed)
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    files, rows = [], list[dict[str, Any]]()
    for number in range(3):
        kind = draw.choice([lambda: draw.randrange(9), lambda: draw.choice("ab"), lambda: [draw.randrange(3)]])
        own = [{"x": i, "at": 3 * i + number, "v": kind()} for i in range(draw.choice([3, 300]))]
        file = tmp_path / f"{number}.jsonl"
        file.write_text("".join(f"{json.dumps(row)}\n" for row in own))
        files, rows = [*files, file], [*rows, *own]
    wb.run(program, files, output=tmp_path / "out.jsonl", carry="v", time="at")
    found = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert found == [{"at": r["at"], "v": r["v"], "out": r["x"]} for r in sorted(rows, key=lambda row: row["at"])]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize("with_gaps", [True, False])  # where no cell is empty, blocks are read as columns
def test_a_run_that_stops_and_goes_on(backend: str, with_gaps: bool, tmp_path: Path) -> None:
    rows = [row for row in log(5, 60 if with_gaps else 9000) if with_gaps or len(row) == 4]
    given = written(tmp_path / "in.csv", rows)
    for cut in (1, 13, 59):
        options: Any = {"carry": "host", "with_row": True, "backend": backend, "state": tmp_path / f"{cut}.state"}
        out = tmp_path / f"{cut}.csv"
        wb.run(SOURCE.get("both"), given, output=out, head=cut, **options)
        wb.run(SOURCE.get("both"), given, output=out, **options)
        del options["state"]
        wb.run(SOURCE.get("both"), given, output=tmp_path / "whole.csv", **options)
        assert out.read_text() == (tmp_path / "whole.csv").read_text()


@pytest.mark.parametrize("rows", [3, 3000])
def test_keys_of_nested_objects(rows: int, tmp_path: Path) -> None:
    """Paths name runs by key, inputs and carried columns; numbers that are keys are texts as they are written."""
    given = tmp_path / "in.jsonl"
    names = ["7", "7.50", '"ann"']
    given.write_text("".join(f'{{"r": {{"u": {{"id": {names[i % 3]}}}, "n": {i}}}, "z": {i}}}\n' for i in range(rows)))
    program = wb.parse("pipeline p(x: int) -> int { return cumulate(x, +) }").get()
    found = list(wb.run(program, given, key="r.u.id", columns={"x": "r.n"}, carry=["z", "r"]))
    totals = dict.fromkeys(names, 0)
    for i, row in enumerate(found):
        name = names[i % 3]
        totals[name] += i
        inner = {"u": {"id": json.loads(name)}, "n": i}
        assert row == {"r.u.id": name.strip('"'), "z": i, "r": inner, "out": totals[name]}
    assert len(found) == rows


def test_a_key_that_no_row_has_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """It is not an error: some keys are rare."""
    (tmp_path / "in.jsonl").write_text('{"x": 1, "user": {"name": "ann"}}\n')
    program = wb.parse("pipeline p(x: int) -> int { return x }").get()
    for key, hint in (
        ("user.nam", "did you mean 'user.name'? If so, name the column to copy: --carry user.name"),
        ("usr", "did you mean 'user'? If so, name the column to copy: --carry user"),
        ("z.y", "there are: user, x"),
    ):
        with caplog.at_level("INFO", "workbench"):
            carried = [key, "user.name"]
            assert list(wb.run(program, tmp_path / "in.jsonl", carry=carried)) == [{"user.name": "ann", "out": 1}]
        assert f"--carry {key}: no row has this key, and the output has no values for it ({hint})" in caplog.text


@pytest.mark.parametrize("name", ["log.csv", "log.jsonl", "log.parquet"])
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_an_empty_cell_that_is_copied_is_no_missing_event(name: str, backend: str, tmp_path: Path) -> None:
    """`--null error` is about inputs: the sums are 1, 3 and 6, whatever stands beside the numbers."""
    rows = [{"x": 1, "note": "a"}, {"x": 2, "note": None}, {"x": 3, "note": "b"}]
    log, total = tmp_path / name, wb.parse("pipeline total(x: int) -> int { return cumulate(x, +) }").get()
    if name == "log.csv":
        log.write_text("x,note\n1,a\n2,\n3,b\n")
    elif name == "log.jsonl":
        log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    else:
        parquet = pytest.importorskip("pyarrow.parquet")
        parquet.write_table(sys.modules["pyarrow"].Table.from_pylist(rows), log)
    out = tmp_path / "out.jsonl"
    wb.run(total, log, output=out, null="error", carry=["note"], backend=backend)
    shown = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(row.get("note"), row["out"]) for row in shown] == [("a", 1), (None, 3), ("b", 6)]


@pytest.mark.parametrize("form", ["csv", "jsonl"])
@pytest.mark.parametrize(
    "options", [{"carry": "sec"}, {"time": "sec"}, {"key": "sec"}, {"time": "sec", "carry": "sec"}]
)
def test_a_copied_column_may_be_a_field_of_a_record(options: dict[str, Any], form: str, tmp_path: Path) -> None:
    program = wb.parse("pipeline p(row: {sec: int, agent: str}) -> str { return row.agent }").get()
    csv_text, lines = "sec,agent,host\n0,a,x\n2,b,x\n", '{"sec": 0, "agent": "a"}\n{"sec": 2, "agent": "b"}\n'
    (tmp_path / f"in.{form}").write_text(csv_text if form == "csv" else lines)
    rows = [(int(row["sec"]), row["out"]) for row in wb.run(program, tmp_path / f"in.{form}", **options)]
    assert rows == [(0, "a"), (2, "b")]


@pytest.mark.parametrize("least", [0, 1 << 20])
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_text_that_an_input_reads_as_a_number_is_copied(
    backend: str, least: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also where rows are read as columns of numbers."""
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", least)
    (tmp_path / "in.csv").write_text("a,b,c\n81.30,007,TRUE\n,,\n1.50,03,0\n")
    program = wb.parse("pipeline p(x: float, y: int, z: bool) -> float, int, bool { return x, y, z }").get()
    columns = {"x": "a", "y": "b", "z": "c"}
    rows = wb.run(program, tmp_path / "in.csv", columns=columns, carry=["a", "b", "c"], backend=backend)
    assert [(row["a"], row["b"], row["c"]) for row in rows] == [("81.30", "007", "TRUE"), ("1.50", "03", "0")]
