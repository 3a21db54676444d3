"""Outputs in files of their own: the rows that one file of all outputs has, by output."""

from pathlib import Path

import pytest

import workbench as wb
from workbench.errors import InputError, WorkbenchError

TWO = wb.parse("pipeline two(x: int, y: int) -> big: int, sum: int { return filter(x, x > 2), x + y }").get()
RULES = wb.rules.parse_rules(
    "declare C(n: int)\ndeclare Odd(n: int)\ndeclare Seen(n: int, twice: int)\n"
    "rule odd: from C(n % 2 == 1) emit Odd(n = C.n)\n"
    "rule seen: from C emit Seen(n = C.n, twice = C.n * 2)"
)  # fmt: skip


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "log.csv"
    path.write_text("x,y,k\n1,2,a\n5,6,b\n3,4,a\n")
    return path


@pytest.fixture
def events(tmp_path: Path) -> Path:
    path = tmp_path / "events.csv"
    path.write_text("type,time,n,k\nC,1,7,a\nC,2,4,b\nC,3,5,a\n")
    return path


def names(folder: Path) -> set[str]:
    return {each.name for each in folder.iterdir()}


@pytest.mark.parametrize("backend", ["reference", "threaded", "compiled"])
def test_each_output_has_its_events_and_no_others(backend: str, log: Path, tmp_path: Path) -> None:
    found = wb.run(TWO, log, output={"sum": tmp_path / "s.jsonl", "big": str(tmp_path / "b.csv")}, backend=backend)
    assert found == {"sum": tmp_path / "s.jsonl", "big": tmp_path / "b.csv"}
    assert found["sum"].read_text() == '{"sum": 3}\n{"sum": 11}\n{"sum": 7}\n'
    assert found["big"].read_text() == "big\n5\n3\n"


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_each_file_has_the_key_and_the_number_of_the_row(backend: str, log: Path, tmp_path: Path) -> None:
    output = {name: tmp_path / f"{name}.csv" for name in ("big", "sum")}
    wb.run(TWO, log, output=output, key="k", with_row=True, backend=backend)
    assert output["big"].read_text() == "k,row,big\nb,2,5\na,3,3\n"
    assert output["sum"].read_text() == "k,row,sum\na,1,3\nb,2,11\na,3,7\n"


def test_files_of_all_steps_are_the_columns_of_one_file(log: Path, tmp_path: Path) -> None:
    output = {name: tmp_path / f"{name}.csv" for name in ("big", "sum")}
    wb.run(TWO, log, output=output, steps=True)
    assert output["big"].read_text() == "big\n\n5\n3\n"
    assert output["sum"].read_text() == "sum\n3\n11\n7\n"


@pytest.mark.sampled(4)
@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl.zst"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_log_in_every_format(kind: str, threads: int, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    x, y = [i * 7 % 5 for i in range(30_000)], list(range(30_000))
    log = tmp_path / "log.csv"
    log.write_text("x,y\n" + "".join(f"{one},{other}\n" for one, other in zip(x, y, strict=True)))
    output = {name: tmp_path / f"{name}.{kind}" for name in ("big", "sum")}
    wb.run(TWO, log, output=output, backend="compiled", threads=threads)
    one = wb.parse("pipeline one(v: int) -> int { return v }").get()
    assert wb.run(one, output["big"], columns={"v": "big"}).to_dict()["out"] == [each for each in x if each > 2]
    sums = [one + other for one, other in zip(x, y, strict=True)]
    assert wb.run(one, output["sum"], columns={"v": "sum"}).to_dict()["out"] == sums


@pytest.mark.parametrize("backend", ["cdp", "aip", "compiled"])
def test_each_type_has_its_attributes(backend: str, events: Path, tmp_path: Path) -> None:
    output = {"Odd": tmp_path / "odd.csv", "Seen": tmp_path / "seen.csv"}
    wb.run(RULES, events, output=output, backend=backend)
    assert output["Odd"].read_text() == "type,time,n\nOdd,1,7\nOdd,3,5\n"
    assert output["Seen"].read_text() == "type,time,n,twice\nSeen,1,7,14\nSeen,2,4,8\nSeen,3,5,10\n"


@pytest.mark.parametrize("backend", ["cdp", "compiled"])
def test_composites_of_a_key_and_those_with_their_sources(backend: str, events: Path, tmp_path: Path) -> None:
    odd = tmp_path / "odd.csv"
    wb.run(RULES, events, output={"Odd": odd}, key="k", backend=backend)
    assert odd.read_text() == "type,time,n,k\nOdd,1,7,a\nOdd,3,5,a\n"
    wb.run(RULES, events, output={"Odd": odd}, with_sources=True, backend=backend)
    assert odd.read_text() == 'type,time,id,sources,n\nOdd,1,1,"[""1""]",7\nOdd,3,4,"[""3""]",5\n'


def test_rows_of_python_go_to_files_too(tmp_path: Path) -> None:
    wb.run(TWO, iter([{"x": 3, "y": 1}, {"x": 0, "y": 1}]), output={"big": tmp_path / "big.jsonl"})
    assert (tmp_path / "big.jsonl").read_text() == '{"big": 3}\n'


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ({"bik": "a.csv"}, r"has no output 'bik': --output bik=a.csv\n  hint: did you mean 'big'\?; .* is ./bik=a.csv"),
        ({"big": "a.csv", "sum": "./a.csv"}, "one file for two outputs, big and sum"),
        ({"big": "log.csv"}, "--output big would overwrite what is read"),
        ({"big": "a.csv", "": "b.csv"}, "no output is named for b.csv"),
        ({}, "no output is named for a file"),
    ],
    ids=str,
)  # fmt: skip
def test_what_files_cannot_be(output, message: str, log: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(log.parent)
    with pytest.raises(InputError, match=message):
        wb.run(TWO, "log.csv", output=output)
    assert names(log.parent) == {"log.csv"}


def test_matches_go_to_one_file(events: Path, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no output 'Odd'.*\n.*without names of outputs, all rows go to one file"):
        wb.run(RULES, events, output={"Odd": tmp_path / "odd.csv"}, matches="count")


def test_no_file_appears_where_a_row_fails(tmp_path: Path) -> None:
    output = {name: tmp_path / f"{name}.csv" for name in ("big", "sum")}
    (tmp_path / "sum.csv").write_text("of before")
    (tmp_path / "log.csv").write_text("x,y\n1,2\n5,6\noops,4\n")
    with pytest.raises(WorkbenchError, match="oops") as raised:
        wb.run(TWO, tmp_path / "log.csv", output=output)
    assert (tmp_path / "sum.csv").read_text() == "of before"
    assert not output["big"].exists()
    assert all("its rows so far are in" in note for note in raised.value.__notes__)
    unfinished = sorted(each.read_text() for each in tmp_path.iterdir() if each.name.startswith("."))
    assert unfinished == ["big\n5\n", "sum\n3\n11\n"]


def test_no_file_appears_where_the_end_of_another_fails(tmp_path: Path) -> None:
    """The number that Parquet has no place for is met when the last batch is written, at the end of the run."""
    pytest.importorskip("pyarrow")
    output = {"sum": tmp_path / "sum.csv", "big": tmp_path / "big.parquet"}
    rows = [{"x": 3, "y": 1}, {"x": 2**70, "y": 0}]
    for files in (output, dict(reversed(output.items()))):
        with pytest.raises(WorkbenchError, match="64 bits"):
            wb.run(TWO, rows, output=files, backend="reference")
        assert not output["sum"].exists()
        assert not output["big"].exists()
