"""Find where threads would pay off: profile a run, predict the gain of each pattern, and try it."""

from __future__ import annotations

import argparse
import itertools
import json
import os
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.cli import options as o
from workbench.cli.progress import Progress
from workbench.cli.run_options import reading_options, run_options
from workbench.errors import InputError

if TYPE_CHECKING:
    from workbench.executors.threaded.advise import Advised, Gain

SAMPLE = 2000
"""Number of steps that are run."""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument("--input", required=True, metavar="FILE", help="a log, as for run, or -")
    parser.add_argument("--threads", type=int, metavar="N", help="threads besides the main one (default: one per core)")
    parser.add_argument("--sample", type=int, default=SAMPLE, metavar="STEPS", help=f"at most (default: {SAMPLE})")
    parser.add_argument("--json", action="store_true", help="print one object")
    o.parameter_options(parser)
    reading_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Measure and print the advice."""
    pipeline = o.load(args.file, args.param).pipeline
    from workbench.events.read import read_events, share_columns
    from workbench.executors.threaded.advise import advise
    from workbench.verify.analyses.certify import certify_nodes

    threads = os.cpu_count() or 1 if args.threads is None else args.threads
    if threads < 1:
        raise InputError(f"{threads} threads are too few for advice", hint="--threads 1, or more")
    if args.sample < 1:
        raise InputError(f"a sample of {args.sample} steps is too small to measure", hint="--sample 1, or more")
    reading = run_options(args).reading()
    ports = share_columns(args.input, pipeline.ports, reading)
    steps = list(itertools.islice(read_events(args.input, ports, reading), args.sample))
    if not any(steps):
        raise InputError("there are no events to measure", where=args.input)
    with Progress("measuring") as progress:
        report = advise(pipeline, steps, threads, certify_nodes(pipeline), partial(setattr, progress, "text"))
    print(json.dumps(as_json(report)) if args.json else text(report, len(steps)))
    return 0


def as_json(report: Advised) -> dict[str, Any]:
    """Return the object that `--json` prints; seconds are per step."""
    return {
        "threads": report.threads,
        "seconds": report.profile.total,
        "processors": dict(report.profile.processors),
        "overhead": {"task": report.overhead.task, "queue": report.overhead.queue, "cores": report.overhead.cores},
        "advice": [
            {
                "pattern": each.pattern,
                "cuts": list(each.placement.cuts),
                "pipelined": {name: str(c) for name, c in each.placement.pipelined.items()},
                "copies": sorted(each.placement.copies),
                "processes": each.processes,
                "predicted": each.predicted._asdict(),
                "measured": each.measured._asdict(),
                "cores": each.cores,
                "worth": each.worth,
            }
            for each in report.advice
        ],
        "conclusion": report.conclusion,
    }


def text(report: Advised, steps: int) -> str:
    """Return the advice as text."""
    from workbench.core.readable import plural

    profile = report.profile
    lines = [f"{plural(steps, 'step')}, {profile.total * 1e6:.1f} µs each without threads:"]
    rows = [*profile.processors.items(), ("(around them)", profile.rest)]
    width = max(len(name) for name, _ in rows)
    lines += [f"  {name.ljust(width)}  {seconds * 1e6:9.1f} µs" for name, seconds in rows]
    costs = report.overhead
    lines.append(
        f"a task in a thread costs {costs.task * 1e6:.1f} µs, a queue {costs.queue * 1e6:.1f};"
        f" {report.threads + 1} threads get {costs.cores:.1f} cores"
    )
    if report.advice:
        with_threads = f"gain with {plural(report.threads, 'thread')}"
        lines += ["", f"{with_threads.ljust(48)} {'predicted':>16} {'measured':>16}"]
        for each in report.advice:
            sign = "✓" if report.promises(each) else "✗"
            lines.append(f"  {sign} {each.pattern.ljust(44)} {_gain(each.predicted)} {_gain(each.measured)}")
    lines += ["", report.conclusion]
    return "\n".join(lines)


def _gain(gain: Gain) -> str:
    """Format the middle of a gain, and its range."""
    return f"{gain.middle:4.2f} ({gain.low:.2f}-{gain.high:.2f})".rjust(16)
