"""Cells without events, in every format and on every backend: what `--null` says becomes of them."""

import csv
import io
import json

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.errors import InputError
from workbench.events import lines as lines_of
from workbench.events import typed

pa = pytest.importorskip("pyarrow")
from pyarrow import ipc, parquet  # noqa: E402

PROGRAM = wb.parse("""
pipeline p(e: {n: int, s: str, k: {red, green}, p: (int, bool)}, y: float)
    -> n: int, s: str, k: {red, green}, a: int, b: bool, y: float { return e.n, e.s, e.k, e.p.0, e.p.1, y }
""").get()
CELLS = {
    "e.n": st.integers(-2, 2), "e.s": st.sampled_from(["a", "null", "long text, and more of it"]),
    "e.k": st.sampled_from(["red", "green"]), "e.p.0": st.integers(0, 2), "e.p.1": st.booleans(),
    "y": st.sampled_from([0.5, -1.25]),
}  # fmt: skip
ZEROS = {"e.n": 0, "e.s": "", "e.p.0": 0, "e.p.1": False}
TYPES = {"e.n": "int64", "e.s": "string", "e.k": "string", "e.p.0": "int8", "e.p.1": "bool", "y": "double"}
ROWS = st.one_of(st.fixed_dictionaries(CELLS), st.fixed_dictionaries({}, optional=CELLS), st.just({"y": 0.5}))
BACKENDS = [
    {"backend": "reference"}, {"backend": "threaded"}, {"backend": "dataflow", "threads": 2}, {"backend": "compiled"},
    {"backend": "compiled", "threads": 2}, {"backend": "reference", "key": "key"},
    {"backend": "compiled", "key": "key"},
]  # fmt: skip


def expected(row, null):
    """What comes out of a row; None where it is an error."""
    found = {path: value for path, value in row.items() if path != "key"}
    if any(path.startswith("e.") for path in found):
        found = {**ZEROS, **found} if null == "zero" else found
        if CELLS.keys() - {"y"} - found.keys():
            return None
    if null == "error" and len(found) < len(CELLS):
        return None
    if null == "zero":
        found.setdefault("y", 0.0)
    return {path.replace(".p.0", ".a").replace(".p.1", ".b").removeprefix("e."): each for path, each in found.items()}


def written(form, rows, some):
    """A log of these rows; `some` says which keys of JSON are there though they are null."""
    names = [*CELLS, "key"]
    into = io.BytesIO()
    if form in ("csv", "tsv"):
        text = io.StringIO()
        writer = csv.writer(text, delimiter="\t" if form == "tsv" else ",")
        writer.writerows(
            [
                names,
                *(
                    [str(row.get(name, "")).replace("True", "true").replace("False", "false") for name in names]
                    for row in rows
                ),
            ]
        )
        return text.getvalue().encode()
    if form == "jsonl":
        lines = ({name: row.get(name) for name in names if name in row or name in some} for row in rows)
        return "".join(json.dumps(line) + "\n" for line in lines).encode()
    types = {**TYPES, "key": "string"}
    table = pa.table({name: pa.array([row.get(name) for row in rows], types[name]) for name in names})
    if form == "parquet":
        parquet.write_table(table, into, row_group_size=3)
        return into.getvalue()
    with (ipc.new_file if form == "arrow" else ipc.new_stream)(into, table.schema) as writer:
        writer.write_table(table, max_chunksize=3)
    return into.getvalue()


@examples(60)
@given(
    rows=st.lists(ROWS, min_size=1, max_size=8), null=st.sampled_from(["absent", "error", "zero"]),
    form=st.sampled_from(["csv", "tsv", "jsonl", "parquet", "arrow", "arrows"]), options=st.sampled_from(BACKENDS),
    some=st.sets(st.sampled_from(sorted(CELLS))), size=st.sampled_from([7, 1 << 21]), skip=st.booleans(),
)  # fmt: skip
def test_nulls_are_what_the_option_says(rows, null, form, options, some, size, skip, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    monkeypatch.setattr(lines_of, "SIZE", size)
    monkeypatch.setattr(typed, "BATCH", 3)
    assume(form != "jsonl" or some or any(rows))  # a log in which no key is an input's has other names
    rows = [{**row, "key": "all"} for row in rows]
    (tmp_path / f"in.{form}").write_bytes(written(form, rows, some))
    wanted = [expected(row, null) for row in rows]
    out, bad = tmp_path / "out.jsonl", None in wanted and not skip

    def run():
        wb.run(PROGRAM, tmp_path / f"in.{form}", output=out, null=null, bad_rows="skip" if skip else "error", **options)

    out.unlink(missing_ok=True)
    if bad:
        line = wanted.index(None) + (2 if form in ("csv", "tsv") else 1)
        with pytest.raises(InputError, match=rf"in\.{form}:{line}: "):
            run()
        return
    run()
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [{name: each for name, each in row.items() if name != "key"} for row in found] == [
        row for row in wanted if row
    ]


def test_a_key_of_json_that_is_not_there_is_an_empty_cell(tmp_path):
    """But where other fields are, a name may be misspelt."""
    path = tmp_path / "in.jsonl"
    path.write_text('{"e.n": null}\n{"e.n": 1, "e.S": "a"}\n')
    with pytest.raises(InputError, match=r"in\.jsonl:2: there is no key 'e\.s'\n.*did you mean 'e\.S'"):
        wb.run(PROGRAM, path, output=tmp_path / "out.jsonl")


PORTS = "s: str, n: int, x: float, b: bool, k: {red, green}"


@pytest.mark.parametrize("more", ["", ", o: int?"])
@pytest.mark.parametrize("options", [{"backend": "reference"}, {"backend": "auto"}, {"key": "key"}])
def test_an_empty_cell_of_a_plain_input_is_zero(options, more, tmp_path, monkeypatch):
    """A type without 0, and a column that is copied, have no such value."""
    names = f"s, n, x, b, k{more[:3]}"
    program = wb.parse(f"pipeline p({PORTS}{more}) -> {PORTS}{more} {{ return {names} }}").get()
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    (tmp_path / "in.csv").write_text('s,n,x,b,o,k,c,key\na,1,0.5,true,1,red,c,1\n,,,,,,"",1\n')
    (tmp_path / "in.jsonl").write_text(
        '{"s": "a", "n": 1, "x": 0.5, "b": true, "o": 1, "k": "red", "c": "c", "key": 1}\n{"key": 1}\n'
    )
    for log in ("in.csv", "in.jsonl"):
        first, second = wb.run(program, tmp_path / log, null="zero", carry=["c"], **options)
        assert first["s"] == "a"
        zeros = {name: event for name, event in second.items() if event is not None and name != "key"}
        assert zeros == {"s": "", "n": 0, "x": 0.0, "b": False} | ({"o": 0} if more else {})


@pytest.mark.parametrize("backend", ["cdp", "compiled"])
def test_an_attribute_that_is_missing_is_zero(backend, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    rules = wb.rules.parse_rules(
        "declare A(v: int, s: string) declare B(v: int, s: string) from A(v < 5) emit B(v = A.v, s = A.s)"
    )
    (tmp_path / "in.jsonl").write_text('{"type": "A", "time": 1, "v": 3, "s": "a"}\n{"type": "A", "time": 2}\n')
    rows = [(row["v"], row["s"]) for row in wb.run(rules, tmp_path / "in.jsonl", null="zero", backend=backend)]
    assert rows == [(3, "a"), (0, "")]
