"""Decide whether two pipelines compute the same."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from workbench.cli import options as o
from workbench.cli import rule_models, written_runs

if TYPE_CHECKING:
    from workbench.verify.ask.equivalence import EquivalenceMode

MODES = ("sequence", "stepwise", "approximates")


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser, "left", "FILE_A[:NAME]")
    o.pipeline_argument(parser, "right", "FILE_B[:NAME]")
    parser.add_argument(
        "--mode", choices=MODES,
        help="sequence: the i-th outputs are equal (default); stepwise: at every step the same output, or "
        "none (default for rules); approximates: stepwise, and where FILE_B says true so does FILE_A",
    )  # fmt: skip
    o.check_options(parser)
    rule_models.options(parser)
    written_runs.options(parser)
    o.examine_option(parser)


def execute(args: argparse.Namespace) -> int:
    """Compare and print."""
    written_runs.check_writable(args)
    if o.is_rules(args.left) or o.is_rules(args.right):
        return _rules(args)
    mode: EquivalenceMode = args.mode or "sequence"
    from workbench.language import read_file, split_reference

    split = [split_reference(reference) for reference in (args.left, args.right)]
    left, right = o.load_all([(read_file(path), name) for path, name in split], args.param)
    from workbench.cli.output import decide_all
    from workbench.verify.answer.problem import comparison
    from workbench.verify.ask.equivalence import side_by_side

    left = left.faulty(*args.fault)
    both = side_by_side(left.pipeline, right.pipeline, mode)[0]
    return decide_all([comparison(left, right, mode, o.settings(args, both))], args)


def _rules(args: argparse.Namespace) -> int:
    """The same of rule sets."""
    from workbench.errors import InputError

    if not (o.is_rules(args.left) and o.is_rules(args.right)):
        raise InputError("rules are compared with rules", where=args.right, hint="give two .tesla files")
    settings = rule_models.settings(args)
    from workbench.cli.output import decide_all
    from workbench.verify.rules.problems import rule_comparison

    left, right = map(rule_models.read, (args.left, args.right))
    bounds = rule_models.bounds(args, [left, right])
    return decide_all([rule_comparison(left, right, bounds, settings, args.mode or "stepwise")], args)
