"""Decide whether two pipelines compute the same."""

from __future__ import annotations

import argparse

from workbench.cli import options as o
from workbench.cli import written_runs

MODES = ("sequence", "stepwise", "approximates")


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser, "left", "FILE_A[:NAME]")
    o.pipeline_argument(parser, "right", "FILE_B[:NAME]")
    parser.add_argument(
        "--mode", choices=MODES, default=MODES[0],
        help="sequence: the i-th outputs are equal (default); stepwise: at every step the same output, or "
        "none; approximates: stepwise, and where FILE_B says true so does FILE_A",
    )  # fmt: skip
    o.check_options(parser)
    written_runs.options(parser)
    o.examine_option(parser)


def execute(args: argparse.Namespace) -> int:
    """Compare and print."""
    written_runs.check_writable(args)
    from workbench.language import read_file, split_reference

    split = [split_reference(reference) for reference in (args.left, args.right)]
    left, right = o.load_all([(read_file(path), name) for path, name in split], args.param)
    from workbench.cli.output import decide_all
    from workbench.verify.answer.problem import comparison
    from workbench.verify.ask.equivalence import side_by_side

    left = left.faulty(*args.fault)
    both = side_by_side(left.pipeline, right.pipeline, args.mode)[0]
    return decide_all([comparison(left, right, args.mode, o.settings(args, both))], args)
