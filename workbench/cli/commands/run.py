"""Run a pipeline or rules on events from a file or the standard input.

Streams: an event's outputs are written before the next event is read, so the command works in a unix pipe.
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

from workbench import interrupts
from workbench.cli import options as o
from workbench.cli.help_pages import Page, PagedParser
from workbench.cli.rule_runs import all_fact_options, logs_of_rules, rule_options, types_of_log
from workbench.cli.run_options import (
    backend_options,
    backend_pages,
    log_options,
    run_options,
    show_backends,
    show_formats,
)
from workbench.errors import WorkbenchError, printable
from workbench.events.account import Reporter
from workbench.executors.table import Start

if TYPE_CHECKING:
    from workbench.core.pipeline import Pipeline
    from workbench.executors.run_options import RunOptions
    from workbench.tesla.rule_set import RuleSet


def options(parser: PagedParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser)
    parser.add_argument(
        "--input",
        required=True,
        action="append",
        metavar="FILE",
        help="a log, or - for the standard input; a folder, or a pattern in quotes, stands for all of its files",
    )
    parser.add_argument(
        "-o", "--output", action="append", metavar="[NAME=]FILE",
        help="a file; its name gives the format (default: print the rows); NAME=FILE: this output (repeatable)",
    )  # fmt: skip
    parser.add_argument(
        "--columns", dest="list_columns", action="store_true",
        help="show the input's columns, types and uses; run nothing",
    )  # fmt: skip
    parser.add_argument("--progress", action="store_true", help="show progress and a summary, even without a terminal")
    o.parameter_options(parser)
    o.domain_options(parser, n=None)
    o.limit_options(parser)
    read_every_day = {"--format": "", "--bad-rows": "", "--head": "", "--follow": ""}
    run_every_day = {
        "--backend": "the backend (default: auto)",
        "--key": "a separate run for each value of this column",
        "--threads": "number of threads, or of worker processes",
        "--state": "resume from the state in FILE; save it at the end",
    }
    pages = {
        "output": Page("The output of a run of a pipeline.", output_options, {"--carry": "", "--only-true": ""}),
        "formats": Page("Logs: their formats, columns and rows.", log_options, read_every_day, show_formats),
        "rules": Page("Runs of rules.", rule_options, {"--time": ""}),
        "facts": Page("Facts in databases, which rules query.", all_fact_options),
        "backends": Page("The backends that run programs.", backend_options, run_every_day, show_backends),
    }
    parser.add_pages(pages | backend_pages(), "%(prog)s FILE[:NAME] --input FILE [--output FILE] [OPTION ...]")


def output_options(parser: argparse.ArgumentParser) -> None:
    """Add the options for the rows of the output."""
    group = parser.add_argument_group("rows of the output (.pipe files)")
    group.add_argument(
        "--carry", action="append", default=[], metavar="COLUMN",
        help="also write this column of the log (repeatable)",
    )  # fmt: skip
    group.add_argument("--with-row", action="store_true", help="write the number of the row that caused an output")
    group.add_argument("--only-true", action="store_true", help="write only rows in which an output is true")
    group.add_argument("--steps", action="store_true", help="also write steps without output")
    parser.add_argument_group("contracts (.pipe files)").add_argument(
        "--check-contracts", action="store_true",
        help="stop at the first row that breaks an assumption or a guarantee",
    )  # fmt: skip


def execute(args: argparse.Namespace) -> int:
    """Run the program and write the output."""
    start, options = time.monotonic(), run_options(args)
    program = o.program(args.file, args.param, args.fault, types_of_log(options, o.note))
    reporter = Reporter(o.note)
    try:
        with reporter.doing:
            _run(program, args, options, reporter)
    except BaseException as error:
        if not isinstance(error, WorkbenchError):  # its notes are printed after it
            notes = [*getattr(error, "__notes__", ())]
            if isinstance(error, KeyboardInterrupt) and (reached := reporter.account.progress()):
                _note_bad_rows(reporter, args)
                notes.insert(0, f"stopped after {reached}")
                if options.follow and options.state is None:
                    notes.append("a run with --state FILE can continue where it stopped")
            if notes:
                o.note("; ".join(notes))
            if options.follow and options.state is not None:  # this is how such a run ends
                interrupts.omit_report()
        raise
    _note_bad_rows(reporter, args)
    if reporter.account.rows and (args.progress or sys.stderr.isatty()):
        o.note(reporter.summary(time.monotonic() - start))
    return 0


def _note_bad_rows(reporter: Reporter, args: argparse.Namespace) -> None:
    if text := reporter.account.describe_bad("" if args.bad_rows == "skip" else args.bad_rows):
        o.note(text)


def _run(program: Pipeline | RuleSet, args: argparse.Namespace, options: RunOptions, reporter: Reporter) -> None:
    from workbench.cli.progress import Progress

    # an isinstance check would import the class
    rules = cast("RuleSet", program) if program.kind == "rule set" else None
    pipeline = cast("Pipeline", program)
    progress = partial(Progress, always=args.progress)
    start = Start(options, report=o.note, warn=o.note, progress=progress, reporter=reporter)
    if args.list_columns:
        from workbench.events.inspection import look

        if rules is not None:
            logs = logs_of_rules(rules, options)
        else:
            ports = (pipeline if options.integers is None else pipeline.resolve(options.integers)).ports
            if options.time is not None and not any(port.clock for port in ports.inputs):
                from workbench.runner.row_order import add_times

                ports = add_times(ports, options.time, options.clock("0").of_rows())
            logs = [(args.input, ports)]
        print("\n\n".join(str(each) for inputs, ports in logs for each in look(inputs, ports, options.reading())))
    elif rules is not None:
        from workbench.runner.rules.opening import run_rules

        run_rules(rules, start)
    else:
        from workbench.runner.pipelines import run_pipeline

        run_pipeline(pipeline, replace(start, strike=lambda text: print(printable(text), file=sys.stderr)))
