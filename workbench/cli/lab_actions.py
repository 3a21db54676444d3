"""What the subcommands of `workbench lab` do."""

from __future__ import annotations

import argparse
import collections
import contextlib
import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

from workbench.cli.options import note
from workbench.cli.progress import Progress
from workbench.errors import InputError, SuiteError, WorkbenchError, printable
from workbench.lab.find import load_suite, named, suite_files
from workbench.lab.pace import Pace
from workbench.lab.plan import Lab, Measurement, Origin, Selection, default_jobs, missing, tasks
from workbench.lab.region import Scalar
from workbench.lab.report_text import on_gpus, rerun
from workbench.lab.result import Result, Status
from workbench.lab.rows import flat
from workbench.lab.store import Broken, ResultStore

MOST_SHOWN = 10
_SETTLED = (Status.OK, Status.REFUSED)
"""Endings after which `--retry` is of no use: all is well, or it is tried again anyway."""
_BETWEEN_LINES = 15.0
"""Seconds between two lines of progress where there is no terminal."""


def open_lab(args: argparse.Namespace, name: str) -> Lab:
    """A suite with its store."""
    path = named(args.experiments, name)
    suite = load_suite(path)
    if (times := getattr(args, "repeat", None)) is not None:
        if times < 1:
            raise InputError(f"--repeat {times}: at least once")
        suite = suite.repeated(times)
    return Lab(suite, path, ResultStore(args.data, suite.name), args.places)


# --- list -----------------------------------------------------------------------------------------------------


def list_(args: argparse.Namespace) -> int:
    """Say what suites there are, or what is in one."""
    if args.suite:
        _show_suite(open_lab(args, args.suite))
        return 0
    files = suite_files(args.experiments)
    if not files:
        raise SuiteError("there is no suite", where=str(args.experiments), hint="a suite says `suite = Suite(...)`")
    bad = 0
    for name in files:
        try:
            lab = open_lab(args, name)
            print(f"{name.ljust(max(map(len, files)))}  {_state(lab)}  {lab.suite.title}")
        except WorkbenchError as error:
            bad += 1
            print(f"{name.ljust(max(map(len, files)))}  cannot be loaded: {error.message}")
    return 2 if bad else 0


def _state(lab: Lab) -> str:
    done, broken = lab.store.done()
    _warn(broken)
    wanted = tasks(lab, lab.code(), Selection())
    return f"{sum(task.id in done for task in wanted):>6} of {len(wanted):>6} measured"


def _show_suite(lab: Lab) -> None:
    suite = lab.suite
    print(f"{suite.name}: {suite.title}\n  {' '.join(_state(lab).split())} with the code as it is now")
    for experiment in suite.experiments.values():
        print(f"\n{experiment.name}: {' '.join(experiment.doc.split())}".rstrip(": "))
        for axis, values in experiment.region.axes.items():
            shown = ", ".join(map(str, values[:8])) + (", ..." if len(values) > 8 else "")
            print(f"    {axis}: {shown}")
        times = f", each measured {experiment.repeat} times" if experiment.repeat > 1 else ""
        print(f"    {len(experiment.region)} points{times}")
        for name, output in experiment.outputs.items():
            print(f"    -> {name}{f' ({output.unit})' if output.unit else ''}: {output.description}")
    print()
    for what in ("tables", "plots", "claims", "macros"):
        names = ", ".join(getattr(suite, what))
        if names:
            print(f"{what}: {names}")
    results, _ = lab.store.results()
    runs: dict[str, list[Result]] = {}
    for result in results:
        runs.setdefault(result.run, []).append(result)
    if runs:
        print("\nruns:")
    for name, found in runs.items():
        print(f"    {name}  {len(found)} measured, code {found[-1].code}, commit {found[-1].commit[:12] or 'unknown'}")


def _warn(broken: Sequence[Broken]) -> None:
    for hint in dict.fromkeys(item.hint for item in broken):
        for item in broken:
            if item.hint == hint:
                note(f"left out, since it cannot be read: {item}")
        print(printable(f"  hint: {hint}"), file=sys.stderr)


# --- run ------------------------------------------------------------------------------------------------------


def run_(args: argparse.Namespace) -> int:
    """Measure what is missing; 0 if everything that is asked for has ended well, now or before."""
    lab = open_lab(args, args.suite)
    code = lab.code()
    selection = _chosen(args, lab)
    wanted = tasks(lab, code, selection)
    done, broken = lab.store.done()
    _warn(broken)
    todo = missing(wanted, done, selection)
    jobs = default_jobs() if args.jobs is None else args.jobs
    if jobs < 1:
        raise InputError(f"--jobs {jobs}: at least one")
    if args.jobs is not None and (args.on == "spark" or args.master):
        raise InputError("--jobs is for this machine's processes", hint="on Spark say --master local[4]")
    origin = Origin.of(lab, args.argv)
    pace = Pace(todo, jobs)
    if not args.json:
        there = sum(task.id in done for task in wanted)
        again = sum(task.id in done for task in todo)
        told = f" ({again} again)" if again else ""
        print(f"{lab.suite.name}: {len(wanted)} measurements, {there} of them there, {len(todo)} to do{told}")
    if todo:
        lab.store.try_to_write()
    try:
        with _results(args, lab, todo, origin, jobs) as results:
            _follow(results, pace, lab.options, as_json=args.json)
    except KeyboardInterrupt:
        going = "what was measured is kept, but --again begins anew" if args.again else "the same command goes on"
        print(f"stopped after {pace.done} of {pace.total}; {going}", file=sys.stderr)
        raise
    if not args.json and todo:
        told = ", ".join(f"{count} {status}" for status, count in sorted(pace.statuses.items()))
        print(f"run {origin.run}: {told} in {pace.elapsed:.1f} s ({pace.measured_seconds:.1f} s in the points)")
    made = {task.id for task in todo}
    before = {task.id: done[task.id] for task in wanted if task.id not in made and done[task.id] != Status.OK}
    _tell_earlier(before, lab.options, sys.stderr if args.json else sys.stdout)
    bad = {*pace.statuses, *before.values()} - {Status.OK}
    retried = [f"--retry {status.replace(' ', '-')}" for status in sorted(bad) if status not in _SETTLED]
    if retried and not args.json:
        print(f"    to measure those again: {' '.join(retried)}")
    return 1 if Status.WRONG in bad else 3 if bad else 0


def _tell_earlier(bad: Mapping[str, str], options: str, to: IO[str]) -> None:
    """Say what is in the store that has not ended well, and is not measured again."""
    for status, count in sorted(collections.Counter(bad.values()).items()):
        one = next(key for key, ended in bad.items() if ended == status)
        shown = " ".join(filter(None, ["workbench lab show", options, one]))
        print(f"measured before: {count} {status}; all about the first: {shown}", file=to)


@contextlib.contextmanager
def _results(
    args: argparse.Namespace, lab: Lab, todo: Sequence[Measurement], origin: Origin, jobs: int
) -> Iterator[Iterator[Result]]:
    """The results as they come; what makes them is stopped at the end, whatever the end is."""
    if not todo:
        yield iter(())
    elif args.on == "local" and not args.master:
        from workbench.lab.local import sweep

        going = sweep(lab, todo, origin, jobs)
        with contextlib.closing(going):
            yield going
    else:
        from workbench.lab import spark

        with Progress("starting Spark"):
            session = spark.session(args.master or spark.LOCAL)
        try:
            with contextlib.closing(spark.sweep(lab, todo, origin, session)) as going:
                yield going
        finally:
            session.stop()


def _follow(results: Iterator[Result], pace: Pace, options: str, *, as_json: bool) -> None:
    """Show how it goes, and what does not go well."""
    said, failed = time.monotonic(), dict[str, None]()
    with Progress(pace.line()) as progress:
        for result in results:
            pace.add(result)
            progress.text = pace.line()
            if as_json:
                print(json.dumps(plain_result(result)), flush=True)
            elif result.measured.status is not Status.OK and result.key not in failed:
                failed[result.key] = None  # a point that is repeated is told once
                progress.clear()
                _tell(result, len(failed), options)
            if not sys.stderr.isatty() and time.monotonic() - said > _BETWEEN_LINES:
                said = time.monotonic()
                print(pace.line(), file=sys.stderr)


def _tell(result: Result, bad: int, options: str) -> None:
    if bad <= MOST_SHOWN:
        point = ", ".join(f"{name}={value}" for name, value in result.point.items())
        reason = result.measured.reason.strip().splitlines() or [""]
        print(f"  {result.measured.status}: {result.experiment}({point}): {reason[0]}  [{result.id}]")
        if reason[1:]:  # of a crash the place, of what was refused what to do
            print(f"      {reason[-1].strip()}")
    if bad == 1:
        print(f"    all about it: workbench lab show {' '.join(filter(None, [options, result.id]))}")
    elif bad == MOST_SHOWN + 1:
        print("  ... and more; `workbench lab report` has all of them")


def plain_result(result: Result) -> dict[str, Any]:
    """A result as JSON shows it."""
    row = flat(result)
    parsed = {name: json.loads(row[name]) for name in ("point", "outputs", "machine", "versions")}
    return {"id": result.id, **row, **parsed}


def _chosen(args: argparse.Namespace, lab: Lab) -> Selection:
    known = {str(status).replace(" ", "-"): status for status in Status}
    for name in args.retry:
        if name not in known:
            raise InputError(f"--retry {name}: there is no such status", hint=f"there are {', '.join(known)}")
    retry = tuple(known[name] for name in args.retry)
    return Selection(tuple(args.only), chosen_values(lab, args.where), tuple(args.id), args.again, retry)


def chosen_values(lab: Lab, given: Sequence[str]) -> dict[str, tuple[Scalar, ...]]:
    """What `--where q=2,3` means: those values of the axis that look like these.

    Raises
    ------
    InputError: there is no such axis or value.
    """
    axes: dict[str, dict[str, Scalar]] = {}
    for experiment in lab.suite.experiments.values():
        for axis, values in experiment.region.axes.items():
            axes.setdefault(axis, {}).update({str(value): value for value in values})
    found: dict[str, tuple[Scalar, ...]] = {}
    for text in given:
        axis, equals, listed = text.partition("=")
        if not equals or axis not in axes:
            raise InputError(f"--where {text}: there is no axis '{axis}'", hint=f"there are {', '.join(axes)}")
        wanted = [listed] if listed in axes[axis] else listed.split(",")
        for value in wanted:
            if value not in axes[axis]:
                raise InputError(f"--where {text}: '{axis}' is never {value}", hint=f"it is {', '.join(axes[axis])}")
        found[axis] = (*found.get(axis, ()), *(axes[axis][value] for value in wanted))
    return found


# --- show -----------------------------------------------------------------------------------------------------


def show_(args: argparse.Namespace) -> int:
    """Print everything about the measurements of an id."""
    found = [(suite, r) for suite, results in _stored(args.data).items() for r in results if r.id.startswith(args.id)]
    if not found:
        raise InputError(f"there is no measurement '{args.id}'", where=str(args.data))
    for suite, result in found:
        if args.json:
            print(json.dumps({"suite": suite, **plain_result(result)}))
        else:
            print(describe(suite, result, args.places))
    return 0


def _stored(folder: Path) -> dict[str, list[Result]]:
    """The results of each suite that has any."""
    names = sorted(place.name.removeprefix("suite=") for place in folder.glob("suite=*"))
    found = {name: ResultStore(folder, name).results() for name in names}
    _warn([item for _, broken in found.values() for item in broken])
    return {name: results for name, (results, _) in found.items()}


def describe(suite: str, result: Result, options: str) -> str:
    """A measurement for people."""
    m = result.measured
    lines = [f"{suite} {result.experiment} {result.id}: {m.status}"]
    lines += [f"    {name} = {value}" for name, value in result.point.items()]
    lines += [f"    -> {name} = {value}" for name, value in m.outputs.items()]
    lines += [f"    {line}" for line in m.reason.splitlines()]
    memory = ", ".join(filter(None, [f"at most {m.peak_mb:.0f} MB", on_gpus(m.gpu_peak_mb, m.gpu_seconds)]))
    lines += [
        f"  {m.cpu_seconds:.4f} CPU s, {m.wall_seconds:.4f} s, {memory}; limits by {m.limited_by}",
        f"  load {m.load:.1f}, stolen {m.steal:.1%}: timings are {'reliable' if m.reliable else 'unreliable'}",
        f"  {result.started} UTC, run {result.run}, code {result.code}, commit {result.commit or 'unknown'}",
        f"  {', '.join(f'{name} {value}' for name, value in result.machine.items())}",
        f"  {', '.join(f'{name} {value}' for name, value in result.versions.items())}",
        f"  seed {result.seed}; measured by: {result.command}",
        f"  again: {rerun(suite, result.key, options)}",
    ]
    if m.log.strip():
        lines += ["  printed:", *(f"    | {line}" for line in m.log.rstrip().splitlines())]
    return "\n".join(lines)


# --- report, compare, serve -----------------------------------------------------------------------------------


def report_(args: argparse.Namespace) -> int:
    """Write the report; 1 if a claim fails."""
    from workbench.lab.report import write_report

    lab = open_lab(args, args.suite)
    out = args.out or Path("reports") / lab.suite.name
    with contextlib.ExitStack() as stack, Progress(f"report on {lab.suite.name}"):
        data = stack.enter_context(_data(args, lab))
        report = write_report(lab, data, out)
    _warn(report.data.broken)
    for claim, judged in report.claims:
        print(f"{judged.standing.upper():8} {claim.text}{f': {judged.why}' if judged.why else ''}")
    print(f"report: {out / 'index.html'}")
    return 1 if any(judged.standing == "fails" for _, judged in report.claims) else 0


@contextlib.contextmanager
def _data(args: argparse.Namespace, lab: Lab) -> Iterator[Any]:
    if args.on == "local" and not args.master:
        from workbench.lab.data import open_data

        with contextlib.closing(open_data(lab.suite, lab.store)) as data:
            yield data
        return
    from workbench.lab import spark

    session = spark.session(args.master or spark.LOCAL)
    try:
        with contextlib.closing(spark.open_spark(lab.suite, lab.store, session)) as data:
            yield data
    finally:
        session.stop()


def compare_(args: argparse.Namespace) -> int:
    """Say what changed between two runs; 1 if anything did."""
    from workbench.lab.compare import compare, find_run
    from workbench.lab.table import is_timing

    stored = _stored(args.data)
    suite, before = find_run(stored, args.before)
    other, after = find_run(stored, args.after)
    if suite != other:
        raise InputError(f"{args.before} is a run of '{suite}', {args.after} one of '{other}'")
    measured: set[tuple[str, str]] = set()
    with contextlib.suppress(SuiteError):  # results can be compared when the suite is gone
        experiments = open_lab(args, suite).suite.experiments.values()
        measured = {(e.name, n) for e in experiments for n, o in e.outputs.items() if o.measured or is_timing(o.unit)}
    found = compare(before, after, measured)
    for change in found.changes:
        print(json.dumps(change.to_json()) if args.json else str(change))
    if not args.json:
        print(found.summary)
    return 1 if found.changes else 0


def serve_(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from workbench.lab.serve import serve

    serve(args.experiments, args.data, args.port, args.suite, args.places)
    return 0
