"""Files that are read in parts: the same rows with the same numbers as in one piece."""

import pytest

import workbench as wb
from workbench.core.program import Port, Ports
from workbench.events.account import Reporter
from workbench.events.files import open_bytes
from workbench.events.parts import part_stream
from workbench.events.read import log_reader
from workbench.events.reading_options import Reading

INPUTS = Ports("p", (Port("x", wb.INT), Port("t", wb.STR)))


def rows(path, size):
    """The rows, the bad ones with their numbers, and how many parts of so many bytes there are; None: the whole."""
    pattern = r"(?P<t>\w+) has (?P<x>\w+)" if path.suffix == ".log" else ""
    found, bad, reading = [], [], Reading(bad_rows="kept", pattern=pattern)
    with open_bytes(path) as stream, log_reader(stream, path, INPUTS, reading, Reporter()) as (reader, _, shown):
        parts = [type(reader).part] if size is None else list(reader.parts(stream, shown, size))
    for part in parts:
        reporter = Reporter(keep=bad.append)
        with open_bytes(path) as stream, log_reader(part_stream(stream, part), path, INPUTS, reading, reporter) as one:
            reader, lines, shown = one
            reader.part = part
            for block in reader.blocks(lines, shown):
                found += block.steps()
    return found, bad, len(parts)


TEXTS = {
    "a.csv": '\ufeff"x","t\n"\n' + '1,a\n2,"b, ""c""\nd"\n\nnone,e\n3\n' * 9 + "4,end",
    "b.csv": "t,x\r\n" + "a,1\r\nb,none\r\n" * 9,
    "odd.csv": "t,x\n" + "a,1\n" * 9 + 'say "b",2\n' + "b,none\n" * 9,
    "a.tsv": "t\tx\n" + '"a\nb"\t1\nb\tnone\n' * 9,
    "a.log": "\ufeffa has 1\n\n" + "b has none\nb has 2\n" * 9,
    "a.logfmt": "\ufeffx=1\n\n" + 't="b \\"c\\" d"\nx=none\n' * 9,
    "a.jsonl": '\ufeff{"x": 1}\n\n' + '{"t": "b"}\n{"x": "none"}\n' * 9,
}


@pytest.mark.parametrize("name", TEXTS)
def test_parts_of_texts(tmp_path, name):
    path = tmp_path / name
    path.write_bytes(TEXTS[name].encode())
    whole, bad, _ = rows(path, None)
    assert bad
    for size in (60, 90, 1000):
        found = rows(path, size)
        assert found[:2] == (whole, bad)
        assert (found[2] > 1) == (size < 1000 and name != "odd.csv"), "who knows where rows end cuts there"


def test_parts_of_parquet(tmp_path):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    path = tmp_path / "a.parquet"
    for given in (range(50), map(str, range(50))):
        table = pa.table({"x": list(given), "t": ["a"] * 50})
        parquet.write_table(table, path, row_group_size=8)
        whole, bad, _ = rows(path, None)
        assert (len(whole), [number for _, number, *_ in bad]) in ((50, []), (0, list(range(1, 51))))
        assert rows(path, 1) == (whole, bad, 7)
