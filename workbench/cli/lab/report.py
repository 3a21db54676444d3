"""Write tables, plots and claims, with a link from every number to its measurements."""

from __future__ import annotations

import argparse
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli.lab.suites import engine_options, is_local, open_lab, open_spark, place_options, warn
from workbench.cli.progress import Progress

if TYPE_CHECKING:
    from workbench.lab.data import Data
    from workbench.lab.plan import Lab


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    place_options(parser)
    parser.add_argument("suite", help="its name")
    parser.add_argument("--out", type=Path, help="a folder (default: reports/SUITE)")
    parser.add_argument("--brief", action="store_true", help="leave out the page and the data of cells and points")
    engine_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Write the report; return 1 if a claim fails, else 3 if one lacks results or rests on other code."""
    from workbench.lab.report_files import write_report

    lab = open_lab(args, args.suite)
    out = args.out or Path("reports") / lab.suite.name
    with Progress(f"report on {lab.suite.name}"), _data(args, lab) as data:
        report = write_report(lab, data, out, brief=args.brief)
    warn(report.data.broken)
    for claim, judged in report.claims:
        standing = f"{judged.standing.upper()}{judged.extent}{':' * bool(judged.extent)}"
        print(f"{standing:8} {claim.text}{f': {judged.why}' if judged.why else ''}")
    judgements = [judged for _, judged in report.claims]
    undecided = any(judged.standing == "no data" or judged.extent for judged in judgements)
    if undecided:
        command = " ".join(filter(None, ["workbench lab run", lab.suite.name, lab.options]))
        print(f"results: {report.facts['results']}\n    to measure all points with the code as it is now: {command}")
    print(f"report: {out / ('README.md' if args.brief else 'index.html')}")
    return 1 if any(judged.standing == "fails" for judged in judgements) else 3 if undecided else 0


@contextlib.contextmanager
def _data(args: argparse.Namespace, lab: Lab) -> Iterator[Data]:
    """Yield the results of a suite, and close their engine at the end."""
    if is_local(args):
        from workbench.lab.data import open_data

        with contextlib.closing(open_data(lab.suite, lab.store, lab.code())) as data:
            yield data
        return
    from workbench.lab import spark

    with open_spark(args) as own, contextlib.closing(spark.open_spark(lab.suite, lab.store, own, lab.code())) as data:
        yield data
