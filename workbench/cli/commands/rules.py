"""Read rules of complex events: check, print and simplify them, and tell how they are run."""

from __future__ import annotations

import argparse

from workbench.cli.actions import add_actions, execute_action

ACTIONS = ("check", "plan", "format", "simplify")


def options(parser: argparse.ArgumentParser) -> None:
    """The actions and their arguments."""
    add_actions(parser, "rules", ACTIONS)


def execute(args: argparse.Namespace) -> int:
    """Do what the action says."""
    return execute_action("rules", args)
