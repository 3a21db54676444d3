"""Decide properties of a pipeline with a model checker."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli import written_runs
from workbench.cli.model_settings import pipeline_settings, rule_bounds, rule_settings

if TYPE_CHECKING:
    from workbench.language import Loaded, PropertySyntax

DEFAULT = ("liveness", "response", "no-overflow")
"""What is checked when neither the command line nor the file says."""


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    property_option(parser)
    o.check_options(parser)
    o.model_options(parser)
    parser.add_argument(
        "--jobs", type="positive", default=1, metavar="J",
        help="how many properties at a time, each with the memory of --memory (default: 1)",
    )  # fmt: skip
    written_runs.options(parser)
    o.examine_option(parser)


def property_option(parser: argparse.ArgumentParser) -> None:
    """The properties."""
    parser.add_argument(
        "-p", "--property", action="append", default=[], metavar="PROPERTY",
        help="liveness, response, bounded-liveness(3), no-overflow, no-full-queues, 'always (y >= 0)', "
        "'ctl(...)', 'ltl(...)', 'equivalent(other)' (repeat; default: the file's checks, else "
        f"{', '.join(DEFAULT)})",
    )  # fmt: skip


def properties(loaded: Loaded, given: list[str]) -> list[PropertySyntax]:
    """What to check: as given, else as the file says, else the usual."""
    from workbench.language import parse_property

    if given or not loaded.checks:
        return [parse_property(text) for text in given or DEFAULT]
    return list(loaded.checks)


def execute(args: argparse.Namespace) -> int:
    """Check and print."""
    written_runs.check_writable(args)
    if o.is_rules(args.file):
        return _rules(args)
    loaded = o.load(args.file, args.param, args.fault)
    from workbench.cli.output import decide_all
    from workbench.verify.answer.problem import problem

    settings = pipeline_settings(args, loaded.pipeline)
    problems = [problem(loaded, syntax, settings) for syntax in properties(loaded, args.property)]
    return decide_all(problems, args)


def _rules(args: argparse.Namespace) -> int:
    """The same of the model of rules: by default, whether each type of composites can come."""
    settings, rules = rule_settings(args), o.rules(args.file)
    from workbench.cli.output import decide_all
    from workbench.verify.rules.problems import rule_problem

    bounds = rule_bounds(args, [rules])
    asked = args.property or [f"can({name})" for name in rules.composites]
    return decide_all([rule_problem(rules, text, bounds, settings, deepen=not args.Q) for text in asked], args)
