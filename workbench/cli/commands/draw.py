"""Draw a pipeline or rules with graphviz."""

from __future__ import annotations

import argparse
import sys

from workbench.cli import options as o


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the command."""
    o.pipeline_argument(parser)
    o.parameter_options(parser)
    parser.add_argument(
        "-o", "--output", metavar="PICTURE", help="a .svg, .png, .pdf or .dot file (default: DOT on standard output)"
    )


def execute(args: argparse.Namespace) -> int:
    """Draw the program."""
    pipeline = o.program(args.file, args.param, args.fault)
    from workbench.show.draw import draw, write_picture

    if args.output is None:
        sys.stdout.write(draw(pipeline))
        return 0
    write_picture(pipeline, args.output)
    return 0
