"""The six queries of the 2016 competition, from a log to the verdict: how many events a second.

    python experiments/crv2016.py [--scale 1.0] [--out reports/crv2016]

Each log is made up with the statistics of the competition's (`*_trace.py`) and run from its file by `wb.run`, twice;
the second run counts. Events a second are of CPU time of all threads. Reading alone is what the reader of the format
takes for the same columns; for XML there is also what its parser takes that makes the elements and throws them away.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import auction_trace
import candidates_trace
import pingus_trace
import sql_trace

import workbench as wb
from workbench.errors import Refused
from workbench.events.read import read_events
from workbench.events.reading import Reading

MODELS = Path(__file__).resolve().parent.parent / "models" / "crv2016"
BACKENDS = ("reference", "threaded", "numba")


@dataclass(frozen=True)
class Query:
    """A query and a log for it.

    Attributes
    ----------
    forms: its pipelines.
    log: the file.
    events: how many are read, of each form.
    paper: the best of Table 1, events a second; None where there is none.
    """

    file: str
    forms: Mapping[str, int]
    log: Path
    paper: float | None
    options: Mapping[str, Any] = field(default_factory=dict)


def written(path: Path, lines: Iterable[str]) -> tuple[Path, int]:
    """A file of these lines, and how many there are."""
    count = 0
    with path.open("w") as file:
        for line in lines:
            file.write(line)
            count += 1
    return path, count


def queries(folder: Path, scale: float) -> list[Query]:
    """The six, with logs in a folder."""
    items, texts, voters, steps = (max(1, int(scale * n)) for n in (3000, 400_000, 4000, 6000))
    auction, bids = written(folder / "auction.csv", (_csv(e) for e in auction_trace.generate(items)))
    sql, uses = written(folder / "sql.csv", (_csv(e) for e in sql_trace.generate(texts)))
    votes, said = written(folder / "candidates.csv", (_csv(e) for e in candidates_trace.generate(voters)))
    few, little = written(folder / "few.csv", (_csv(e) for e in candidates_trace.generate(8, 8)))
    snapshots = pingus_trace.generate(10, max(steps, 1500))
    game, shots = written(folder / "game.xml", _game(snapshots))
    shots -= 1
    xml = {"xml": "message"}
    fields = {f"e.{name}": pingus_trace.column(name) for name in pingus_trace.COLUMNS}
    ids, status = {"ids": "characters/character/id"}, {"status": pingus_trace.column("status")}
    candidates = {"header": "kind,who,what,rank"}
    return [
        Query("auction", {"auctions": bids}, auction, 30_487.8, {"header": "kind,item,amount,period"}),
        Query("candidates", {"chosen": said}, votes, 127.9, candidates),
        Query("candidates", {"naive": little}, few, 127.9, candidates),
        Query("sql", {"verdict": uses}, sql, None, {"header": "kind,text,to", "null": "zero"}),
        Query("bashing", {"bashing": shots, "naive": min(shots, 1500)}, game, 742.5, {**xml, "columns": status}),
        Query("spontaneous", {"spontaneous": shots}, game, 782.4, {**xml, "columns": ids}),
        Query("turn_around", {"turn_around": shots, "naive": min(shots, 1500)}, game, 30.9, {**xml, "columns": fields}),
    ]


def _game(snapshots: Iterable[pingus_trace.Snapshot]) -> Iterable[str]:
    """A line for each, and one that ends it all."""
    for number, each in enumerate(snapshots):
        yield ("" if number else "<trace>\n") + pingus_trace.as_xml(number, each)
    yield "</trace>\n"


def _csv(event: Iterable[object]) -> str:
    return ",".join(map(str, event)) + "\n"


def seconds(work: Callable[[], object]) -> float:
    """CPU time of the second of two runs."""
    work()
    begun = time.process_time()
    work()
    return time.process_time() - begun


def parsed(query: Query, program: Any, events: int) -> float:
    """CPU time of reading the same events."""
    given = {"column": query.options.get("columns"), **query.options, "head": events}
    reading = Reading.of(argparse.Namespace(**given))

    def work() -> None:
        for _ in read_events(query.log, program, reading):
            pass

    return seconds(work)


def bare(path: Path) -> None:
    """What the parser of XML takes by itself."""
    for _, element in ElementTree.iterparse(path):
        element.clear()


def measured(query: Query, folder: Path) -> Iterable[str]:
    """A line of the table for each form and backend."""
    for form, events in query.forms.items():
        program = wb.read_file(MODELS / f"{query.file}.pipe").get(form).pipeline
        reading = events / parsed(query, program, events)
        for backend in BACKENDS:
            options = {**query.options, "head": events, "backend": backend, "output": folder / "out.csv"}

            def work(program: Any = program, options: Any = options) -> None:
                wb.run(program, query.log, **options)

            try:
                rate = f"{events / seconds(work):,.0f}"
            except Refused:
                rate = "refused"
            paper = "" if query.paper is None else f"{query.paper:,.1f}"
            yield f"| {query.file} | {form} | {backend} | {events:,} | {rate} | {reading:,.0f} | {paper} |"


def main() -> int:
    """Measure, print, and write the report."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--scale", type=float, default=1.0, help="how long the logs are")
    parser.add_argument("--out", type=Path, help="folder for README.md")
    given = parser.parse_args()
    about = f"`python experiments/crv2016.py --scale {given.scale}`, {time.strftime('%Y-%m-%d')}, "
    about += (
        f"Python {platform.python_version()}, {os.cpu_count()} cores. Events a CPU second, from a file to the verdict;"
    )
    lines = [
        "# The six queries of the 2016 competition", "",
        f"{about} `reading` is what the reader alone does, `paper` the best of Table 1 (4 cores, wall-clock time).", "",
        "| query | form | backend | events | events/s | reading | paper |", "|---|---|---|---|---|---|---|",
    ]  # fmt: skip
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = queries(folder, given.scale)
        for query in made:
            for line in measured(query, folder):
                print(line, file=sys.stderr)
                lines.append(line)
        game = made[-1]
        rate = game.forms["turn_around"] / seconds(lambda: bare(game.log))
        lines += ["", f"The parser of XML alone: {rate:,.0f} snapshots of 10 Pingus a second."]
    text = "\n".join([*lines, ""])
    print(text)
    if given.out:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "README.md").write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
