"""Which columns make the events of which input: the same in every format, by rows and by columns."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

import workbench as wb
from workbench.core.domain import BOOL, INT, STR
from workbench.core.fields import Record, Tuple
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.column_map import match
from workbench.events.read import read_blocks, read_events
from workbench.events.reading_options import Reading

AT = Record((Record((INT, INT), ("lat", "long")), INT), ("at", "user"))
USER = Record((INT, BOOL), ("user", "ok"))
FORMATS = ("csv", "jsonl", "parquet")


def ports(**inputs) -> Ports:
    return Ports("p", tuple(Port(name, domain) for name, domain in inputs.items()))


def written(folder, form: str, columns: dict[str, list]) -> str:
    """A log of these columns."""
    path = folder / f"log.{form}"
    rows = list(zip(*columns.values(), strict=True))
    if form == "parquet":
        parquet.write_table(pa.table(columns), path)
    elif form == "jsonl":
        path.write_text("".join(json.dumps(dict(zip(columns, row, strict=True))) + "\n" for row in rows))
    else:
        cells = (["" if v is None else json.dumps(v) if not isinstance(v, str) else v for v in row] for row in rows)
        path.write_text("\n".join(",".join(row) for row in [list(columns), *cells]) + "\n")
    return str(path)


# names, inputs, what the user says, the columns of each input
MATCHED = [
    ("x,y", {"x": INT}, {}, {"x": 0}),
    ("y,x", {"x": INT}, {"x": "y"}, {"x": 0}),
    ("x,y", {"x": INT, "y": INT}, {"x": "y", "y": "x"}, {"x": 1, "y": 0}),
    ("x,y", {"x": INT, "y": INT}, {"x": "y"}, {"x": 1, "y": 1}),
    ("e", {"e": USER}, {}, {"e": 0}),
    ("ok,user", {"e": USER}, {}, {"e": (1, 0)}),
    ("e.ok,t,e.user", {"e": USER}, {}, {"e": (2, 0)}),
    ("e.ok,user", {"e": USER}, {}, {"e": (1, 0)}),
    ("name,ok", {"e": USER}, {"e.user": "name"}, {"e": (0, 1)}),
    ("e.user,e.ok,f.user,f.ok", {"e": USER, "f": USER}, {}, {"e": (0, 1), "f": (2, 3)}),
    ("x,y", {"x": Record((INT, INT), ("x", "y"))}, {}, {"x": (0, 1)}),
    ("t.1,t.0", {"t": Tuple((INT, INT))}, {}, {"t": (1, 0)}),
    ("e.at.lat,e.at.long,user", {"e": AT}, {},
     {"e": ((0, 1), 2)}),
    ("at,user", {"e": AT}, {}, {"e": (0, 1)}),
    ("lat,long,user", {"e": AT}, {}, {"e": ((0, 1), 2)}),
]  # fmt: skip


@pytest.mark.parametrize(("names", "inputs", "said", "columns"), MATCHED)
def test_columns_of_inputs(names, inputs, said, columns):
    assert match(names.split(","), ports(**inputs), Reading(said)).inputs == columns


REFUSED = [
    ("temp,t", {"x": INT}, {"x": "tmp"}, "no column 'tmp' for 'x'[\\s\\S]*did you mean 'temp'"),
    ("x", {"x": INT}, {"z": "x"}, "no input 'z' for column 'x'[\\s\\S]*there are: x"),
    ("x", {"user": INT}, {"usr": "x"}, "did you mean 'user'"),
    ("users,ok", {"e": USER}, {}, "no column 'e.user'"),
    ("user,ok", {"e": USER, "f": USER}, {}, "no column 'e'"),
    ("user,e.ok", {"e": USER, "user": INT}, {}, "no column 'e.user'"),
    ("user,ok,ok", {"e": USER}, {}, "two columns are called 'ok'"),
    ("y", {"x": INT}, {}, "no column 'x'[\\s\\S]*--column x=NAME"),
]


@pytest.mark.parametrize(("names", "inputs", "said", "message"), REFUSED)
def test_columns_that_do_not_match(names, inputs, said, message):
    with pytest.raises(InputError, match=message):
        match(names.split(","), ports(**inputs), Reading(said))


@pytest.mark.parametrize("form", FORMATS)
def test_rows_and_columns_of_every_format(form, tmp_path):
    program = ports(e=USER, x=INT)
    path = written(
        tmp_path, form, {"t": [7, 7, 7], "user": [1, None, 2], "temp": [5, 6, None], "ok": [True, None, False]}
    )
    reading, told = Reading({"x": "temp"}), []
    expected = [{"e": (1, True), "x": 5}, {"x": 6}, {"e": (2, False)}]
    assert list(read_events(path, program, reading, reporter=Reporter(told.append))) == expected
    assert told == ["ignored columns: t (no input uses them; --strict makes this an error)"]
    block, *_ = read_blocks(path, program, reading)
    if form != "jsonl":
        columns = block.columns()
        assert columns is not None
        assert [list(part[[0, 2]]) for part in columns["e"].events] == [[1, 2], [True, False]]
        assert list(columns["e"].present) == [True, False, True]
        assert columns["x"].present.tolist() == [True, True, False]
    with pytest.raises(InputError, match=f"log.{form}:?.*'t' is not an input of the pipeline"):
        list(read_events(path, program, Reading({"x": "temp"}, strict=True)))


@pytest.mark.parametrize("form", FORMATS)
def test_half_a_record_is_an_error(form, tmp_path):
    path = written(tmp_path, form, {"user": [1, None], "ok": [True, False]})
    row = 3 if form == "csv" else 2
    with pytest.raises(InputError, match=rf"log\.{form}:{row}: 'e\.user' is empty, and other fields are not"):
        list(read_events(path, ports(e=USER)))
    blocks = list(read_blocks(path, ports(e=USER)))[:-1]  # without the one that sees the end of the file
    assert [block.columns() for block in blocks] == [None]


@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_nulls_can_be_errors(form, backend, tmp_path):
    """Before anything is written that depends on them."""
    pipeline = wb.parse("pipeline p(x: int, y: int) -> a: int, b: int { return x, y }").get().pipeline
    path = written(tmp_path, form, {"x": [1, 2, 3], "y": [1, None, 3]})
    row = 3 if form == "csv" else 2
    with pytest.raises(InputError, match=rf"log\.{form}:{row}: 'y' is empty[\s\S]*--null error"):
        wb.run(pipeline, path, output=tmp_path / "out.csv", backend=backend, null="error")
    assert not (tmp_path / "out.csv").exists()
    wb.run(pipeline, path, output=tmp_path / "out.csv", backend=backend)
    assert (tmp_path / "out.csv").read_text() == "a,b\n1,1\n2,\n3,3\n"


def test_options_of_python(tmp_path):
    pipeline = wb.parse("pipeline p(x: int) -> int { return x }").get().pipeline
    path = written(tmp_path, "csv", {"temp": [3, 4]})
    given: tuple[dict[str, str] | list[str] | str, ...] = ({"x": "temp"}, ["x=temp"], "x=temp")
    for column in given:
        assert wb.run(pipeline, path, columns=column).to_dict() == {"out": [3, 4]}
    for wrong, message in (("x", "expected INPUT=COLUMN"), (["x=a", "x=b"], "two columns for 'x'")):
        with pytest.raises(InputError, match=message):
            wb.run(pipeline, path, columns=wrong)
    with pytest.raises(InputError, match=r"no meaning 'eror'[\s\S]*did you mean 'error'"):
        wb.run(pipeline, path, null="eror")


def test_keys_of_json_come_and_go(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"c": "a"}\n{"x": 1, "t": 2}\n{}\n{"u": 1}\n{"c": "b", "x": 2}\n')
    told = []
    found = list(read_events(path, ports(x=INT, c=STR), reporter=Reporter(told.append)))
    assert found == [{"c": "a"}, {"x": 1}, {}, {}, {"x": 2, "c": "b"}]
    assert len(told) == 1
