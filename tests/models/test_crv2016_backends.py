"""The queries of the 2016 competition say the same in all backends that take them, with a fault and without."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

import workbench as wb
from experiments import auction_trace, candidates_trace, pingus_trace, sql_trace
from workbench.language import read_file

MODELS = Path(__file__).parents[2] / "models" / "crv2016"
BACKENDS: dict[str, Any] = {
    "reference": {"backend": "reference"},
    "threaded": {"backend": "threaded", "threads": 2},
    "processes": {"backend": "reference", "processes": 2},
    "compiled": {"backend": "compiled"},
}
ONE_MACHINE = ("reference", "threaded", "compiled")
"""What takes queries that have no copies of anything."""
AUCTION, SQL = {"header": "kind,item,amount,period"}, {"header": "kind,text,to", "null": "zero"}
FIELDS = {f"e.{name}": pingus_trace.column(name) for name in pingus_trace.COLUMNS}
QUERIES: dict[str, Any] = {
    "auction:auctions": (AUCTION, BACKENDS),
    "auction:broken": (AUCTION, BACKENDS),
    "candidates:chosen": ({"header": "kind,who,what,rank"}, BACKENDS),
    "sql:untainted": (SQL, ONE_MACHINE),
    "sql:culprit": (SQL, ONE_MACHINE),
    "spontaneous:spontaneous": ({"columns": {"ids": "characters/character/id"}}, BACKENDS),
    "bashing:bashing": ({"columns": {"status": FIELDS["e.status"]}}, BACKENDS),
    "turn_around:turn_around": ({"columns": FIELDS}, BACKENDS),
}
FAULTS = {"spontaneous": "appears", "bashing": "vanishes", "turn_around": "rebel"}


def written(file, broken):
    """A log: its format, and its text."""
    if file in FAULTS:
        game = pingus_trace.generate(4, 260, FAULTS[file] if broken else "")
        return "xml", "".join(pingus_trace.as_xml(i, each) for i, each in enumerate(game))
    events: Iterable[tuple[Any, ...]]
    if file == "auction":
        events = auction_trace.generate(8, 3 if broken else None)
    elif file == "candidates":
        events = candidates_trace.generate(6, 4, "rank" if broken else "")
    else:
        events = sql_trace.generate(80, 2 if broken else 0)
    return "csv", "".join(",".join(map(str, event)) + "\n" for event in events)


@pytest.mark.sampled(2)
@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("query", QUERIES)
def test_all_backends_say_the_same(query, broken, tmp_path):
    """Verdict and position (a line for each event), and culprits."""
    (file, _, name), (given, backends), said = query.partition(":"), QUERIES[query], {}
    kind, text = written(file, broken)
    path = tmp_path / f"log.{kind}"
    path.write_text(text)
    program = read_file(MODELS / f"{file}.pipe").get(name).pipeline
    read: dict[str, Any] = {**given, "xml": "message"} if kind == "xml" else given
    for backend in backends:
        made = tmp_path / f"{backend}.csv"
        wb.run(program, path, output=made, **read, **BACKENDS[backend])
        said[backend] = made.read_text()
    assert len(set(said.values())) == 1, said
    lines = said["reference"].splitlines()[1:]
    assert (lines != [] if name in ("broken", "culprit") else any("false" in line for line in lines)) == broken
