"""Check all the models against all properties, and write a report."""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.verify.answer.problem import Problem
    from workbench.verify.answer.verdict import Verdict

STANDARD = ("liveness", "response", "bounded-liveness(3)", "no-overflow", "no-full-queues")
"""The properties checked on every pipeline, besides the `check` lines of its file."""
MODELS = "models/time2021"
"""The folder of the models: in the working folder, or else the one that comes with workbench."""
FOLDER = "build/demo"
"""The folder of the report, ignored by git because it contains times."""
_SECONDS = 60.0
_DEFAULT_N = 4
"""N, unless a constant of the models needs more."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    parser.add_argument("--out", default=FOLDER, metavar="FOLDER", help=f"the folder of the report (default: {FOLDER})")
    parser.add_argument("--models", default=MODELS, metavar="FOLDER", help="the .pipe files to check")
    parser.add_argument("--jobs", type="positive", default=2, metavar="J", help="checks at a time (default: 2)")


def execute(args: argparse.Namespace) -> int:
    """Check the models, print, and write the report; return 0 if all is decided and no run disagrees with its model."""
    from workbench.cli.demo.results import DemoReport
    from workbench.cli.demo.written import write_report
    from workbench.cli.output import GAP, gap
    from workbench.verify.answer.verdict import Outcome

    begin = time.monotonic()
    verdicts = list(_table(problems_of(args.models), args.jobs))
    report = DemoReport(verdicts, time.monotonic() - begin, f"workbench demo --models {args.models}")
    print(f"\n{report.summary}")
    written = write_report(report, Path(args.out))
    reasons = Counter(verdict.reason for verdict in verdicts if verdict.reason)
    for verdict in verdicts:
        if others := reasons.pop(verdict.reason, 0):
            more = f" (and {others - 1} others)" * (others > 1)
            print(f"{verdict.pipeline}, {verdict.property}{more}: {verdict.reason}", file=sys.stderr)
        if gap(verdict):
            print(GAP.format(gap(verdict)), file=sys.stderr)
    print(f"report: {written}")
    return 3 if any(v.outcome is Outcome.UNKNOWN or gap(v) for v in verdicts) else 0


def problems_of(folder: str) -> list[Problem]:
    """Return the problems for the models of a folder: the standard properties, then those in the files.

    A pipeline that occurs in several files, as small parts do, is included once.
    """
    from importlib.resources import files
    from itertools import groupby

    from workbench.errors import InputError
    from workbench.language import Loaded
    from workbench.verify.answer.problem import problems
    from workbench.verify.answer.settings import Settings

    root = Path(folder)
    if folder == MODELS and not root.is_dir():
        root = Path(str(files("workbench"))) / MODELS
    paths = sorted(root.glob("**/*.pipe"))
    if not paths:
        raise InputError(f"there is no .pipe file in '{folder}'", hint="name a folder of models with --models")
    folder_problems: list[Problem] = []
    pipelines: list[Pipeline] = []
    for file in paths:
        file_problems = problems(file, Settings(n=_DEFAULT_N, seconds=_SECONDS, grow=0), STANDARD)
        for loaded, group in groupby(file_problems, lambda problem: problem.subject):
            if isinstance(loaded, Loaded) and loaded.pipeline not in pipelines:
                pipelines.append(loaded.pipeline)
                folder_problems += group
    return folder_problems


def _table(problems: list[Problem], jobs: int) -> Iterator[Verdict]:
    """Yield the verdicts in the order of the problems, and print each as soon as the earlier ones are printed."""
    from workbench.cli.progress import Progress
    from workbench.verify.answer.check_all import check_all

    widths = max(len(problem.name) for problem in problems), max(len(_cut(problem.text)) for problem in problems)
    heading = _row(widths, "pipeline", "property", "verdict", "rests on", "engine", "seconds")
    print(heading, "─" * len(heading), sep="\n")
    with Progress("checking") as progress:
        for number, (decided, verdict) in enumerate(check_all(problems, jobs=jobs, ordered=True), 1):
            progress.clear()
            print(_line(verdict, widths), flush=True)
            yield verdict
            progress.text = f"checked {number} of {len(problems)}: {decided.name}"


def _line(verdict: Verdict, widths: tuple[int, int]) -> str:
    from workbench.cli.output import SIGNS, colour, short

    sign, code = SIGNS[verdict.outcome]
    word = f"{sign} {verdict.outcome}"
    engine = verdict.engine.partition(" ")[0]
    row = _row(
        widths, verdict.pipeline, _cut(verdict.property), word, short(verdict), engine, f"{verdict.seconds:7.2f}"
    )
    return row.replace(word, colour(word, code, sys.stdout), 1)


def _row(widths: tuple[int, int], *cells: str) -> str:
    return "  ".join(cell.ljust(width) for cell, width in zip(cells, (*widths, 21, 30, 7, 7), strict=True))


def _cut(text: str) -> str:
    return text if len(text) <= 40 else f"{text[:39]}…"
