"""Types are kept: a value outside its declared type is an error with its place, in every format and backend."""

import json
import re
from decimal import Decimal

import pyarrow as pa
import pytest
from pyarrow import feather, parquet

import workbench as wb
from workbench.errors import InputError

FORMATS = ("csv", "tsv", "jsonl", "parquet", "arrow")
BACKENDS = ("reference", "threaded", "compiled", "parallel", "gpu")
NAN, BIG = float("nan"), 2**70

# the type, an event, what is none, what is told of it
WRONG = [
    ("int", 1, 7.5, "expected a whole number, not '?7.5'?\n  hint: declare the input as float"),
    ("int", 1, 7.0, "expected a whole number, not '?7.0'?\n  hint: declare the input as float"),
    ("int", 1, NAN, "expected a whole number, not '?[nN]a[nN]'?\n  hint: declare the input as float"),
    ("int", 1, "one", 'expected a whole number, not \'"?one"?\'|expected a whole number, not "one"'),
    ("0..9", 1, 10, r"expected an integer 0\.\.9, not '?10'?"),
    ("0..9", 1, -1, r"expected an integer 0\.\.9, not '?-1'?"),
    ("bool", True, 2, "expected true or false .*, not '?2'?"),
    ("float", 1.5, "x", "expected a number, not ['\"]x['\"]"),
    ("{red, green}", "red", "blue", "expected one of red, green, not ['\"]blue['\"]"),
    ("{red, green}", "red", "Red", "expected one of red, green, not ['\"]Red['\"]"),
]


def log(folder, form: str, good, wrong):
    """Rows that are right, and one that is wrong, with its number."""
    values, path = [good, good, wrong, good], folder / f"log.{form}"
    if form in ("parquet", "arrow"):  # a column has one type: that of what is wrong
        kept = [each if type(each) is type(wrong) else None for each in values]
        table = pa.table({"y": list(range(len(values))), "x": kept})
        parquet.write_table(table, path) if form == "parquet" else feather.write_feather(table, path)
        return path, 3
    if form == "jsonl":
        path.write_text("".join(json.dumps({"y": i, "x": value}) + "\n" for i, value in enumerate(values)))
        return path, 3
    between = "," if form == "csv" else "\t"
    cells = [value if isinstance(value, str) else repr(value).lower() for value in values]
    path.write_text(f"y{between}x\n" + "".join(f"{i}{between}{cell}\n" for i, cell in enumerate(cells)))
    return path, 4


@pytest.mark.sampled(25)
@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", FORMATS)
@pytest.mark.parametrize(("kind", "good", "wrong", "message"), WRONG)
def test_values_outside_their_type(kind, good, wrong, message, form, backend, tmp_path):
    program = wb.parse(f"pipeline p(x: {kind}) -> {kind} {{ return x }}").get().pipeline
    path, row = log(tmp_path, form, good, wrong)
    whose = "input 'x'" if form == "jsonl" else "column 'x'"
    with pytest.raises(InputError) as caught:
        wb.run(program, path, output=tmp_path / "out.csv", backend=backend)
    assert re.fullmatch(rf"{re.escape(str(path))}:{row}: {whose}: ({message})", str(caught.value))
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl"])
def test_numbers_beyond_words(form, backend, tmp_path):
    program = wb.parse("pipeline p(x: int) -> int { return x }").get().pipeline
    path, row = log(tmp_path, form, 1, BIG)
    if backend in ("reference", "threaded"):
        wb.run(program, path, output=tmp_path / "out.csv", backend=backend)
        assert (tmp_path / "out.csv").read_text().split() == ["out", "1", "1", str(BIG), "1"]
        return
    with pytest.raises(
        InputError, match=rf"log\.{form}:{row}: .* 'x': expected a whole number of 64 bits, not '?{BIG}"
    ):
        wb.run(program, path, output=tmp_path / "out.csv", backend=backend)


def decimals(*texts: str):
    return pa.array(list(map(Decimal, texts)), pa.decimal128(10, 2))


MICROSECONDS = pa.array([1, 2], pa.timestamp("us"))
# the type, a column of Arrow, the events or what is told of the first that is none
NEAR = [
    ("int", decimals("1.00", "2.00"), [1, 2]),
    ("int", decimals("1.00", "2.50"), r":2: column 'x': expected a whole number, not 2\.50\n  hint: declare .* float"),
    ("float", decimals("1.00", "2.50"), [1.0, 2.5]),
    ("int", pa.array([1, 2], pa.uint64()), [1, 2]),
    ("int", pa.array([1, -2], pa.int8()), [1, -2]),
    ("0..3", pa.array([1, 200], pa.uint8()), r":2: column 'x': expected an integer 0\.\.3, not 200"),
    ("int", pa.array([1.0, 2.0], pa.float32()), ":1: column 'x': expected a whole number, not 1.0\n  hint: declare"),
    ("float", pa.array([0.5, 0.1], pa.float32()), [0.5, 0.10000000149011612]),
    ("float", pa.array([1, 2**63], pa.uint64()), [1.0, 2.0**63]),
    ("bool", pa.array([1, 0], pa.int8()), [True, False]),
    ("int", pa.array([True, False]), ":1: column 'x': expected a whole number, not True"),
    ("int", pa.array(["1", "2"]), ":1: column 'x': expected a whole number, not '1'"),
    ("int", pa.nulls(2), []),
    ("int", pa.array([1, 2, 1]).dictionary_encode(), [1, 2, 1]),
    ("{a, b}", pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
    ("{a, b}", pa.array(["a", "b"], pa.string_view()), ["a", "b"]),
    ("{a, b}", pa.array(["a", "b", "a"], pa.large_string()).dictionary_encode(), ["a", "b", "a"]),
    ("{a, b}", pa.array(["a", "c"]).dictionary_encode(), ":2: column 'x': expected one of a, b, not 'c'"),
    ("{a, b}", pa.array([b"a", b"b"]), ":1: column 'x': expected one of a, b, not b'a'\n  hint: cast the column"),
    ("int", pa.array([1, 2], pa.date32()), ":1: column 'x': expected a whole number, not 1970-01-02\n  hint: --time"),
    ("int", MICROSECONDS, ":1: column 'x': expected a whole number, not 1970-01-01 00:00:00.000001\n  hint: --time"),
    ("float", pa.array([1, 2], pa.time64("us")), ":1: column 'x': expected a number, not 00:00:00.000001\n  hint"),
    ("str", MICROSECONDS, ":1: column 'x': expected a text, not 1970-01-01 00:00:00.000001\n  hint: cast"),
    ("str", pa.array(["a", "b"], pa.large_string()), ["a", "b"]),
    ("str", decimals("1.00"), r":1: column 'x': expected a text, not 1\.00"),
]  # fmt: skip


@pytest.mark.sampled(20)
@pytest.mark.parametrize("backend", ["reference", "compiled"])
@pytest.mark.parametrize(("kind", "column", "wanted"), NEAR)
def test_columns_of_a_type_near_by(kind, column, wanted, backend, tmp_path):
    if kind == "str" and backend == "compiled":
        pytest.skip("compiled code may not hold texts")
    program = wb.parse(f"pipeline p(x: {kind}) -> {kind} {{ return x }}").get().pipeline
    path = tmp_path / "log.parquet"
    parquet.write_table(pa.table({"x": column}), path)
    if isinstance(wanted, list):
        made = wb.run(program, path, backend=backend).to_dict()["out"]
        assert made == wanted
        assert list(map(type, made)) == list(map(type, wanted))
        return
    with pytest.raises(InputError, match=wanted):
        wb.run(program, path, backend=backend)
