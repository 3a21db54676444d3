"""`wb.run`: a program on data of every kind; the answer comes as what went in."""

from __future__ import annotations

import itertools
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.cli.commands import run as command
from workbench.cli.help_pages import PagedParser
from workbench.errors import DomainError, InputError, LimitMet, Overflow
from workbench.runner.options import RunKeywords

TOTAL = "pipeline total(x: int) -> int { return cumulate(x, +) }"
LATE = "pipeline late(x: int, y: int) -> int { return x + trim(y, 1) }"
SEVERAL = """pipeline several(x: int, y: bool, z: float, l: {low, high}) -> a: int, b: bool, c: float, d: {low, high} {
    d = if y then high else l
    return stutter(x, 2), not y, z * 0.5, d
}"""
TUPLES = "pipeline tuples(e: {user: str, n: int}) -> e: {user: str, n: int}, n: int { return e, e.n }"
BACKENDS = ["auto", "reference", "compiled", "threaded"]


@pytest.mark.parametrize("backend", BACKENDS)
def test_lists_arrays_and_rows(backend: Any) -> None:
    np = pytest.importorskip("numpy")
    total = wb.parse(TOTAL).get()
    assert wb.run(total, {"x": [3, None, 4]}, backend=backend) == {"out": [3, 7]}
    assert wb.run(total, [{"x": 3}, {}, {"x": np.int64(4)}], backend=backend) == [{"out": 3}, {"out": 7}]
    masked = np.ma.MaskedArray([3, 9, 4], [False, True, False])
    for array in (np.array([3, 4]), np.array([3, 4], np.uint8), np.array([3, 4], np.uint64), np.arange(3, 7)[::1][:2]):
        found = wb.run(total, {"x": array}, backend=backend)["out"]
        assert (found.dtype, found.tolist()) == (np.int64, [3, 7])
    assert wb.run(total, {"x": masked}, backend=backend)["out"].tolist() == [3, 7]
    assert wb.run(total, {"x": np.arange(2)}, integers=wb.Integer(5), backend=backend)["out"].tolist() == [0, 1]
    assert wb.run(total, {"x": np.array([], np.int64)}, backend=backend)["out"].dtype == np.int64
    assert wb.run(total, {"x": [3, 4]}, integers=wb.Integer(5), backend=backend) == {"out": [3, 2]}


@pytest.mark.parametrize(
    "options",
    [
        *({"backend": each} for each in ("auto", "reference", "threaded", "dataflow", "compiled")),
        {"backend": "compiled", "threads": 2},
        {"backend": "reference", "seed": 1, "rate": 0.0},
    ],
    ids=str,
)
def test_rows_come_as_they_are_asked_for(options: Any) -> None:
    """Of rows without an end, too; none is read before its turn."""
    read: list[int] = []

    def rows() -> Any:
        for i in itertools.count(1):
            read.append(i)
            yield {"x": i}

    text = TOTAL.replace("return", "fault lose x return") if "seed" in options else TOTAL
    found = wb.run(wb.parse(text).get(), rows(), **options)
    assert read == []
    assert [next(found)["out"] for _ in range(3)] == [1, 3, 6]
    assert read == [1, 2, 3]


@pytest.mark.parametrize("backend", BACKENDS)
def test_tables_and_frames(backend: Any) -> None:
    """A row for each event of a step, nulls kept out of the numbers."""
    pa, pd, duckdb = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "duckdb"))
    table = pa.table({"l": ["low", None, "high"], "x": [1, None, 3], "y": [True, True, None], "z": [1.0, 2.0, None]})
    rows: list[dict[str, Any]] = [
        {"a": 1, "b": False, "c": 0.5, "d": "high"}, {"a": 1, "b": None, "c": None, "d": None},
        {"a": None, "b": False, "c": 1.0, "d": None},
        {"a": 3, "b": None, "c": None, "d": "high"}, {"a": 3, "b": None, "c": None, "d": None},
    ]  # fmt: skip
    program = wb.parse(SEVERAL).get()

    def run(data: Any) -> Any:
        return wb.run(program, data, backend=backend)

    # the second truth value waits for a label
    assert (made := run(table)).to_pylist() == rows
    assert isinstance(made, pa.Table)
    assert made.schema.types == [pa.int64(), pa.bool_(), pa.float64(), pa.string()]
    assert isinstance(batch := run(table.to_batches()[0]), pa.RecordBatch)
    assert batch.to_pylist() == rows
    assert isinstance(reader := run(table.to_reader()), pa.RecordBatchReader)
    assert reader.read_all().to_pylist() == rows
    assert isinstance(frame := run(table.to_pandas().astype({"x": "Int64"})), pd.DataFrame)
    assert list(map(str, frame.dtypes)) == ["Int64", "boolean", "float64", "object"]
    assert frame["a"].dropna().tolist() == [1, 1, 3, 3]
    relation = run(duckdb.from_arrow(table))
    assert type(relation).__name__ == "DuckDBPyRelation"
    assert relation.fetchall() == [tuple(row.values()) for row in rows]
    steps = wb.run(program, pa.table({name: [None] for name in "xyzl"}), steps=True, backend=backend)
    assert steps.num_rows == 1


def test_a_frame_can_be_written_to_and_its_index_is_no_column() -> None:
    pd = pytest.importorskip("pandas")
    frame = wb.run(wb.parse(TOTAL).get(), pd.DataFrame({"x": [1, 2]}, index=["a", "b"]), strict=True)
    frame.loc[0, "out"] = 7
    assert frame["out"].tolist() == [7, 3]


def test_a_reader_is_read_a_batch_at_a_time() -> None:
    pa = pytest.importorskip("pyarrow")
    read: list[int] = []

    def batches() -> Any:
        for i in itertools.count(1):
            read.append(i)
            yield pa.record_batch({"x": [i, i]})

    found = wb.run(
        wb.parse(TOTAL).get(), pa.RecordBatchReader.from_batches(pa.schema([("x", pa.int64())]), batches())
    )  # fmt: skip
    assert found.read_next_batch().to_pydict() == {"out": [1, 2]}
    assert found.read_next_batch().to_pydict() == {"out": [4, 6]}
    assert len(read) < 5


@pytest.mark.parametrize("backend", ["auto", "reference"])
def test_records_have_columns_of_their_own(backend: Any) -> None:
    pa = pytest.importorskip("pyarrow")
    np = pytest.importorskip("numpy")
    tuples, events = wb.parse(TUPLES).get(), [("ann", 1), ("bob", 2)]
    assert wb.run(tuples, {"e": events}, backend=backend) == {"e": events, "n": [1, 2]}
    assert wb.run(tuples, {"user": ["ann", "bob"], "n": [1, 2]}, backend=backend)["e"] == events
    made = wb.run(tuples, {"user": np.array(["ann", "bob"]), "n": np.array([1, 2])}, backend=backend)
    assert (made["e"].tolist(), made["n"].tolist()) == (events, [1, 2])
    rows: list[dict[str, Any]] = [{"e": {"user": "ann", "n": 1}}, {"user": "bob", "n": 2}, {"who": "eve", "n": 3}]
    assert [row["e"] for row in wb.run(tuples, rows[:2], backend=backend)] == events
    assert wb.run(tuples, rows[2:], columns={"e.user": "who"}, backend=backend) == [{"e": ("eve", 3), "n": 3}]
    table = wb.run(tuples, pa.table({"user": ["ann", None], "n": [1, None]}), backend=backend)
    assert [json.loads(cell) for cell in table["e"].to_pylist()] == [{"user": "ann", "n": 1}]


def test_files(tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(f"{TOTAL}\n{LATE}\n")
    (tmp_path / "x.csv").write_text("x\n1\n2\n")
    name = f"{tmp_path / 'p.pipe'}:total"
    assert wb.run(name, tmp_path / "x.csv").backend == "reference"
    found = wb.run(name, tmp_path / "x.csv", backend="compiled")
    assert (found.backend, len(found), list(found)) == ("compiled", 2, [{"out": 1}, {"out": 3}])
    assert repr(found) == "<2 rows of out, by the compiled backend>"
    assert found.to_dict() == {"out": [1, 3]}
    other = wb.run(name, str(tmp_path / "x.csv"), backend="reference")
    assert found.to_arrow() == other.to_arrow()
    assert found.to_pandas().equals(other.to_pandas())
    assert wb.run(name, found.to_arrow(), columns={"x": "out"})["out"].to_pylist() == [1, 4]
    assert wb.run(name, tmp_path / "x.csv", output=tmp_path / "y.jsonl") == tmp_path / "y.jsonl"
    assert (tmp_path / "y.jsonl").read_text() == '{"out": 1}\n{"out": 3}\n'
    wb.run(tmp_path / "p.pipe", [{"x": 1, "y": 2}, {"x": 3, "y": 4}], output=tmp_path / "z.csv")
    assert (tmp_path / "z.csv").read_text() == "out\n5\n"


def test_a_program_is_loaded_as_the_command_line_does(tmp_path: Path) -> None:
    (tmp_path / "p.pipe").write_text(
        "pipeline plus<k = 1>(x: int) -> y: int { y = x + k return y }\npipeline last(x: int) -> int { return x }\n"
    )
    assert wb.run(f"{tmp_path / 'p.pipe'}:plus", {"x": [1]}) == {"y": [2]}
    assert wb.load(tmp_path / "p.pipe").pipeline.name == "last"
    lossy = wb.load(f"{tmp_path / 'p.pipe'}:plus", k=3, faults=["lose y"])
    assert wb.run(lossy, {"x": [1]}) == {"y": [4]}
    assert wb.run(lossy, {"x": [1, 2, 3]}, rate=1.0) == {"y": []}
    assert wb.check(lossy, "response", wb.Settings(n=8)).outcome == "fails"


def test_queues_have_the_room_that_they_need() -> None:
    late = wb.parse(LATE).get()
    data: dict[str, list[wb.Value]] = {"x": [0, 1, 2], "y": [0, 1, 2]}
    assert wb.run(late, data, backend="compiled") == {"out": [1, 3]}
    endless = wb.parse("pipeline endless(x: int) -> int { return x + decimate(x, 2) }").get()
    assert wb.run(endless, {"x": list(range(20))}, backend="compiled") == {"out": [3 * i for i in range(10)]}


@pytest.mark.sampled(4)
@pytest.mark.parametrize("backend", ["auto", "reference", "compiled"])
@pytest.mark.parametrize("keys", [["a", "b", "a"], [7, 8, 7], [True, False, True]], ids=str)
def test_a_run_for_each_key(keys: list[Any], backend: Any, tmp_path: Path) -> None:
    """Rows of what came out with their keys, in the form of the data."""
    np, pa = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    total, two = (
        wb.parse(TOTAL).get(),
        wb.parse("pipeline two(x: int) -> a: int, b: int { return x, trim(x, 1) }").get(),
    )
    lists = {"key": keys, "x": [1, 5, 2]}
    made = [{"key": key, "out": out} for key, out in zip(keys, [1, 5, 3], strict=True)]
    rows = [{"key": key, "x": x} for key, x in zip(keys, [1, 5, 2], strict=True)]

    def run(data: Any, program: wb.Program = total, **options: Any) -> Any:
        return wb.run(program, data, key="key", backend=backend, **options)

    assert run(lists) == {"key": keys, "out": [1, 5, 3]}
    assert run(lists, two) == {"key": keys, "a": [1, 5, 2], "b": [None, None, 2]}
    assert run(lists, with_row=True) == {"key": keys, "row": [1, 2, 3], "out": [1, 5, 3]}
    arrays = {name: np.array(values) for name, values in lists.items()}
    assert {name: array.tolist() for name, array in run(arrays).items()} == {"key": keys, "out": [1, 5, 3]}
    assert run(arrays, two)["b"].tolist() == [None, None, 2]  # as masked arrays show what is masked
    assert run(rows) == made
    assert list(run(iter(rows))) == made
    assert run(pa.table(lists)).to_pylist() == run(pa.table(lists).to_pandas()).to_dict("records") == made
    (tmp_path / "x.csv").write_text("key,x\n" + "".join(f"{str(r['key']).lower()},{r['x']}\n" for r in rows))
    assert [row["out"] for row in run(tmp_path / "x.csv")] == [1, 5, 3]
    wb.run(total, tmp_path / "x.csv", output=tmp_path / "y.csv", backend=backend, key="key")
    assert (tmp_path / "y.csv").read_text().splitlines()[0] == "key,out"
    with pytest.raises(InputError, match="no column 'who'"):
        wb.run(total, lists, key="who", backend=backend)
    with pytest.raises(InputError, match="row 2 has no 'key'"):
        run([rows[0], {"x": 3}])


@pytest.mark.parametrize("backend", ["auto", "compiled", "reference"])
def test_texts(backend: Any) -> None:
    np, pa = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    program = wb.parse('pipeline some(x: str) -> str { return filter(x, x != "b") }').get()
    for array in (np.array(["a", "b", "c"]), np.array(["a", "b", "c"], np.object_)):
        found = wb.run(program, {"x": array}, backend=backend)["out"]
        assert (found.dtype, found.tolist()) == (np.object_, ["a", "c"])
    assert wb.run(program, {"x": ["a", None, "c"]}, backend=backend) == {"out": ["a", "c"]}
    assert wb.run(program, pa.table({"x": ["a", "b", "c"]}), backend=backend)["out"].to_pylist() == ["a", "c"]


@pytest.mark.parametrize("name", ["numba", "parallel"])
def test_names_of_before(name: Any, caplog: pytest.LogCaptureFixture) -> None:
    """For one release."""
    total = wb.parse(TOTAL).get()
    assert wb.run(total, {"x": [1, 2]}, backend=name) == {"out": [1, 3]}
    assert f"the {name} backend is now called compiled" in caplog.text


def test_options_are_those_of_the_command() -> None:
    total = wb.parse(TOTAL).get()
    with pytest.raises(InputError, match="not for the reference backend: --threads"):
        wb.run(total, [], backend="reference", threads=2)
    with pytest.raises(InputError, match="did you mean 'threads'"):
        wb.run(total, [], thread=2)  # type: ignore[call-overload]
    with pytest.raises(InputError, match="cannot read"):
        wb.run("missing.pipe", [])


BAD: dict[str, tuple[Any, str]] = {
    "a float for an int": ({"x": [1, 2.5]}, r"row:2: column 'x': expected a whole number, not 2\.5"),
    "a text": ({"x": [1, "two"]}, r"row:2: column 'x': expected a whole number, not 'two'"),
    "a row": ([{"x": 1}, {"x": "two"}], r"row:2: input 'x': expected a whole number, not 'two'"),
    "no row": ([{"x": 1}, 2], r"row:2: expected a mapping from inputs to events, not 2"),
    "no column": ({"y": [1]}, r"there is no column 'x'[\s\S]*y"),
    "no list": ({"x": 3}, r"column 'x' is 3"),
    "a text for a list": ({"x": "abc"}, r"column 'x' is 'abc'"),
    "no data": (3, "data of type int cannot be read"),
}


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("backend", ["auto", "compiled"])
def test_bad_data_is_told_with_column_and_row(case: str, backend: Any) -> None:
    data, message = BAD[case]
    with pytest.raises(InputError, match=message):
        wb.run(wb.parse(TOTAL).get(), data, backend=backend)


def test_hints_about_data_are_python() -> None:
    pd = pytest.importorskip("pandas")
    total, frame = wb.parse(TOTAL).get(), pd.DataFrame({"x": [1, 2], "b": ["u", "v"]})
    rules = wb.rules.parse_rules("declare A(x: int) declare B(x: int) from A[$x = x] emit B(x = $x)")
    cases: list[tuple[Any, Any, Any, str]] = [
        (total, frame[["b"]], {}, "its columns are: b; name the one to read: columns={'x': 'NAME'}"),
        (total, frame.set_index("b"), {"key": "b"}, 'key="NAME" (frame.reset_index() makes one of an index)'),
        (total, frame, {"time": "when"}, 'its columns are: x, b; name the column of times: time="NAME"'),
        (rules, frame, {}, 'add one: frame.assign(type="A")'),
        (total, frame["x"], {}, "give this one column a name: {'x': data}"),
        (total, frame["x"].to_numpy(), {}, "give this one column a name: {'x': data}"),
        (total, type("LazyFrame", (), {})(), {}, "collect() it"),
    ]
    for program, data, options, hint in cases:
        with pytest.raises(InputError) as found:
            wb.run(program, data, **options)
        assert hint in found.value.hint


@pytest.mark.parametrize("backend", ["auto", "compiled", "reference"])
def test_bad_arrays_and_tables(backend: Any) -> None:
    np, pa = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    total, late = wb.parse(TOTAL).get(), wb.parse(LATE).get()
    for data in ({"x": np.array([1.5])}, pa.table({"x": [1.5]}), pa.table({"x": [1.5]}).to_pandas()):
        with pytest.raises(InputError, match=r"row:1: column 'x': expected a whole number, not 1\.5"):
            wb.run(total, data, backend=backend)
    with pytest.raises(InputError, match="'x' has 2, 'y' has 3"):
        wb.run(late, {"x": np.arange(2), "y": np.arange(3)}, backend=backend)
    with pytest.raises(InputError, match="array of 2 dimensions"):
        wb.run(total, {"x": np.ones((2, 2), np.int64)}, backend=backend)
    with pytest.raises(InputError, match="column 'z' is not an input"):
        wb.run(total, {"x": np.arange(2), "z": np.arange(3)}, strict=True, backend=backend)
    with pytest.raises(InputError, match="'x' is empty"):
        wb.run(total, {"x": [1, None]}, null="error", backend=backend)
    small = wb.parse("pipeline small(x: 0..9) -> 0..9 { return x }").get()
    with pytest.raises(InputError, match=r"row:2: column 'x': expected an integer 0\.\.9, not 12"):
        wb.run(small, {"x": np.array([1, 12])}, backend=backend)


@pytest.mark.parametrize("backend", ["auto", "reference", "compiled"])
def test_mixed_columns_of_a_pandas_frame(backend: Any) -> None:
    """One that nothing needs is not converted; the cells of others are read as those of lists."""
    np, pd = pytest.importorskip("numpy"), pytest.importorskip("pandas")
    rise, note = wb.parse("pipeline rise(x: int) -> y: int { return trim(x, 1) - x }").get(), [1, "a", None, "a", 1]
    frame = pd.DataFrame({"x": [1, 4, 9, 16, 25], "note": note})
    assert wb.run(rise, frame, backend=backend)["y"].tolist() == [3, 5, 7, 9]
    assert wb.run(rise, frame, backend=backend, carry="note")["note"].tolist() == ["a", None, "a", "1"]
    keyed = wb.run(rise, frame[frame.note.notna()], backend=backend, key="note")
    assert [keyed["note"].tolist(), keyed["y"].tolist()] == [["a", "1"], [12, 24]]
    mixed = frame.assign(x=[np.int64(1), None, "nine", float("nan"), 2**40])
    with pytest.raises(InputError, match=r"row:3: column 'x': expected a whole number, not 'nine'"):
        wb.run(rise, mixed, backend=backend)
    assert wb.run(rise, mixed, backend=backend, bad_rows="skip")["y"].tolist() == [2**40 - 1]
    with pytest.raises(InputError, match=r"row:1: column 'note': expected a number, or a date such as .*, not 'day'"):
        wb.run(rise, frame.assign(note=["day", 1, 2, 3, 4]), backend=backend, time="note")
    with pytest.raises(InputError, match="column 'note' is not an input"):
        wb.run(rise, frame, strict=True, backend=backend)


def test_numbers_beyond_64_bits() -> None:
    """What has no place in a column is an error."""
    np, pa = pytest.importorskip("numpy"), pytest.importorskip("pyarrow")
    total, large = wb.parse(TOTAL).get(), [2**62] * 4
    assert wb.run(total, {"x": large}) == {"out": [2**62, 2**63, 3 * 2**62, 2**64]}
    with pytest.raises(Overflow, match="step 1"):
        wb.run(total, {"x": np.array(large)}, backend="compiled")
    with pytest.raises(DomainError, match="not a whole number of 64 bits"):
        wb.run(total, pa.table({"x": large}), backend="reference")
    for backend in ("reference", "auto"):
        assert wb.run(total, {"x": np.array(large)}, backend=backend)["out"].tolist()[-1] == 2**64


@pytest.mark.parametrize("make", [list, iter])
def test_a_name_that_is_misspelt_in_all_rows(make: Any) -> None:
    """It is an error, as in JSON lines; a row without events is none."""
    total = wb.parse(TOTAL).get()
    refused: list[tuple[list[Any], dict[str, Any]]] = [
        ([{"X": 1}, {"X": 2}], {}),
        ([{"X": 1}], {"head": 2}),
        ([{"x": 1}], {"columns": {"x": "X"}}),
        *(([{"X": 1, "k": key}], {"key": "k"}) for key in (1, True, "a", 1.5)),
        ([{"X": 1, "at": 1}], {"time": "at"}),
        ([{"at": 1, "k": 2}], {"time": "at", "key": "k", "carry": "k"}),
    ]
    for rows, options in refused:
        with pytest.raises(InputError, match=r"no row has a key '[xX]'"):
            list(wb.run(total, make(rows), **options))
    accepted: list[tuple[list[Any], dict[str, Any], list[Any]]] = [
        ([], {}, []),
        ([{}, {}], {}, []),
        ([{"X": 1}, {"x": 2}], {}, [{"out": 2}]),
        ([{"X": 1}, {"x": 2}], {"head": 1}, []),
        ([{"X": 1}, 5], {"head": 2, "bad_rows": "skip"}, []),
    ]
    for rows, options, answer in accepted:
        assert list(wb.run(total, make(rows), **options)) == answer


def test_what_is_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Skipped rows, and events that are missing in front of a join; columns that are ignored are none."""
    file, total, late = tmp_path / "a.jsonl", wb.parse(TOTAL).get(), wb.parse(LATE).get()
    file.write_text('{"x": 1, "z": 1}\n{"x": "q", "z": 1}\n')
    rows: list[Any] = [{"x": 1, "z": 1}, {"x": "q", "z": 1}]
    skipped = "1 of 2 rows was skipped; the first one: "
    all_data: list[Any] = [rows, iter(rows), {"x": [1, "q"], "z": [1, 1]}, str(file)]
    for data in all_data:
        list(wb.run(total, data, bad_rows="skip"))
        (message,) = caplog.messages
        assert message.startswith(skipped)
        caplog.clear()
    for data in (rows, str(file)):
        wb.run(total, data, bad_rows="skip", output=tmp_path / "out.csv")
        assert [each[: len(skipped)] for each in caplog.messages] == [skipped]
        caplog.clear()
    wb.run(late, [{"x": 1, "y": 2, "z": 0}] * 3 + [{"x": 1, "z": 0}])
    (message,) = caplog.messages
    assert message.startswith("1 of 8 events of inputs are missing")
    caplog.clear()
    with caplog.at_level("INFO", "workbench"):
        wb.run(total, [{"x": 1, "z": 1}])
    assert [(each.levelname, each.getMessage()[:18]) for each in caplog.records if "ignored" in each.getMessage()] == [
        ("INFO", "ignored columns: z")
    ]


EVENTS = {"x": st.integers(-5, 5), "y": st.booleans(), "z": st.floats(-2, 2), "l": st.sampled_from(["low", "high"])}


@examples(25)
@given(st.lists(st.fixed_dictionaries({n: st.none() | each for n, each in EVENTS.items()}), max_size=9))
def test_all_kinds_of_data_give_the_same(rows: list[dict[str, Any]]) -> None:
    """Rows in, rows out is what the others are compared with; they take the compiled executor where they can."""
    pa = pytest.importorskip("pyarrow")
    program = wb.parse(SEVERAL).get()
    wanted = wb.run(program, rows, backend="reference")
    lists = {name: [row[name] for row in rows] for name in EVENTS}
    kinds = (pa.int64(), pa.bool_(), pa.float64(), pa.string())
    table = pa.table({n: pa.array(v, kind) for (n, v), kind in zip(lists.items(), kinds, strict=True)})
    streams = {name: [row[name] for row in wanted if name in row] for name in "abcd"}
    for backend in ("auto", "compiled", "reference"):
        assert wb.run(program, lists, backend=backend) == streams
        made = wb.run(program, table, backend=backend).to_pylist()
        assert [{n: v for n, v in row.items() if v is not None} for row in made] == wanted
        assert list(wb.run(program, iter(rows), backend=backend)) == wanted
        frame = wb.run(program, table.to_pandas().astype({"x": "Int64", "y": "boolean"}), backend=backend)
        assert {name: frame[name].dropna().tolist() for name in "abcd"} == streams


def test_python_has_the_options_of_the_command() -> None:
    """`wb.load` takes the others, or they are for a terminal."""
    parser = PagedParser()
    command.options(parser)
    own = {"file", "param", "input", "output", "N"}  # arguments of their own, or of `wb.load`
    own |= {"progress", "list_columns", "infer", "infer_rows", "html"}  # for who sits before a terminal
    names = {action.dest for action in parser._actions} - own - {"help"}
    called = {"column": "columns", "timeout": "seconds", "memory": "memory_mb", "pass": "passed"}
    only = {"input", "output", "outputs", "progress", "html", "infer", "infer_rows", "more"}
    assert {*RunKeywords.__annotations__} == {called.get(name, name) for name in names}
    of_python = {*RunKeywords.__annotations__} - {"include", "allow_python", "engine"}
    assert {*wb.RunOptions.__annotations__} == of_python | only


def test_a_run_has_limits() -> None:
    total = wb.parse(TOTAL).get()
    with pytest.raises(LimitMet, match=r"time limit of 0\.2 s met while running the log"):
        wb.run(total, {"x": [1] * 5_000_000}, backend="reference", seconds=0.2)
    rows = iter([{"x": 1}])
    with pytest.raises(InputError, match="limits do not apply to answers that come row by row"):
        wb.run(total, rows, seconds=1.0)
    assert next(wb.run(total, rows)) == {"out": 1}  # nothing of it was taken


@pytest.mark.parametrize(
    ("data", "output"), [("x.csv", "no/y.csv"), ("x.csv", "y.nope"), ("no.csv", "y.csv"), (0, "y")]
)
def test_nothing_is_left_of_a_run_that_fails_before_its_first_output(
    data: Any, output: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("x\n1\n")
    options: Any = {"backend": "reference", "why": 2, "html": "page.html"}
    with pytest.raises(InputError) as kept:  # while the error is there, so is what its frames hold
        wb.run(wb.parse(TOTAL).get(), data, output=output, **options)
    assert os.listdir() == ["x.csv"], kept
    monkeypatch.setattr("workbench.runner.call._make_answer", lambda *_, **__: int("no"))
    with pytest.raises(ValueError, match="invalid literal") as failed:
        wb.run(wb.parse(TOTAL).get(), [{"x": 1}], **options)
    assert os.listdir() == ["x.csv"], failed


def test_no_bad_rows_are_left_of_rules_that_have_no_output(tmp_path: Path) -> None:
    (tmp_path / "e.csv").write_text("time,v\n1,2\n")
    rules = wb.rules.parse_rules("declare A(v: int)\ndeclare Seen(v: int)\nrule seen: from A emit Seen(v = A.v)")
    with pytest.raises(InputError, match="cannot write there") as kept:
        wb.run(rules, f"A={tmp_path / 'e.csv'}", output=tmp_path / "no" / "o.csv", bad_rows=str(tmp_path / "bad.csv"))
    assert os.listdir(tmp_path) == ["e.csv"], kept


def test_an_iterator_without_rows_has_no_key() -> None:
    """An empty row is none: with `null="error"` it would be refused."""
    assert list(wb.run(wb.parse(TOTAL).get(), iter(()), key="k", null="error")) == []


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (
            {"key": ["x", "y"]},
            "the option key cannot be .*\n.*expected a text; for a key of two columns, first write one that joins them",
        ),
        ({"head": "1"}, "the option head cannot be '1'\n.*a whole number"),
        ({"head": -1}, "the option head cannot be -1\n.*expected a number of at least 0$"),
        ({"threads": 0, "backend": "threaded"}, "the option threads cannot be 0\n.*expected a number of at least 1$"),
        ({"head": True}, "a whole number"),
        ({"strict": "yes"}, "True or False"),
        ({"carry": 5}, "a text or a list"),
        ({"null": 5}, "a text or a list"),
        ({"columns": 3}, "a dictionary or a list"),
        ({"state": 3}, "a text or a path"),
        ({"rate": "a", "fault": ["lose x"]}, "a number"),
    ],
)
def test_options_of_a_wrong_type_are_refused(options: dict[str, Any], told: str) -> None:
    """Each with what it may be; numbers of numpy are numbers, and a lateness may be one."""
    total = wb.parse("pipeline total(x: int) -> int { return cumulate(x, +) }").get()
    rows = [{"x": 1, "t": 3}, {"x": 2, "t": 1}]
    with pytest.raises(InputError, match=told):
        wb.run(total, rows, **options)
    one: Any = np.int64(1)
    assert wb.run(total, rows, head=one) == [{"out": 1}]
    assert wb.run(total, rows, late=5, time="t") == [{"t": 1, "out": 2}, {"t": 3, "out": 3}]
