"""Columns of tuples and of floats that are not numbers, as compiled code takes them."""

from __future__ import annotations

import json
import math
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import workbench as wb
from tests.examples import examples
from workbench.conformance.generate.domains import EXTREMES, values
from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Enum, Range
from workbench.core.fields import Map, Nullable, Record, Tuple, within
from workbench.errors import InputError, Refused
from workbench.events.input_columns import decode_column
from workbench.events.values import dump_json, to_json
from workbench.executors.compiled.execute.columns import column

LIGHT = Enum(("red", "green"))
INNER = Record((STR, Range(0, 9)), ("name", "size"))
DOMAINS: dict[str, Domain] = {
    "record": Record((STR, INT, BOOL), ("user", "n", "ok")),
    "nested": Record((INNER, FLOAT, LIGHT), ("inner", "x", "light")),
    "tuple": Tuple((INT, FLOAT)),
}


def events_of(domain: Domain, found: Any) -> list[Any]:
    """What compiled code would be given, as Python values; None where nothing is."""
    from workbench.core.fields import scalars
    from workbench.executors.compiled.execute.columns import OutputColumn, readable
    from workbench.executors.compiled.execute.text_codes import TextCodes

    texts = TextCodes(())
    made = column("x", domain, found.fields, found.present, texts)
    assert made.wrong is None
    fields = readable([part for _, part in scalars(domain)], made.fields, texts.reader())
    there = [True] * found.rows if found.present is None else found.present.tolist()
    return [e if t else None for e, t in zip(OutputColumn(domain, fields).events(), there, strict=True)]


@pytest.mark.parametrize("name", DOMAINS)
@given(data=st.data())
@examples(60)
def test_tuples_in_cells(name: str, data: st.DataObject) -> None:
    """JSON texts, encoded or not, and structs where there are any; parts of longer columns, too."""
    domain = DOMAINS[name]
    events = data.draw(st.lists(st.none() | values(domain), min_size=1, max_size=12))
    parsed = [None if event is None else to_json(event, domain) for event in events]
    texts = [None if each is None else dump_json(each) for each in parsed]
    cells = [pa.array(texts, pa.string()), pa.array(texts, pa.string()).dictionary_encode()]
    if isinstance(domain, Record):
        cells.append(pa.array(parsed))
    first = data.draw(st.integers(0, len(events) - 1))
    for cell in cells:
        found = decode_column(domain, cell, stored=True)
        if found is not None or any(events):  # a column of nulls has no fields
            assert found is not None
            assert events_of(domain, found) == events
            assert events_of(domain, decode_column(domain, cell.slice(first), stored=True)) == events[first:]


@pytest.mark.parametrize(
    "cell",
    ['{"user": "a", "n": 1}', '{"user": "a", "n": 1.5, "ok": true}',
     '{"user": 5, "n": 1, "ok": true}', '{"user": "a", "n": null, "ok": true}', "[1]", "a", "5",
     '{"user": "a", "n": 1180591620717411303424, "ok": true}'],
)  # fmt: skip
def test_cells_in_which_there_is_no_such_event_are_left_to_rows(cell: str) -> None:
    domain = DOMAINS["record"]
    good = {"user": "a", "n": 1, "ok": True}
    assert decode_column(domain, pa.array([json.dumps(good), cell])) is None
    data = json.loads(cell) if cell.startswith("{") else None
    if isinstance(data, dict) and not isinstance(data.get("user"), int) and (data.get("n") or 0) < 2**63:
        assert decode_column(domain, pa.array([data] if "ok" not in data else [good, data])) is None


def test_a_record_takes_its_fields_from_cells_that_have_more() -> None:
    more = {"more": 2, "ok": True, "n": 1, "user": "a"}
    for cells in (pa.array([json.dumps(more)]), pa.array([more])):
        found = decode_column(DOMAINS["record"], cells)
        assert found is not None
        assert events_of(DOMAINS["record"], found) == [("a", 1, True)]


@given(st.lists(st.none() | values(FLOAT, extremes=EXTREMES), min_size=1))
def test_floats_that_are_stored_are_what_they_are(floats: list[float | None]) -> None:
    found = decode_column(FLOAT, pa.array(floats, pa.float64()), stored=True)
    assert found is not None
    assert [None if x is None else repr(x) for x in events_of(FLOAT, found)] == [
        None if x is None else repr(x) for x in floats
    ]
    finite = all(x is None or math.isfinite(x) for x in floats)
    assert (decode_column(FLOAT, pa.array(floats, pa.float64())) is not None) == finite


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_a_log_of_them(tmp_path: Path, backend: Any) -> None:
    rows = [{"e": {"user": f"u{i % 3}", "n": i}, "x": [0.5, math.nan, math.inf, -math.inf][i % 4]} for i in range(400)]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "log.parquet")
    text = 'pipeline p(e: {user: str, n: int}, x: float) -> n: int, x: float { return filter(e.n, e.user = "u1"), x }'
    made = wb.run(wb.parse(text).get(), tmp_path / "log.parquet", output=tmp_path / "out.parquet", backend=backend)
    found = pq.read_table(made).to_pydict()
    assert [n for n in found["n"] if n is not None] == [i for i in range(400) if i % 3 == 1]
    assert list(map(repr, found["x"])) == [repr(row["x"]) for row in rows]


@pytest.mark.parametrize("unit", ["ns", "us", "s", "D"])
def test_dates_of_numpy_are_no_numbers_unless_the_user_says_so(unit: str) -> None:
    """Whatever their unit: numpy itself makes whole numbers of the finest."""
    program = wb.parse("pipeline p(t: int) -> int { return t }").get()
    days = np.array(["2026-11-24", "1970-01-02"], f"M8[{unit}]")
    with pytest.raises(InputError, match="expected a whole number, not datetime"):
        wb.run(program, {"t": days})
    assert wb.run(program, {"t": days}, time_format="auto")["out"].tolist() == [20_781 * 86_400, 86_400]


FORMS: dict[str, Domain] = {
    **DOMAINS,
    "deep": Tuple((Tuple((INT, BOOL)), INNER, Tuple((Tuple((LIGHT,)), STR)))),
    "map": Map(INT, BOOL),
    "map of pairs": Tuple((INT, Map(Tuple((INT, STR)), Record((INT, Nullable(INT)), ("a", "b"))))),
}


def in_python(value: Any, domain: Domain) -> Any:
    """Return a value as people write it in Python: records and maps as dictionaries, tuples as they are."""
    if isinstance(domain, Record):
        parts = zip(domain.labels, domain.fields, value, strict=True)
        return {label: in_python(each, field) for label, field, each in parts}
    if isinstance(domain, Tuple):
        return tuple(in_python(each, field) for field, each in zip(domain.fields, value, strict=True))
    if isinstance(domain, Map):
        return {key: in_python(each, domain.value) for key, each in value.items()}
    return value


@pytest.mark.parametrize("backend", ["reference", "threaded", "dataflow", "compiled"])
@pytest.mark.parametrize("name", FORMS)
@given(data=st.data())
@examples(20)
def test_structured_values_from_python(name: str, backend: str, data: st.DataObject) -> None:
    """Values, what stands for them in Python, and their JSON, in columns and in rows: each comes out as the value."""
    domain = FORMS[name]
    builder = wb.Builder("same")
    program = builder.build(wb.processors.Trim(0)(builder.input("x", domain)))
    events = data.draw(st.lists(values(domain), max_size=5))
    forms = [events, [in_python(each, domain) for each in events]]
    if not any(isinstance(part, Map) for part in within(domain)):  # keys of JSON are texts
        forms.append([to_json(each, domain) for each in events])
    for form in forms:
        gap = [None, *form]
        rows: list[dict[str, Any]] = [{"x": each} for each in gap]
        with suppress(Refused) if backend == "compiled" and name.startswith("map") else nullcontext():
            assert wb.run(program, {"x": form}, backend=backend) == {"out": events}
            assert wb.run(program, {"x": gap}, backend=backend) == {"out": events}
            assert [each["out"] for each in wb.run(program, rows, backend=backend) if each["out"] is not None] == events


@pytest.mark.parametrize("backend", ["reference", "compiled"])
def test_whole_numbers_with_gaps_in_pandas(backend: str) -> None:
    """Pandas has floats for them; without a gap, or with a fraction, floats are floats."""
    program = wb.parse("pipeline p(x: int) -> int { return x + 1 }").get()
    gaps = pd.DataFrame({"x": [1, None, 3]})
    assert gaps["x"].dtype == np.float64
    assert wb.run(program, gaps, backend=backend)["out"].tolist() == [2, 4]
    copied = wb.run(program, gaps.assign(y=gaps["x"]), backend=backend, carry=["y"])
    assert copied["y"].dtype == np.float64
    for floats in ([1.0, 3.0], [1.0, None, 3.5], [None, 1e300]):
        with pytest.raises(InputError, match="expected a whole number"):
            wb.run(program, pd.DataFrame({"x": floats}), backend=backend)


NUMBERS = np.arange(3)
LAYOUTS: dict[str, Any] = {
    "little endian": NUMBERS.astype(np.dtype(np.int64).newbyteorder("<")),
    "big endian": NUMBERS.astype(">i8"),
    "unaligned": np.frombuffer(b"#" + NUMBERS.tobytes(), np.int64, offset=1),
    "unaligned in Arrow": pa.table(
        {"x": pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(b"#" + NUMBERS.tobytes()).slice(1)])}
    ),
    "reversed": NUMBERS[::-1],
    "a field": np.array([(False, 0), (True, 1)], [("b", "?"), ("n", "i8")])["n"],
    "narrow": NUMBERS.astype("i2"),
}


@pytest.mark.parametrize("warm_up_steps", [0, 100])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_arrays_of_any_layout_are_read(layout: str, warm_up_steps: int) -> None:
    """By machine code, and by plain Python before that."""
    data, program = LAYOUTS[layout], wb.parse("pipeline p(x: int) -> int { return x + 1 }").get()
    columns = {"x": data} if isinstance(data, np.ndarray) else data
    numbers = data if isinstance(data, np.ndarray) else data["x"].to_numpy()
    expected = (numbers + 1).tolist()
    for backend in ("reference", "compiled", "auto"):
        answer = wb.run(program, columns, backend=backend)
        assert (answer["out"].tolist() if isinstance(answer, dict) else answer["out"].to_pylist()) == expected
    if isinstance(data, np.ndarray):
        assert wb.executors.Compiled(program, warm_up_steps=warm_up_steps).feed(columns)["out"].events() == expected
