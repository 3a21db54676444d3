"""Table 1 of the multi-threading paper: the six queries of the 2016 competition, from a log to the verdict."""

from __future__ import annotations

import csv
import itertools
import os
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import workbench as wb
from experiments import auction_trace, by_key, candidates_trace, pingus_trace, sql_trace
from workbench.events.read import read_events
from workbench.executors.table import run_options
from workbench.executors.threaded.advise import Advice, advise
from workbench.lab import Limits, Output, Region, Suite, fails, median, ok, only, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data
from workbench.lab.table import Beside

MODELS = Path(__file__).resolve().parent.parent / "models" / "crv2016"
CORES = os.cpu_count() or 1


@dataclass(frozen=True)
class Query:
    """A form of a query, and the log that it is run on.

    Attributes
    ----------
    model: the pipeline, `FILE:NAME`.
    log: which log, and how many rows are read of it at most, in each size.
    options: how it is read.
    pattern: of section 4, where the paper's threads, or our processes, are.
    paper: events a second and load of Table 1: without threads, and with.
    """

    model: str
    log: str
    rows: Mapping[str, int | None]
    pattern: str
    paper: tuple[float | None, ...] = (None,) * 4
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def program(self) -> wb.Pipeline:
        """The pipeline."""
        file, _, name = self.model.partition(":")
        return wb.read_file(MODELS / f"{file}.pipe").get(name).pipeline

    def given(self, size: str) -> dict[str, Any]:
        """The options of `wb.run`."""
        rows = self.rows.get(size)
        return {**self.options, **({"head": rows} if rows else {})}


PINGUS = {"xml": "message"}
STATUS = {**PINGUS, "columns": {"status": pingus_trace.column("status")}}
FIELDS = {**PINGUS, "columns": {f"e.{name}": pingus_trace.column(name) for name in pingus_trace.COLUMNS}}
CANDIDATES = {"header": "kind,who,what,rank"}
NESTED, ONCE = "copies of nested quantifiers", "copies of a quantifier, once at the end"
AUCTION, CANDIDATE, BASHING, SPONTANEOUS, TURN = (
    (28_449.5, 30_487.8, 0.601, 0.345), (28.8, 127.9, 0.315, 0.906), (511.8, 742.5, 0.374, 0.593),
    (742.1, 782.4, 0.308, 0.467), (16.6, 30.9, 0.353, 0.772),
)  # fmt: skip
"""Table 1 as it stands in the paper; the two loads of the auction look swapped there."""
QUERIES = {
    "auction": Query("auction:auctions", "auction", {}, "slices, with an event to all of them", AUCTION,
                     {"header": "kind,item,amount,period"}),
    "candidates": Query("candidates:chosen", "candidates", {}, ONCE, CANDIDATE, CANDIDATES),
    "naive candidates": Query("candidates:naive", "few candidates", {}, NESTED, CANDIDATE, CANDIDATES),
    "bashing": Query("bashing:bashing", "game", {}, "copies of a quantifier", BASHING, STATUS),
    "naive bashing": Query("bashing:naive", "bashers", {"whole": 1500, "tiny": 600},
                            "copies of a quantifier, of which some wait", BASHING, STATUS),
    "spontaneous": Query("spontaneous:spontaneous", "game", {}, "copies of a quantifier; the paper pipelines the "
                         "parser", SPONTANEOUS, {**PINGUS, "columns": {"ids": "characters/character/id"}}),
    "turn around": Query("turn_around:turn_around", "game", {}, NESTED, TURN, FIELDS),
    "naive turn around": Query("turn_around:naive", "game", {}, NESTED, TURN, FIELDS),
    "naive turn around, 40": Query("turn_around:naive", "crowd", {}, NESTED, (None,) * 4, FIELDS),
    "sql": Query("sql:verdict", "sql", {}, "none: one state machine", options={"header": "kind,text,to",
                                                                               "null": "zero"}),
}  # fmt: skip
KEYED: dict[str, tuple[str, dict[str, Any]]] = {
    "auction": ("auction:auction", {"key": "e.item"}),
    "bashing": ("bashing:by_pingu", {"key": "pingu"}),
    "spontaneous": ("spontaneous:by_pingu", {"key": "pingu", "columns": {"event": "e.event"}}),
}
"""The queries as runs for each key, and how their logs are read."""
SIZES: dict[str, dict[str, int]] = {
    "tiny": {
        "auction": 30,
        "candidates": 20,
        "few candidates": 4,
        "game": 1500,
        "bashers": 1500,
        "crowd": 50,
        "sql": 500,
    },
    "whole": {
        "auction": 3000,
        "candidates": 4000,
        "few candidates": 80,
        "game": 9000,
        "bashers": 3000,
        "crowd": 2000,
        "sql": 200_000,
    },
}
"""Items, voters, voters, snapshots of 10 Pingus (fewer where they bash soon) and of 40, events."""
HOW: dict[str, dict[str, Any]] = {
    "one thread": {"backend": "reference"},
    "threads": {"backend": "threaded", "threads": CORES},
    "processes": {"backend": "reference", "processes": CORES},
    "compiled": {"backend": "compiled"},
}

suite = Suite(
    "crv2016",
    "The six queries of the 2016 competition: Table 1 of the multi-threading paper",
    f"""
Hallé, Khoury, Gaboury measure throughput (events a second of wall-clock time) and the load lambda (section 5.1: how
busy the cores are, 1 being all of them) of queries of the Competition on Runtime Verification, without threads and with
the best that they found, on 4 cores. Here each query runs from its log, made up with the competition's statistics
(`experiments/*_trace.py`), to its verdict, {CORES} threads or worker processes where there are several. A query runs
twice in a process of its own, and the second run counts; the load is that of the process and its workers.

| query | pipeline | pattern of section 4 |
|---|---|---|
{chr(10).join(f"| {name} | `{query.model}` | {query.pattern} |" for name, query in QUERIES.items())}

The logs of Pingus have 9,000 snapshots of 10 of them, as some of the competition's, in others of which there are up to
90; `40` has 2,000 snapshots of 40, and naive bashing is asked of the first 1,500 of 3,000, in which somebody bashes.
`naive` is the form of the paper, which evaluates all of it at each event; the forms beside it are equivalent by the
model checker. Three of them can be a run for each key, on Spark too, of a log in which
every row is of one key (`experiments/by_key.py`): items, to which ends of days are copied, and Pingus, of which an
event has a row each. No row of the others is of one key: turning around is about two Pingus, a text is derived from
another, and a candidate counts for all voters (copied to each of 32,700 voters, 6,761 candidates are 221 million rows).

Tiny logs are for trying whether all of it runs: `workbench lab run crv2016 --where size=tiny`.
""",
    depends=[
        "models/crv2016",
        *(f"experiments/{each}_trace.py" for each in ("auction", "candidates", "pingus", "sql")),
        "experiments/by_key.py",
    ],
)


# --- logs -----------------------------------------------------------------------------------------------------------


@suite.prerequisite
def log(path: Path, query: str, size: str) -> None:
    """The log of a query."""
    name = QUERIES[query].log
    count = SIZES[size][name]
    with path.open("w") as file:
        if name in ("game", "bashers", "crowd"):
            file.writelines(_game(pingus_trace.generate(40 if name == "crowd" else 10, count)))
        elif name == "auction":
            file.writelines(map(_csv, auction_trace.generate(count)))
        elif name == "sql":
            file.writelines(map(_csv, sql_trace.generate(count)))
        else:
            parties = () if name == "candidates" else (count,)
            file.writelines(map(_csv, candidates_trace.generate(count, *parties)))


@suite.prerequisite
def keyed_log(path: Path, query: str, size: str) -> None:
    """The same log, every row of one key."""
    with path.open("w") as file:
        if query == "auction":
            by_key.write(file, "item", by_key.by_item(auction_trace.generate(SIZES[size]["auction"])))
        else:
            by_key.write(file, "pingu", by_key.by_pingu(pingus_trace.generate(10, SIZES[size]["game"])))


def _game(snapshots: Iterable[pingus_trace.Snapshot]) -> Iterator[str]:
    yield "<trace>\n"
    for number, each in enumerate(snapshots):
        yield pingus_trace.as_xml(number, each)
    yield "</trace>\n"


def _csv(event: Iterable[object]) -> str:
    return ",".join(map(str, event)) + "\n"


def events(query: Query, program: wb.Pipeline, size: str, path: Path) -> Iterator[Mapping[str, Any]]:
    """The events of a log, as many as are run."""
    return read_events(path, program, run_options(query.given(size)).reading())


# --- experiments ----------------------------------------------------------------------------------------------------


def _cpu() -> float:
    """CPU seconds of this process and of the workers that have ended."""
    return sum(os.times()[:4])


@suite.experiment(
    Region(size=list(SIZES), query=list(QUERIES), how=list(HOW)).excluding(
        lambda query, how: query == "sql" and how == "processes"
    ),
    limits=Limits(seconds=300, memory_mb=4096), repeat=2, needs=[log], expected=lambda: {"holds": True},
    events=Output("events of the log", kind=int), rate=Output("events a second", "1/s"),
    busy=Output("events a CPU second of all processes", "1/s"),
    lambda_=Output("load, of section 5.1", measured=True), holds=Output("what it says in the end", kind=bool),
)  # fmt: skip
def throughput(size: str, query: str, how: str, log: Path) -> dict[str, Any]:
    """A query from its log to the verdict."""
    chosen, given = QUERIES[query], {**HOW[how], **QUERIES[query].given(size), "format": "csv"}
    if "xml" in given:
        given["format"] = "xml"
    program, out = chosen.program, log.parent / f"{os.getpid()}.jsonl"
    for _ in range(2):
        wall, cpu = time.perf_counter(), _cpu()
        wb.run(program, log, output=out, **given)
        wall, cpu = time.perf_counter() - wall, _cpu() - cpu
    last = out.read_text().splitlines()[-1]
    out.unlink()
    count = sum(1 for _ in events(chosen, program, size, log))
    load = cpu / wall / CORES
    return {"events": count, "rate": count / wall, "busy": count / cpu, "lambda_": load, "holds": "false" not in last}


@suite.experiment(
    Region(size=list(SIZES), query=list(KEYED), how=["by key", "Spark by key"]),
    limits=Limits(seconds=300, memory_mb=8192), needs=[log, keyed_log], expected=lambda: {"holds": True},
    rows=Output("rows, each of one key", kind=int), rate=Output("events of the query's log a second", "1/s"),
    keys=Output("keys", kind=int), holds=Output("whether every key's run says true in the end", kind=bool),
)  # fmt: skip
def keyed(size: str, query: str, how: str, log: Path, keyed_log: Path) -> dict[str, Any]:
    """A query as a run for each key, from a log in which every row is of one key to the verdicts; start included."""
    model, given = KEYED[query]
    file, _, name = model.partition(":")
    program = wb.read_file(MODELS / f"{file}.pipe").get(name).pipeline
    out = log.parent / f"{os.getpid()}.csv"
    begun = time.perf_counter()
    backend = "spark" if how.startswith("Spark") else "reference"
    wb.run(program, keyed_log, output=out, format="csv", backend=backend, **given)
    wall = time.perf_counter() - begun
    last: dict[str, str] = {}
    for part in sorted(out.glob("*.csv")) if out.is_dir() else [out]:
        with part.open() as lines:
            last.update((row[given["key"]], row["out"]) for row in csv.DictReader(lines) if row["out"])
    count = sum(1 for _ in events(QUERIES[query], QUERIES[query].program, size, log))
    with keyed_log.open() as lines:
        rows = sum(1 for _ in lines) - 1
    return {"rows": rows, "rate": count / wall, "keys": len(last), "holds": set(last.values()) == {"true"}}


@suite.experiment(
    Region(size=list(SIZES), query=[query for query in QUERIES if not query.startswith("naive")]),
    limits=Limits(seconds=120), needs=[log],
    rate=Output("events a CPU second that are read", "1/s"),
    parser=Output("rows a CPU second of the parser of XML, whose elements are thrown away; 0 where it is CSV", "1/s"),
)  # fmt: skip
def reading(size: str, query: str, log: Path) -> dict[str, Any]:
    """What the reader of logs takes, without a query."""
    chosen, program, seconds = QUERIES[query], QUERIES[query].program, []
    for _ in range(3):
        begun = time.process_time()
        count = sum(1 for _ in events(chosen, program, size, log))
        seconds.append(time.process_time() - begun)
    parsed = []
    if "xml" in chosen.options:
        for _ in range(3):
            begun, rows = time.process_time(), 0
            for _, element in ElementTree.iterparse(log):
                rows += element.tag == chosen.options["xml"]
                element.clear()
            parsed.append(rows / (time.process_time() - begun))
    return {"rate": count / min(seconds), "parser": max(parsed, default=0.0)}


@suite.experiment(
    Region(size=list(SIZES), query=list(QUERIES)), limits=Limits(seconds=300), needs=[log],
    pattern=Output("the best pattern in threads", kind=str), predicted=Output("what the cost model says of it"),
    gained=Output("what it gained", measured=True), predicted_processes=Output("what the cost model says of processes"),
    gained_processes=Output("what they gained", measured=True), conclusion=Output("what is proposed", kind=str),
)  # fmt: skip
def advised(size: str, query: str, log: Path) -> dict[str, Any]:
    """What `workbench advise` predicts by the paper's cost model, measures and proposes, on a part of the log."""
    most = 1000 if query.startswith("naive") else 2000
    program = QUERIES[query].program
    steps = list(itertools.islice(events(QUERIES[query], program, size, log), most))
    found = advise(program, steps, CORES, wb.certify_nodes(program))
    threads, processes = (next((a for a in found.advice if bool(a.processes) == p), None) for p in (False, True))
    return {
        "pattern": threads.pattern if threads else "none", "conclusion": found.conclusion,
        **_gains(threads, ""), **_gains(processes, "_processes"),
    }  # fmt: skip


def _gains(advice: Advice | None, which: str) -> dict[str, float]:
    """1 where nothing is to be had."""
    return {
        f"predicted{which}": advice.predicted.middle if advice else 1.0,
        f"gained{which}": advice.measured.middle if advice else 1.0,
    }


# --- what they tell -------------------------------------------------------------------------------------------------

WHOLE = {"size": "whole"}
PAPER = "without threads, and the best with threads, on 4 cores"
suite.table(
    "table-1", of=throughput, rows=["query", "how"], where=WHOLE, title="Events a second and load",
    cells={"events/s": median("rate"), "load": median("lambda_"), "events/CPU s": median("busy")},
    beside=[
        Beside(label, ("query", "how"), {
            (name, how): query.paper[first + (how != "one thread")]
            for name, query in QUERIES.items() for how in ("one thread", "threads", "processes")
        }, unit, source=PAPER)
        for label, first, unit in (("paper", 0, "1/s"), ("paper, load", 2, ""))
    ],
)  # fmt: skip
suite.table(
    "keyed", of=keyed, rows=["query", "how"], where=WHOLE, title="A run for each key, the start included",
    cells={"events/s": median("rate"), "rows": median("rows"), "keys": median("keys")},
)  # fmt: skip
suite.table("reading", of=reading, rows="query", where=WHOLE, title="Events a CPU second that are read",
            cells={"read": median("rate"), "parser of XML": median("parser")})  # fmt: skip
suite.table(
    "advice", of=advised, rows="query", where=WHOLE, title="What the cost model predicts, and what was gained",
    cells={
        "pattern in threads": only("pattern"), "predicted": median("predicted"), "gained": median("gained"),
        "processes, predicted": median("predicted_processes"), "processes, gained": median("gained_processes"),
        "proposed": only("conclusion"),
    },
)  # fmt: skip
suite.plot("rates", of=throughput, x="query", y=median("rate"), series="how", kind="bar", log="y", where=WHOLE,
           title="Events a second")  # fmt: skip


def rates(data: Data, how: str) -> dict[str, float]:
    """By query, the median of events a second."""
    found: dict[str, list[float]] = {}
    for row in data.rows(throughput, status="ok", how=how, **WHOLE):
        found.setdefault(row["query"], []).append(row["rate"])
    return {query: sorted(each)[len(each) // 2] for query, each in found.items()}


@suite.claim("The reference executor in one thread makes at least the paper's best of each query")
def as_fast(data: Data) -> Judgement:
    """Naive bashing is the paper's query, too, and all of its positions wait."""
    found = {q: rate / best for q, rate in rates(data, "one thread").items() if (best := QUERIES[q].paper[1])}
    words = ", ".join(f"{query} x {factor:.1f}" for query, factor in found.items())
    return ok(words) if min(found.values()) >= 1 else fails(words)


@suite.claim("Two processes are 1.6 times as fast as one on candidates and turn around in their naive form")
def processes_pay(data: Data) -> Judgement:
    one, several = rates(data, "one thread"), rates(data, "processes")
    """Of 10 Pingus a snapshot takes 0.1 ms, to read it a third of that, and starting the workers counts, too."""
    found = {query: several[query] / one[query] for query in several if query.startswith(("naive c", "naive t"))}
    words = ", ".join(f"{query} x {factor:.2f}" for query, factor in found.items())
    judged = [factor for query, factor in found.items() if query != "naive turn around"]
    return ok(words) if min(judged) >= 1.6 else warns(f"{words}: was a second core free?")


@suite.claim("XML is read at half the rate of its parser, at least")
def parsed(data: Data) -> Judgement:
    found = {
        row["query"]: row["rate"] / row["parser"] for row in data.rows(reading, status="ok", **WHOLE) if row["parser"]
    }
    words = ", ".join(f"{query} x {factor:.2f}" for query, factor in found.items())
    return ok(words) if min(found.values()) >= 0.5 else fails(words)
