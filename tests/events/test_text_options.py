"""Texts that are not plain CSV in UTF-8: other separators, decimal commas, encodings, comments, texts for nothing."""

import io
import random
import re
import shlex
from decimal import Decimal

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

from workbench import parse, run
from workbench.errors import InputError
from workbench.events import lines as lines_of
from workbench.events.reading_options import nulls_of
from workbench.events.text_streams import DroppedLines, FilteredLines, Recoded

PRICES = parse("pipeline p(id: int, price: float) -> i: int, p: float { return id, price }").get().pipeline
NAMES = parse("pipeline p(id: int, name: str) -> i: int, n: str { return id, name }").get().pipeline


def outputs(program, path, **options):
    rows = list(run(program, path, **options))
    return {name: [row[name] for row in rows if row.get(name) is not None] for name in program.ports.outputs_by_name}


@pytest.fixture(params=[False, True], ids=["rows", "columns"])
def in_columns(request, monkeypatch):
    """Whether columns are looked for in short blocks, too; both give the same."""
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0 if request.param else lines_of.MIN_COLUMN_BYTES)
    return "compiled" if request.param else "reference"


@pytest.mark.parametrize("delimiter", [";", "\t", "|"])
def test_the_header_tells_what_separates_cells(delimiter, in_columns, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("id,more,price\n1,x,2.5\n2,,3\n".replace(",", delimiter))
    expected = {"i": [1, 2], "p": [2.5, 3.0]}
    assert outputs(PRICES, log, backend=in_columns) == expected
    assert outputs(PRICES, log, backend=in_columns, delimiter=delimiter) == expected


def test_a_header_that_leaves_doubt(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("id;price|id\n1;2|3\n")  # two characters give each some of the names
    with pytest.raises(InputError, match="there is no column"):
        outputs(PRICES, log)
    log.write_text("id,price;x\n1,2\n".replace("2\n", "2.5\n"))
    with pytest.raises(InputError, match="no column 'price'"):
        outputs(PRICES, log)
    log.write_text("price, EUR;id;price\n1;2;3\n")
    assert outputs(PRICES, log) == {"i": [2], "p": [3.0]}


def test_decimal_commas(in_columns, tmp_path) -> None:
    """As pyarrow reads them."""
    log, chosen = tmp_path / "log.csv", random.Random(1)
    numbers = [Decimal(chosen.randrange(-(10**6), 10**6)).scaleb(-3) for _ in range(500)]
    log.write_text("id;price\n" + "".join(f"{i};{str(n).replace('.', ',')}\n" for i, n in enumerate(numbers)))
    table = pyarrow.csv.read_csv(
        log,
        parse_options=pyarrow.csv.ParseOptions(delimiter=";"),
        convert_options=pyarrow.csv.ConvertOptions(decimal_point=",", column_types={"price": pa.float64()}),
    )
    assert outputs(PRICES, log, backend=in_columns, decimal=",") == {
        "i": list(range(500)), "p": table["price"].to_pylist(),
    }  # fmt: skip


@pytest.mark.parametrize("cell", ["1.5", "1.234,5", "1,234,5"])
def test_a_point_is_no_decimal_comma(cell, in_columns, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"id;price\n1;{cell}\n")
    with pytest.raises(InputError, match="expected a number") as found:
        outputs(PRICES, log, decimal=",", backend=in_columns)
    assert ("--thousands . reads points" in found.value.hint) == ("." in cell)
    assert ("leave out '--decimal ,' if the point" in found.value.hint) == (cell == "1.5")
    assert ("--thousands , instead of --decimal ," in found.value.hint) == (cell.count(",") > 1)


@pytest.mark.parametrize("delimiter", ["", ","])
def test_decimal_commas_between_commas_need_quotation_marks(delimiter, in_columns, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("id,price\n1,20,5\n")
    with pytest.raises(InputError, match="this line has 3 cells, the header has 2") as found:
        outputs(PRICES, log, decimal=",", delimiter=delimiter, backend=in_columns)
    assert found.value.hint == "put quotation marks around a cell that contains the delimiter"
    log.write_text("id,price\n" + '1,"20,5"\n' * 2000)
    right = {"i": [1] * 2000, "p": [20.5] * 2000}
    assert outputs(PRICES, log, decimal=",", delimiter=delimiter, backend=in_columns) == right


def test_a_comma_is_no_point(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("id;price\n1;1,5\n")
    with pytest.raises(InputError, match="expected a number") as found:
        outputs(PRICES, log)
    assert "--decimal ," in found.value.hint


SEPARATED = {
    "1.234,56": ("--thousands . --decimal , reads such numbers", 1234.56),
    "1,234.56": ("--thousands , --decimal . reads such numbers", 1234.56),
    "1.234.567": ("--thousands . --decimal , reads such numbers", 1234567.0),
    "-1,234,567": ("--thousands , reads numbers with commas between thousands", -1234567.0),
    "1,234": ("--decimal , reads numbers with a decimal comma; --thousands , takes '1,234' for 1234", 1234.0),
}


@pytest.mark.parametrize("cell", SEPARATED)
def test_numbers_have_no_thousands_separators_unless_the_user_says_so(cell, in_columns, tmp_path) -> None:
    """The hint names the options that read them, which is tried."""
    log = tmp_path / "log.csv"
    log.write_text(f"id;price\n1;{cell}\n")
    with pytest.raises(InputError, match="expected a number") as found:
        outputs(PRICES, log, backend=in_columns)
    hint, value = SEPARATED[cell]
    assert found.value.hint == hint
    options = dict(re.findall(r"--(thousands|decimal) ([.,])(?! reads numbers with a decimal)", hint))
    assert outputs(PRICES, log, backend=in_columns, **options) == {"i": [1], "p": [value]}


def test_thousands(in_columns, tmp_path) -> None:
    """In long logs, too, where other numbers are read by Arrow; as Python's own formats write them."""
    log, chosen = tmp_path / "log.csv", random.Random(2)
    numbers = [(chosen.randrange(-(10 ** chosen.randrange(1, 9)), 10**7), chosen.random() * 10**5) for _ in range(900)]
    for form, (mark, decimal) in {"us": (",", "."), "de": (".", ","), "ch": ("'", "."), "fr": ("\u202f", ",")}.items():
        swap = str.maketrans({",": mark, ".": decimal})
        rows = [f"{i:,}".translate(swap) + ";" + f"{x:,.3f}".translate(swap) for i, x in numbers]
        log.write_text("id;price\n" + "\n".join(rows) + "\n")
        right = {"i": [i for i, _ in numbers], "p": [float(f"{x:.3f}") for _, x in numbers]}
        assert outputs(PRICES, log, backend=in_columns, thousands=mark, decimal=decimal) == right, form


@pytest.mark.parametrize("cell", ["12,34", "1,2345", "1234,567", ",123", "1,234,56", "1.234,567"])
def test_separators_of_thousands_stand_between_groups_of_three(cell, in_columns, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"id;price\n1;{cell}\n")
    with pytest.raises(InputError, match="a number with ',' between groups of three digits, not") as found:
        outputs(PRICES, log, thousands=",", backend=in_columns)
    assert found.value.hint == "--thousands , allows it nowhere else"


def test_thousands_in_quoted_cells_and_other_texts(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text('id,price\n"1,234","2,000.5"\n7,1\n')
    assert outputs(PRICES, log, thousands=",") == {"i": [1234, 7], "p": [2000.5, 1.0]}
    (tmp_path / "log.logfmt").write_text("id=1,234 price=2,000.5\n")
    assert outputs(PRICES, tmp_path / "log.logfmt", thousands=",") == {"i": [1234], "p": [2000.5]}
    (tmp_path / "log.jsonl").write_text('{"id": 1, "price": 2}\n')
    with pytest.raises(InputError, match="--thousands does not apply to this file"):
        outputs(PRICES, tmp_path / "log.jsonl", thousands=",")


def test_texts_for_nothing(in_columns, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("id,price,name\n1,NA,a\n2,-,NA\nNA,1.5,-\n")
    nulls = {"null": ["NA", "-"], "backend": in_columns}
    assert outputs(PRICES, log, **nulls) == {"i": [1, 2], "p": [1.5]}
    assert outputs(NAMES, log, **nulls) == {"i": [1, 2], "n": ["a"]}
    with pytest.raises(InputError, match="'price' is empty"):
        outputs(PRICES, log, null=["NA", "error"])
    assert outputs(NAMES, log, null="NA", head=1) == {"i": [1], "n": ["a"]}


def test_the_meaning_and_the_texts_of_nulls() -> None:
    assert nulls_of("zero") == ("zero", ())
    assert nulls_of(["NA", "error", r"\N"]) == ("error", ("NA", r"\N"))
    assert nulls_of("n/a") == ("absent", ("n/a",))
    with pytest.raises(InputError, match="two meanings"):
        nulls_of(["zero", "error"])
    with pytest.raises(InputError, match="no meaning 'zeros'"):
        nulls_of("zeros")


@pytest.mark.parametrize("quote", ["'", ""])
def test_other_quotation_marks(quote, in_columns, tmp_path) -> None:
    log = tmp_path / "log.csv"
    cell = f'{quote}a "b"{"," * bool(quote)} c{quote}'
    log.write_text(f"id,name\n1,{cell}\n2,d\n")
    expected = {"i": [1, 2], "n": [cell.strip("'"), "d"]}
    assert outputs(NAMES, log, quote=quote, backend=in_columns) == expected


@pytest.mark.parametrize(("encoding", "given"), [("latin-1", "latin-1"), ("cp1252", "cp1252"), ("utf-16", "")])
def test_encodings(encoding, given, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes("id;name\n1;Müller\n2;Bär\n".encode(encoding))
    assert outputs(NAMES, log, encoding=given) == {"i": [1, 2], "n": ["Müller", "Bär"]}
    log = tmp_path / "log.jsonl"
    log.write_bytes('{"id": 1, "name": "Müller"}\n'.encode(encoding))
    assert outputs(NAMES, log, encoding=given) == {"i": [1], "n": ["Müller"]}


def test_another_encoding_is_suggested(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_bytes("id,name\n1,Müller\n".encode("latin-1"))
    with pytest.raises(InputError, match="not UTF-8") as found:
        outputs(NAMES, log)
    assert "--encoding" in found.value.hint
    with pytest.raises(InputError, match="no such encoding") as found:
        outputs(NAMES, log, encoding="latni-1")
    assert "latin-1" in found.value.hint


@pytest.mark.parametrize("size", [1, 7, 1 << 16])
def test_bytes_in_pieces(size, monkeypatch) -> None:
    """However a text is cut, it is recoded and its lines are left out as if it were whole."""
    monkeypatch.setattr("workbench.events.text_streams.PIECE", size)
    text = "".join(f"{'#' if i % 3 == 0 else ''}zeile {i} äöü€\n" for i in range(40)) + "ohne Ende"
    recoded = io.BufferedReader(Recoded(io.BufferedReader(io.BytesIO(text.encode("utf-16"))), "utf-16"))
    assert recoded.read().decode() == text
    dropped = DroppedLines()
    rows = io.BufferedReader(FilteredLines(io.BufferedReader(io.BytesIO(text.encode())), 2, "#", dropped))
    lines = list(enumerate(text.splitlines(keepends=True), 1))
    kept = [(number, line) for number, line in lines if number > 2 and not line.startswith("#")]
    assert rows.read().decode() == "".join(line for _, line in kept)
    assert [dropped.number(i) for i in range(1, len(kept) + 1)] == [number for number, _ in kept]


def test_lines_are_numbered_as_in_the_file(tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text("made by x\n# note\nid,name\n# note\n1,a\n\n#\nx,b\n2,c\n")
    options = {"skip_lines": 1, "comment": "#"}
    assert outputs(NAMES, log, bad_rows="skip", **options)["i"] == [1, 2]
    with pytest.raises(InputError) as found:
        outputs(NAMES, log, **options)
    assert found.value.where == f"{log}:8"
    pyarrow.parquet.write_table(pa.table({"id": [1], "name": ["a"]}), tmp_path / "log.parquet")
    with pytest.raises(InputError, match="does not apply to this file"):
        outputs(NAMES, tmp_path / "log.parquet", **options)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"delimiter": ";;"}, "--delimiter"), ({"delimiter": "semicolen"}, "--delimiter"),
        ({"decimal": "'"}, "--decimal"), ({"thousands": "."}, "'.' is the decimal mark, and separates thousands"),
        ({"thousands": ",", "decimal": ","}, "',' is the decimal mark"), ({"thousands": "ab"}, "--thousands"),
        ({"quote": ";", "delimiter": ";"}, "--quote"),
        ({"quote": "''"}, "--quote"),
    ],
)  # fmt: skip
def test_marks_that_are_none(options, what) -> None:
    with pytest.raises(InputError, match=what):
        run(PRICES, "log.csv", **options)


@pytest.mark.parametrize("cell", ["NA", "N/A", "-", "NaN", "null", "(null)", "\\N"])
def test_a_usual_text_for_nothing_has_a_hint_that_is_followed(cell, tmp_path) -> None:
    log = tmp_path / "log.csv"
    log.write_text(f"id,price\n1,2.5\n2,{cell}\n")
    with pytest.raises(InputError, match="expected a number, not") as found:
        outputs(PRICES, log)
    option, text = shlex.split(found.value.hint)[:2]
    assert (option, text) == ("--null", cell)
    assert outputs(PRICES, log, null=text) == {"i": [1, 2], "p": [2.5]}


def test_a_comment_in_front_of_the_header_has_a_hint(tmp_path) -> None:
    log, program = tmp_path / "log.csv", parse("pipeline p(price: float) -> float { return price }").get()
    log.write_text("# made by hand\nprice\n2.5\n")
    with pytest.raises(InputError, match="the first line '# made by hand' is neither") as found:
        run(program, log)
    assert found.value.hint == "--comment '#' leaves out lines that begin with it"
    assert run(program, log, comment="#").to_dict() == {"out": [2.5]}
