"""Find the smallest capacity of each queue of a pipeline, or of each column of rules, with proofs."""

from __future__ import annotations

import argparse
import json
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from workbench.cli import options as o
from workbench.cli.model_settings import pipeline_settings, refuse_rates, rule_bounds, rule_settings

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.verify.buffers.buffers import Buffer, Buffers, QueueStatus
    from workbench.verify.finding import Finding


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--max", type=int, default=64, metavar="EVENTS",
        help="the largest capacity to check (default: 64)",
    )  # fmt: skip
    o.parameter_options(parser)
    o.domain_options(parser)
    o.environment_options(parser)
    o.engine_options(parser, "queue")
    o.model_options(parser)
    parser.add_argument("--annotate", action="store_true", help="write the proven capacities into the file")
    parser.add_argument("--json", action="store_true", help="print only one JSON object")
    parser.add_argument("--quiet", action="store_true", help="one line per queue")


def execute(args: argparse.Namespace) -> int:
    """Find, print, and write the capacities."""
    from workbench.errors import InputError

    if args.max < 0:
        raise InputError(f"--max {args.max}: the largest capacity cannot be negative", hint="write --max 64")
    if args.annotate and args.param:
        raise InputError(
            "--annotate with --param: the file's capacities would be those of other parameters than its own",
            hint="change the defaults in the file, or write the capacities by hand",
        )
    args.Q = []
    return _find_columns(args) if o.is_rules(args.file) else _find_queues(args)


def _find_queues(args: argparse.Namespace) -> int:
    """Find the capacities of the queues of a pipeline."""
    from workbench.cli.progress import Progress

    refuse_rates(args)
    pipeline = o.load(args.file, args.param, args.fault).pipeline
    settings = pipeline_settings(args, pipeline)
    from workbench.verify.buffers.buffers import buffers

    with Progress(f"buffers of {pipeline.name}"):
        report = buffers(pipeline, settings, args.max)
    written = _annotate(args.file, report) if args.annotate else ""
    if args.json:
        print(json.dumps(report.to_json()), flush=True)
    elif not report.queues:
        print(f"{report.pipeline} has no queues: no processor joins streams\n{written}", end="", flush=True)
    else:
        flat = replace(settings, n=report.n).over(pipeline)[0]
        lines = _list_capacities(report.queues, None if args.quiet else partial(_prove, pipeline=flat))
        print("\n".join([*lines, _total(report)]) + f"\n{written}", end="", flush=True)
    if report.gap:
        print(f"DEFECT OF WORKBENCH: model and execution disagree: {report.gap}. Please report this.", file=sys.stderr)
    return report.exit_code


def _find_columns(args: argparse.Namespace) -> int:
    """Find the capacities of the columns of rules."""
    from workbench.cli.progress import Progress
    from workbench.errors import InputError

    if args.annotate:
        raise InputError("--annotate is for pipelines", hint="files of rules have no capacities")
    settings, rules = rule_settings(args), o.rules(args.file)
    from workbench.cli.analyse_report import format_streams, list_unconfirmed
    from workbench.verify.answer.verdict import worst_exit_code
    from workbench.verify.rules.capacities import capacities
    from workbench.verify.rules.rule_subject import RuleSubject

    with Progress(f"buffers of {rules.name}"):
        findings = capacities(RuleSubject(rules, rule_bounds(args, [rules]), settings), max_capacity=args.max)
    if args.json:
        queues = [{"queue": each.about, "status": _status(each), **each.to_json()} for each in findings]
        print(json.dumps({"rules": rules.name, "queues": queues, "max": args.max}), flush=True)
    elif not findings:
        print(f"{rules.name} retains nothing: no rule searches for events", flush=True)
    else:
        lines = _list_capacities(findings, None if args.quiet else format_streams)
        print("\n".join([*lines, *([] if args.quiet else [list_unconfirmed(findings)])]).rstrip(), flush=True)
    return worst_exit_code(_status(each).outcome.exit_code for each in findings)


def _list_capacities(findings: Sequence[Finding], details: Callable[[Any], list[str]] | None) -> Iterator[str]:
    """Yield a line for each queue or column; with details, its grounds and a witness follow."""
    from workbench.cli.output import INDENT, SIGNS, colour
    from workbench.core.readable import shorten_sets

    for each in findings:
        sign, code = SIGNS[_status(each).outcome]
        yield f"{colour(f'{sign} {each.about}', code, sys.stdout)}  {each.says}"
        if details is not None:
            lines = [*(f"- {shorten_sets(line)}" for line in each.rests_on), *details(each)]
            yield textwrap.indent("\n".join(lines), INDENT)
            yield ""


def _status(finding: Finding) -> QueueStatus:
    """Return whether a sufficient capacity exists; unknown if a limit ended the search."""
    from workbench.verify.buffers.buffers import QueueStatus

    return QueueStatus(finding.data.get("status", finding.answer))


def _prove(item: Buffer, pipeline: Pipeline) -> list[str]:
    """Return the lines that explain a capacity, with the run that shows it."""
    from workbench.cli.output import render_trace

    lines = list[str]()
    if item.capacity is not None and not item.inside:
        lines.append(f"- needs {item.transient_capacity} in executors that queue each event before it passes")
    if item.capacity == 0 and item.engine != "none needed":
        lines.append("- no event ever waits")
    lines.append(f"{item.seconds:.2f} s, {item.engine}")
    if item.witness is None:
        return lines
    capacities = {} if item.at_least is None else {item.queue: item.at_least - 1}
    return [*lines, "", render_trace(item.witness, pipeline, capacities)]


def _total(report: Buffers) -> str:
    from workbench.core.readable import plural

    if report.total_bits is None:
        return "total: not bounded" if report.exit_code == 1 else "total: not known"
    events = sum(item.capacity or 0 for item in report.queues if not item.inside)
    bits = plural(report.total_bits, "bit")
    return f"total: {plural(events, 'event')}, {bits}{' at ' * bool(report.scope)}{report.scope}"


def _annotate(reference: str, report: Buffers) -> str:
    """Write the capacities into the file, and return a message about it."""
    from pathlib import Path

    from workbench.core.readable import plural
    from workbench.events.files import write_atomically
    from workbench.language import parse, split_reference
    from workbench.language.annotate import annotate

    path, name = split_reference(reference)
    before = Path(path).read_bytes().decode("utf-8")  # keeps the line ends of the file
    after = annotate(parse(before, path), name, report.capacities)
    if after != before:
        write_atomically(path, after)
    left_out = [item.queue for item in report.queues if item.capacity is None]
    stated = f"{path} states the capacity of {plural(len(report.capacities), 'queue')}"
    return stated + (f", not of {_and(left_out)}" if left_out else "") + "\n"


def _and(names: Sequence[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
