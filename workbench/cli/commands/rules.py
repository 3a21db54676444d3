"""Read rules of complex events: check them, and print them in the extended grammar."""

from __future__ import annotations

import argparse
import sys


def options(parser: argparse.ArgumentParser) -> None:
    """The subcommands and their arguments."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name, text in (
        ("check", "whether rules mean something: all mistakes at once, and what is seldom meant"),
        ("format", "print rules, also those of the older grammar, in the extended one"),
    ):
        action = actions.add_parser(name, help=text, description=text)
        action.add_argument("file", metavar="FILE", help="a .tesla file")


def execute(args: argparse.Namespace) -> int:
    """Read, and say what is there."""
    from workbench.tesla.check import load_rules

    found = load_rules(args.file)
    for warning in found.warnings:
        print(f"warning: {warning}", file=sys.stderr)
    if args.action == "format":
        sys.stdout.write(str(found))
    else:
        rules, types = len(found.rules), len(found.declarations)
        print(f"{args.file}: {rules} rule{'s' * (rules != 1)}, {types} type{'s' * (types != 1)}")
    return 0
