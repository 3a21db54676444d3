"""All engines of rules against the formulas, on random rules and streams, by the hundred thousand.

workbench lab run rule_conformance
"""

from __future__ import annotations

from typing import Any

from workbench.executors.table import engines_here
from workbench.lab import Limits, Output, Region, Suite, fails, median, ok, total, warns
from workbench.lab.claim import Judgement
from workbench.lab.data import Data

suite = Suite(
    "rule_conformance",
    "Conformance: engines of rules against the formulas",
    """
A case is a random set of rules with all operators, a random stream with equal times and bursts, facts, snapshots in the
middle, and T-Rex's windows now and then. Every engine has to tell what the formulas of the papers tell, in that order.
A point is an engine and a range of cases, each made from its number; it ends at the first disagreement, which is made
small.
""",
)
SIZE = 1000
"""Cases of a point."""
POINTS = 100


def load() -> None:
    """Import what makes cases and runs them."""
    import workbench.conformance.compare.rule_engines
    import workbench.conformance.generate.rule_cases  # noqa: F401


@suite.experiment(
    Region(engine=list(engines_here()), first=range(0, POINTS * SIZE, SIZE)),
    limits=Limits(seconds=600, memory_mb=3000), persistent=True, warm_up=load, expected=lambda: {"disagreements": 0},
    cases=Output("random cases that were run", kind=int),
    rules=Output("rules in these cases", kind=int),
    events=Output("events from outside", kind=int),
    composites=Output("composites that the formulas tell", kind=int),
    disagreements=Output("cases in which an engine tells something else", kind=int),
    shrunk=Output("the first disagreement, made small; empty where there is none", kind=str),
)  # fmt: skip
def agree(engine: str, first: int) -> dict[str, Any]:
    """An engine, on the cases of a range of numbers."""
    from workbench.conformance.compare.rule_engines import evaluate_meaning, smallest_disagreement
    from workbench.conformance.generate.rule_cases import random_case

    only = {engine: engines_here()[engine]}
    found = dict.fromkeys(("cases", "rules", "events", "composites", "disagreements"), 0)
    for number in range(first, first + SIZE):
        case = random_case(number)
        meant = evaluate_meaning(case)
        found["cases"] += 1
        found["rules"] += len(case.rules.rules)
        found["events"] += len(case.events)
        found["composites"] += 0 if isinstance(meant, str) else len(meant)
        if (differs := smallest_disagreement(case, only)) is not None:
            shrunk = f"case {number}: {differs}\n{differs.case.rules}"
            return found | {"disagreements": 1, "shrunk": shrunk}
    return found | {"shrunk": ""}


suite.table(
    "agreement", of=agree, rows="engine", title="Agreement",
    cells={"cases": total("cases"), "rules": total("rules"), "events": total("events"),
           "composites": total("composites"), "disagreements": total("disagreements"), "CPU, s": total("cpu_seconds")},
)  # fmt: skip
suite.plot(
    "times", of=agree, series="engine", y=median("cpu_seconds"), kind="histogram", title="CPU time of 1,000 cases"
)


@suite.claim("All engines emit what the formulas define")
def all_agree(data: Data) -> Judgement:
    rows = data.rows(agree)
    bad = [row for row in rows if row["status"] != "ok"]
    differing = [row for row in rows if row["disagreements"]]
    if differing:
        return fails(f"{len(differing)} disagreements; the first: {differing[0]['shrunk']}")
    if bad:
        return fails(f"{len(bad)} of {len(rows)} ranges did not end: {bad[0]['reason']}")
    wanted = len(engines_here()) * POINTS
    said = f"{sum(row['cases'] for row in rows)} of {wanted * SIZE} cases, each engine for itself"
    return ok(said) if len(rows) == wanted else warns(said)
