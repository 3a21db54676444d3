"""Rows that cannot be read, the first rows, and several files: the same for every backend."""

import csv
import os

import pyarrow as pa
import pytest
from pyarrow import parquet

import workbench as wb
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.inputs import log_files
from workbench.events.read import read_blocks, read_events
from workbench.events.reading_options import Reading

PIPELINE = wb.parse("pipeline p(x: int, y: int) -> int { return x + y }").get().pipeline
LINES = ["1,2", "3,foo", '"5,6', "7,8", "9", '10,"11"']
READ = [{"x": 1, "y": 2}, {"x": 7, "y": 8}, {"x": 10, "y": 11}]
BAD = [(3, "3,foo"), (4, '"5,6'), (6, "9")]
"""The rows that are none: a cell, an open quote, which takes no other row with it, and too few cells."""


@pytest.fixture(params=["reference", "compiled"])
def backend(request):
    return request.param


def test_rows_that_are_passed_over(tmp_path):
    path, kept = tmp_path / "a.csv", []
    path.write_text("\n".join(["x,y", *LINES]) + "\n")
    reporter = Reporter(keep=kept.append)
    assert list(read_events(path, PIPELINE, Reading(bad_rows="skip"), reporter=reporter)) == READ
    assert [(file, row, text) for file, row, _, text in kept] == [(str(path), *each) for each in BAD]
    assert (reporter.account.rows, reporter.account.bad, reporter.account.events_in) == (6, 3, 6)
    reporter = Reporter()
    blocks = read_blocks(path, PIPELINE, Reading(bad_rows="skip"), reporter=reporter)
    assert [step for block in blocks for step in block.steps()] == READ
    assert (reporter.account.rows, reporter.account.bad) == (6, 3)


def test_an_open_quote_in_a_long_log_takes_one_row(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text('x,y\n"1,2\n' + "1,2\n" * 50_000)
    reporter = Reporter()
    assert sum(1 for _ in read_events(path, PIPELINE, Reading(bad_rows="skip"), reporter=reporter)) == 50_000
    assert reporter.account.bad == 1


def test_bad_rows_in_a_file(tmp_path, backend):
    (tmp_path / "a.csv").write_text("\n".join(["x,y", *LINES]) + "\n")
    parquet.write_table(pa.table({"x": [1.0, 2.5], "y": ["1", None]}), tmp_path / "b.parquet")
    (tmp_path / "c.jsonl").write_text('{"x": 1, "y": 1}\n{"x": 1.5}\n{"x" 1}\n[1]\n')
    inputs = [tmp_path / name for name in ("a.csv", "b.parquet", "c.jsonl")]
    wb.run(PIPELINE, inputs, output=tmp_path / "out.csv", backend=backend, bad_rows=str(tmp_path / "bad.csv"))
    assert (tmp_path / "out.csv").read_text() == "out\n3\n15\n21\n2\n"
    with open(tmp_path / "bad.csv", newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["file", "row", "reason", "text"]
    found = [(name.rpartition("/")[2], int(row), text) for name, row, _, text in rows[1:]]
    assert found == [
        *(("a.csv", *each) for each in BAD),
        ("b.parquet", 1, '{"x": 1.0, "y": "1"}'), ("b.parquet", 2, '{"x": 2.5, "y": null}'),
        ("c.jsonl", 2, '{"x": 1.5}'), ("c.jsonl", 3, '{"x" 1}'), ("c.jsonl", 4, "[1]"),
    ]  # fmt: skip
    assert "expected a whole number, not 'foo'" in rows[1][2]


def test_nothing_is_kept_where_the_run_fails(tmp_path, backend):
    (tmp_path / "a.csv").write_text("x,y\n1,foo\n2,3\n")
    with pytest.raises(InputError, match="No such file"):
        wb.run(
            PIPELINE, [tmp_path / "a.csv", tmp_path / "none.csv"], output=tmp_path / "o.csv", backend=backend,
            bad_rows=str(tmp_path / "bad.csv"),
        )  # fmt: skip
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.parametrize(
    ("kept", "other"), [("a.csv", "what is read"), ("o.csv", "--output"), ("../{}/o.csv", "--output")]
)
def test_they_take_the_place_of_nothing_else(tmp_path, kept, other):
    """Rows that could be read would be lost with the file, or those that could not."""
    (tmp_path / "a.csv").write_text("x,y\n1,foo\n2,3\n")
    kept = str(tmp_path / kept.format(tmp_path.name))
    with pytest.raises(InputError, match=f"--bad-rows would overwrite {other}"):
        wb.run(PIPELINE, tmp_path, output=tmp_path / "o.csv", bad_rows=kept)
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]


@pytest.mark.skipif(not os.path.exists("/dev/fd"), reason="pipes have no names here")
def test_they_are_told_at_once_where_they_go_into_a_pipe(tmp_path):
    """Which has a name that leads to nothing, as `/dev/stderr` can be one."""
    (tmp_path / "a.csv").write_text("x,y\n1,foo\n2,3\n3,4\n")
    told, kept = os.pipe()
    with os.fdopen(told, "rb") as lines:
        for _ in wb.run(PIPELINE, tmp_path / "a.csv", bad_rows=f"/dev/fd/{kept}"):
            assert lines.readline() == b"file,row,reason,text\n"
            assert lines.readline().endswith(b'not \'foo\'","1,foo"\n')
            break
        os.close(kept)


@pytest.mark.parametrize("form", ["csv", "parquet"])
def test_one_bad_row_among_columns(tmp_path, backend, form):
    """The block goes row by row; those before and behind it, too, are what they are without it."""
    rows = [(i, i % 7) for i in range(1000)]
    if form == "csv":
        cells = [f"{x},{'foo' if x == 500 else y}" for x, y in rows]
        (tmp_path / "a.csv").write_text("\n".join(["x,y", *cells]) + "\n")
    else:
        whole = pa.array([2**63 if x == 500 else y for x, y in rows], pa.uint64())
        parquet.write_table(pa.table({"x": [x for x, _ in rows], "y": whole}), tmp_path / "a.parquet")
    if form == "parquet" and backend == "reference":
        return  # it has integers of any size
    wb.run(PIPELINE, tmp_path / f"a.{form}", output=tmp_path / "o.csv", backend=backend, bad_rows="skip")
    expected = [str(x + y) for x, y in rows if x != 500]
    assert (tmp_path / "o.csv").read_text().split() == ["out", *expected]
    with pytest.raises(InputError, match=rf"a\.{form}:{502 if form == 'csv' else 501}: column 'y'"):
        wb.run(PIPELINE, tmp_path / f"a.{form}", output=tmp_path / "no.csv", backend=backend)
    assert not (tmp_path / "no.csv").exists()


@pytest.mark.parametrize("head", [1, 3, 5, 7, 100])
def test_the_first_rows(tmp_path, backend, head, monkeypatch):
    monkeypatch.setattr("workbench.events.lines.SIZE", 7)
    (tmp_path / "a.csv").write_text("x,y\n" + "".join(f"{i},{i}\n" for i in range(4)))
    (tmp_path / "b.jsonl").write_text("".join(f'{{"x": {i}, "y": {i}}}\n' for i in range(4, 6)))
    inputs = [tmp_path / "a.csv", tmp_path / "b.jsonl"]
    wb.run(PIPELINE, inputs, output=tmp_path / "o.csv", backend=backend, head=head)
    assert (tmp_path / "o.csv").read_text().split() == ["out", *(str(2 * i) for i in range(min(head, 6)))]


def test_what_comes_behind_the_first_rows_is_not_looked_at(tmp_path, backend):
    (tmp_path / "a.csv").write_text("x,y\n1,1\n2,2\nfoo\n")
    assert wb.run(PIPELINE, [tmp_path / "a.csv"], backend=backend, head=2).to_dict() == {"out": [2, 4]}


@pytest.mark.parametrize("file", [1, 2])
def test_the_last_of_the_first_rows_may_be_bad(tmp_path, backend, file, monkeypatch):
    """A block with bad rows is read in pieces; the row lies in one of them, and has others behind."""
    monkeypatch.setattr("workbench.events.formats.csv.PIECE", 64)
    monkeypatch.setattr("workbench.events.lines.MIN_COLUMN_BYTES", 0)
    (tmp_path / "a.csv").write_text("x,y\n1,1\nfoo,1\n2,2\n")
    (tmp_path / "b.csv").write_text("x,y\n" + "".join(f"{'foo' if i == 9 else i},{i}\n" for i in range(100)))
    inputs = [tmp_path / "a.csv", tmp_path / "b.csv"][2 - file :]
    before = ["2", "4"] if file == 2 else []
    options = {"output": tmp_path / "o.csv", "backend": backend, "bad_rows": "skip"}
    wb.run(PIPELINE, inputs, **options, head=10 + 3 * (file - 1))
    assert (tmp_path / "o.csv").read_text().split() == ["out", *before, *(str(2 * i) for i in range(9))]


@pytest.mark.parametrize(
    "names",
    [
        ("a.log.10.gz", "a.log.2.gz", "a.log.1", "a.log"),  # the greater the number, the older
        ("a.log-20261123", "a.log-20261124.zst", "a.log"),
        ("day-1.csv", "day-2.csv", "day-10.csv"),  # these are three logs
        ("x", "x-1.csv"),
    ],
)
def test_a_log_that_was_rotated_is_read_from_its_oldest_file(names, tmp_path):
    for name in sorted(names):
        (tmp_path / name).write_text("x\n")
    assert log_files(tmp_path) == [tmp_path / name for name in names]
    assert log_files(f"{tmp_path}/*") == [f"{tmp_path}/{name}" for name in names]


def test_files_in_the_order_in_which_people_count(tmp_path):
    for name in ("log10.csv", "log2.csv", ".log1.csv", "_SUCCESS", "other.csv"):
        (tmp_path / name).write_text("x,y\n")
    (tmp_path / "log3.csv").mkdir()
    assert log_files(f"{tmp_path}/log*.csv") == [f"{tmp_path}/log2.csv", f"{tmp_path}/log10.csv"]
    assert log_files(tmp_path) == [tmp_path / name for name in ("log2.csv", "log10.csv", "other.csv")]
    assert log_files(["-", f"{tmp_path}/log2.csv"]) == ["-", f"{tmp_path}/log2.csv"]
    (tmp_path / "a[1].csv").write_text("x,y\n")
    assert log_files(tmp_path / "a[1].csv") == [tmp_path / "a[1].csv"]
    refused = [
        (f"{tmp_path}/lag*.csv", r"lag\*\.csv: no file matches this pattern"),
        (f"{tmp_path}/log3.cvs", r"No such file[\s\S]*did you mean 'log3\.csv'"),
        (tmp_path / "log3.csv", "no file in this folder"),
        (["-", "-"], "read once"),
    ]
    for given, message in refused:
        with pytest.raises(InputError, match=message):
            log_files(given)
