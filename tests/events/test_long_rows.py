"""Rows that do not come to their end: they are refused, and nobody looks through them again and again."""

import pytest

from workbench.core.domain import INT, STR
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events import lines
from workbench.events.formats import csv
from workbench.events.read import read_events

LOG = Ports("log", (Port("x", INT), Port("s", STR)))
SIZE, LONGEST = 1 << 10, 1 << 16
BEGUN = {
    "a line": ("x,s\n", "1234567890"),
    "the first line": ("", "1234567890"),
    "lines in quotation marks": ('x,s\n1,"', "123456789\n"),
    "quotation marks in them": ('x,s\n1,"', '12""34\n'),
    "json": ("", '{"x": 12, "s": "'),
}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(lines, "SIZE", SIZE)
    monkeypatch.setattr(lines, "LONGEST", LONGEST)
    monkeypatch.setattr(lines, "MIN_COLUMN_BYTES", 0)


@pytest.mark.parametrize("name", BEGUN)
def test_a_row_without_an_end_is_refused(name, tmp_path, monkeypatch):
    looked: list[int] = []

    def whole_rows(data, between, quote):
        looked.append(len(data))
        return lines.whole_rows(data, between, quote)

    monkeypatch.setattr(csv, "whole_rows", whole_rows)
    head, more = BEGUN[name]
    path = tmp_path / ("log.jsonl" if name == "json" else "log.csv")
    path.write_text(head + more * (2 * LONGEST // len(more)))
    with pytest.raises(InputError, match="a line is longer than"):
        list(read_events(path, LOG))
    assert sum(looked) < 3 * LONGEST


@pytest.mark.parametrize("piece", ["a", "a\n", '""', 'a""\n', '""\na', "\n,b"])
@pytest.mark.parametrize("count", [SIZE // 2, SIZE, 3 * SIZE, 9 * SIZE])
def test_long_cells_among_others_are_read(piece, count, tmp_path):
    text = (piece * count)[: count - count % len(piece)]
    cells = ["b", text, "", text, text, "c"]
    path = tmp_path / "log.csv"
    path.write_text("x,s\n" + "".join(f'{i},"{cell}"\n' for i, cell in enumerate(cells)))
    wanted = [{"x": i, "s": cell.replace('""', '"')} for i, cell in enumerate(cells)]
    wanted[2].pop("s")
    assert list(read_events(path, LOG)) == wanted


def test_a_row_is_there_when_it_has_ended():
    row = lines.BegunRow("log")
    assert row.append_bytes(b"a" * 2 * SIZE, last=False) == b"a" * 2 * SIZE
    row.keep(b"a" * 2 * SIZE)
    assert row.append_bytes(b"bcd", last=False) is None
    assert row.append_bytes(b"e\nf", last=False) == b"a" * 2 * SIZE + b"bcde\nf"
    row.keep(b'"' + b"\n" * SIZE)
    assert row.append_bytes(b"\n\n", last=False) is None
    assert row.append_bytes(b'\n""\n', last=False) is None
    assert row.append_bytes(b'"', last=False) is None
    assert row.append_bytes(b'"\n"\n', last=False) is not None


def test_what_comes_last_is_looked_at():
    row = lines.BegunRow("log")
    row.keep(b"a" * 2 * SIZE)
    assert row.append_bytes(b"", last=True) == b"a" * 2 * SIZE
