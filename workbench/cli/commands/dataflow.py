"""Look at how the dataflow executor runs a pipeline."""

from __future__ import annotations

import argparse
import itertools
import sys

from workbench.cli import options as o
from workbench.events.reading import Reading, reading_options


def options(parser: argparse.ArgumentParser) -> None:
    """The subcommands and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    text = "run the first steps of a log in phases, and show after each choice of a thread where every pair is"
    show = actions.add_parser("show", help=text, description=text)
    o.pipeline_argument(show)
    show.add_argument("--input", required=True, metavar="FILE", help="a log, or -")
    show.register("type", "positive", o.positive)
    for flag, default, what in (
        ("--threads", 2, "so many threads"),
        ("--phases", 3, "so many steps of the log"),
    ):
        show.add_argument(flag, type="positive", default=default, metavar="N", help=f"{what} (default: {default})")
    show.add_argument("--seed", type=int, default=0, metavar="N", help="who goes on when (default: 0)")
    show.add_argument("--groups", action="store_true", help="what is in a pipeline that is called runs as one")
    show.add_argument("--json", action="store_true", help="as JSON")
    show.add_argument("-o", "--output", metavar="PAGE", help="a page of HTML to walk through it")
    o.parameter_options(show)
    reading_options(show)


def execute(args: argparse.Namespace) -> int:
    """Run some steps, and show them."""
    from workbench.events.read import read_events
    from workbench.executors.table import backend_row, refuse_kind
    from workbench.show.flow_moments import flow_history, history_page, history_text

    program = o.program(args.file, args.param, args.fault)
    refuse_kind(backend_row("dataflow"), program)
    steps = list(itertools.islice(read_events(args.input, program, Reading.of(args)), args.phases))
    history = flow_history(program, steps, args.threads, args.seed, groups=args.groups)
    if args.json:
        import json

        print(json.dumps(history.to_json(), indent=2))
    if args.output is not None:
        import os
        from pathlib import Path

        from workbench.events.files import replacing

        with replacing(Path(os.path.realpath(args.output))) as name:
            Path(name).write_text(history_page(history), encoding="utf-8")
    elif not args.json:
        sys.stdout.write(history_text(history))
    return 0
