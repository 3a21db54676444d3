"""What `--columns` says of a log."""

import json

import pyarrow as pa
import pytest
from pyarrow import parquet

from workbench.core.domain import BOOL, FLOAT, INT
from workbench.core.fields import Record
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.account import Reporter
from workbench.events.inspection import look
from workbench.events.read import read_events
from workbench.events.reading_options import Reading

USER = Record((INT, BOOL), ("user", "ok"))
PORTS = Ports("p", (Port("e", USER), Port("x", INT), Port("zed", FLOAT)))
READING = Reading({"x": "temp"})


def found(path, reading=READING, ports=PORTS):
    (file,) = look(path, ports, reading)
    return {each.name: (each.kind, each.nulls, each.inputs, each.wrong) for each in file.columns}, file


def test_columns_of_text(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("user,ok,temp,foo,ze\n1,true,5,9,a\n,,6,,b\n2,false,7.5,{},\n")
    columns, file = found(path)
    assert columns == {
        "user": ("whole numbers", 1, ("e.user: int",), ""),
        "ok": ("truth values", 1, ("e.ok: bool",), ""),
        "temp": ("numbers", 0, ("x: int",), "row 3: expected a whole number, not '7.5'"),
        "foo": ("whole numbers and JSON", 1, (), ""),
        "ze": ("texts", 1, (), ""),
    }
    assert file.missing == ("there is no column for input 'zed': float (did you mean 'ze'?)",)
    assert str(file).splitlines()[:3] == [
        f"{path}, first 3 rows",
        "column  type                    empty  input",
        "user    whole numbers           1      e.user: int",
    ]
    assert "ignored" in str(file)


def test_columns_of_lines_of_json(tmp_path):
    path = tmp_path / "log.jsonl"
    path.write_text('{"temp": 1, "t": "a"}\n{"user": 1, "ok": true}\n{\n{"zed": 1, "temp": null}\n')
    columns, file = found(path)
    assert columns == {
        "temp": ("whole numbers", 3, ("x: int",), ""),
        "t": ("texts", 3, (), ""),
        "user": ("whole numbers", 3, ("e.user: int",), ""),
        "ok": ("truth values", 3, ("e.ok: bool",), ""),
        "zed": ("whole numbers", 3, ("zed: float",), ""),
    }
    assert file.rows == 4


def test_columns_of_tables(tmp_path):
    path = tmp_path / "log.parquet"
    columns = {"temp": pa.array([1, None], pa.int8()), "day": pa.array([1, 2], pa.date32()), "zed": ["a", "b"]}
    parquet.write_table(pa.table(columns), path)
    columns, file = found(path)
    assert columns == {
        "temp": ("int8", 1, ("x: int",), ""),
        "day": ("date32[day]", 0, (), ""),
        "zed": ("string", 0, ("zed: float",), "row 1: expected a number, not 'a'"),
    }
    assert [each.partition(":")[0] for each in file.missing] == ["there is no column for input 'e'"]


def test_logs_with_nothing_in_them(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("temp,day\n")
    assert found(path)[0] == {"temp": ("nothing", 0, ("x: int",), ""), "day": ("nothing", 0, (), "")}
    path.write_text("3\n4\n")  # a log of one input without a line of names
    columns, file = found(path, Reading(), Ports("p", (Port("x", INT),)))
    assert (columns, file.rows) == ({"x": ("whole numbers", 0, ("x: int",), "")}, 2)
    with pytest.raises(InputError, match="no column 'temp' for 'x'"):
        found(path)


def test_many_columns_and_odd_names_take_one_line(tmp_path):
    """A name may hold what moves a terminal's cursor; a table of a hundred thousand columns has a line, too."""
    path, said = tmp_path / "log.jsonl", []
    path.write_text(json.dumps({"x": 1, "a\n\x1b[2J": 2, **dict.fromkeys(map(str, range(100)), 3)}) + "\n")
    list(read_events(path, PORTS, reporter=Reporter(report=said.append)))
    assert said == [
        "ignored columns: 'a\\n\\x1b[2J', "
        f"{', '.join(map(str, range(39)))} and 61 more (no input uses them; --strict makes this an error)"
    ]
