"""Check rules: report all mistakes at once, and warn of likely mistakes."""

from __future__ import annotations

import argparse

from workbench.cli import options as o


def options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the action."""
    o.rules_argument(parser)


def execute(args: argparse.Namespace) -> int:
    """Read the rules, and print the numbers of rules and types."""
    rules = o.rules(args.file)
    from workbench.core.readable import plural

    print(f"{args.file}: {plural(len(rules.rules), 'rule')}, {plural(len(rules.declarations), 'type')}")
    return 0
