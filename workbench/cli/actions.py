"""Commands that have actions: `workbench lab run`.

The rule of this module: an action is a module of the command's folder and looks like a command, with `options(parser)`
and `execute(args) -> exit code`. The first line of its docstring is its help.
"""

from __future__ import annotations

import argparse
import importlib
from collections.abc import Sequence
from types import ModuleType

from workbench.cli.help_pages import help_line


def add_actions(parser: argparse.ArgumentParser, folder: str, names: Sequence[str]) -> None:
    """Add the actions of a command, each with its options."""
    actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
    for name in names:
        module = _action(folder, name)
        line = help_line(module.__doc__ or "")
        module.options(actions.add_parser(name, help=line, description=line))


def execute_action(folder: str, args: argparse.Namespace) -> int:
    """Do what the action says that was named; the exit code."""
    return int(_action(folder, args.action).execute(args))


def _action(folder: str, name: str) -> ModuleType:
    return importlib.import_module(f"workbench.cli.{folder}.{name}")
