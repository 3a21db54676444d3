"""A log through compiled code, in columns, gives what it gives through the reference executor, row by row."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.errors import WorkbenchError
from workbench.events import lines as lines_of
from workbench.events import typed
from workbench.events.formats import csv as csv_format

TEXT = """
pipeline sums(x: int, y: int) -> int {
    s = x + y
    capacity queue(s.left) = 50
    capacity queue(s.right) = 50
    return window(s, 3, cumulate(+))
}
pipeline several(x: int, y: int) -> a: int, b: bool, c: float, d: {low, high} {
    return stutter(x, 2), y > 1, x * 0.1, if y > 0 then high else low
}
pipeline last(x: int, y: int) -> a: int, b: int { return keep_last(x), trim(y, 1) }
pipeline tuples(x: int, y: int) -> a: (int, int), b: int { return (x, x), y }
pipeline small(x: 0..9, y: {low, high}) -> bool {
    s = filter(x > 4, y = high)
    capacity queue(s.data) = 50
    capacity queue(s.condition) = 50
    return s
}
pipeline large(x: int, y: int) -> a: int, b: int { return x * 4611686018427387904, y }
"""
SOURCE = wb.parse(TEXT)
CELLS = st.sampled_from([*"0123456789", "", "-1", " 7 ", "007"])


def ran(name: str, source: str, target: str, backend: str) -> str | bytes:
    """What is written, or the error."""
    try:
        wb.run(SOURCE.get(name).pipeline, source, output=target, backend=backend)
    except WorkbenchError as error:
        return error.what
    with open(target, "rb") as file:
        return file.read()


@pytest.mark.parametrize("name", list(SOURCE.pipelines))
@examples(20)
@given(rows=st.lists(st.tuples(CELLS, CELLS), max_size=12), size=st.sampled_from([16, 1 << 23]))
def test_every_backend_writes_the_same(name, rows, size, tmp_path, monkeypatch):
    monkeypatch.setattr(lines_of, "SIZE", size)
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    if name == "small":
        rows = [(x if x in "0123456789" else "1", "high" if y in "02468" else "low") for x, y in rows]
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([("x", "y"), *rows])
    source = tmp_path / "in.csv"
    source.write_text(text.getvalue())
    one, other = (ran(name, str(source), str(tmp_path / f"{b}.csv"), b) for b in ("compiled", "reference"))
    if name == "large" and isinstance(one, str):
        assert "64 bits" in one  # the reference has numbers of any size
    else:
        assert one == other


@pytest.mark.parametrize("name", ["several", "last", "small"])
def test_parquet(name, tmp_path, monkeypatch):
    pa = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    monkeypatch.setattr(typed, "LARGE", 7)
    ys = ["high", "low", None] * 10 if name == "small" else [i % 5 - 1 if i % 4 else None for i in range(30)]
    parquet.write_table(
        pa.table({"y": ys, "x": [i % 7 if i % 3 else None for i in range(30)]}), tmp_path / "in.parquet"
    )
    for backend in ("compiled", "reference"):
        target = tmp_path / f"{backend}.parquet"
        wb.run(SOURCE.get(name).pipeline, tmp_path / "in.parquet", output=target, backend=backend)
    one, other = (parquet.read_table(tmp_path / f"{backend}.parquet") for backend in ("compiled", "reference"))
    assert one.equals(other)
    assert one.num_rows > 0


def test_columns_are_what_is_taken(tmp_path, monkeypatch):
    """Rows are not read where nothing asks for them."""
    monkeypatch.setattr(lines_of, "MIN_COLUMN_BYTES", 0)
    monkeypatch.setattr(csv_format.CsvReader, "_steps", lambda *_: pytest.fail("row by row"))
    (tmp_path / "in.csv").write_text("x,y\n1,2\n,3\n5,\n")
    wb.run(SOURCE.get("several").pipeline, tmp_path / "in.csv", output=tmp_path / "out.csv", backend="compiled")
    assert (tmp_path / "out.csv").read_text() == "a,b,c,d\n1,true,0.1,high\n1,,,\n,true,,high\n5,,0.5,\n5,,,\n"
