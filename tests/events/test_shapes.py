"""Logs that do not say themselves how their rows lie: without a line of names, lines of text, XML."""

import gzip

import pytest

import workbench as wb
from workbench.errors import InputError

PADDED = "a,1,2\nb,,\n,,\nc,3,\n"
EVENT = "pipeline p(e: {kind: str, n: int, z: float}) -> (str, int, float) { return (e.kind, e.n, e.z) }"
SNAPSHOT = (
    "pipeline p(t: int, e: map(int, {status: {WALKER, BASHER}, position: {x: float}}), ids: map(int, bool), l: any)"
    "-> int, map(int, {status: {WALKER, BASHER}, position: {x: float}}), map(int, bool), any {"
    "return passthrough(t), passthrough(e), passthrough(ids), passthrough(l) }"
)
EACH = "characters/character"
COLUMNS = {"t": "@at", "e": f"{EACH}[id]", "ids": f"{EACH}/id", "l": f"{EACH}/id"}


def program(text):
    return wb.parse(text).get().pipeline


def character(number, status="WALKER", x="1.5"):
    return (
        f"<character><id>{number}</id><status>{status}</status>\n <position><x>{x}</x><y>2</y></position></character>"
    )


def message(at, *characters):
    return f'<message at="{at}"><characters>\n{"".join(characters)}\n</characters></message>\n'


def read(tmp_path, text, source, name, **options):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith("gz") else text.encode())
    out = tmp_path / "out.jsonl"
    wb.run(program(source), path, output=out, backend="reference", **options)
    return out.read_text()


@pytest.mark.parametrize("times", [1, 3000])  # by rows, and by columns
@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_padded_columns(tmp_path, times, backend):
    """An empty field beside others is 0; a row of empty cells is no event."""
    path, out = tmp_path / "log.csv", tmp_path / "out.jsonl"
    text = "".join(line + "\n" for line in PADDED.splitlines() if line != ",,") if times > 1 else PADDED
    path.write_text(text * times)
    options = {"header": "kind,n,z", "backend": backend, "output": out}
    source = EVENT if backend == "reference" else EVENT.replace("(str", "(int").replace("(e.kind", "(e.n")
    wb.run(program(source), path, null="zero", **options)
    lines = ['{"out": ["a", 1, 2.0]}', '{"out": ["b", 0, 0.0]}', '{"out": ["c", 3, 0.0]}']
    if backend == "compiled":
        lines = [line.replace('"a"', "1").replace('"b"', "0").replace('"c"', "3") for line in lines]
    assert out.read_text().splitlines() == lines * times
    with pytest.raises(InputError, match=r"log.csv:2: 'e.n' is empty, and other fields are not\n.*--null zero"):
        wb.run(program(source), path, **options)


def test_an_empty_label_has_no_value(tmp_path):
    """Of an enumeration nothing is what an empty cell would be."""
    source = EVENT.replace("str, n", "{a, b, c}, n").replace("(str", "({a, b, c}")
    with pytest.raises(InputError, match=r"log.csv:2: 'e.kind' is empty"):
        read(tmp_path, "a,1,2\n,1,2\n", source, "log.csv", header="kind,n,z", null="zero")


def test_lines_by_a_pattern(tmp_path):
    text = "a 1 2.5\r\n\nb 2\nc 3 1\nxx\n"
    options = {"pattern": r"(?P<kind>[a-z]) (?P<n>\d+)( (?P<z>\S+))?", "null": "zero"}
    with pytest.raises(InputError, match=r"t.trace.gz:5: the line does not match --pattern: xx"):
        read(tmp_path, text, EVENT, "t.trace.gz", **options)
    lines = ['{"out": ["a", 1, 2.5]}', '{"out": ["b", 2, 0.0]}', '{"out": ["c", 3, 1.0]}']
    assert read(tmp_path, text, EVENT, "t.trace.gz", bad_rows="skip", **options).splitlines() == lines


@pytest.mark.parametrize(
    ("name", "options", "told"),
    [
        ("t.log", {}, "lines of text have no columns of their own"),
        ("t.log", {"pattern": "("}, "--pattern"),
        ("t.log", {"pattern": "a+"}, "no group of --pattern has a name"),
        ("t.log", {"pattern": "a"}, "there is no pattern 'a'"),
        ("t.csv", {"pattern": "(?P<a>.)", "format": "csv"}, "--pattern does not apply to this file"),
        ("t.jsonl", {"header": "a,b"}, "--header does not apply to this file"),
        ("t.csv", {"header": "kind,m,z"}, "no column 'e.n'"),
        ("t.xml", {}, "the name of the elements"),
    ],
)
def test_what_says_nothing(tmp_path, name, options, told):
    with pytest.raises(InputError, match=told):
        read(tmp_path, "a,1,2\n", EVENT, name, **options)


@pytest.mark.parametrize("around", ['<?xml version="1.0"?>\n<!-- of a game -->\n<trace>\n{}</trace>', "{}"])
@pytest.mark.parametrize("name", ["t.xml", "t.xml.gz", "t"])
def test_snapshots(tmp_path, around, name):
    text = around.format(message(1, character(2, "BASHER"), character(1)) + message(2) + message(3, character(10)))
    found = read(tmp_path, text, SNAPSHOT, name, xml="message", columns=COLUMNS)
    walker, basher = (f'{{"status": "{status}", "position": {{"x": 1.5}}}}' for status in ("WALKER", "BASHER"))
    assert found.splitlines() == [
        f'{{"out1": 1, "out2": {{"1": {walker}, "2": {basher}}}, "out3": {{"1": true, "2": true}}, "out4": [2, 1]}}',
        '{"out1": 2, "out2": {}, "out3": {}, "out4": []}',
        f'{{"out1": 3, "out2": {{"10": {walker}}}, "out3": {{"10": true}}, "out4": [10]}}',
    ]


@pytest.mark.parametrize(
    ("row", "told"),
    [
        (message(2, character(1, "BASH")), r"t.xml:2: .*expected one of WALKER, BASHER, not '<character><id>1"),
        (message(2, character(1, x="")), r"t.xml:2: .*expected an element with x: float"),
        (message(2, character(1), character(1)), r"t.xml:2: .*each key once, not 2 elements"),
        (message(2, "<character><status/></character>"), r"t.xml:2: .*a path with a key|t.xml:2: .*expected map"),
        (message("x", character(1)), r"t.xml:2: column '@at': expected a whole number, not 'x'"),
        (message(2, character(1))[:-30], r"t.xml:7: not well-formed XML: it ends inside <message>"),
        (message(2, "</character>"), r"t.xml:6: not well-formed XML: mismatched tag"),
        ("&bad;", r"t.xml:5: not well-formed XML: undefined entity"),
    ],
)
def test_damaged_snapshots(tmp_path, row, told):
    """What comes before is there; a message says where."""
    text = message(1, character(1)) + row
    with pytest.raises(InputError, match=told):
        read(tmp_path, text, SNAPSHOT, "t.xml", xml="message", columns=COLUMNS)
    if "well-formed" not in told:
        made = read(tmp_path, text, SNAPSHOT, "t.xml", xml="message", columns=COLUMNS, bad_rows="skip")
        assert made.count("\n") == 1


def test_names_that_no_element_has(tmp_path):
    text = "<trace>" + message(1, character(1)) + "</trace>"
    with pytest.raises(InputError, match="there is no element <mesage>") as error:
        read(tmp_path, text, SNAPSHOT, "t.xml", xml="mesage", columns=COLUMNS)
    assert "did you mean 'message'" in error.value.hint
    with pytest.raises(InputError, match="no <message> has a value at '@it'") as error:
        read(tmp_path, text, SNAPSHOT, "t.xml", xml="message", columns={**COLUMNS, "t": "@it"})
    assert "did you mean '@at'" in error.value.hint
    with pytest.raises(InputError, match="there is no path 't'"):
        read(tmp_path, text, SNAPSHOT, "t.xml", xml="message")
    with pytest.raises(InputError, match=r"'a\[b/c' is not a path in XML"):
        read(tmp_path, text, SNAPSHOT, "t.xml", xml="message", columns={**COLUMNS, "t": "a[b/c"})


@pytest.mark.slow
def test_memory_is_that_of_a_block(tmp_path):
    """Elements are let go of: all of them would take some 100 MB."""
    path = tmp_path / "t.xml"
    with path.open("w") as file:
        file.write("<trace>")
        for _ in range(15):
            file.write("<a><x>1</x><y>2</y><z/></a>\n" * 10_000)
        file.write("</trace>")
    source = "pipeline p(x: int) -> int { return keep_last(cumulate(x, +)) }"
    out = tmp_path / "out.csv"
    wb.run(program(source), path, output=out, backend="reference", xml="a", memory_mb=50)
    assert out.read_text() == "out\n150000\n"
