"""Run a pipeline or rules on events from a file or the standard input.

Streams: an event's outputs are written before the next event is read, so the command works in a unix pipe.
"""

from __future__ import annotations

import argparse
import sys
import time
from functools import partial
from typing import TYPE_CHECKING, cast

from workbench.cli import options as o
from workbench.cli.rule_runs import ports_of_log, rule_options, types_of_log
from workbench.cli.run_options import backend_options, reading_options, run_options
from workbench.errors import WorkbenchError, printable
from workbench.events.reading import Tally
from workbench.executors.table import Start

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.executors.run_options import RunOptions
    from workbench.tesla.rule_set import RuleSet


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--input",
        required=True,
        action="append",
        metavar="FILE",
        help="a file in one of the formats below (also .gz, .zst), or -; a folder, or a pattern in quotes, stands for"
        " its files; several are read one after the other, as one log",
    )
    parser.add_argument(
        "--output", default="-", metavar="FILE",
        help="a file, whose name tells its format (default: standard output)",
    )  # fmt: skip
    parser.add_argument(
        "--columns", dest="list_columns", action="store_true",
        help="show the columns of the input, their types, and what each is for; nothing is run",
    )  # fmt: skip
    parser.add_argument(
        "--progress", action="store_true", help="show how far it is, and a summary at the end, also beside a terminal"
    )
    parser.add_argument("--steps", action="store_true", help="also show steps at which nothing came out")
    o.parameter_options(parser)
    o.domain_options(parser, n=None)
    parser.register("type", "positive", o.positive)
    reading_options(parser)
    rule_options(parser)
    backend_options(parser)
    o.limit_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Run and write."""
    begun, options = time.monotonic(), run_options(args)
    found = o.program(args.file, args.param, args.fault, types_of_log(options, o.note))
    tally = Tally(o.note)
    try:
        with tally.doing:
            _run(found, args, options, tally)
    except BaseException as error:
        notes = "; ".join(getattr(error, "__notes__", ()))
        if isinstance(error, WorkbenchError):
            error.hint = "; ".join(filter(None, (error.hint, notes)))
        elif notes:
            o.note(notes)
        raise
    if tally.first:
        first = f"{tally.first.where}: {tally.first.what}"
        o.note(f"{tally.bad:,} of {tally.rows:,} rows were passed over; the first one: {first}")
    if tally.rows and (args.progress or sys.stderr.isatty()):
        o.note(tally.summary(time.monotonic() - begun))
    return 0


def _run(found: Pipeline | RuleSet, args: argparse.Namespace, options: RunOptions, tally: Tally) -> None:
    from workbench.cli.progress import Progress

    rules = cast("RuleSet", found) if found.kind == "rule set" else None  # to ask for its class would import it
    pipeline = cast("Pipeline", found)
    start = Start(options, say=o.note, progress=partial(Progress, always=args.progress), tally=tally)
    if args.list_columns:
        from workbench.events.look import look

        if rules is not None:
            ports = ports_of_log(rules, options)
        else:
            ports = (pipeline if options.integers is None else pipeline.resolve(options.integers)).ports
        print("\n\n".join(map(str, look(args.input, ports, options.reading()))))
    elif rules is not None:
        from workbench.logs.rules import run_rules

        run_rules(rules, start)
    else:
        from workbench.logs.run import run_with

        run_with(pipeline, start, lambda text: print(printable(text), file=sys.stderr))
