"""Columns of a log are what its rows are: every cell that Arrow takes for an event we take for the same one."""

import gzip
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum, Range
from workbench.core.program import Port, Ports
from workbench.errors import InputError, WorkbenchError
from workbench.events import lines as lines_of
from workbench.events.files import format_of, open_bytes, readable
from workbench.events.read import read_blocks, read_events
from workbench.events.table import format_row

DOMAINS = (INT, Range(-3, 7), BOOL, FLOAT, Enum(("red", "green", "x0", "ä")), STR)
CELLS = st.one_of(
    st.sampled_from("0 7 -3 8 -0 007 +5 0x10 0X1 1_0 -- - 1e3 1.5 .5 5. -.5e1 1e 1e400 1e-400 nan inf NaN".split()),
    st.sampled_from(["9223372036854775807", "9223372036854775808", "-9223372036854775808", "Infinity"]),
    st.sampled_from("true false True FALSE 1 red green x0 blue Red NULL null NA".split()),
    st.sampled_from(["", " ", " 5", "5 ", "\t1", "ä", "\x00", "\r", "\u00a0", "\u2003red", "red "]),
    st.sampled_from(
        ['"5"', '"a\nb"', '""', '"red"', '"a ""b"""', '"', '""""', 'a"b', '"a"b', '"7\r\n"', '","', ' "5"']
    ),
    st.integers(-10, 10).map(str),
    st.text("0123456789.+-eExX ", max_size=6),
)
JSON = [
    *"0 -0 1.0 1e2 1e400 -5 007 +5 .5 5. NaN Infinity -Infinity 0x10 null true false True {} [] [1]".split(),
    *["9223372036854775807", "9223372036854775808", "-9223372036854775808", str(10**400), "9007199254740993", "1e-400"],
    *[
        '"red"',
        '"ä"',
        '"\\u00e4"',
        '"x0"',
        '""',
        '" "',
        '"5"',
        '"\\ud800"',
        '"a\tb"',
        '"\\u0000"',
        '{"a": 1, "a": 2}',
        "'a'",
    ],
]
LINES = st.lists(st.lists(CELLS, min_size=2, max_size=2), max_size=6)


def ports(*domains) -> Ports:
    return Ports("p", tuple(Port(f"x{i}", domain) for i, domain in enumerate(domains)))


def rows_of(columns, program: Ports) -> list[dict]:
    """The steps that the columns of a block hold."""
    count = len(columns[next(iter(program.domains))].events)
    found: list[dict] = [{} for _ in range(count)]
    for name, domain in program.domains.items():
        events, present = columns[name].events.tolist(), columns[name].present
        for i in range(count):
            if present is None or present[i]:
                value = events[i]
                found[i][name] = domain.labels[value] if isinstance(domain, Enum) else value
    return found


def told(read) -> tuple[list, str]:
    """What is read, and the error that ends it."""
    found: list = []
    try:
        for events in read():
            found.append(events)
    except WorkbenchError as error:
        return found, str(error)
    return found, ""


def by_blocks(path: Path, program: Ports, taken: list):
    for block in read_blocks(path, program):
        columns = block.columns()
        if columns is not None:
            taken.append(block)
            assert list(map(repr, rows_of(columns, program))) == list(map(repr, block.steps()))
        yield from block.steps()


def by_rows(path: Path, program: Ports):
    """Every row for itself, which says what a log means."""
    with open_bytes(path) as stream, readable(str(path)):
        reader, lines = (
            format_row(str(format_of(path))).reader(program),
            io.TextIOWrapper(stream, "utf-8-sig", newline=""),
        )
        yield from reader.located(reader.rows(lines, str(path)), str(path))
        lines.detach()
        try:
            reader.end()
        except InputError as error:
            raise error.retold(where=str(path)) from error


def same(found) -> tuple:
    events, error = found
    return [{name: (type(value), repr(value)) for name, value in step.items()} for step in events], error


@pytest.mark.parametrize("size", [7, 1 << 23])
@pytest.mark.parametrize("width", [1, 2])
@pytest.mark.parametrize("between", [",", "\t"])
@examples(150)
@given(st.data())
def test_blocks_hold_what_rows_do(size, width, between, tmp_path, monkeypatch, data):
    monkeypatch.setattr(lines_of, "SIZE", size)
    program = ports(*(data.draw(st.sampled_from(DOMAINS)) for _ in range(width)))
    end = data.draw(st.sampled_from(["\n", "\n", "\r\n"]))
    lines = [between.join(cells[:width]) for cells in data.draw(LINES)]
    header = [between.join(program.domains)] if width > 1 or data.draw(st.booleans()) else []
    text = end.join([*header, *lines]) + data.draw(st.sampled_from([end, ""]))
    path = tmp_path / ("log.csv" if between == "," else "log.tsv")
    path.write_bytes(data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.encode())
    assert same(told(lambda: by_blocks(path, program, []))) == same(told(lambda: by_rows(path, program)))
    assert same(told(lambda: read_events(path, program))) == same(told(lambda: by_rows(path, program)))


OBJECTS = st.lists(
    st.tuples(st.sampled_from(["x0", "x1", "x0", "x1", "y"]), st.sampled_from(JSON) | st.integers(-9, 9).map(str)),
    max_size=3,
).map(lambda pairs: "{" + ", ".join(f'"{name}": {cell}' for name, cell in pairs) + "}")


@pytest.mark.parametrize("size", [7, 1 << 23])
@examples(200)
@given(st.data())
def test_blocks_of_json_hold_what_rows_do(size, tmp_path, monkeypatch, data):
    monkeypatch.setattr(lines_of, "SIZE", size)
    program = ports(*(data.draw(st.sampled_from(DOMAINS)) for _ in range(data.draw(st.integers(1, 2)))))
    odd = st.sampled_from(
        ["", " ", "7", "null", "[]", "{", "}", "{}{}", '{"x0": 1} {"x0": 2}', '{"x0":', "1}", '{"x0": 1}x']
    )
    lines = data.draw(st.lists(OBJECTS | OBJECTS | OBJECTS | odd, max_size=6))
    end = data.draw(st.sampled_from(["\n", "\n", "\r\n", "\r"]))
    path = tmp_path / "log.jsonl"
    path.write_bytes(
        data.draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + "".join(f"{line}{end}" for line in lines).encode()
    )
    assert same(told(lambda: by_blocks(path, program, []))) == same(told(lambda: by_rows(path, program)))


def test_a_whole_number_that_is_minus_zero_is_zero_by_rows_and_by_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    path = tmp_path / "log.jsonl"
    path.write_text('{"x0": -0}\n{"x0": -0.0}\n')
    assert same(told(lambda: by_blocks(path, ports(FLOAT), []))) == same(told(lambda: by_rows(path, ports(FLOAT))))


@pytest.mark.parametrize("line", ['{"x1": "x0"}', '{"x1": {"x0": 7}}', '{"x0": null, "x1": 1}'])
def test_a_key_is_not_taken_from_values(line, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    path = tmp_path / "log.jsonl"
    path.write_text(f"{line}\n" * 3)
    found = told(lambda: by_blocks(path, ports(INT), []))
    assert same(found) == same(told(lambda: by_rows(path, ports(INT))))
    assert ("no row has a key 'x0'" in found[1]) is ("null" not in line)


def test_plain_logs_are_read_as_columns(tmp_path):
    program, taken = ports(INT, FLOAT, BOOL, Enum(("red", "green"))), []
    text = '"x0",x1,x2,x3\n1,0.1,true,red\n-2,1e-5,false,\n,3,true,green\n'
    for name, data in (("log.csv", text.encode()), ("log.csv.gz", gzip.compress(text.encode()))):
        path = tmp_path / name
        path.write_bytes(data)
        found = list(by_blocks(path, program, taken))
        assert found[1] == {"x0": -2, "x1": 1e-5, "x2": False}
        assert len(found) == 3
    assert len(taken) == 2
    assert taken[0].columns()["x1"].present is None


def test_floats_that_are_no_numbers_are_read_as_columns(tmp_path):
    """As we write them: what else Arrow takes for them is an error, as in rows."""
    program, path, taken = ports(FLOAT), tmp_path / "log.csv", []
    path.write_text("x0\n1.5\ninf\n nan\n-inf\n")
    assert repr([step["x0"] for step in by_blocks(path, program, taken)]) == "[1.5, inf, nan, -inf]"
    assert taken[0].columns() is not None
    for odd in ("NaN", "Infinity", "1e999", "-nan"):
        path.write_text(f"x0\n1.5\n{odd}\ninf\n")
        with pytest.raises(InputError, match=r"log\.csv:3: column 'x0': expected a number"):
            list(by_blocks(path, program, []))


def test_parquet_has_columns(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    program, path = ports(INT, FLOAT, Enum(("red", "green"))), tmp_path / "log.parquet"
    columns = {"x0": pa.array([1, None, 3], pa.int32()), "x1": [0.5, 1.5, None], "x2": ["red", None, "green"]}
    parquet.write_table(pa.table(columns), path)
    taken: list = []
    assert list(by_blocks(path, program, taken)) == list(read_events(path, program))
    assert len(taken) == 1
    for odd in ({"x1": [0.5, float("nan"), 1.0]}, {"x2": ["red", "blue", "red"]}, {"x0": ["1", "2", "3"]}):
        parquet.write_table(pa.table(columns | odd), path)
        assert same(told(lambda: by_blocks(path, program, []))) == same(told(lambda: read_events(path, program)))


PACKED = gzip.compress(b"x0\n" + b"1\n" * 5000 + "é\n".encode("latin-1"))


@pytest.mark.parametrize("data", [PACKED, PACKED[:40], b"x0\n1\n\xff\n"], ids=["text", "cut", "byte"])
def test_damaged_files_are_told_in_the_same_way(data, tmp_path):
    program, path = ports(INT), tmp_path / "log.csv"
    path.write_bytes(data)
    (_, left), (_, right) = told(lambda: by_blocks(path, program, [])), told(lambda: read_events(path, program))
    assert left.split(":")[:2] == right.split(":")[:2] != [""]


def test_a_pipe_is_read_as_it_comes(monkeypatch):
    """A block is what is there: it is not waited for more."""
    parts = [b"x0\n1\n2", b"\n3\n4", b"5", b""]

    class Dripping(io.RawIOBase):
        def readable(self) -> bool:
            return True

        def readinto(self, room) -> int:
            part = parts.pop(0)
            room[: len(part)] = part
            return len(part)

    reader = format_row("csv").reader(ports(INT))
    lines = io.TextIOWrapper(io.BufferedReader(Dripping()), "utf-8-sig")
    blocks = reader.blocks(lines, "log")
    assert list(next(blocks).steps()) == [{"x0": 1}]
    assert list(next(blocks).steps()) == [{"x0": 2}, {"x0": 3}]
    assert [list(block.steps()) for block in blocks] == [[{"x0": 45}]]
