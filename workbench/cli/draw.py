"""Draw a pipeline with graphviz."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
import tempfile
from pathlib import Path

from workbench.cli import options as o

HELP = "draw a pipeline"


def options(parser: argparse.ArgumentParser) -> None:
    """The arguments of the command."""
    o.pipeline_argument(parser)
    o.parameter_options(parser)
    parser.add_argument(
        "-o",
        "--output",
        metavar="PICTURE",
        help="a .svg, .png, .pdf or .dot file (default: DOT on standard output)",
    )


def execute(args: argparse.Namespace) -> int:
    """Draw."""
    from workbench.draw import draw

    pipeline = o.load(args.file, args.param, args.fault).pipeline
    if args.output is None:
        sys.stdout.write(draw(pipeline))
        return 0
    from workbench.draw import render
    from workbench.errors import InputError

    target = Path(os.path.realpath(args.output))
    try:
        handle, name = tempfile.mkstemp(suffix=target.suffix, prefix=f".{target.stem}.", dir=target.parent)
    except OSError as error:
        raise InputError(f"cannot write there: {error.strerror}", where=args.output) from error
    os.close(handle)
    try:
        render(pipeline, name)
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(name, 0o666 & ~mask)
        os.replace(name, target)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise
    return 0
