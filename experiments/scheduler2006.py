"""Zimmerman and Chandy's scheduler, checked on all small graphs: what they argue informally, and what each part is for.

workbench lab run scheduler2006 --on spark
"""

from __future__ import annotations

from collections import Counter
from itertools import islice
from typing import Any

from experiments.scheduler.claims import CLAIMS, check_scheduler
from experiments.scheduler.graphs import enumerate_graphs
from experiments.scheduler.listings import Variant
from experiments.scheduler.model import SchedulerModel
from experiments.scheduler.replay import CONFIRMED
from workbench.lab import Limits, Output, Region, Suite, fails, ok, total, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data

suite = Suite(
    "scheduler2006",
    "The scheduler of delta-dataflow, model-checked",
    """
Listings 1 and 2 of Zimmerman and Chandy (2006) as a transition system, for every graph whose vertices are numbered in
topological order: a step begins a phase, takes a pair from the run queue or ends one with messages to any successors.
`whole` are all graphs with a satisfactory numbering; the other variants lack one part of the algorithm, and `numbering`
runs on the graphs whose numbering is not satisfactory. Each counterexample is replayed on the running scheduler.
A point is a range of graphs in a fixed order.
""",
)
SIZES = {1: 1, 2: 2, 3: 8, 4: 64, 5: 1024}
"""Numbered graphs of so many vertices, satisfactory or not."""
BLOCK = 32
MEMORY_MB = 1500
"""For the states of a graph; the search reserves half of what there is, if it is not told."""
BROKEN = [str(each.name).lower() for each in Variant]


OUTPUTS = {
    "graphs": Output("graphs that were checked", kind=int),
    "broken": Output("those on which a claim fails", kind=int),
    "undecided": Output("claims that were not decided", kind=int),
    "unconfirmed": Output("counterexamples that the running scheduler does not do", kind=int),
    **{name.replace("-", "_"): Output(f"graphs where this fails: {text}", kind=int) for name, text in CLAIMS.items()},
    "shortest": Output("the shortest counterexample", kind=str),
}  # fmt: skip


def checked(variant: str, size: int, first: int, phases: int, threads: int) -> dict[str, Any]:
    """A range of graphs of one size."""
    lacks = Variant.WHOLE if variant == "whole" else Variant[variant.upper()]
    found, shortest = Counter[str](), list[str]()
    for graph in islice(enumerate_graphs(size), first, first + BLOCK):
        if graph.satisfactory == (lacks is Variant.NUMBERING):
            continue
        verdicts = check_scheduler(SchedulerModel(graph, phases, threads, lacks), memory_mb=MEMORY_MB)
        wrong = [each for each in verdicts if each.outcome == "fails"]
        found["graphs"] += 1
        found["broken"] += bool(wrong)
        found["undecided"] += sum(each.outcome == "unknown" for each in verdicts)
        found["unconfirmed"] += sum(each.replay != CONFIRMED for each in wrong)
        for each in wrong:
            found[each.claim.replace("-", "_")] += 1
            lines = each.run.lines() if each.run else []
            if each.claim != "definitions" and (not shortest or len(lines) < len(shortest)):
                shortest = lines
    return {name: found[name] for name in OUTPUTS if name != "shortest"} | {"shortest": "; ".join(shortest)}


@suite.experiment(
    Region(vertices=list(SIZES), first=range(0, SIZES[5], BLOCK), phases=[3], threads=[3]).excluding(
        lambda vertices, first: first >= SIZES[vertices]
    ),
    limits=Limits(seconds=1800, memory_mb=4000), persistent=True, outputs=OUTPUTS,
)  # fmt: skip
def whole(vertices: int, first: int, phases: int, threads: int) -> dict[str, Any]:
    """The whole algorithm."""
    return checked("whole", vertices, first, phases, threads)


@suite.experiment(
    Region(variant=BROKEN, vertices=[1, 2, 3, 4], first=range(0, SIZES[4], BLOCK), phases=[2], threads=[2]).excluding(
        lambda vertices, first: first >= SIZES[vertices]
    ),
    limits=Limits(seconds=1800, memory_mb=4000), persistent=True, outputs=OUTPUTS,
)  # fmt: skip
def without(variant: str, vertices: int, first: int, phases: int, threads: int) -> dict[str, Any]:
    """The algorithm without one of its parts."""
    return checked(variant, vertices, first, phases, threads)


CELLS = {name: total(name) for name in OUTPUTS if name not in ("shortest", "undecided")} | {
    "CPU, s": total("cpu_seconds")
}
suite.table("claims", of=whole, rows="vertices", title="Graphs on which each claim fails", cells=CELLS)
suite.table("parts", of=without, rows="variant", title="The same without a part of the algorithm", cells=CELLS)


@suite.claim("All claims hold on all numbered graphs up to 5 vertices, with 3 phases and 3 threads")
def all_hold(data: Data) -> Judgement:
    rows = data.rows(whole)
    bad = [row for row in rows if row["status"] != "ok" or row["broken"] or row["undecided"]]
    if bad:
        return fails(f"{len(bad)} of {len(rows)} points: {bad[0]}")
    count = sum(row["graphs"] for row in rows)
    said = f"{count} graphs, {len(CLAIMS)} claims each"
    return ok(said) if count == 649 else warns(f"{said}, of 649")


@suite.claim(
    "Without any of its parts the algorithm fails on some graph, and each failure happens on the running scheduler"
)
def all_needed(data: Data) -> Judgement:
    rows = data.rows(without)
    bad = [row for row in rows if row["status"] != "ok" or row["unconfirmed"]]
    if bad:
        return fails(f"{len(bad)} points: {bad[0]}")
    harm = {variant: sum(r["serialisable"] for r in rows if r["variant"] == variant) for variant in BROKEN}
    said = ", ".join(f"{variant}: not serialisable on {count} graphs" for variant, count in harm.items())
    return ok(said) if all(harm.values()) else warns(said)
