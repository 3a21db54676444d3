"""Row groups that are encoded apart make the file that Arrow writes of the same tables, byte by byte."""

import io
import random

import pytest

pa = pytest.importorskip("pyarrow")
from pyarrow import parquet  # noqa: E402

from workbench.events.parquet_parts import ParquetParts  # noqa: E402

FIELDS = {
    "x": pa.int64(),
    "t": pa.string(),
    "b": pa.bool_(),
    "f": pa.float64(),
    **{f"c{i}": pa.int32() for i in range(14)},
}
OPTIONS = {"use_dictionary": ["t"], "column_encoding": {"x": "DELTA_BINARY_PACKED"}}


def table(numbers, rows):
    cells = {
        "x": lambda: numbers.randrange(-(2**63), 2**63),
        "t": lambda: "é" * numbers.randrange(200),
        "b": lambda: numbers.random() < 0.5,
        "f": numbers.random,
    }
    made = {name: [cells.get(name, lambda: 1)() for _ in range(rows)] for name in FIELDS}
    gaps = {name: [None if numbers.random() < 0.1 else each for each in column] for name, column in made.items()}
    return pa.table(gaps, schema=pa.schema(FIELDS))


@pytest.mark.parametrize("count", [0, 1, 2, 14, 15, 40])
def test_parts_make_the_file_that_arrow_writes(count):
    """From 15 row groups on, and with 18 columns, lengths are written in another way."""
    numbers = random.Random(count)
    tables = [table(numbers, numbers.randrange(60)) for _ in range(count)]
    wanted, found = pa.BufferOutputStream(), io.BytesIO()
    with parquet.ParquetWriter(wanted, pa.schema(FIELDS), **OPTIONS) as writer:
        for each in tables:
            writer.write_table(each)
    parts = ParquetParts(found, pa.schema(FIELDS), **OPTIONS)
    made = {k: parts.part(tables[k]) for k in numbers.sample(range(count), count)}  # in any order
    for k in range(count):
        parts.append(made[k])
    parts.close()
    assert found.getvalue() == wanted.getvalue().to_pybytes()
    assert parquet.read_table(io.BytesIO(found.getvalue())).equals(
        pa.concat_tables(
            tables,
        )
        if tables
        else pa.schema(FIELDS).empty_table()
    )
