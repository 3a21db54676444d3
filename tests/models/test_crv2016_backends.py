"""The queries of the 2016 competition say the same in all backends that take them, with a fault and without."""

from pathlib import Path

import pytest

import workbench as wb
from experiments import auction_trace, candidates_trace, pingus_trace, sql_trace
from workbench.language import read_file

MODELS = Path(__file__).parents[2] / "models" / "crv2016"

BACKENDS = {
    "reference": {"backend": "reference"},
    "threaded": {"backend": "threaded", "threads": 2},
    "processes": {"backend": "reference", "processes": 2},
    "numba": {"backend": "numba"},
}
QUERIES = {
    "auction.pipe:broken": (
        {"header": "kind,item,amount,period"},
        lambda broken: auction_trace.generate(8, 3 if broken else None),
        list(BACKENDS),
    ),
    "auction.pipe:auctions": (
        {"header": "kind,item,amount,period"},
        lambda broken: auction_trace.generate(8, 3 if broken else None),
        list(BACKENDS),
    ),
    "candidates.pipe:chosen": (
        {"header": "kind,who,what,rank"},
        lambda broken: candidates_trace.generate(6, 4, "rank" if broken else ""),
        list(BACKENDS),
    ),
    "sql.pipe:culprit": (
        {"header": "kind,text,to", "null": "zero"},
        lambda broken: sql_trace.generate(80, 2 if broken else 0),
        ["reference", "threaded", "numba"],
    ),
    "sql.pipe:untainted": (
        {"header": "kind,text,to", "null": "zero"},
        lambda broken: sql_trace.generate(80, 2 if broken else 0),
        ["reference", "threaded", "numba"],
    ),
    "spontaneous.pipe:spontaneous": ({"columns": {"ids": "characters/character/id"}}, "appears", None),
    "bashing.pipe:bashing": ({"columns": {"status": pingus_trace.column("status")}}, "vanishes", None),
    "turn_around.pipe:turn_around": (
        {"columns": {f"e.{name}": pingus_trace.column(name) for name in pingus_trace.COLUMNS}},
        "rebel",
        None,
    ),
}
"""How a query is read, its trace, and the backends that take it: none compiles maps that are inputs."""


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("query", QUERIES)
def test_all_backends_say_the_same(query, broken, tmp_path):
    """Verdict and position (a line for each event), and culprits."""
    given, trace, backends = QUERIES[query]
    path = tmp_path / "log.xml"
    if backends is None:
        game = list(pingus_trace.generate(4, 260, trace if broken else ""))
        path.write_text("".join(pingus_trace.as_xml(i, each) for i, each in enumerate(game)))
        given, backends = {**given, "xml": "message"}, ["reference", "threaded", "processes"]
    else:
        path = tmp_path / "log.csv"
        path.write_text("".join(",".join(map(str, event)) + "\n" for event in trace(broken)))
    file, _, name = query.partition(":")
    program, said = read_file(MODELS / file).get(name).pipeline, {}
    for backend in backends:
        made = tmp_path / f"{backend}.csv"
        wb.run(program, path, output=made, **given, **BACKENDS[backend])
        said[backend] = made.read_text()
    assert len(set(said.values())) == 1, said
    found = said["reference"].splitlines()[1:]
    assert (bool(found) if name in ("broken", "culprit") else "false" in said["reference"]) == broken
