"""Every executor makes the same of a log in every format, however it is laid out, and what it writes reads back."""

from __future__ import annotations

import csv
import gzip
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.domains import ENDS, halves, values, whole
from workbench.conformance.generate.pipelines import pipelines
from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Value
from workbench.core.fields import FrozenMap, Map, Tuple
from workbench.core.pipeline import Pipeline
from workbench.core.processor import END
from workbench.core.program import Port, Ports
from workbench.errors import InputError, NoCapacity, Refused, WorkbenchError
from workbench.events import lines as lines_of
from workbench.events import typed
from workbench.events.files import open_bytes
from workbench.events.read import read_events
from workbench.events.values import standard_json, to_json
from workbench.events.write import write_events
from workbench.executors.reference.executor import Reference

pa = pytest.importorskip("pyarrow")  # what is imported below is a part of it
from pyarrow import ipc, parquet  # noqa: E402

Row = Mapping[str, Value]

PROGRAMS = wb.parse("""
pipeline as_it_is(x: int, f: float, b: bool, s: str) -> x: int, f: float, b: bool, s: str { return x, f, b, s }
pipeline text(s: str) -> str { return s }
pipeline floats(f: float) -> a: float, b: float { return f, f * 0.5 }
pipeline sums(x: int, y: int) -> int { return window(x + y, 3, cumulate(+)) }
pipeline half(x: int, b: bool) -> int { return filter(x, b) }
pipeline total(x: int) -> int { return cumulate(x, +) }
pipeline alike(s: str, t: str) -> a: bool, b: str { return s = t, trim(s, 1) }
pipeline kinds(e: {red, green, blue}, r: -2..5, b: bool) -> l: {red, green, blue}, m: -2..5, n: bool {
    return e, r, not b
}
pipeline pairs(e: (int, bool)) -> e: (int, bool), n: int { return e, e.0 }
pipeline records(e: {user: str, n: int}) -> e: {user: str, n: int}, u: str { return e, e.user }
pipeline deep(e: {at: (float, 0..3), ok: bool}) -> e: {at: (float, 0..3), ok: bool} { return e }
pipeline last(x: int, s: str) -> a: int, b: str { return keep_last(x), stutter(s, 2) }
""")
TEXTS = [
    "", "a", "b", '"', 'a"b', "a,b", "a\tb", "a\nb", "a\r\nb", "\r", "\ufeff", "\ufeffa", "a\0", "\0", " ", " a ",
    "null", "nan", "1", "true",
    "é", "\x1c", "\x85", "\u2028", "\U0001f600", "\\", "{", '{"s": 1}', "'", "None", "0x10", "#",
]  # fmt: skip
FLOATS = [
    -0.0, 0.0, math.inf, -math.inf, math.nan, 5e-324, 1.7976931348623157e308, 0.1, 1e16, 1e22, 123456789012345680.0,
    1e-5, 1e9, 999999999.9999999, 2.0**63, float(2**53), 0.30000000000000004, 1e-3, 9.999e-4,
]  # fmt: skip
WHOLE = st.one_of(
    whole, st.sampled_from([end + by for end in ENDS for by in (-1, 0, 1)]).filter(lambda n: -(2**63) <= n < 2**63)
)
FORMATS = {
    "csv": ".csv",
    "tsv": ".tsv",
    "jsonl": ".jsonl",
    "logfmt": ".logfmt",
    "parquet": ".parquet",
    "arrow": ".arrow",
    "arrows": ".arrows",
}
QUOTINGS: Any = [csv.QUOTE_MINIMAL, csv.QUOTE_ALL]
BACKENDS = ["reference", "threaded", "compiled", "parallel"]


def events_of(domain: Domain) -> st.SearchStrategy[Any]:
    """The values of a domain, and odd ones."""
    if domain == STR:
        return st.sampled_from(TEXTS)
    if domain == FLOAT:
        return st.one_of(halves, st.sampled_from(FLOATS))
    if domain == INT:
        return WHOLE
    if isinstance(domain, Tuple):
        return st.tuples(*map(events_of, domain.fields))
    return values(domain)


@st.composite
def programs(draw: st.DrawFn) -> Pipeline:
    """One of those above, or any."""
    named = st.sampled_from(sorted(PROGRAMS.pipelines)).map(lambda name: PROGRAMS.get(name).pipeline)
    return draw(st.one_of(named, named, pipelines(max_nodes=3)))


def shown(rows: Sequence[Row]) -> list[str]:
    """Rows in a form in which -0.0 and no number are what they are."""
    return [repr(dict(sorted(row.items()))) for row in rows]


def expected(program: Pipeline, steps: Sequence[Row]) -> list[Row] | str:
    """Rows that come out, by a reference executor that has not read anything; or the class of the error."""
    executor, rows = Reference(program), list[Row]()
    try:
        for step in [*steps, END]:
            made = executor.end() if step is END else executor.step(step).outputs
            count = max(map(len, made.values()), default=0)
            rows += [{name: each[i] for name, each in made.items() if i < len(each)} for i in range(count)]
    except WorkbenchError as error:
        return type(error).__name__
    return rows


def cell(value: Value | None, domain: Domain) -> str:
    """A value as a person writes it."""
    if value is None:
        return ""
    data = to_json(value, domain)
    if isinstance(data, float):
        return repr(data)
    return data if isinstance(data, str) else json.dumps(data)


def encoded(form: str, program: Pipeline, steps: Sequence[Row], draw: st.DrawFn) -> bytes:
    """A log as others write it."""
    domains = dict(program.inputs)
    if form in ("csv", "tsv"):
        text = io.StringIO()
        ends, quoting = draw(st.sampled_from(["\n", "\r\n"])), draw(st.sampled_from(QUOTINGS))
        writer = csv.writer(text, lineterminator=ends, quoting=quoting, delimiter="\t" if form == "tsv" else ",")
        writer.writerow(domains)
        writer.writerows([[cell(step.get(name), domain) for name, domain in domains.items()] for step in steps])
        return draw(st.sampled_from([b"", b"\xef\xbb\xbf"])) + text.getvalue().encode()
    if form == "jsonl":
        ascii_only = draw(st.booleans())
        rows = ({name: to_json(value, domains[name]) for name, value in step.items()} for step in steps)
        return "".join(json.dumps(row, ensure_ascii=ascii_only) + "\n" for row in rows).encode()
    if form == "logfmt":
        quoting = draw(st.booleans())
        texts = ({name: cell(value, domains[name]) for name, value in step.items()} for step in steps)
        pairs = ([f"{name}={logfmt_value(text, quoting)}" for name, text in row.items()] for row in texts)
        return "".join(" ".join(row or [f"{next(iter(domains))}="]) + "\n" for row in pairs).encode()
    table = pa.table(
        {name: column(domain, [step.get(name) for step in steps], draw) for name, domain in domains.items()}
    )
    cut = draw(st.integers(0, len(steps)))
    table = pa.concat_tables([table.slice(0, cut), table.slice(cut)])
    into = io.BytesIO()
    if form == "parquet":
        parquet.write_table(table, into, row_group_size=draw(st.integers(1, 5)))
    else:
        table = table.unify_dictionaries()
        with (ipc.new_file if form == "arrow" else ipc.new_stream)(into, table.schema) as writer:
            writer.write_table(table, max_chunksize=draw(st.integers(1, 5)))
    return into.getvalue()


def logfmt_value(text: str, quoted: bool) -> str:
    """A value of logfmt: letters and digits as they are, others as Go's package writes them, in quotation marks."""
    return text if not quoted and re.fullmatch("[A-Za-z0-9.+-]+", text) and text != "null" else json.dumps(text)


def column(domain: Domain, events: list[Value | None], draw: st.DrawFn) -> Any:
    """An Arrow column as others make it, cut out of a longer one."""
    cells = [None if event is None else to_json(event, domain) for event in events]
    if isinstance(domain, Tuple):
        plain = [each is None or isinstance(each, dict) for each in cells]
        structs = all(plain) and any(cells) and "[" not in json.dumps(cells)[1:] and draw(st.booleans())
        made = (
            pa.array(cells) if structs else pa.array([None if c is None else json.dumps(c) for c in cells], pa.string())
        )
    elif domain == INT:
        made = pa.array(cells, pa.int64())
    elif domain == FLOAT:
        made = pa.array(cells, pa.float64())
    elif domain.numeric:
        made = pa.array(cells, draw(st.sampled_from([pa.int64(), pa.int8(), pa.int32()])))
    else:
        kinds = {"s": [pa.string(), pa.large_string(), pa.string_view()], "b": [pa.bool_()]}
        made = pa.array(cells, draw(st.sampled_from(kinds["s" if any(isinstance(c, str) for c in cells) else "b"])))
    if draw(st.booleans()) and not pa.types.is_struct(made.type) and not pa.types.is_string_view(made.type):
        made = made.dictionary_encode()
    pad = made.slice(0, 1)
    return pa.concat_arrays([pad, made, pad]).slice(len(pad), len(made))


def packed(path: Path, data: bytes, draw: st.DrawFn) -> Path:
    """A file of these bytes, perhaps compressed."""
    how = draw(st.sampled_from(["", "", ".gz", ".zst"]))
    found = path.with_name(path.name + how)
    found.write_bytes(gzip.compress(data) if how == ".gz" else pa.compress(data, "zstd", asbytes=True) if how else data)
    return found


@examples(30)
@given(data=st.data(), form=st.sampled_from(sorted(FORMATS)), target=st.sampled_from(sorted(FORMATS)))
def test_every_executor_through_every_format(data, form, target, tmp_path, monkeypatch):
    draw = data.draw
    program = draw(programs())
    inputs = dict(program.inputs)
    whole_steps = st.fixed_dictionaries({name: events_of(domain) for name, domain in inputs.items()})
    gaps = st.fixed_dictionaries({}, optional={name: events_of(domain) for name, domain in inputs.items()})
    steps = draw(st.one_of(st.lists(whole_steps, max_size=8), st.lists(st.one_of(whole_steps, gaps), max_size=8)))
    if form in ("csv", "tsv"):  # a blank cell means no event
        steps = [{n: v for n, v in step.items() if not isinstance(v, str) or v.strip()} for step in steps]
    source = packed(tmp_path / f"in{FORMATS[form]}", encoded(form, program, steps, draw), draw)
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", draw(st.sampled_from([0, 1 << 14])))
    monkeypatch.setattr(lines_of, "SIZE", draw(st.sampled_from([1, 7, 64, 1 << 21])))
    monkeypatch.setattr(typed, "LARGE", draw(st.sampled_from([1, 3, 1 << 17])))
    monkeypatch.setattr(typed, "BATCH", draw(st.sampled_from([1, 3, 4096])))
    wanted = expected(program, steps)
    written = Ports("out", tuple(Port(name, domain) for name, domain in program.ports.outputs_by_name.items()))
    for backend in draw(st.permutations(BACKENDS))[:2]:
        into = tmp_path / f"out-{backend}{FORMATS[target]}{draw(st.sampled_from(['', '', '.gz', '.zst']))}"
        into.unlink(missing_ok=True)  # it may be of another example
        told = refusal(program, source, into, backend)
        if told is None:
            assert not isinstance(wanted, str)
            if target == "jsonl":
                right = [
                    standard_json({n: to_json(v, program.ports.outputs_by_name[n]) for n, v in row.items()})
                    for row in wanted
                ]
                assert shown(json_rows(into)) == shown(right)
            else:
                assert shown(list(read_events(into, written))) == shown(wanted)
            continue
        assert not into.exists()
        blank = target in ("csv", "tsv") and "cannot be distinguished from an empty cell" in told.what
        words = told.exceeds_64_bits or "64 bits" in told.what
        assert blank or words or isinstance(told, Refused | NoCapacity) or type(told).__name__ == wanted, told


def json_rows(path: Path) -> list[Row]:
    """The rows of JSON lines, as another program reads them."""
    with open_bytes(path) as file:
        return [json.loads(line, parse_constant=pytest.fail) for line in file]


def refusal(program: Pipeline, source: Path, into: Path, backend: Any) -> WorkbenchError | None:
    """The error in which a run ends, if it does."""
    try:
        wb.run(program, source, output=into, backend=backend)
    except WorkbenchError as error:
        return error
    return None


def test_maps_whose_keys_are_tuples_read_back(tmp_path):
    domain = Map(Tuple((INT, STR)), Map(BOOL, FLOAT))
    port = Ports("maps", (Port("m", domain),), (Port("m", domain),))
    event: Value = FrozenMap({(1, "a"): FrozenMap({True: math.inf}), (2, ""): FrozenMap()})
    for ending in FORMATS.values():
        with write_events(tmp_path / f"m{ending}", port) as writer:
            writer.write({"m": [event]})
        if ending != ".jsonl":
            assert list(read_events(tmp_path / f"m{ending}", port)) == [{"m": event}]
    assert (tmp_path / "m.jsonl").read_text() == '{"m": {"[1, \\"a\\"]": {"true": null}, "[2, \\"\\"]": {}}}\n'
    (tmp_path / "m.jsonl").write_text('{"m": {"[1, \\"a\\"]": {"true": Infinity}, "[2, \\"\\"]": {}}}\n')
    assert list(read_events(tmp_path / "m.jsonl", port)) == [{"m": event}]


@pytest.mark.parametrize("backend", BACKENDS)
def test_half_a_character_is_none(backend, tmp_path):
    """JSON and Python have it, and nothing that is written can: it is refused where it comes in."""
    program, message = PROGRAMS.get("text"), "expected a text of whole characters, not .*\\\\ud800"
    (tmp_path / "in.jsonl").write_text('{"s": "a"}\n{"s": "\\ud83d\\ude00"}\n{"s": "b\\ud800"}\n')
    with pytest.raises(InputError, match=rf"in\.jsonl:3: input 's': {message}"):
        wb.run(program, tmp_path / "in.jsonl", output=tmp_path / "out.parquet", backend=backend)
    for rows in ({"s": ["a", "\ud800"]}, [{"s": "a"}, {"s": "\ud800"}]):
        with pytest.raises(InputError, match=rf"row:2: .* 's': {message}"):
            wb.run(program, rows, backend=backend)
    assert wb.run(program, tmp_path / "in.jsonl", bad_rows="skip", backend=backend).to_dict() == {
        "out": ["a", "\U0001f600"]
    }


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mark_of_byte_order_is_one_at_the_beginning_only(backend, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    monkeypatch.setattr(lines_of, "SIZE", 8)
    cells = ["\ufeffa", "b", "\ufeffcdefgh", "\ufeff", "\ufeffi"]
    (tmp_path / "in.csv").write_text("\ufeffs\n" + "".join(f"{cell}\n" for cell in cells), encoding="utf-8")
    assert wb.run(PROGRAMS.get("text"), tmp_path / "in.csv", backend=backend).to_dict() == {"out": cells}


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_the_format_that_is_asked_for_is_written_whatever_the_name_tells(backend, tmp_path):
    log, output = tmp_path / "log.csv", tmp_path / "out.csv"
    log.write_text("x\n1\n2\n")
    program = PROGRAMS.get("total")
    wb.run(program, log, output=output, output_format="jsonl", backend=backend)
    assert [json.loads(line) for line in output.read_text().splitlines()] == [{"out": 1}, {"out": 3}]
    wb.run(program, log, output=output, output_format="tsv", backend=backend)
    assert output.read_text() == "out\n1\n3\n"
    with pytest.raises(InputError, match="text is only read"):
        wb.run(program, log, output=output, output_format="text", backend=backend)
    with pytest.raises(InputError, match="there is no format 'jsn'"):
        wb.run(program, log, output=output, output_format="jsn", backend=backend)


DELIMITERS = {";": ";", "tab": "\t", "pipe": "|", " ": " ", "]": "]", "\\": "\\", "^": "^", ":": ":"}


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@examples(20)
@given(
    rows=st.lists(st.tuples(st.integers(-99, 99), st.sampled_from(FLOATS), st.booleans(), st.data()), max_size=6),
    name=st.sampled_from(sorted(DELIMITERS)),
    least=st.sampled_from([0, 1 << 14]),
)
def test_cells_of_the_output_are_separated_as_the_user_says(rows, name, least, backend, tmp_path, monkeypatch):
    """What is written is read by Python's `csv` with that delimiter, which texts contain, too."""
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", least)
    own = DELIMITERS[name]
    texts = st.sampled_from([text for text in [*TEXTS, own + "a", f"a{own}", f'{own}"', f"a{own}\nb"] if text.strip()])
    steps = [{"x": x, "f": f, "b": b, "s": more.draw(texts)} for x, f, b, more in rows]
    log, output = tmp_path / "log.jsonl", tmp_path / "out.csv"
    log.write_text("".join(json.dumps(step) + "\n" for step in steps), encoding="utf-8")
    options: dict[str, Any] = {"output": output, "output_delimiter": name, "backend": backend}
    wb.run(PROGRAMS.get("as_it_is"), log, **options)
    with output.open(newline="", encoding="utf-8") as file:
        found = list(csv.reader(file, delimiter=own))
    wanted = [
        [str(x), repr(float(f)), str(b).lower(), step["s"]] for (x, f, b, _), step in zip(rows, steps, strict=True)
    ]
    assert found == [["x", "f", "b", "s"], *wanted]
    wb.run(PROGRAMS.get("text"), log, carry="x", **options)
    with output.open(newline="", encoding="utf-8") as file:
        assert list(csv.reader(file, delimiter=own)) == [["x", "out"], *([row[0], row[3]] for row in wanted)]


@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize(("program", "carry", "delimiter"), [("as_it_is", (), ""), ("text", ("f", "x"), "|")])
def test_decimal_commas_in_the_output(program, carry, delimiter, backend, tmp_path):
    """Only floats have one: texts with points stay as they are, and semicolons separate cells, as they are read."""
    values = [float(value) for value in FLOATS if math.isfinite(value)]
    rows = [{"x": at, "f": value, "b": True, "s": f"{at}.5"} for at, value in enumerate(values)]
    log, output = tmp_path / "log.jsonl", tmp_path / "out.csv"
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    options: dict[str, Any] = {"output": output, "output_decimal": ",", "backend": backend}
    wb.run(PROGRAMS.get(program), log, **options, **({"output_delimiter": delimiter} if delimiter else {}), carry=carry)
    with output.open(newline="") as file:
        written = list(csv.DictReader(file, delimiter=delimiter or ";"))
    assert [row["f"] for row in written] == [repr(value).replace(".", ",") for value in values]
    assert [row["s" if program == "as_it_is" else "out"] for row in written] == [row["s"] for row in rows]


def test_a_single_column_with_decimal_commas(tmp_path):
    total = wb.parse("pipeline total(x: float) -> float { return cumulate(x, +) }").get()
    log, again = tmp_path / "log.csv", tmp_path / "again.csv"
    log.write_text("x\n1.5\n2.25\n")
    wb.run(total, log, output=tmp_path / "out.tsv", output_decimal=",")
    assert (tmp_path / "out.tsv").read_text() == "out\n1,5\n3,75\n"
    wb.run(total, log, output=again, output_decimal=",")
    assert list(wb.run(total, again, decimal=",", columns={"x": "out"})) == [{"out": 1.5}, {"out": 5.25}]
    with pytest.raises(InputError, match="--output-decimal ;: the decimal mark is a point or a comma"):
        wb.run(total, log, output=again, output_decimal=";")
    with pytest.raises(InputError, match="--output-delimiter ',': numbers contain it"):
        wb.run(total, log, output=again, output_decimal=",", output_delimiter=",")
    with pytest.raises(InputError, match="--output-decimal does not apply"):
        wb.run(total, log, output=again.with_suffix(".jsonl"), output_decimal=",")


def test_a_delimiter_of_the_output_that_is_refused(tmp_path):
    log, output = tmp_path / "log.csv", tmp_path / "out.csv"
    log.write_text("x\n1\n")
    for target in (output.with_suffix(".jsonl"), {"out": output.with_suffix(".parquet")}):
        with pytest.raises(InputError, match="--output-delimiter does not apply"):
            wb.run(PROGRAMS.get("total"), log, output=target, output_delimiter=";")
    for wrong in (".", "-", '"', ";;", "x", "\n"):
        with pytest.raises(InputError, match=f"--output-delimiter {re.escape(repr(wrong))}: "):
            wb.run(PROGRAMS.get("total"), log, output=output, output_delimiter=wrong)
    assert list(tmp_path.iterdir()) == [log]


def test_rules_write_the_format_that_is_asked_for(tmp_path):
    rules, output = (
        wb.rules.parse_rules("declare A(x: int)\ndeclare B(x: int)\nrule r: from A emit B(x = A.x)"),
        tmp_path / "out",
    )
    log = tmp_path / "log.csv"
    log.write_text("type,time,x\nA,1,7\n")
    rows = [{"type": "A", "time": 1, "x": 7}]
    for data in (log, rows):
        wb.run(rules, data, output=output, output_format="jsonl")
        assert json.loads(output.read_text()) == {"type": "B", "time": 1, "x": 7}
    wb.run(rules, log, output=output, output_delimiter=";")
    assert output.read_text() == "type;time;x\nB;1;7\n"
    wb.run(rules, log, output={"B": output}, output_format="tsv", output_delimiter=";")
    assert output.read_text() == "type;time;x\nB;1;7\n"
