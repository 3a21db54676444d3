"""Cells of CSV by machine code are what rows have, and nothing is read where they are not plain."""

import io
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.core.domain import BOOL, FLOAT, INT, STR, Enum, Range
from workbench.core.program import Port, Ports
from workbench.errors import WorkbenchError
from workbench.events import lines as lines_of
from workbench.events.reading import Reading
from workbench.events.table import format_row
from workbench.executors.compiled.code import cells
from workbench.executors.compiled.code.cells import CellArrays

ENUM = Enum(("red", "ä", "sixteen_letters_", "sixteen_letters+", "a"))
PLAIN = {
    INT: st.integers(-(10**18) + 1, 10**18 - 1).map(str) | st.sampled_from(["-0", "007", "12345678", "-1234567"]),
    Range(-3, 7): st.integers(-3, 7).map(str),
    BOOL: st.sampled_from("true false True FALSE 1 0".split()),
    FLOAT: st.decimals(-(10**9), 10**9, places=4).map(str) | st.sampled_from("5. -0 0.000001 123456789012345".split()),
    ENUM: st.sampled_from(ENUM.labels),
    STR: st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters=',\t"'), max_size=20),
}
ODD = [
    *["", "", "+5", " 5", "5 ", "8", "1e3", ".5", "0x10", "9" * 19, "0.1234567890123456", "reds", "-", "--1", "1-"],
    *["1.2.3", " ", "\u2003", '"7"', "1,2"],
]


def told(steps) -> tuple[list, str]:
    """What is read, by type and text, and the error that ends it."""
    found: list = []
    try:
        for step in steps:
            found.append({name: (type(value), repr(value)) for name, value in step.items()})
    except WorkbenchError as error:
        return found, str(error)
    return found, ""


def steps_of(columns, program: Ports) -> list[dict]:
    """The steps in columns."""
    count = next(iter(columns.values())).rows
    found: list[dict] = [{} for _ in range(count)]
    for name, domain in program.domains.items():
        events, present = columns[name].events.tolist(), columns[name].present
        for i in range(count):
            if present is None or present[i]:
                found[i][name] = domain.labels[events[i]] if isinstance(domain, Enum) else events[i]
    return found


@pytest.fixture(autouse=True)
def little(monkeypatch):
    """Machine code is asked for from the first byte on."""
    monkeypatch.setattr(lines_of, "FEW", 0)
    monkeypatch.setattr(cells, "PATIENCE", 0)
    monkeypatch.setattr(cells, "FEW_TEXTS", 0)


def read(data: bytes, program: Ports, reading: Reading):
    """What reads these bytes, and the lines that they are."""
    stream = io.TextIOWrapper(io.BufferedReader(io.BytesIO(data)), "utf-8-sig", newline="")
    return format_row("csv").reader(program, reading), stream


@pytest.mark.parametrize("size", [7, 1 << 21])
@examples(200)
@given(st.data())
def test_cells_are_those_of_rows(size, monkeypatch, data):
    """Of columns that are used and not, with odd cells now and then, in blocks that end anywhere."""
    monkeypatch.setattr(lines_of, "SIZE", size)
    domains = data.draw(st.lists(st.sampled_from(list(PLAIN)), min_size=1, max_size=3))
    program = Ports("p", tuple(Port(f"x{i}", domain) for i, domain in enumerate(domains)))
    odd = st.sampled_from(ODD) if data.draw(st.booleans()) else st.just("")
    others = data.draw(st.integers(0, 1))
    rows = st.tuples(*(st.one_of(*[PLAIN[domain]] * 4, odd) for domain in (*domains, *[STR] * others)))
    end = data.draw(st.sampled_from(["\n", "\r\n"]))
    text = end.join(
        [",".join([*program.domains, *["other"] * others]), *map(",".join, data.draw(st.lists(rows, max_size=8)))]
    )
    bytes_ = (text + data.draw(st.sampled_from(["", end, end + end]))).encode()
    reading = Reading(words=True)
    reader, lines = read(bytes_, program, reading)
    wanted = told(reader.located(reader.rows(lines, "log"), "log"))
    fast, lines = read(bytes_, program, replace(reading, cells=CellArrays()))
    found: list = []
    error = ""
    try:
        for block in fast.blocks(lines, "log"):
            columns = block.columns()
            some, error = told(block.steps() if columns is None else steps_of(columns, program))
            found += some
            if error:
                break
    except WorkbenchError as raised:
        error = str(raised)
    assert (found, error) == wanted


def test_plain_cells_are_read_by_machine_code():
    """Also where a row is shorter than any before, so that there has to be more room; odd ones are left to others."""
    used = {0: ENUM, 1: STR, 3: INT, 4: FLOAT, 5: BOOL}
    row = "sixteen_letters+,täxt,passed,-12345678901,-0.25,true\r\n"
    short = "a,,,,,\n" * 3000
    made = CellArrays()((row + short).encode(), ",", 6, used)
    assert made is not None
    assert [made[i].events.tolist()[:2] for i in used] == [
        [3, 4], ["täxt", ""], [-12345678901, 0], [-0.25, 0.0], [True, False],
    ]  # fmt: skip
    assert [made[i].present if made[i].present is None else made[i].present.tolist()[:2] for i in used] == [
        None, *[[True, False]] * 4,
    ]  # fmt: skip
    assert made[3].rows == 3001
    for odd in ("a,,,,\n", "a,,,,,,\n", "b,,,,,\n", "a,,,1e3,,\n", "a,,,,1e3,\n", "a,,,,,yes\n", "a, ,,,,\n", "\n"):
        assert CellArrays()((row + odd).encode(), ",", 6, used) is None
    assert CellArrays()(b"3\n8\n", ",", 1, {0: Range(-3, 7)}) is None
    assert CellArrays()(b"3\n7\n", ",", 1, {0: Range(-3, 7)}) is not None
