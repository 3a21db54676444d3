"""Run suites of experiments, and report on them with the way back from every number."""

from __future__ import annotations

import argparse

from workbench.cli.actions import add_actions, execute_action

ACTIONS = ("list", "run", "report", "show", "compare", "serve")


def options(parser: argparse.ArgumentParser) -> None:
    """The actions and their arguments."""
    add_actions(parser, "lab", ACTIONS)


def execute(args: argparse.Namespace) -> int:
    """Do what the action says."""
    return execute_action("lab", args)
