"""Print rules, also those of the older grammar, in the extended one."""

from __future__ import annotations

import argparse
import sys

from workbench.cli import options as o


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    o.rules_argument(parser)


def execute(args: argparse.Namespace) -> int:
    """Print the rules."""
    sys.stdout.write(str(o.rules(args.file)))
    return 0
