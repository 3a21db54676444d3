"""Commands that have actions: `workbench lab run`.

The rule of this module: an action is a module in the command's folder with the interface of a command:
`options(parser)` and `execute(args) -> exit code`. The first line of its docstring is its help.
"""

from __future__ import annotations

import argparse
import importlib
from types import ModuleType
from typing import NamedTuple

from workbench.cli.help_pages import help_line


class ActionTable(NamedTuple):
    """The actions of a command, in the order of its help; `options` and `execute` are the command's interface."""

    folder: str
    names: tuple[str, ...]

    def options(self, parser: argparse.ArgumentParser) -> None:
        """Add the actions, each with its options."""
        actions = parser.add_subparsers(dest="action", metavar="ACTION", required=True)
        for name in self.names:
            module = self._load(name)
            line = help_line(module.__doc__ or "")
            module.options(actions.add_parser(name, help=line, description=line))

    def execute(self, args: argparse.Namespace) -> int:
        """Execute the action that was named, and return the exit code."""
        return int(self._load(args.action).execute(args))

    def _load(self, name: str) -> ModuleType:
        return importlib.import_module(f"workbench.cli.{self.folder}.{name}")
