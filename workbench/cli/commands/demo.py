"""Check all the models against all properties, and write a report."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.cli.demo_data import Entry
    from workbench.cli.pool import PoolTask
    from workbench.verify.answer.verdict import Verdict

STANDARD = ("liveness", "response", "bounded-liveness(3)", "no-overflow", "no-full-queues")
"""What is asked of every pipeline, besides the `check` lines of its file."""
FOLDER = "build/demo"
"""Where the report goes, ignored by git: it has times."""
_SECONDS = 60.0


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    parser.add_argument("--out", default=FOLDER, metavar="FOLDER", help=f"where the report goes (default: {FOLDER})")
    parser.add_argument("--models", default="models/time2021", metavar="FOLDER", help="the .pipe files to check")
    parser.add_argument("--jobs", type=int, default=2, metavar="J", help="how many at a time (default: 2)")


def execute(args: argparse.Namespace) -> int:
    """Check, print, write; 0 when everything could be decided and no run disagreed with its model."""
    from workbench.cli.demo_data import DemoReport, tasks_of
    from workbench.cli.output import GAP, gap
    from workbench.cli.report import write_report
    from workbench.verify.answer.verdict import Outcome

    begin = time.monotonic()
    tasks = tasks_of(args.models, STANDARD, _SECONDS)
    entries = list(_table(tasks, args.jobs))
    report = DemoReport.of(entries, time.monotonic() - begin, f"workbench demo --models {args.models}")
    print(f"\n{report.summary}")
    written = write_report(report, Path(args.out))
    for entry in entries:
        if entry.verdict.reason:
            print(f"{entry.verdict.pipeline}, {entry.verdict.property}: {entry.verdict.reason}", file=sys.stderr)
        if gap(entry.verdict):
            print(GAP.format(gap(entry.verdict)), file=sys.stderr)
    print(f"report: {written}")
    wrong = any(e.verdict.outcome is Outcome.UNKNOWN or gap(e.verdict) for e in entries)
    return 3 if wrong else 0


def _table(tasks: list[PoolTask], jobs: int) -> Iterator[Entry]:
    """The entries in the order of the tasks; each is printed as soon as those before it are."""
    from workbench.cli.demo_data import Entry
    from workbench.cli.pool import decide_in_parallel
    from workbench.cli.progress import Progress

    problems = [task.problem for task in tasks]
    names = max(len(task.pipeline) for task in tasks)
    asked = max(len(_cut(problem.text)) for problem in problems)
    print(_row("pipeline", names, "property", asked, "verdict", "rests on", "engine", "seconds"))
    print("─" * (names + asked + 74))
    early: dict[int, Verdict] = {}
    following = 0
    with Progress("checking") as progress:
        for number, verdict in decide_in_parallel(tasks, jobs):
            early[number] = verdict
            while following in early:
                entry = Entry(tasks[following], problems[following], early.pop(following))
                progress.clear()
                print(_line(entry, names, asked), flush=True)
                yield entry
                following += 1
            progress.text = f"checking {following} of {len(tasks)}: {tasks[min(following, len(tasks) - 1)].pipeline}"


def _line(entry: Entry, names: int, asked: int) -> str:
    from workbench.cli.demo_data import short
    from workbench.cli.output import SIGNS, colour

    verdict = entry.verdict
    sign, code = SIGNS[verdict.outcome]
    row = _row(
        verdict.pipeline, names, _cut(verdict.property), asked, f"{sign} {verdict.outcome}", short(verdict),
        verdict.engine.partition(" ")[0], f"{verdict.seconds:.2f}",
    )  # fmt: skip
    word = f"{sign} {verdict.outcome}"
    return row.replace(word, colour(word, code, sys.stdout), 1)


def _row(pipeline: str, names: int, asked: str, width: int, verdict: str, rests: str, engine: str, seconds: str) -> str:
    return (
        f"{pipeline.ljust(names)}  {asked.ljust(width)}  {verdict.ljust(21)}  {rests.ljust(30)}  "
        f"{engine.ljust(7)}  {seconds.rjust(7)}"
    )


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
