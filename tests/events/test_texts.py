"""Columns are written as their values are written one by one."""

import json
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.core.domain import BOOL, FLOAT, INT, Enum
from workbench.core.program import Port, Ports
from workbench.events.read import read_events
from workbench.events.write import write_events

pa = pytest.importorskip("pyarrow")
ENUM = Enum(("red", "a b", 'say "so"', "c,d", "ä"))
DOMAINS = {"i": INT, "f": FLOAT, "b": BOOL, "e": ENUM}
WORDS = st.integers(-(2**63), 2**63 - 1)
FLOATS = st.floats() | WORDS.map(float) | st.builds(lambda n, e: n * 10.0**e, st.integers(-99, 99), st.integers(-9, 17))
LABELS = st.sampled_from(ENUM.labels)


def is_odd(value):
    """Whether a value is a float that JSON does not have."""
    return isinstance(value, float) and not math.isfinite(value)


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "arrows"])
@pytest.mark.parametrize("names", ["f", "e", "ifb", "ifbe"])
@examples(25)
@given(data=st.data())
def test_tables_are_written_as_rows_are(form, names, data, tmp_path_factory):
    values = {"i": WORDS, "f": FLOATS, "b": st.booleans(), "e": LABELS}
    program = Ports("p", (), tuple(Port(name, DOMAINS[name]) for name in names))
    cell = {name: values[name] if len(names) == 1 else st.none() | values[name] for name in names}
    rows = data.draw(st.lists(st.fixed_dictionaries(cell), min_size=1, max_size=8))
    folder, kinds = tmp_path_factory.mktemp("texts"), {"i": pa.int64(), "f": pa.float64(), "b": pa.bool_()}
    table = pa.table({n: pa.array([row[n] for row in rows], kinds.get(n, pa.string())) for n in names})
    for way in ("rows", "table"):
        with write_events(folder / f"{way}.{form}", program) as writer:
            if way == "table":
                writer.table(table)
            for row in rows if way == "rows" else ():
                writer.row({name: value for name, value in row.items() if value is not None})
    found = [(folder / f"{way}.{form}").read_bytes() for way in ("rows", "table")]
    assert form == "arrows" or found[0] == found[1]
    back = list(read_events(folder / f"table.{form}", Ports("p", program.outputs)))
    steps = [{name: row[name] for name in names if row[name] is not None} for row in rows]
    if form == "jsonl":  # JSON has no such numbers
        steps = [{name: each for name, each in step.items() if not is_odd(each)} for step in steps]
        written = [json.loads(line, parse_constant=pytest.fail) for line in found[1].splitlines()]
        assert [list(row) for row in written] == [[n for n in names if row[n] is not None] for row in rows]
    assert list(map(repr, back)) == list(map(repr, steps))  # a NaN is none other, and 1.0 not 1
