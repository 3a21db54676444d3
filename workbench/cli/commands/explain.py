"""Explain why rules emitted a composite event, or did not: events, windows and conditions of the nearest matches."""

from __future__ import annotations

import argparse
import json
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli.rule_runs import add_explain_options, all_fact_options, types_of_log
from workbench.cli.run_files import check_writable
from workbench.cli.run_options import backend_option, reading_options, run_options
from workbench.events.account import Reporter
from workbench.events.files import write_atomically

if TYPE_CHECKING:
    from workbench.tesla.rule_explanation import RuleExplanation


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.rules_argument(parser)
    parser.add_argument(
        "--input", required=True, action="append", metavar="FILE", help="the log, as for run (repeatable)"
    )
    group = parser.add_mutually_exclusive_group(required=True)
    group.add_argument(
        "--event", type=int, metavar="N", help="the composites that row N of the log is part of, or was counted for"
    )
    group.add_argument(
        "--output", metavar="ID|NAME", help='why it was emitted: its number in the output, or "Fire at 12:00:05"'
    )
    group.add_argument(
        "--missing", metavar="NAME", help='why none was emitted: "Fire at 12:00:05", "Fire(area = 1) at 12:00:05"'
    )
    parser.add_argument(
        "--limit", type="positive", metavar="N", default=10, help="explain at most N composites (default: 10)"
    )
    parser.add_argument("--json", action="store_true", help="the answer as one JSON object")
    parser.add_argument("--html", metavar="FILE", help="write the answer as a page")
    parser.set_defaults(to_test=None)
    reading_options(parser)
    backend_option(parser, "Any that runs rules event by event")
    add_explain_options(parser)
    all_fact_options(parser)
    o.limit_options(parser)


def execute(args: argparse.Namespace) -> int:
    """Run the rules, record the run, and print the answer."""
    check_writable(args)
    explanation = _answer(args)
    if args.html is not None:
        from workbench.show.rule_explanation import explanation_page

        write_atomically(args.html, explanation_page(explanation))
    if args.json:
        from workbench.events.values import standard_json

        print(json.dumps(standard_json(explanation.to_json()), default=str))
    elif args.html is None:
        print(explanation)
    else:
        print(args.html)
    return 0


def _answer(args: argparse.Namespace) -> RuleExplanation:
    from workbench.errors import InputError
    from workbench.executors.table import Start

    if not o.is_rules(args.file):
        raise InputError("this is not a file of rules", where=args.file, hint="check and draw explain pipelines")
    from workbench.runner.rules.explained import RuleQuestion, explain

    run = run_options(args, output=None, html=None)  # they are the answer's
    rules = o.rules(args.file, types_of_log(run, o.note))
    output = int(args.output) if (args.output or "").isdigit() else args.output
    question = RuleQuestion(args.event, output, args.missing, args.limit)
    reporter = Reporter(o.note)
    with reporter.doing:
        return explain(rules, Start(run, report=o.note, reporter=reporter), question)
