"""List the suites, or the experiments and runs of one."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import TYPE_CHECKING

from workbench.cli.lab.suites import open_lab, place_options, warn
from workbench.errors import SuiteError, WorkbenchError

if TYPE_CHECKING:
    from workbench.lab.plan import Lab
    from workbench.lab.result import Result


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    place_options(parser)
    parser.add_argument("suite", nargs="?", help="its name")


def execute(args: argparse.Namespace) -> int:
    """List the suites, or the contents of one."""
    from workbench.lab.plan import hash_workbench
    from workbench.lab.suite_search import suite_files

    if args.suite:
        _show_suite(open_lab(args, args.suite))
        return 0
    files = suite_files(args.experiments)
    if not files:
        raise SuiteError("there is no suite", where=str(args.experiments), hint="a suite defines `suite = Suite(...)`")
    bad, program = 0, hash_workbench()
    for name in files:
        try:
            lab = open_lab(args, name)
            print(f"{name.ljust(max(map(len, files)))}  {_state(lab, program)}  {lab.suite.title}")
        except WorkbenchError as error:
            bad += 1
            print(f"{name.ljust(max(map(len, files)))}  cannot be loaded: {error.message}")
    return 2 if bad else 0


def _state(lab: Lab, program: str = "") -> str:
    from workbench.lab.plan import SweepPlan
    from workbench.lab.result import Status

    plan = SweepPlan.of(lab, program=program)
    warn(plan.broken)
    failures = Counter(plan.done.get(task.id, Status.OK) for task in plan.wanted)
    del failures[Status.OK]
    ended = ", ".join(f"{count} {status}" for status, count in failures.items())
    return f"{plan.measured:>6} of {len(plan.wanted):>6} measured{f' ({ended})' if ended else ''}"


def _show_suite(lab: Lab) -> None:
    from workbench.core.readable import plural

    suite = lab.suite
    print(f"{suite.name}: {suite.title}\n  {' '.join(_state(lab).split())} with the code as it is now")
    for experiment in suite.experiments.values():
        print(f"\n{experiment.name}: {' '.join(experiment.doc.split())}".rstrip(": "))
        for axis, values in experiment.region.axes.items():
            text = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
            print(f"    {axis}: {text}")
        times = f", each measured {experiment.repeat} times" if experiment.repeat > 1 else ""
        print(f"    {plural(len(experiment.region), 'point')}{times}; limits of a point: {experiment.limits}")
        for name, output in experiment.outputs.items():
            print(f"    -> {name}{f' ({output.unit})' if output.unit else ''}: {output.description}")
    products = {what: ", ".join(getattr(suite, what)) for what in ("tables", "plots", "claims", "macros")}
    if any(products.values()):
        print()
    for what, names in products.items():
        if names:
            print(f"{what}: {names}")
    results, _ = lab.store.results()
    runs: dict[str, list[Result]] = {}
    for result in results:
        runs.setdefault(result.run, []).append(result)
    if runs:
        print("\nruns:")
    for name, group in runs.items():
        print(f"    {name}  {len(group)} measured, code {group[-1].code}, commit {group[-1].commit[:12] or 'unknown'}")
