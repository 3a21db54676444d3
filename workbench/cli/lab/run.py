"""Run the missing measurements."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from workbench.cli.lab.suites import engine_options, is_local, open_lab, open_spark, place_options, plain_result, warn
from workbench.cli.progress import Progress
from workbench.errors import InputError, did_you_mean

if TYPE_CHECKING:
    from workbench.lab.plan import Lab, Measurement, Origin, Selection, SweepPlan
    from workbench.lab.region import Scalar
    from workbench.lab.result import Result
    from workbench.lab.sweep_progress import Pace

MAX_FAILURES = 10
BETWEEN_LINES = 15.0
"""Seconds between two lines of progress without a terminal."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    place_options(parser)
    parser.add_argument("suite", help="its name")
    engine_options(parser)
    parser.add_argument("--only", action="append", default=[], metavar="EXPERIMENT", help="only this one (repeatable)")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="AXIS=VALUE,...",
        help="only these points (repeat it for each axis)",
    )
    parser.add_argument(
        "--id", action="append", default=[], metavar="KEY", help="only this result's point (repeatable)"
    )
    parser.add_argument("--again", action="store_true", help="repeat earlier measurements, too")
    parser.add_argument(
        "--retry",
        action="append",
        default=[],
        metavar="STATUS",
        help="repeat those with this status: crash, ...",
    )
    parser.add_argument("--repeat", type=int, metavar="N", help="measure every point N times")
    parser.add_argument("--jobs", type=int, metavar="N", help="measurements at once (default: one for each two cores)")
    parser.add_argument("--json", action="store_true", help="print only a JSON object per measurement")


def execute(args: argparse.Namespace) -> int:
    """Make the missing measurements and print a summary; return 0 if all selected points ended well, now or before."""
    from workbench.lab.plan import Origin, SweepPlan, default_jobs
    from workbench.lab.sweep_progress import Pace

    lab = open_lab(args, args.suite)
    plan = SweepPlan.of(lab, _selection(args, lab))
    warn(plan.broken)
    jobs = default_jobs() if args.jobs is None else args.jobs
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: expected at least 1")
    if args.jobs is not None and not is_local(args):
        raise InputError("--jobs is for this machine's processes", hint="on Spark use --master local[4]")
    origin, pace = Origin.of(lab, args.argv), Pace(plan.todo, jobs)
    if not args.json:
        again = f" ({plan.again} again)" if plan.again else ""
        there = f"{len(plan.wanted)} measurements, {plan.measured} of them done"
        print(f"{lab.suite.name}: {there}, {len(plan.todo)} to do{again}")
    if plan.todo:
        lab.store.try_to_write()
    with contextlib.ExitStack() as stack:
        try:
            results = stack.enter_context(_results(args, lab, plan.todo, origin, jobs))
            _follow(results, pace, lab.options, as_json=args.json)
        except KeyboardInterrupt:  # report it before Spark stops, which takes longer than Ctrl-C allows
            going = (
                "stored results stay, but --again repeats them" if args.again else "run the same command to continue"
            )
            print(f"stopped after {pace.done} of {pace.total}; {going}", file=sys.stderr)
            raise
    if not args.json and plan.todo:
        counts = ", ".join(f"{count} {status}" for status, count in sorted(pace.statuses.items()))
        print(
            f"run {origin.run}: {counts} in {pace.elapsed_seconds:.1f} s ({pace.measured_seconds:.1f} s in the points)"
        )
    return _exit_code(plan, pace, lab.options, as_json=args.json)


def _exit_code(plan: SweepPlan, pace: Pace, options: str, *, as_json: bool) -> int:
    """Report the failures, new and earlier, and how to repeat them; return the exit code."""
    from workbench.lab.result import Status

    before = plan.earlier_failures
    for status, count in sorted(Counter(before.values()).items()):
        one = next(key for key, ended in before.items() if ended == status)
        command = " ".join(filter(None, ["workbench lab show", options, one]))
        out = sys.stderr if as_json else sys.stdout
        print(f"measured before: {count} {status}; details of the first: {command}", file=out)
    bad = {*pace.statuses, *before.values()} - {Status.OK}
    retried = [f"--retry {status.replace(' ', '-')}" for status in sorted(bad - {Status.REFUSED})]  # always retried
    if retried and not as_json:
        print(f"    to measure those again: {' '.join(retried)}")
    return 1 if Status.WRONG in bad else 3 if bad else 0


@contextlib.contextmanager
def _results(
    args: argparse.Namespace, lab: Lab, todo: Sequence[Measurement], origin: Origin, jobs: int
) -> Iterator[Iterator[Result]]:
    """Yield the results as they come, and stop the sweep at the end in any case."""
    if not todo:
        yield iter(())
    elif is_local(args):
        from workbench.lab.local_sweep import sweep

        with contextlib.closing(sweep(lab, todo, origin, jobs)) as going:
            yield going
    else:
        from workbench.lab import spark

        with open_spark(args) as session, contextlib.closing(spark.sweep(lab, todo, origin, session)) as going:
            yield going


def _follow(results: Iterator[Result], pace: Pace, options: str, *, as_json: bool) -> None:
    """Show the progress, and the failures."""
    from workbench.lab.result import Status

    last_print, failed = time.monotonic(), dict[str, None]()
    with Progress(pace.line()) as progress:
        for result in results:
            pace.add(result)
            progress.text = pace.line()
            if as_json:
                print(json.dumps(plain_result(result)), flush=True)
            elif result.measured.status is not Status.OK and result.key not in failed:
                failed[result.key] = None  # a repeated point is reported once
                progress.clear()
                _print_failure(result, len(failed), options)
            if not sys.stderr.isatty() and time.monotonic() - last_print > BETWEEN_LINES:
                last_print = time.monotonic()
                print(pace.line(), file=sys.stderr)


def _print_failure(result: Result, bad: int, options: str) -> None:
    """Print the failure of a point, if it is one of the first."""
    if bad <= MAX_FAILURES:
        point = ", ".join(f"{name}={value}" for name, value in result.point.items())
        reason = result.measured.reason.strip().splitlines() or [""]
        print(f"  {result.measured.status}: {result.experiment}({point}): {reason[0]}  [{result.id}]")
        if reason[1:]:  # for a crash the location, for a refusal the hint
            print(f"      {reason[-1].strip()}")
    if bad == 1:
        print(f"    details: workbench lab show {' '.join(filter(None, [options, result.id]))}")
    elif bad == MAX_FAILURES + 1:
        print("  ... and more; `workbench lab report` has all of them")


def _selection(args: argparse.Namespace, lab: Lab) -> Selection:
    """Return the selection of points by the options."""
    from workbench.lab.plan import Selection
    from workbench.lab.result import Status

    known = {str(status).replace(" ", "-"): status for status in Status}
    for name in args.retry:
        if name not in known:
            raise InputError(f"--retry {name}: there is no such status", hint=did_you_mean(name, known, "there are "))
    retry = tuple(known[name] for name in args.retry)
    return Selection(tuple(args.only), select_values(lab, args.where), tuple(args.id), args.again, retry)


def select_values(lab: Lab, conditions: Sequence[str]) -> dict[str, tuple[Scalar, ...]]:
    """Parse `--where q=2,3`: return the values of each axis whose text matches.

    Raises
    ------
    InputError: there is no such axis or value.
    """
    axes: dict[str, dict[str, Scalar]] = {}
    for experiment in lab.suite.experiments.values():
        for axis, values in experiment.region.axes.items():
            axes.setdefault(axis, {}).update({str(value): value for value in values})
    selection: dict[str, tuple[Scalar, ...]] = {}
    for text in conditions:
        axis, equals, listed = text.partition("=")
        if not equals or axis not in axes:
            raise InputError(f"--where {text}: there is no axis '{axis}'", hint=did_you_mean(axis, axes, "there are "))
        value_texts = [listed] if listed in axes[axis] else listed.split(",")
        for value in value_texts:
            if value not in axes[axis]:
                hint = did_you_mean(value, axes[axis], "it is ")
                if value.partition("=")[0] in axes:
                    repeated = text.replace(f",{value}", f" --where {value}")
                    hint = f"repeat the option for each axis: --where {repeated}"
                raise InputError(f"--where {text}: '{axis}' is never {value}", hint=hint)
        selection[axis] = (*selection.get(axis, ()), *(axes[axis][value] for value in value_texts))
    return selection
