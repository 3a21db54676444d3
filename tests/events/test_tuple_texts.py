"""Columns of tuples are written as their values are one by one, and read as those are, where they are plain."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.examples import examples
from workbench.conformance.generate.domains import values
from workbench.core.domain import BOOL, FLOAT, INT, STR, Domain, Enum, Range
from workbench.core.fields import Record, Tuple
from workbench.core.program import Port, Ports
from workbench.errors import InputError
from workbench.events.columns import arrays_of
from workbench.events.output_columns import events_to_arrow
from workbench.events.read import read_events
from workbench.events.values import dump_json, to_json
from workbench.events.write import write_events

pa = pytest.importorskip("pyarrow")

FLOATS = st.floats(width=64) | st.integers(-(2**53), 2**53).map(float)
TEXTS = st.text(st.characters(codec="utf-8"), max_size=4) | st.sampled_from(['"', "\\", "a,b", "\n", "\u2028", "\x7f"])
INNER = Record((STR, Range(-3, 9)), ("na me", "size"))
DOMAINS: dict[str, Tuple] = {
    "record": Record((STR, INT, BOOL), ("user", 'q"', "{}")),
    "nested": Record((INNER, FLOAT, Enum(("red", "green"))), ("inner", "x", "light")),
    "tuple": Tuple((INT, FLOAT)),
}


def events(domain: Domain) -> st.SearchStrategy[Any]:
    """Values with texts and floats of every kind."""
    if isinstance(domain, Tuple):
        return st.tuples(*map(events, domain.fields))
    return FLOATS if domain == FLOAT else TEXTS if domain == STR else values(domain)


@pytest.mark.parametrize("name", DOMAINS)
@given(data=st.data())
@examples(60)
def test_written_as_one_by_one(name: str, data: st.DataObject) -> None:
    domain = DOMAINS[name]
    found = data.draw(st.lists(events(domain), min_size=1, max_size=6))
    arrays = arrays_of(domain, found)
    assert arrays is not None
    assert events_to_arrow(domain, arrays).to_pylist() == [dump_json(to_json(each, domain)) for each in found]


@pytest.mark.parametrize("form", ["csv", "tsv", "jsonl", "parquet"])
@pytest.mark.parametrize("several", [False, True])
@given(data=st.data())
@examples(20)
def test_files_are_the_same(form: str, several: bool, data: st.DataObject, tmp_path_factory: Any) -> None:
    """Tables of tuples beside texts, some of which are missing, as rows of the same."""
    folder: Path = tmp_path_factory.mktemp("tuples")
    domain = DOMAINS["nested"]
    text = st.text(st.sampled_from('a,"\t\\é'), min_size=1).filter(str.strip)
    rows = data.draw(st.lists(st.tuples(events(domain), text), min_size=1, max_size=6))
    there = [data.draw(st.booleans()) or not several for _ in rows]
    tuples = [row[0] if here else None for row, here in zip(rows, there, strict=True)]
    program = Ports("p", (), (Port("t", domain), Port("s", STR)) if several else (Port("t", domain),))
    texts = [None if each is None else dump_json(to_json(each, domain)) for each in tuples]
    names = ["t", "s"][: 1 + several]
    table = pa.table([pa.array(texts, pa.string()), pa.array([row[1] for row in rows])][: 1 + several], names)
    for way in ("rows", "table"):
        with write_events(folder / f"{way}.{form}", program) as writer:
            if way == "table":
                writer.table(table)
            for here, row in zip(there, rows, strict=True) if way == "rows" else ():
                writer.write({"t": [row[0]] if here else [], "s": [row[1]]} if several else {"t": [row[0]]})
    if form != "parquet":
        assert (folder / f"rows.{form}").read_bytes() == (folder / f"table.{form}").read_bytes()
    if form == "jsonl" and any(each is not None and not math.isfinite(each[1]) for each in tuples):
        for way in ("rows", "table"):  # JSON has null for them, which the field of the record does not take
            with pytest.raises(InputError, match="declare a value that may be null with a"):
                list(read_events(folder / f"{way}.{form}", Ports("p", program.outputs)))
        return
    back = [list(read_events(folder / f"{way}.{form}", Ports("p", program.outputs))) for way in ("rows", "table")]
    assert repr(back[0]) == repr(back[1])
    assert len(back[0]) == len(rows)
