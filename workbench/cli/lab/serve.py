"""Serve the web application on this machine."""

from __future__ import annotations

import argparse

from workbench.cli.lab.suites import place_options, places


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    place_options(parser)
    parser.add_argument("suite", nargs="?", help="the one to open")
    parser.add_argument("--port", type=int, default=8765, help="default: 8765; 0: any free port")


def execute(args: argparse.Namespace) -> int:
    """Serve until interrupted."""
    from workbench.lab.web.serve import serve

    serve(args.experiments, args.data, args.port, args.suite, places(args))
    return 0
