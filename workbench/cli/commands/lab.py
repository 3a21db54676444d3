"""Run suites of experiments, and report on them with the way back from every number."""

from __future__ import annotations

import argparse
import shlex
from pathlib import Path
from typing import Any

EXPERIMENTS, STORE = Path("experiments"), Path(".workbench") / "lab"
"""Where suites are and results are kept, below the working folder."""


def options(parser: argparse.ArgumentParser) -> None:
    """The subcommands and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    one = _action(actions, "list", "the suites, or the experiments and runs of one")
    one.add_argument("suite", nargs="?", help="its name")
    one = _action(actions, "run", "measure what is missing")
    one.add_argument("suite", help="its name")
    _where(one)
    _selection(one)
    one.add_argument("--jobs", type=int, metavar="N", help="measurements at once (default: one for each two cores)")
    one.add_argument("--json", action="store_true", help="one JSON object per measurement, and nothing else")
    one = _action(actions, "report", "write tables, plots and claims, with the way back from every number")
    one.add_argument("suite", help="its name")
    one.add_argument("--out", type=Path, help="a folder (default: reports/SUITE)")
    _where(one)
    one = _action(actions, "show", "everything about a measurement")
    one.add_argument("id", help="as reports show it, or its beginning")
    one.add_argument("--json", action="store_true", help="as a JSON object")
    one = _action(actions, "compare", "what changed between two runs, beyond noise")
    one.add_argument("before", metavar="A", help="a run, code version or commit of `lab list SUITE`, or its beginning")
    one.add_argument("after", metavar="B", help="another")
    one.add_argument("--json", action="store_true", help="one JSON object per difference, and nothing else")
    one = _action(actions, "serve", "a web application on this machine")
    one.add_argument("suite", nargs="?", help="the one to open")
    one.add_argument("--port", type=int, default=8765, help="default: 8765; 0: any that is free")


def _action(actions: Any, name: str, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = actions.add_parser(name, help=text, description=text)
    parser.add_argument("--experiments", type=Path, default=EXPERIMENTS, metavar="DIR", help="where suites are")
    parser.add_argument("--data", type=Path, default=STORE, metavar="DIR", help="where results are kept")
    return parser


def _where(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--on", choices=("local", "spark"), default="local", help="this machine's processes, or Spark")
    parser.add_argument(
        "--master", metavar="URL", help="of Spark: spark://host:port (default: local[*]); means --on spark"
    )


def _selection(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--only", action="append", default=[], metavar="EXPERIMENT", help="only this one (repeat)")
    parser.add_argument("--where", action="append", default=[], metavar="AXIS=VALUE,...", help="only these points")
    parser.add_argument("--id", action="append", default=[], metavar="KEY", help="only this result's point (repeat)")
    parser.add_argument("--again", action="store_true", help="also what has been measured already")
    parser.add_argument("--retry", action="append", default=[], metavar="STATUS", help="also what ended so: crash, ...")
    parser.add_argument("--repeat", type=int, metavar="N", help="measure every point so many times")


def places(args: argparse.Namespace) -> str:
    """The options that say where suites and results are, where it is not the usual place."""
    given = {"--experiments": (args.experiments, EXPERIMENTS), "--data": (args.data, STORE)}
    return shlex.join(word for name, (own, usual) in given.items() if own != usual for word in (name, str(own)))


def execute(args: argparse.Namespace) -> int:
    """Do what the subcommand says."""
    from workbench.cli import lab_actions

    args.places = places(args)
    action: int = getattr(lab_actions, f"{args.action}_")(args)
    return action
