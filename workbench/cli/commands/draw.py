"""Draw a pipeline or rules with graphviz."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from workbench.cli import options as o

if TYPE_CHECKING:
    from workbench.show.draw import Drawn


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    o.parameter_options(parser)
    parser.add_argument(
        "-o", "--output", metavar="PICTURE", help="a .svg, .png, .pdf or .dot file (default: DOT on standard output)"
    )


def execute(args: argparse.Namespace) -> int:
    """Draw."""
    pipeline = o.program(args.file, args.param, args.fault)
    if args.output is None:
        from workbench.show.draw import draw

        sys.stdout.write(draw(pipeline))
        return 0
    write_picture(pipeline, args.output)
    return 0


def write_picture(drawn: Drawn, path: str) -> None:
    """Draw a program, or how rules are run, into a file, whose name tells the kind of picture."""
    from workbench.events.files import replacing
    from workbench.show.draw import render

    with replacing(Path(os.path.realpath(path))) as name:
        render(drawn, str(name))
