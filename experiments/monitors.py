"""Every system of smv/systems with every monitor of models/monitors: verdicts, seconds, formulas that say the same.

    python experiments/monitors.py [--out reports/monitors]

The formula is asked of the system alone, without any pipeline: an independent way to the same verdict.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import TypeVar

import workbench as wb
from workbench.language import Source, read_file
from workbench.smv.engines.engine import Query, Task
from workbench.verify.answer.verdict import Verdict
from workbench.verify.ask.labels import property_from
from workbench.verify.decide.table import get_engine

ROOT = Path(__file__).resolve().parent.parent
T = TypeVar("T")
MONITORS = ROOT / "models" / "monitors"
SYSTEMS = ROOT / "smv" / "systems"


def never_for(condition: str, steps: int) -> str:
    """LTL: the condition is never true that many steps in a row."""
    nested = condition
    for _ in range(steps - 1):
        nested = f"{condition} & X ({nested})"
    return f"G !({nested})"


def weak_until(left: str, right: str) -> str:
    """LTL: `left` until `right`, or for ever."""
    return f"((({left}) U ({right})) | G ({left}))"


def every(cases: Iterator[str]) -> str:
    """LTL: all of the cases, always."""
    return "G (" + " & ".join(f"({case})" for case in cases) + ")"


def counts(k: int) -> str:
    """LTL: `recent` is the number of the k previous steps with a request (the formula of TIME 2021, section 4.3).

    One case for each way in which requests can come in k steps, nested as in the paper.
    """

    def after(seen: int, left: int) -> str:
        if not left:
            return f"recent = {seen}"
        return f"((request -> X {after(seen + 1, left - 1)}) & (!request -> X {after(seen, left - 1)}))"

    return f"G {after(0, k)}"


RISES = "(!q_critical & X q_critical & X p_waits)"
ALONE, GIVEN = "(accepts & !delivers)", "(delivers & !accepts)"

FORMULAS: dict[str, str] = {
    "peterson:mutual_exclusion": "G !(p_critical & q_critical)",
    "peterson:no_overtaking": f"G !({RISES} & X ((X p_waits) U {RISES}))",
    "peterson:no_starvation": "G F !p_waits",
    "traffic_light:one_red": "G (main_road = red | side_road = red)",
    "traffic_light:right_order": every(
        f"main_road = {a} -> X (main_road = {a} | main_road = {b})"
        for a, b in (("green", "yellow"), ("yellow", "red"), ("red", "green"))
    ),
    "traffic_light:yellow_lasts": (
        "G !(main_road != yellow & X (main_road = yellow & X main_road = red))"
        " & G !(main_road = yellow & X (main_road = yellow & X (main_road = yellow & X main_road = red)))"
    ),
    "traffic_light:patience": never_for("waiting", 11),
    "elevator:closed_while_moving": every(
        f"floor = {f} & X floor != {f} -> door = closed & X door = closed" for f in range(4)
    ),
    "elevator:floor_by_floor": every(
        f"floor = {f} -> X (floor >= {f - 1} & floor <= {f + 1})" for f in range(4)
    ),
    "elevator:opens_on_call": "G (door = closed & X door = open -> called)",
    "elevator:patience": never_for("call3", 18),
    "elevator:answered": "G F !call3",
    "token_ring:one_token": "G tokens <= 1",
    "token_ring:round_and_round": every(
        f"tokens > 0 & holder = {i} -> X "
        + weak_until("tokens = 0", f"tokens > 0 & (holder = {i} | holder = {(i + 1) % 4} | holder = 0)")
        for i in range(4)
    ),
    "token_ring:soon_replaced": never_for("tokens = 0", 8),
    "token_ring:everybody_sends": "G F s2.token",
    "alternating_bit:in_order": "("
    + weak_until("!delivers", "accepts & !delivers")
    + ") & "
    + every(
        f"accepts & offers = {d} -> X "
        + weak_until("!accepts & !delivers", f"!accepts & delivers & delivered = {d} & X "
                     + weak_until("!delivers", "accepts & !delivers"))
        for d in range(4)
    ),
    "alternating_bit:one_at_a_time": f"G !({ALONE} & X (!{GIVEN} U {ALONE}))",
    "alternating_bit:progress": "G F delivers",
    "producer_consumer:at_most_three": "G filled <= 3",
    "producer_consumer:moving": "G F consumes",
    "request_counter:steady": every(
        f"recent = {v} -> X (recent >= {v - 1} & recent <= {v + 1})" for v in range(17)
    ),
}  # fmt: skip
"""`FILE:PIPELINE` to the LTL formula over the states of the system that says what the monitor watches for.

Missing are what the monitors are for: that a counter is right takes a case for each of 2^16 histories, that a buffer is
first in, first out one for each content of the buffer.
"""

QUEUES = {"alternating_bit:in_order": 3, "producer_consumer:first_in_first_out": 4}
"""Capacities of queues where two do not reach: what is on its way, and one more for what the faulty variant loses."""


@dataclass(frozen=True)
class Case:
    """A system with a monitor that watches it."""

    monitor: str
    system: str

    @property
    def faulty(self) -> bool:
        """Whether the system is the faulty variant: its name says what of."""
        return self.system != self.monitor.partition(":")[0]

    @property
    def formula(self) -> str:
        """The formula that says the same, if there is one."""
        return FORMULAS.get(self.monitor, "")

    @property
    def q(self) -> int:
        """Events in a queue."""
        return QUEUES.get(self.monitor, 2)


@cache
def source(name: str) -> Source:
    """A file of monitors."""
    return read_file(MONITORS / f"{name}.pipe", include=[ROOT])


def cases() -> list[Case]:
    """All of them, as the monitor statements say."""
    found = []
    for path in sorted(MONITORS.glob("*.pipe")):
        for name in source(path.stem).pipelines:
            for statement in source(path.stem).get(name).monitors:
                found += [Case(f"{path.stem}:{name}", Path(system).stem) for system in statement.systems]
    return found


def decide(case: Case, engine: str = "auto") -> Verdict:
    """What the monitor says."""
    file, _, name = case.monitor.partition(":")
    loaded = source(file).get(name)
    statement = next(m for m in loaded.monitors if any(Path(s).stem == case.system for s in m.systems))
    prop = property_from(statement.checks[0]) if statement.checks else wb.properties.never_false()
    settings = wb.Settings(q=case.q, engine=engine, seconds=120)
    path = str((SYSTEMS / f"{case.system}.smv").relative_to(ROOT))
    verdict: Verdict = wb.monitor(
        path, loaded.pipeline, prop, bind=statement.bind, when=statement.when, settings=settings
    )
    return verdict


def ask_formula(case: Case, engine: str = "auto") -> bool | None:
    """What the engine says of the formula on the system alone."""
    text = (SYSTEMS / f"{case.system}.smv").read_text(encoding="utf-8")
    return get_engine(engine).check(Task(text, (Query("ltl", case.formula),))).answers[0].truth


@dataclass(frozen=True)
class Row:
    """One line of the report."""

    system: str
    monitor: str
    asked: str
    verdict: str
    steps: int | None
    seconds: float
    formula: str
    formula_seconds: float | None

    @property
    def agrees(self) -> bool:
        """Whether the formula, where there is one, gives the same verdict."""
        return not self.formula or self.formula == self.verdict


def fastest(work: Callable[[], T], runs: int = 3) -> tuple[T, float]:
    """What some work gives, and the wall seconds of the fastest of some runs."""
    taken = []
    for _ in range(runs):
        begin = time.perf_counter()
        found = work()
        taken.append(time.perf_counter() - begin)
    return found, min(taken)


def measure(case: Case) -> Row:
    """The verdicts and what they took."""
    verdict, seconds = fastest(lambda: decide(case))
    told, formula_seconds = "", None
    if case.formula:
        truth, formula_seconds = fastest(lambda: ask_formula(case))
        told = {True: "holds", False: "fails", None: "unknown"}[truth]
    trace = verdict.counterexample
    return Row(case.system, case.monitor, verdict.property, str(verdict.outcome), len(trace.steps) if trace else None,
               seconds, told, formula_seconds)  # fmt: skip


def report(rows: list[Row]) -> str:
    """The page."""
    lines = [
        "# Monitors over systems",
        "",
        f"Written by `python experiments/monitors.py` on Python {platform.python_version()}, {platform.machine()}, "
        f"with {get_engine().version()}. Seconds are wall time, the fastest of three runs, on a machine with "
        f"{os.cpu_count()} cores and a load of {os.getloadavg()[0]:.0f} meanwhile; those of a monitor include typing "
        "its inputs, the verdict, the replay, and whether it speaks at all.",
        "",
        "| system | monitor | asked | verdict | steps | seconds | formula | seconds |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        formula = row.formula or "-"
        other = "-" if row.formula_seconds is None else f"{row.formula_seconds:.2f}"
        lines.append(
            f"| {row.system} | {row.monitor} | {row.asked} | {row.verdict} | {row.steps or '-'} | {row.seconds:.2f} "
            f"| {formula} | {other} |"
        )
    agreeing = sum(row.agrees for row in rows if row.formula)
    asked = sum(bool(row.formula) for row in rows)
    slowest = max(rows, key=lambda row: row.seconds)
    lines += [
        "",
        f"{agreeing} of {asked} verdicts that can be had from an LTL formula agree with it. The slowest is "
        f"{slowest.monitor} over {slowest.system}, {slowest.seconds:.1f} s; all {len(rows)} take "
        f"{sum(row.seconds for row in rows):.1f} s.",
        "",
        "`steps` is the length of the counterexample; each is confirmed by running the pipeline and by following the "
        "system alone. Where there is no formula, it would have a case for each history: for the counter of requests "
        f"{len(counts(4))} characters at k = 4, {len(counts(8))} at k = 8, {len(counts(12))} at k = 12, and twice as "
        "many for each step more.",
        "",
    ]
    return "\n".join(lines)


def main() -> int:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=ROOT / "reports" / "monitors")
    out = parser.parse_args().out
    get_engine()
    rows = []
    for case in cases():
        rows.append(measure(case))
        print(f"{rows[-1].verdict:20} {case.monitor} over {case.system}  {rows[-1].seconds:.2f} s", flush=True)
    out.mkdir(parents=True, exist_ok=True)
    (out / "README.md").write_text(report(rows), encoding="utf-8")
    (out / "data.json").write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")
    return 0 if all(row.agrees for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main())
