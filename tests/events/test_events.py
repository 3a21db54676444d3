import gzip
import io
import json
import os
import signal
import stat
import zlib
from contextlib import suppress

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import parquet

from workbench.builder import Builder
from workbench.conformance.generate.domains import domains, values
from workbench.core.domain import ANY, BOOL, FLOAT, INT, STR, Enum, Integer, Range
from workbench.core.fields import FrozenMap, Map, Nullable, Record, Tuple
from workbench.errors import DomainError, InputError
from workbench.events import packing
from workbench.events.clock import Clock
from workbench.events.read import read_blocks, read_events
from workbench.events.reading_options import Reading
from workbench.events.values import UnreadableError, from_json, from_text, to_json, to_text
from workbench.events.write import output_format, write_events
from workbench.processors.passthrough import Passthrough

TRADE = Record((Range(0, 9), BOOL), ("price", "sold"))
LIGHT = Enum(("red", "green"))


def of(**inputs):
    builder = Builder("p")
    streams = {name: builder.input(name, domain) for name, domain in inputs.items()}
    return builder.build(streams)


def read(tmp_path, name, text, pipeline, **options):
    path = tmp_path / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return list(read_events(path, pipeline, **options))


TWO = of(x=INT, c=BOOL)

READ = [
    # name, text, pipeline, steps
    ("a.csv", "x,c\n1,true\n,false\n3,\n\n-4,0\n", TWO,
     [{"x": 1, "c": True}, {"c": False}, {"x": 3}, {}, {"x": -4, "c": False}]),
    ("a.csv", "c,x\r\nTrue, 7 \r\n", TWO, [{"c": True, "x": 7}]),
    ("a.csv", "\ufeffx,c\n1,1\n", TWO, [{"x": 1, "c": True}]),
    ("a.csv", f"x\n1\n-{10**400}\n", of(x=INT), [{"x": 1}, {"x": -(10**400)}]),
    ("a.csv", "x\n1\n2.5\n", of(x=FLOAT), [{"x": 1.0}, {"x": 2.5}]),
    ("a.jsonl", "1\n-Infinity\n2.5\n", of(x=FLOAT), [{"x": 1.0}, {"x": float("-inf")}, {"x": 2.5}]),
    ("a.csv", "1\n2\n", of(x=INT), [{"x": 1}, {"x": 2}]),
    ("a.csv", "\n2\n", of(x=INT), [{}, {"x": 2}]),
    ("a.csv", "", of(x=INT), []),
    ("a.csv", "red\ngreen\n", of(x=LIGHT), [{"x": "red"}, {"x": "green"}]),
    ("a.csv", "red\nred\n", of(red=LIGHT), [{"red": "red"}]),
    ("a.csv", 'x\n"[1, true]"\n', of(x=Tuple((Range(0, 3), BOOL))), [{"x": (1, True)}]),
    ("a.csv", 'x\n"{""price"": 3, ""sold"": true}"\n', of(x=TRADE), [{"x": (3, True)}]),
    ("a.csv", 'x\n"two\nlines, one cell"\n', of(x=STR), [{"x": "two\nlines, one cell"}]),
    ("a.csv", "x\n1\n-inf\n1e3\n", of(x=FLOAT), [{"x": 1.0}, {"x": float("-inf")}, {"x": 1000.0}]),
    ("a.jsonl", '{"x": 1, "c": true}\n{"x": null}\n\n{"c": 0}\n{}\n', TWO,
     [{"x": 1, "c": True}, {}, {"c": False}, {}]),
    ("a.jsonl", '3\n{"x": 4}\nnull\n', of(x=INT), [{"x": 3}, {"x": 4}, {}]),
    ("a.jsonl", '{}\n5\n{"x": 1}\n7\n{}\n', of(x=INT), [{}, {"x": 5}, {"x": 1}, {"x": 7}, {}]),
    ("a.ndjson", '[1, false]\n', of(x=Tuple((INT, BOOL))), [{"x": (1, False)}]),
    ("a.jsonl", '{"price": 1, "sold": false}\n{"x": {"price": 2, "sold": 1}}\n', of(x=TRADE),
     [{"x": (1, False)}, {"x": (2, True)}]),
    ("a.jsonl", '"red"\n', of(x=LIGHT), [{"x": "red"}]),
    ("a.jsonl", '{"x": [1, [2, "a"]]}\n', of(x=ANY), [{"x": (1, (2, "a"))}]),
    ("a", '{"x": 1}\n', of(x=INT), [{"x": 1}]),
    ("a", "x,c\n1,0\n", TWO, [{"x": 1, "c": False}]),
    ("a", "4\n5\n", of(x=INT), [{"x": 4}, {"x": 5}]),
    ("a.csv.gz", gzip.compress(b"x\n1\n", mtime=0), of(x=INT), [{"x": 1}]),
    ("a.jsonl.gz", gzip.compress(b"1\n", mtime=0), of(x=INT), [{"x": 1}]),
    ("a", gzip.compress(b'"red"\n', mtime=0), of(x=LIGHT), [{"x": "red"}]),
]  # fmt: skip


@pytest.mark.parametrize(("name", "text", "pipeline", "steps"), READ)
def test_reading(tmp_path, name, text, pipeline, steps):
    found = read(tmp_path, name, text, pipeline)
    assert found == steps
    assert [{n: type(e) for n, e in s.items()} for s in found] == [{n: type(e) for n, e in s.items()} for s in steps]


LONG = "1" * 5000
SHOWN = r"1{5,}\.\.\."

NUMBERS = [
    # the cell, JSON of the same, the domain, what is expected, the hint
    ("7.5", "7.5", INT, "a whole number, not '?7.5'?", "declare the input as float"),
    ("7.0", "7.0", INT, "a whole number, not '?7.0'?", "declare the input as float"),
    ("nan", "NaN", INT, "a whole number, not '?[nN]a[nN]'?", "declare the input as float"),
    ("inf", "Infinity", INT, "a whole number, not '?[iI]nf(inity)?'?", "declare the input as float"),
    ("-inf", "-Infinity", INT, "a whole number, not '?-[iI]nf(inity)?'?", "declare the input as float"),
    ("1e400", None, INT, "a whole number, not '1e400'", "declare the input as float"),
    (None, "1e400", INT, "input 'x': expected a number that a float can hold, not 1e400$", ""),
    ("1e400", None, FLOAT, "a number that a float can hold, not '1e400'", ""),
    (None, "1e400", FLOAT, "input 'x': expected a number that a float can hold, not 1e400$", ""),
    (f"1{'0' * 400}", f"1{'0' * 400}", FLOAT, "a number that a float can hold, not '?10", ""),
    (LONG, None, FLOAT, f"a number that a float can hold, not '{SHOWN}", ""),
    (LONG, None, INT, f"a whole number of at most [0-9]+ digits, not '{SHOWN}'", ""),
    (LONG, None, Range(0, 3), f"a whole number of at most [0-9]+ digits, not '{SHOWN}'", ""),
    (None, LONG, INT, f"input 'x': expected a whole number of at most [0-9]+ digits, not {SHOWN}$", ""),
    ("nan", "NaN", Range(0, 3), "an integer 0..3, not '?[nN]a[nN]'?", ""),
]


@pytest.mark.parametrize(("cell", "data", "domain", "message", "hint"), NUMBERS)
@pytest.mark.parametrize("format", ["csv", "jsonl"])
def test_numbers_outside_their_type(tmp_path, format, cell, data, domain, message, hint):
    given = cell if format == "csv" else data
    if given is None:
        return
    text = f"x,c\n,1\n{given},1\n" if format == "csv" else f'{{"c": 1}}\n\n{{"x": {given}}}\n'
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, f"a.{format}", text, of(x=domain, c=BOOL))
    assert str(caught.value.where).endswith(f"a.{format}:3")
    assert caught.value.hint == hint


def test_a_number_in_a_cell_of_json(tmp_path):
    with pytest.raises(InputError, match=r"a\.csv:2: column 'x': expected a whole number of at most [0-9]+ digits"):
        read(tmp_path, "a.csv", f'x\n"[1, {LONG}]"\n', of(x=Tuple((INT, INT))))
    with pytest.raises(InputError, match=r"a\.csv:2: column 'x': expected a whole number"):
        read(tmp_path, "a.csv", 'x\n"[1, 2.5]"\n', of(x=Tuple((INT, INT))))


SMALL = of(x=Integer(4), c=BOOL)

BAD = [
    ("a.csv", "x,c\n1,1\n7,1\n", r"a\.csv:3: column 'x': expected an integer 0\.\.3, not '7'"),
    ("a.csv", "x,c\n1,maybe\n", r"a\.csv:2: column 'c': expected true or false .*, not 'maybe'"),
    ("a.csv", "x,c\n1.5,\n", "column 'x': expected an integer 0..3, not '1.5'"),
    ("a.csv", "x,c\n1_0,\n", "not '1_0'"),
    ("a.csv", "x,d\n", r"a\.csv:1: column 'd' is not an input of the pipeline[\s\S]*there are: x, c"),
    ("a.csv", "x,C2\n", r"column 'C2'"),
    ("a.csv", "x\n", r"no column 'c'[\s\S]*its columns are: x;"),
    ("a.csv", "x,x,c\n", r"two columns are called 'x'"),
    ("a.csv", "x,c\n1\n", r"a\.csv:2: this line has 1 cell, the header has 2"),
    ("a.csv", 'x,c\n"1,0\n', r"not a line of CSV"),
    ("a.csv", b"x,c\n\xff\xfe,1\n", "not UTF-8"),
    ("a.jsonl", '{"x": 1}\n{"x": 9}\n', r"a\.jsonl:2: input 'x': expected an integer 0\.\.3, not 9"),
    ("a.jsonl", '{"x": true}', "input 'x': expected an integer 0..3, not true"),
    ("a.jsonl", '{"x": 1.0}', "expected an integer 0..3, not 1.0"),
    ("a.jsonl", '{"c": 2}', "input 'c': expected true or false"),
    ("a.jsonl", '{"c": 1.0}', "input 'c': expected true or false"),
    ("a.jsonl", '{"y": 1}', r"key 'y' is not an input[\s\S]*there are: x, c"),
    ("a.jsonl", "{x: 1}", r"a\.jsonl:1: not a JSON value: .* at column 2: {x: 1}"),
    ("a.jsonl", '{"x": 1, "x": 2}', "a key occurs twice"),
    ("a.jsonl", "3", r'expected an object {"x": ..., "c": ...}, not 3'),
    ("a.jsonl", "[" * 100_000, r"a\.jsonl:1: not a JSON value"),
    ("a.jsonl", '{"x": "a\tb"}', r"a\.jsonl:1: not a JSON value: Invalid control character at column 9: "),
    ("a.jsonl", '{"x": "a', r"a\.jsonl:1: not a JSON value: Unterminated string starting at column 7: "),
    ("a.jsonl", '{"x": "\\q"}', r"a\.jsonl:1: not a JSON value: Invalid \\escape at column 8: "),
    ("a.parquet", b"x,c\n1,1\n", r"a\.parquet: this cannot be read as Parquet"),
    ("a.parquet", b"PAR1" + bytes(40), r"a\.parquet: this cannot be read as Parquet"),
    ("a.csv.gz", gzip.compress(b"x,c\n" + b"1,1\n" * 1000, mtime=0)[:-20], "compressed file is damaged"),
]


@pytest.mark.parametrize(("name", "text", "message"), BAD)
def test_bad_rows(tmp_path, name, text, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, name, text, SMALL, reading=Reading(strict=True))


@pytest.mark.parametrize("name", ["a.jsonl", "a.csv", "a.parquet"])
@pytest.mark.parametrize("by_columns", [False, True])
def test_objects_with_other_keys(tmp_path, name, by_columns):
    """A record takes its fields, as inputs take columns; what else an object has is not read."""
    given, ports = [{"dns": 30, "ms": 950}, {"dns": 40, "ms": 1}], of(timing=Record((INT,), ("ms",)))
    texts = {
        "a.jsonl": "".join(json.dumps({"timing": each}) + "\n" for each in given),
        "a.csv": "timing\n" + "".join('"' + json.dumps(each).replace('"', '""') + '"\n' for each in given),
    }
    if name in texts:
        (tmp_path / name).write_text(texts[name])
    else:
        parquet.write_table(pa.table({"timing": given}), tmp_path / name)
    if by_columns:
        block = next(read_blocks(tmp_path / name, ports)).columns()
        domain = ports.ports.domains["timing"]
        assert block is None or list(block["timing"].values(domain)) == [(950,), (1,)]
        assert (block is None) == (name == "a.jsonl")  # whose other keys rows must report
    else:
        assert list(read_events(tmp_path / name, ports)) == [{"timing": (950,)}, {"timing": (1,)}]


@pytest.mark.parametrize(
    ("name", "text"), [("a.csv", "at\n2026-11-24 08:00:00\n"), ("a.jsonl", '{"at": "2026-11-24T08:00:00Z"}')]
)
def test_a_date_is_no_number(tmp_path, name, text):
    with pytest.raises(InputError, match="expected a whole number, not") as found:
        read(tmp_path, name, text, of(at=INT))
    assert found.value.hint == "--time-format auto reads dates in inputs of numbers as seconds since 1970"


SECONDS = 1_795_507_200
"""2026-11-24 08:00:00 in UTC: 20,781 days of 86,400 s, and 8 hours."""


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.csv", "at,of\n2026-11-24 08:00:00,2026-11-24T08:00:00.25\n,\n1,2.5\n"),
        ("a.csv", "at,of\n24/Nov/2026:08:00:00 +0000,2026-11-24T09:00:00.250+01:00\n,\n1,2.5\n"),
        ("a.logfmt", 'at="2026-11-24 08:00:00" of=2026-11-24T08:00:00.25\nat= of=\nat=1 of=2.5\n'),
        (
            "a.jsonl",
            '{"at": "2026-11-24T08:00:00Z", "of": "2026-11-24T08:00:00.25Z"}\n{"at": null}\n{"at": 1, "of": 2.5}\n',
        ),
    ],
)
def test_dates_are_seconds_where_the_user_says_so(tmp_path, name, text):
    reading = Reading(clock=Clock(), dated=True)
    right = [{"at": SECONDS, "of": SECONDS + 0.25}, {}, {"at": 1, "of": 2.5}]
    assert SECONDS == 20_781 * 86_400 + 8 * 3_600
    assert read(tmp_path, name, text, of(at=INT, of=FLOAT), reading=reading) == right
    assert read(tmp_path, name, text, of(at=Nullable(INT), of=Nullable(FLOAT)), reading=reading) == right


@pytest.mark.parametrize(
    ("cell", "what", "hint"),
    [
        ("2026-11-24 08:00:00.5", "expected a date of a whole second", "declare the input as float"),
        ("soon", "expected a number, or a date such as", "--time-format '%d %b"),
        ("7.5", "expected a whole number", "declare the input as float"),
        ("03/04/2026 08:00:00", "expected a date that has one meaning", "--time-format '%d/%m/%Y %H:%M:%S'"),
    ],
)
def test_cells_that_are_no_dates(tmp_path, cell, what, hint):
    with pytest.raises(InputError, match=what) as found:
        read(tmp_path, "a.csv", f"at\n{cell}\n", of(at=INT), reading=Reading(clock=Clock(), dated=True))
    assert hint in found.value.hint


def test_dates_within_objects_are_texts(tmp_path):
    text, inside = '{"r": {"at": "2026-11-24T08:00:00Z"}}\n', Record((INT,), ("at",))
    with pytest.raises(InputError, match="expected a whole number") as found:
        read(tmp_path, "a.jsonl", text, of(r=inside), reading=Reading(clock=Clock(), dated=True))
    assert found.value.hint == "within objects and arrays dates are texts: declare it as str"


def test_objects_that_lack_a_key(tmp_path):
    with pytest.raises(InputError, match=r"input 'timing': expected an object \{ms: int\}") as found:
        read(tmp_path, "a.jsonl", '{"timing": {"dns": 30}}', of(timing=Record((INT,), ("ms",))))
    assert found.value.hint == "the object has no 'ms'; a field that may be missing is declared with a ?, as int?"


def test_a_column_in_an_object(tmp_path):
    reading = Reading(columns={"ms": "timing.mss"})
    with pytest.raises(InputError, match=r"no row has a key 'timing\.mss'") as found:
        read(tmp_path, "a.jsonl", '{"timing": {"ms": 950}}', of(ms=FLOAT), reading=reading)
    assert found.value.hint == "did you mean 'timing.ms'? If so, write --column ms=timing.ms"
    reading = Reading(columns={"ms": "timing.ms"})
    rows = [
        '{"timing": {"ms": 950}}',
        '{"timing": {}}',
        '{"timing": null}',
        '{"timing": 3}',
        '{"timing.ms": 7}',
        '{"y": 1}',
    ]
    for times in (1, 500):  # many rows are read as columns, unless a key may be in an object
        found = read(tmp_path, "a.jsonl", "\n".join(rows * times), of(ms=FLOAT), reading=reading)
        assert found == [{"ms": 950.0}, {}, {}, {}, {"ms": 7.0}, {}] * times
    assert read(tmp_path, "a.jsonl", '{"timing": {"ms": 950}}', of(timing=Record((FLOAT,), ("ms",))))


def test_an_item_of_an_array(tmp_path):
    rows = [
        '{"items": [{"price": 1}, {"price": 2}]}',
        '{"items": [{"price": 1}]}',
        '{"items": []}',
        '{"items": {"1": {"price": 5}}}',
        '{"items": "ab"}',
        '{"items": [0, [3]]}',
    ]
    for key in ("items.1.price", "items[1].price"):
        reading = Reading(columns={"price": key})
        found = read(tmp_path, "a.jsonl", "\n".join(rows), of(price=INT), reading=reading)
        assert found == [{"price": 2}, {}, {}, {"price": 5}, {}, {}]


def test_a_first_line_that_is_neither_a_name_nor_an_event(tmp_path):
    with pytest.raises(InputError, match=r"a\.csv:1: the first line 'y' is neither the input's name 'x' nor"):
        read(tmp_path, "a.csv", "y\n1\n", of(x=INT))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match=r"none\.csv: cannot be read: No such file"):
        list(read_events(tmp_path / "none.csv", TWO))


def test_columns_that_are_no_inputs_can_be_ignored(tmp_path):
    assert read(tmp_path, "a.csv", "t,x,c\n9,1,1\n", TWO) == [{"x": 1, "c": True}]
    assert read(tmp_path, "a.jsonl", '{"t": 9, "x": 1}', TWO) == [{"x": 1}]


@pytest.mark.parametrize("name", ["a.txt", "a.avro", "a.xlsx", "a.txt.gz"])
def test_an_ending_that_tells_no_format_is_refused(tmp_path, name):
    ending = name.removesuffix(".gz").removeprefix("a")
    with pytest.raises(InputError, match=rf"'\{ending}' is not a format of events\n[\s\S]*\.parquet, .* --format csv"):
        read(tmp_path, name, "4\n", of(x=INT))
    assert read(tmp_path, name, "4\n", of(x=INT), reading=Reading(format="csv")) == [{"x": 4}]
    os.remove(tmp_path / name)
    with pytest.raises(InputError, match="is not a format of events"), write_events(tmp_path / name, TWO):
        pass
    assert os.listdir(tmp_path) == []


def test_what_is_written_where_the_name_does_not_tell(tmp_path):
    fifo = tmp_path / "pipe.out"
    os.mkfifo(fifo)
    assert output_format("a.csv.gz", "jsonl", "b.jsonl") == "csv"
    assert output_format("a.out", "jsonl", "b.csv") == output_format("a", None, "b.jsonl") == "jsonl"
    assert output_format("-", None, "b") == output_format(fifo, None, "b.csv") == "csv"
    assert output_format("a", None, "b.parquet") == "parquet"
    assert output_format("a.csv", "jsonl", "b.csv", wanted="tsv") == output_format("-", wanted="tsv") == "tsv"
    assert output_format("-", None, "b.parquet") == output_format(fifo, "parquet", "-") == "jsonl"


def test_the_format_can_be_told(tmp_path):
    assert read(tmp_path, "a.csv", "3\n", of(x=INT), reading=Reading(format="jsonl")) == [{"x": 3}]


def test_the_standard_input():
    assert list(read_events("-", of(x=INT), stdin=io.BytesIO(b'{"x": 1}\n'))) == [{"x": 1}]
    assert list(read_events("-", TWO, stdin=io.BytesIO(b"x,c\n1,1\n"))) == [{"x": 1, "c": True}]
    with pytest.raises(InputError, match="<stdin>:2: column 'c'"):
        list(read_events("-", TWO, stdin=io.BytesIO(b"x,c\n1,2\n")))


def test_events_arrive_before_the_input_ends():
    """Lines are read as they come: the first event is there while the writer still holds the pipe open."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb", buffering=0) as out, os.fdopen(reader, "rb") as stdin:
        out.write(b"x\n1\n")
        events = read_events("-", of(x=INT), stdin=stdin)
        assert next(events) == {"x": 1}
        out.write(b"2\n")
        assert next(events) == {"x": 2}
        out.close()
        assert list(events) == []


@pytest.mark.parametrize("whole", [False, True], ids=["flushed", "members"])
def test_compressed_events_arrive_before_the_input_ends(whole):
    """Also those of a member of its own, and however many zeros lie between members."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "wb", buffering=0) as out, os.fdopen(reader, "rb") as stdin:
        packing = zlib.compressobj(wbits=31)
        out.write(packing.compress(b"x\n1\n") + packing.flush(zlib.Z_FINISH if whole else zlib.Z_SYNC_FLUSH))
        events = read_events("-", of(x=INT), stdin=stdin)
        assert next(events) == {"x": 1}
        out.write(bytes(9000) + gzip.compress(b"2\n") if whole else packing.compress(b"2\n") + packing.flush())
        assert next(events) == {"x": 2}
        out.close()
        assert list(events) == []


WRITTEN = [
    ("a.csv", [{"x": [1], "c": [True]}, {"x": [], "c": []}, {"c": [False]}], "x,c\n1,true\n,false\n"),
    ("a.jsonl", [{"x": [1], "c": [True]}, {"x": []}, {"x": [2, 3]}], '{"x": 1, "c": true}\n{"x": 2}\n{"x": 3}\n'),
]


@pytest.mark.parametrize(("name", "rows", "text"), WRITTEN)
def test_writing(tmp_path, name, rows, text):
    path = tmp_path / name
    with write_events(path, TWO) as writer:
        for row in rows:
            writer.write(row)
        assert not path.exists()
    assert path.read_text() == text
    assert os.listdir(tmp_path) == [name]
    mask = os.umask(0)
    os.umask(mask)
    assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask


@pytest.mark.parametrize("error", [RuntimeError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize(
    "name", ["a.csv", "a.tsv.gz", "a.jsonl", "a.jsonl.zst", "a.parquet", "a.arrow", "a.arrows", "a.parquet.gz"]
)
def test_what_is_half_written_stays_beside_it_in_whole_rows(name, error, tmp_path):
    path = tmp_path / name
    path.write_text("before")
    with pytest.raises(error) as raised, write_events(path, TWO) as writer:  # noqa: PT012
        writer.write({"x": [1]})
        writer.write({"x": [2], "c": [True]})
        raise error
    assert path.read_text() == "before"
    (note,) = raised.value.__notes__
    (kept,) = {*os.listdir(tmp_path)} - {name}
    assert str(tmp_path / kept) in note
    assert list(read_events(tmp_path / kept, TWO)) == [{"x": 1}, {"x": 2, "c": True}]


@pytest.mark.parametrize("rows", [2, 5000])
@pytest.mark.parametrize("name", ["a.parquet", "a.arrow", "a.arrows"])
def test_ctrl_c_in_the_middle_of_a_batch_leaves_a_whole_file(name, rows, tmp_path, monkeypatch):
    """It comes in each of the calls that write bytes."""
    calls = at = begun = 0

    class Struck(io.BufferedWriter):
        def write(self, data):
            nonlocal calls
            calls += 1
            if calls == at:
                signal.raise_signal(signal.SIGINT)
            return super().write(data)

    monkeypatch.setattr("workbench.events.files.io.BufferedWriter", Struck)
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    left = []
    try:
        for at in range(100):
            calls = 0
            with suppress(KeyboardInterrupt), write_events(tmp_path / name, of(x=INT)) as writer:
                begun = calls
                writer.write({"x": [*range(rows)]})
            for each in os.listdir(tmp_path):
                left.append([step["x"] for step in read_events(tmp_path / each, of(x=INT))])
                os.unlink(tmp_path / each)
            if at > calls:
                break
    finally:
        signal.signal(signal.SIGINT, before)
    assert all(each == [*range(rows)] for each in left)
    assert len(left) >= at - begun > 1  # those before the first row, where nothing stays


def test_rows_before_one_that_has_no_place_in_a_column_stay(tmp_path):
    with pytest.raises(DomainError), write_events(tmp_path / "a.parquet", of(x=INT)) as writer:  # noqa: PT012
        for x in (*range(70), 2**70, 71):
            writer.write({"x": [x]})
    (beside,) = os.listdir(tmp_path)
    assert parquet.read_table(tmp_path / beside).to_pydict() == {"x": [*range(70)]}


def test_a_stream_of_arrow_is_seen_as_its_rows_come(tmp_path):
    with write_events(tmp_path / "a.arrows", TWO, live=True) as writer:
        for x in range(3):
            writer.write({"x": [x]})
            writer.flush()
            (beside,) = os.listdir(tmp_path)
            assert [step["x"] for step in read_events(tmp_path / beside, TWO)] == [*range(x + 1)]


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl.gz", "a.parquet", "a.arrow"])
def test_nothing_stays_where_no_row_has_been_written(name, tmp_path):
    with pytest.raises(KeyboardInterrupt), write_events(tmp_path / name, TWO):
        raise KeyboardInterrupt
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.csv.gz", "a.tsv.zst"])
def test_rows_of_a_log_without_an_end_are_appended_and_seen_at_once(name, tmp_path):
    path, rows = tmp_path / name, []
    for first in (0, 10):
        with pytest.raises(KeyboardInterrupt), write_events(path, TWO, live=True) as writer:  # noqa: PT012
            for x in range(first, first + 3):
                writer.write({"x": [x]})
                writer.flush()
                rows.append({"x": x})
                assert list(read_events(path, TWO)) == rows
            writer.write({"x": [9]})
            rows.append({"x": 9})
            raise KeyboardInterrupt
        assert list(read_events(path, TWO)) == rows
    assert os.listdir(tmp_path) == [name]


def test_rows_are_not_appended_to_others(tmp_path):
    (tmp_path / "a.csv").write_text("y,z\n1,2\n")
    with pytest.raises(InputError, match="rows of y, z already"), write_events(tmp_path / "a.csv", TWO, live=True):
        pass
    assert (tmp_path / "a.csv").read_text() == "y,z\n1,2\n"


@pytest.mark.parametrize(
    ("name", "there", "line", "after"),
    [
        ("a.jsonl", '{"x": 1}\n{"x": 2', 2, '\n{"x": 3}\n'),
        ("a.csv", "x,c\n77,true\n8", 3, "\n3,\n"),
        ("a.csv", "x,c", 1, "\n3,\n"),
        ("a.csv", "x,c\n77,true\n", None, "3,\n"),
        ("a.tsv", "x\tc\n77", 2, "\n3\t\n"),
        ("text.csv", 's\n"one ""mark"""\n"and, two', 3, '"\nthree\n'),
        ("text.csv", 's\n"one ""mark"""\n"and, two\n', 3, '"\nthree\n'),
        ("text.csv", 's\n"one\nline"\n', None, "three\n"),
    ],
)
def test_a_row_that_was_cut_is_named_and_does_not_take_the_next_one_with_it(name, there, line, after, tmp_path, caplog):
    path, texts = tmp_path / name, name.startswith("text")
    path.write_text(there)
    with write_events(path, of(s=STR) if texts else TWO, live=True) as writer:
        writer.write({"s": ["three"]} if texts else {"x": [3]})
    assert path.read_text() == there + after
    assert [record.getMessage() for record in caplog.records] == [
        f"{path}:{line}: this row has no end, and may have been cut; it is ended here, and others follow it"
    ] * (line is not None)
    if texts:
        assert list(read_events(path, of(s=STR)))[-1] == {"s": "three"}


@pytest.mark.parametrize("name", ["a.csv.gz", "a.jsonl.gz", "a.csv.zst"])
def test_rows_are_not_appended_to_what_is_packed_and_has_no_end(name, tmp_path):
    """They would lie behind the damage, where nobody reads them."""
    with write_events(tmp_path / name, TWO) as writer:
        writer.write({"x": [1]})
    whole = (tmp_path / name).read_bytes()
    (tmp_path / name).write_bytes(cut := whole + whole[:-3])
    with pytest.raises(InputError, match="damaged") as raised, write_events(tmp_path / name, TWO, live=True):
        pass
    assert "move this one away" in raised.value.message
    assert (tmp_path / name).read_bytes() == cut


def test_compressed_files_are_reproducible(tmp_path):
    contents = []
    for name in ("a.csv.gz", "b.csv.gz"):
        with write_events(tmp_path / name, TWO) as writer:
            writer.write({"x": [1], "c": [True]})
        contents.append((tmp_path / name).read_bytes())
        assert list(read_events(tmp_path / name, TWO)) == [{"x": 1, "c": True}]
    assert contents[0] == contents[1]


@pytest.mark.parametrize("rows", [0, 100])
def test_a_compressed_file_is_one_of_several_pieces(rows, tmp_path, monkeypatch):
    monkeypatch.setattr(packing, "PIECE", 20)
    with write_events(tmp_path / "a.jsonl.gz", of(x=INT)) as writer:
        for x in range(rows):
            writer.write({"x": [x]})
    data = (tmp_path / "a.jsonl.gz").read_bytes()
    assert data.startswith(b"\x1f\x8b")
    assert gzip.decompress(data).decode() == "".join(f'{{"x": {x}}}\n' for x in range(rows))
    assert [step["x"] for step in read_events(tmp_path / "a.jsonl.gz", of(x=INT))] == list(range(rows))


def test_devices_are_not_replaced():
    with write_events(os.devnull, TWO, format="csv") as writer:
        writer.write({"x": [1]})
    assert not os.path.isfile(os.devnull)


def test_the_standard_output(capsys):
    with write_events("-", TWO) as writer:
        writer.write({"x": [1]})
    assert capsys.readouterr().out == "x,c\n1,\n"


def test_a_header_comes_with_the_first_row(capsys):
    with pytest.raises(RuntimeError), write_events("-", TWO):
        raise RuntimeError
    assert capsys.readouterr().out == ""
    with write_events("-", TWO):
        pass
    assert capsys.readouterr().out == "x,c\n"


def test_a_number_that_would_not_be_read_back(tmp_path):
    for name in ("a.csv", "a.jsonl"):
        with pytest.raises(InputError, match="digits"), write_events(tmp_path / name, TWO) as writer:
            writer.write({"x": [10**5000]})
    assert os.listdir(tmp_path) == []


def test_a_directory_that_is_not_there(tmp_path):
    with pytest.raises(InputError, match="cannot write there"), write_events(tmp_path / "no" / "a.csv", TWO):
        pass


def test_empty_texts_have_no_place_in_csv():
    with pytest.raises(InputError, match="write JSON lines instead"):
        to_text(" ", STR)


def table(path, **columns):
    """A Parquet file of others."""
    parquet.write_table(pa.table({name: pa.array(*given) for name, given in columns.items()}), path)


def test_columns_of_other_programs(tmp_path):
    path = tmp_path / "a.parquet"
    table(
        path,
        m=([[("1", True)], None, []], pa.map_(pa.string(), pa.bool_())),
        t=([{"price": 1, "sold": True}, {"price": 2, "sold": False}, None],),
        p=([None, [1, 2], [3, 4]], pa.list_(pa.int8())),
        x=([1, None, 2**40], pa.uint64()),
        f=([1, 2, None], pa.int32()),
        c=(pa.array(["red", "green", None]).dictionary_encode(),),
    )
    pipeline = of(x=INT, t=TRADE, p=Tuple((INT, INT)), m=Map(INT, BOOL), c=LIGHT, f=FLOAT)
    assert list(read_events(path, pipeline)) == [
        {"x": 1, "t": (1, True), "m": FrozenMap({1: True}), "c": "red", "f": 1.0},
        {"t": (2, False), "p": (1, 2), "c": "green", "f": 2.0},
        {"x": 2**40, "p": (3, 4), "m": FrozenMap()},
    ]


@pytest.mark.parametrize(
    ("given", "domain", "message"),
    [
        (([1, 7],), Integer(4), "an integer 0..3, not 7"),
        (([1.0, 2.0],), INT, "a whole number, not 1.0"),
        ((["1", "x"],), INT, "a whole number, not '1'"),
        (([1, 2], pa.timestamp("us")), INT, "a whole number, not 1970-01-01 00:00:00"),
        (([True, None],), INT, "a whole number, not True"),
        ((["[1]", "[1, 2]"],), Tuple((INT, INT)), "an array .*, not '\\[1\\]'"),
        (([{"price": 1}, None],), TRADE, "an object .*, not {'price': 1}"),
    ],
)
def test_columns_outside_their_type(tmp_path, given, domain, message):
    table(tmp_path / "a.parquet", x=given)
    row = 2 if given == ([1, 7],) else 1
    with pytest.raises(InputError, match=rf"a\.parquet:{row}: column 'x': expected {message}"):
        list(read_events(tmp_path / "a.parquet", of(x=domain)))


def test_the_columns_of_a_table(tmp_path):
    path = tmp_path / "table"
    table(path, x=([1, 2],), t=(["a", "b"],))
    assert list(read_events(path, of(x=INT))) == [{"x": 1}, {"x": 2}]
    with pytest.raises(InputError, match=r"table: column 't' is not an input of the pipeline"):
        list(read_events(path, of(x=INT), Reading(strict=True)))
    with pytest.raises(InputError, match=r"table: there is no column 'y'"):
        list(read_events(path, of(x=INT, t=STR, y=INT)))


def test_a_long_table_is_read_and_written_in_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("workbench.events.typed.BATCH", 3)
    with write_events(tmp_path / "a.parquet", TWO) as writer:
        for i in range(8):
            writer.write({"x": [i], "c": [i % 2 == 0] if i % 3 else []})
    assert parquet.ParquetFile(tmp_path / "a.parquet").num_row_groups == 3
    steps = [{"x": i, **({"c": i % 2 == 0} if i % 3 else {})} for i in range(8)]
    assert list(read_events(tmp_path / "a.parquet", TWO)) == steps
    with pytest.raises(InputError, match=r"a\.parquet:8: column 'x': expected an integer 0\.\.6, not 7"):
        list(read_events(tmp_path / "a.parquet", of(x=Integer(7), c=BOOL)))


def test_parquet_needs_a_file_and_64_bits(tmp_path):
    reader, writer = os.pipe()
    os.write(writer, b"PAR1 and more")
    os.close(writer)
    with os.fdopen(reader, "rb") as stdin, pytest.raises(InputError, match="Parquet cannot be read from a pipe"):
        list(read_events("-", TWO, stdin=stdin))
    with pytest.raises(InputError, match="parquet is written to a file"), write_events("-", TWO, format="parquet"):
        pass
    with pytest.raises(DomainError, match="64 bits"), write_events(tmp_path / "a.parquet", TWO) as rows:
        rows.write({"x": [2**70]})
    assert os.listdir(tmp_path) == []


@pytest.mark.sampled(6)
@pytest.mark.parametrize(
    "suffix",
    ["csv", "tsv", "jsonl", "csv.gz", "jsonl.zst", "parquet", "parquet.zst", "arrow", "feather", "arrows", "ipc.gz"],
)
@given(data=st.data())
def test_what_is_written_reads_back(tmp_path_factory, suffix, data):
    inputs = data.draw(st.lists(domains, min_size=1, max_size=3))
    builder = Builder("p")
    shown = {f"v{i}": Passthrough()(builder.input(f"v{i}", d)) for i, d in enumerate(inputs)}
    pipeline = builder.build(shown)
    row = st.fixed_dictionaries({}, optional={f"v{i}": values(d) for i, d in enumerate(inputs)})
    steps = data.draw(st.lists(row, max_size=6))
    path = tmp_path_factory.mktemp("events") / f"a.{suffix}"
    with write_events(path, pipeline) as writer:
        for step in steps:
            writer.row(step)
    assert list(read_events(path, pipeline)) == steps


json_values = st.recursive(
    st.one_of(st.booleans(), st.integers(), st.floats(allow_nan=False), st.text(min_size=1)),
    lambda inner: st.lists(inner, max_size=3).map(tuple),
    max_leaves=5,
)


@given(json_values)
def test_any_value_reads_back(value):
    assert from_json(to_json(value, ANY), ANY) == value
    assert from_text(to_text(value, ANY), ANY) == value


@given(st.text())
def test_any_text_is_read_or_refused(text):
    for domain in (INT, FLOAT, BOOL, Integer(3), TRADE, LIGHT):
        with suppress(UnreadableError):
            assert from_text(text, domain) in domain
