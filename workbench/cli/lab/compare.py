"""List the changes between two runs, beyond noise."""

from __future__ import annotations

import argparse
import contextlib
import json

from workbench.cli.lab.suites import load_results, open_lab, place_options
from workbench.errors import InputError, SuiteError


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    place_options(parser)
    text = "a run, code version or commit of `lab list SUITE`, or its beginning"
    parser.add_argument("before", metavar="A", help=text)
    parser.add_argument("after", metavar="B", help="another")
    parser.add_argument("--json", action="store_true", help="print only a JSON object per difference")


def execute(args: argparse.Namespace) -> int:
    """Print the changes between two runs; return 1 if there are any."""
    from workbench.lab.compare import compare, find_run
    from workbench.lab.table import is_timing

    stored = load_results(args.data)
    suite, before = find_run(stored, args.before)
    other, after = find_run(stored, args.after)
    if suite != other:
        raise InputError(f"{args.before} is a run of '{suite}', {args.after} one of '{other}'")
    measured: set[tuple[str, str]] = set()
    with contextlib.suppress(SuiteError):  # results can be compared even without the suite
        experiments = open_lab(args, suite).suite.experiments.values()
        measured = {(e.name, n) for e in experiments for n, o in e.outputs.items() if o.measured or is_timing(o.unit)}
    comparison = compare(before, after, measured)
    for change in comparison.changes:
        print(json.dumps(change.to_json()) if args.json else str(change))
    if not args.json:
        print(comparison.summary)
    return 1 if comparison.changes else 0
